//! Files of tensors, well-formed and hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::model::{ComparedTensor, TensorOutcome};
use proptest::prelude::*;
use std::io::Cursor;

type Memory = Tensors<Cursor<Vec<u8>>>;

fn open(bytes: Vec<u8>) -> Result<Memory, TensorsError> {
    Tensors::open(Cursor::new(bytes))
}

/// A file with this header and so many bytes of data.
fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn floats(tensors: &[(&str, &[f32])]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        entries.push(format!(
            "{name:?}:{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[{begin},{}]}}",
            values.len(),
            data.len()
        ));
    }
    raw(&format!("{{{}}}", entries.join(",")), &data)
}

fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn compared(a: Vec<u8>, b: Vec<u8>) -> Vec<ComparedTensor> {
    let (mut a, mut b) = (open(a).unwrap(), open(b).unwrap());
    compare(&mut a, &mut b, 1e-4).unwrap()
}

#[test]
fn the_worst_comes_first() {
    let nan = f32::NAN;
    let a = floats(&[
        ("same", &[1.0, 2.0]),
        ("near", &[1.0, 1.0]),
        ("far", &[3.0, 4.0]),
        ("shape", &[1.0]),
        ("mine", &[1.0]),
        ("both nan", &[nan, f32::INFINITY, 1.0]),
        ("one nan", &[nan, 1.0]),
        ("from zero", &[0.0, 0.0]),
        ("nothing", &[]),
    ]);
    let b = floats(&[
        ("same", &[1.0, 2.0]),
        ("near", &[1.000_01, 1.0]),
        ("far", &[3.0, 5.0]),
        ("shape", &[1.0, 1.0]),
        ("yours", &[1.0]),
        ("both nan", &[nan, f32::INFINITY, 1.0]),
        ("one nan", &[1.0, 1.0]),
        ("from zero", &[0.0, 1.0]),
        ("nothing", &[]),
    ]);
    let all = compared(a, b);
    let told: Vec<(&str, TensorOutcome)> =
        all.iter().map(|t| (t.name.as_str(), t.outcome)).collect();
    use TensorOutcome::*;
    assert_eq!(
        told,
        [
            ("mine", OnlyA),
            ("one nan", NotFinite),
            ("shape", Shape),
            ("yours", OnlyB),
            ("from zero", Outside),
            ("far", Outside),
            ("near", Within),
            ("both nan", Within),
            ("nothing", Within),
            ("same", Within),
        ]
    );
    let far = all[5].distance.unwrap();
    assert_eq!((far.error, far.norm, far.largest), (1.0, 5.0, 1.0));
    assert_eq!(far.ratio(), Some(0.2));
    assert_eq!(all[4].distance.unwrap().ratio(), None);
}

#[test]
fn headers_that_lie_are_refused_in_one_line() {
    let entry = |dtype: &str, shape: &str, offsets: &str| {
        format!("{{\"t\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}}}")
    };
    let one = entry("F32", "[2]", "[0,8]");
    let mut long = raw(&one, &[0; 8]);
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut endless = raw(&one, &[0; 8]);
    endless[..8].copy_from_slice(&(1u64 << 63).to_le_bytes());
    let overlap = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\
                   \"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}";
    let twice = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\
                 \"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    let huge = entry("F64", "[9223372036854775808,4]", "[0,8]");
    let far = entry("U8", "[1]", "[18446744073709551615,18446744073709551615]");
    let table: &[(Vec<u8>, &str)] = &[
        (Vec::new(), "too short"),
        (b"short".to_vec(), "too short"),
        (long, "does not fit"),
        (endless, "does not fit"),
        (raw("[1, 2]", &[]), "no safetensors"),
        (raw("{\"t\":{}}", &[]), "no safetensors"),
        (
            raw(&entry("F32", "[-2]", "[0,8]"), &[0; 8]),
            "no safetensors",
        ),
        (
            raw(&entry("F32", "[2]", "[0,8]"), &[0; 7]),
            "outside the file",
        ),
        (raw(&entry("F32", "[2]", "[8,0]"), &[0; 8]), "has others"),
        (raw(&entry("F32", "[3]", "[0,8]"), &[0; 8]), "has others"),
        (
            raw(&entry("C64", "[1]", "[0,8]"), &[0; 8]),
            "\"C64\" are not read",
        ),
        (raw(&huge, &[0; 8]), "larger than any file"),
        (raw(&far, &[0; 8]), "outside the file"),
        (raw(overlap, &[0; 8]), "overlap"),
        (raw(twice, &[0; 8]), "twice"),
        (npy("<f4", "False", "(3,)", &[0; 8]), "larger than the file"),
        (
            npy("<f4", "False", "(4611686018427387904, 4)", &[0; 8]),
            "larger than the file",
        ),
        (npy("|O", "False", "(1,)", &[0; 8]), "\"|O\" are not read"),
        (npy("<c8", "False", "(1,)", &[0; 8]), "\"<c8\" are not read"),
        (npy("<f4", "Maybe", "(1,)", &[0; 8]), "no npy"),
        (npy("<f4", "False", "(1,", &[0; 8]), "no npy"),
        (b"\x93NUMPY\x09\x00\x00\x00\x00".to_vec(), "version 9"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "too long"),
    ];
    for (bytes, wanted) in table {
        let error = open(bytes.clone()).expect_err(wanted).to_string();
        assert!(
            error.contains(wanted) && error.lines().count() == 1,
            "{error}"
        );
    }
    // What the format allows: metadata, blanks after the header, a hole.
    let gap = "{\"__metadata__\":{\"format\":\"pt\"},\"t\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[3,4]}}   ";
    assert_eq!(open(raw(gap, &[0; 8])).unwrap().tensors()[0].elements(), 1);
}

