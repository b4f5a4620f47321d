//! How far the tensors of two files are from each other.

use super::error::TensorsError;
use super::file::{Tensor, Tensors};
use crate::model::{ComparedTensor, TensorDistance, TensorForm, TensorOutcome};
use std::cmp::Ordering;
use std::io::{Read, Seek};

/// Elements that are in memory of each file at a time.
const PIECE: usize = 1 << 16;
/// Squares of these and of numbers between them are neither lost nor infinite, also summed up.
const SQUARES: std::ops::Range<f64> = 1e-140..1e140;

/// What cannot be compared comes first, then the largest error.
fn order(a: &ComparedTensor, b: &ComparedTensor) -> Ordering {
    let badness = |tensor: &ComparedTensor| match &tensor.distance {
        Some(d) if d.not_finite == 0 => d.ratio().unwrap_or(f64::MAX),
        _ => f64::INFINITY,
    };
    badness(b)
        .total_cmp(&badness(a))
        .then_with(|| a.name.cmp(&b.name))
}

/// Compares all tensors of two files by their names, worst first. A file without names (npy) is compared with the only
/// tensor of the other.
///
/// # Errors
/// A file cannot be read to its end; which of the two (`true`: the second) and why.
pub fn compare<A: Read + Seek, B: Read + Seek>(
    a: &mut Tensors<A>,
    b: &mut Tensors<B>,
    tolerance: f64,
) -> Result<Vec<ComparedTensor>, (bool, TensorsError)> {
    let mut all = Vec::new();
    for (name, ours, theirs) in pairs(a, b) {
        let (outcome, distance) = match (&ours, &theirs) {
            (_, None) => (TensorOutcome::OnlyA, None),
            (None, _) => (TensorOutcome::OnlyB, None),
            (Some(ours), Some(theirs)) if ours.shape != theirs.shape => {
                (TensorOutcome::Shape, None)
            }
            (Some(ours), Some(theirs)) if ours.fortran != theirs.fortran => {
                (TensorOutcome::Order, None)
            }
            (Some(ours), Some(theirs)) => {
                let distance = distance((a, ours), (b, theirs))?;
                (fared(&distance, tolerance), Some(distance))
            }
        };
        let form = |tensor: Tensor| TensorForm {
            kind: tensor.kind.word(),
            shape: tensor.shape,
        };
        all.push(ComparedTensor {
            name,
            a: ours.map(form),
            b: theirs.map(form),
            distance,
            outcome,
        });
    }
    all.sort_by(order);
    Ok(all)
}

fn fared(distance: &TensorDistance, tolerance: f64) -> TensorOutcome {
    match () {
        () if distance.not_finite > 0 => TensorOutcome::NotFinite,
        () if distance.error <= tolerance * distance.norm => TensorOutcome::Within,
        () => TensorOutcome::Outside,
    }
}

type Pair = (String, Option<Tensor>, Option<Tensor>);

fn pairs<A: Read + Seek, B: Read + Seek>(a: &Tensors<A>, b: &Tensors<B>) -> Vec<Pair> {
    let (ours, theirs) = (a.tensors(), b.tensors());
    if let ([one], [other]) = (ours, theirs)
        && !(a.named && b.named)
    {
        let name = if a.named { &one.name } else { &other.name };
        return vec![(name.clone(), Some(one.clone()), Some(other.clone()))];
    }
    let find = |list: &[Tensor], name: &str| {
        let place = list.binary_search_by(|t| t.name.as_str().cmp(name)).ok()?;
        list.get(place).cloned()
    };
    let both = ours
        .iter()
        .map(|t| (t.name.clone(), Some(t.clone()), find(theirs, &t.name)));
    let rest = theirs
        .iter()
        .filter(|t| find(ours, &t.name).is_none())
        .map(|t| (t.name.clone(), None, Some(t.clone())));
    both.chain(rest).collect()
}

/// Reads both in pieces.
fn distance<A: Read + Seek, B: Read + Seek>(
    (a, ours): (&mut Tensors<A>, &Tensor),
    (b, theirs): (&mut Tensors<B>, &Tensor),
) -> Result<TensorDistance, (bool, TensorsError)> {
    let mut sum = TensorDistance::default();
    let (mut bytes_a, mut bytes_b) = (Vec::new(), Vec::new());
    let mut numbers = Numbers::default();
    let all = ours.elements();
    let mut done = 0;
    while done < all {
        let piece = (all - done).min(PIECE as u64);
        bytes_a.resize(piece as usize * ours.kind.bytes(), 0);
        bytes_b.resize(piece as usize * theirs.kind.bytes(), 0);
        a.read(ours, done, &mut bytes_a).map_err(|e| (false, e))?;
        b.read(theirs, done, &mut bytes_b).map_err(|e| (true, e))?;
        numbers.take((ours, &bytes_a), (theirs, &bytes_b));
        numbers.add_to(&mut sum);
        done += piece;
    }
    Ok(sum)
}

/// The elements of a piece.
#[derive(Default)]
struct Numbers {
    a: Vec<f64>,
    b: Vec<f64>,
    whole_a: Vec<i128>,
    whole_b: Vec<i128>,
    difference: Vec<f64>,
    not_finite: u64,
}

impl Numbers {
    fn take(&mut self, (ours, bytes_a): (&Tensor, &[u8]), (theirs, bytes_b): (&Tensor, &[u8])) {
        self.not_finite = 0;
        self.difference.clear();
        ours.kind.floats(bytes_a, ours.big_endian, &mut self.a);
        if ours.kind.is_whole() && theirs.kind.is_whole() {
            ours.kind
                .wholes(bytes_a, ours.big_endian, &mut self.whole_a);
            theirs
                .kind
                .wholes(bytes_b, theirs.big_endian, &mut self.whole_b);
            let pairs = self.whole_a.iter().zip(&self.whole_b);
            self.difference.extend(pairs.map(|(a, b)| (b - a) as f64));
            return;
        }
        theirs.kind.floats(bytes_b, theirs.big_endian, &mut self.b);
        for (a, b) in self.a.iter_mut().zip(&self.b) {
            if a.is_finite() && b.is_finite() {
                // Two finite numbers may be further apart than the largest.
                self.difference.push((b - *a).clamp(f64::MIN, f64::MAX));
                continue;
            }
            let same = (a.is_nan() && b.is_nan()) || *a == *b;
            self.not_finite += u64::from(!same);
            *a = 0.0;
        }
    }

    fn add_to(&self, sum: &mut TensorDistance) {
        sum.error = longer(sum.error, norm(&self.difference));
        sum.norm = longer(sum.norm, norm(&self.a));
        sum.largest = sum.largest.max(largest(&self.difference));
        sum.not_finite += self.not_finite;
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// The L2 norm, also of numbers whose squares are too large or too small.
fn norm(values: &[f64]) -> f64 {
    let most = largest(values);
    if most == 0.0 {
        return 0.0;
    }
    let scale = if SQUARES.contains(&most) { 1.0 } else { most };
    let squares: f64 = values.iter().map(|v| (v / scale) * (v / scale)).sum();
    (squares.sqrt() * scale).min(f64::MAX)
}

/// The norm of two pieces together.
fn longer(a: f64, b: f64) -> f64 {
    a.hypot(b).min(f64::MAX)
}