#[test]
fn arrays_of_either_byte_order_are_the_same_numbers() {
    let values = [1.5f64, -2.25, 1e300];
    let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let a = npy("<f8", "False", "(3,)", &little);
    let [only] = &compared(a.clone(), npy(">f8", "True", "(3,)", &big))[..] else {
        panic!("one array");
    };
    let distance = only.distance.unwrap();
    assert_eq!((distance.error, distance.largest), (0.0, 0.0));
    assert_eq!(distance.norm, 1e300);
    // The only tensor of a file with names is the other's.
    let [only] = &compared(floats(&[("x", &[1.5, -2.25, 7.0])]), a)[..] else {
        panic!("one array");
    };
    assert_eq!(
        (only.name.as_str(), only.outcome),
        ("x", TensorOutcome::Outside)
    );
    let square = |order| npy("<f8", order, "(2, 2)", &[0; 32]);
    let apart = &compared(square("False"), square("True"))[0];
    assert_eq!(apart.outcome, TensorOutcome::Order);
}

#[test]
fn whole_numbers_are_compared_exactly() {
    let far = [i64::MAX, i64::MIN].map(i64::to_le_bytes).concat();
    let near = [i64::MAX - 1, i64::MIN].map(i64::to_le_bytes).concat();
    let array = |data: &[u8]| npy("<i8", "False", "(2,)", data);
    assert_eq!(
        compared(array(&far), array(&near))[0]
            .distance
            .unwrap()
            .largest,
        1.0
    );
}

#[test]
fn many_pieces_are_one_sum() {
    let a: Vec<f32> = (0..200_000).map(|n| (n % 7) as f32).collect();
    let mut b = a.clone();
    b[199_999] += 2.0;
    b[3] -= 1.0;
    let all = compared(floats(&[("x", &a)]), floats(&[("x", &b)]));
    let distance = all[0].distance.unwrap();
    let norm = a.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
    assert!((distance.error - 5f64.sqrt()).abs() < 1e-12);
    assert!((distance.norm / norm - 1.0).abs() < 1e-12);
    assert_eq!(distance.largest, 2.0);
}

/// 500 MB of which nothing is on the disk; its memory is measured from outside:
/// `cargo test --lib -- --ignored half_a_gigabyte` under `/usr/bin/time -v`.
#[test]
#[ignore = "a bench: half a gigabyte through both readers"]
fn half_a_gigabyte_is_read_in_flat_memory() {
    let folder = tempfile::tempdir().unwrap();
    let elements = 125_000_000u64;
    let header = format!(
        "{{\"x\":{{\"dtype\":\"F32\",\"shape\":[{elements}],\"data_offsets\":[0,{}]}}}}",
        elements * 4
    );
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, raw(&header, &[])).unwrap();
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        file.set_len(8 + header.len() as u64 + elements * 4)
            .unwrap();
        Tensors::open(file).unwrap()
    };
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
        let kib = line.split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap()
    };
    let before = peak();
    let all = compare(&mut file("a"), &mut file("b"), 1e-4).unwrap();
    assert_eq!(all[0].outcome, TensorOutcome::Within);
    let grown = peak() - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
}

fn element() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -1e3f32..1e3,
        1 => proptest::num::f32::ANY,
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = open(bytes) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn any_header_is_read_or_refused(
        header in "(\\{|\"t\":|\\{\"dtype\":\"(F32|U8)\",|\"shape\":\\[[0-9]{0,3}\\],|\"data_offsets\":\\[[0-9]{1,2},[0-9]{1,2}\\]|\\}|,){0,8}",
        data in 0usize..64,
    ) {
        if let Ok(file) = open(raw(&header, &vec![0; data])) {
            for tensor in file.tensors() {
                prop_assert!(tensor.elements() * tensor.kind.bytes() as u64 <= data as u64);
            }
        }
    }

    #[test]
    fn any_npy_header_is_read_or_refused(header in "[\\{\\}'():, 0-9a-z<>|_TF]{0,80}") {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        let _ = open(bytes);
    }

    #[test]
    fn distances_are_those_of_the_definition(
        pairs in proptest::collection::vec((element(), element()), 1..50)
    ) {
        let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        let all = compared(floats(&[("x", &a)]), floats(&[("x", &b)]));
        let told = all[0].distance.unwrap();
        let finite = || pairs.iter().filter(|(a, b)| a.is_finite() && b.is_finite());
        let wide = || finite().map(|(a, b)| (f64::from(*a), f64::from(*b)));
        let error = wide().map(|(a, b)| (b - a) * (b - a)).sum::<f64>().sqrt();
        let norm = wide().map(|(a, _)| a * a).sum::<f64>().sqrt();
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * y.max(1e-300);
        prop_assert!(close(told.error, error), "{} {}", told.error, error);
        prop_assert!(close(told.norm, norm), "{} {}", told.norm, norm);
        prop_assert!(told.error.is_finite() && told.largest.is_finite());
        // With itself everything passes, whatever is in it.
        let same = compared(floats(&[("x", &a)]), floats(&[("x", &a)]));
        prop_assert_eq!(same[0].outcome, TensorOutcome::Within);
    }
}
