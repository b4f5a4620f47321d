//! Tensors that were compared, in the comparison document and as text:
//!
//! ```text
//! TENSORS a.safetensors, b.safetensors: 148 tensors, tolerance 1e-4
//!
//!       error    largest  result
//!     1.2e-2     3.1e-1   FAILED  model.layers.3.mlp.weight
//!     8.0e-6     1.1e-4   passed  model.embed_tokens.weight
//!
//! Outside the tolerance: 1.
//! ```

use super::fields::Fields;
use super::text::{Page, TextOptions};
use crate::model::{Absent, ComparedTensor, TensorForm, TensorOutcome};
use crate::text::{Catalogue, clean};
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthStr as _;

/// Tensors in the text at most: the worst.
const SHOWN: usize = 40;
/// What stands where a value is not there.
const ABSENT: &str = "--";

/// Two files of tensors.
#[derive(Debug, Clone)]
pub struct TensorCheck<'a> {
    /// The first file.
    pub a: &'a str,
    /// The second file.
    pub b: &'a str,
    /// Largest error over norm that passes.
    pub tolerance: f64,
    /// Worst first.
    pub tensors: &'a [ComparedTensor],
}

impl TensorCheck<'_> {
    /// How many tensors did not pass.
    #[must_use]
    pub fn failed(&self) -> usize {
        let failed = |tensor: &&ComparedTensor| tensor.outcome != TensorOutcome::Within;
        self.tensors.iter().filter(failed).count()
    }
}

fn result(passed: bool) -> &'static str {
    if passed { "pass" } else { "fail" }
}

pub(super) fn tensors_json(check: &TensorCheck<'_>) -> Json {
    let failed = check.failed();
    json!({
        "a": clean(check.a),
        "b": clean(check.b),
        "tolerance": check.tolerance,
        "result": result(failed == 0),
        "counts": {"pass": check.tensors.len() - failed, "fail": failed},
        "tensors": check.tensors.iter().map(tensor_json).collect::<Vec<_>>(),
    })
}

fn tensor_json(tensor: &ComparedTensor) -> Json {
    let mut fields = Fields::default();
    fields.put("name", clean(&tensor.name));
    for (side, form) in [("a", &tensor.a), ("b", &tensor.b)] {
        let form = form.as_ref();
        let kind = form.map(|form| form.kind);
        fields.option(&format!("kind_{side}"), kind, Absent::NotReported);
        let shape = form.map(|form| form.shape.clone());
        fields.option(&format!("shape_{side}"), shape, Absent::NotReported);
    }
    fields.put("result", result(tensor.outcome == TensorOutcome::Within));
    fields.put("why", tensor.outcome.word());
    let distance = tensor.distance;
    let number = |value: Option<f64>| value.filter(|v| v.is_finite());
    let none = Absent::NotSupported;
    fields.option(
        "l2_error_ratio",
        number(distance.and_then(|d| d.ratio())),
        none,
    );
    fields.option("l2_error", number(distance.map(|d| d.error)), none);
    fields.option("l2_norm", number(distance.map(|d| d.norm)), none);
    fields.option(
        "largest_difference",
        number(distance.map(|d| d.largest)),
        none,
    );
    fields.option("not_finite", distance.map(|d| d.not_finite), none);
    fields.finish(false)
}

/// The tensors as text in the language of the catalogue, worst first; no line is wider than the options say.
#[must_use]
pub fn tensors_text(check: &TensorCheck<'_>, t: &Catalogue, options: TextOptions) -> String {
    let mut page = Page::new(options);
    let tolerance = format!("{:e}", check.tolerance);
    let head = t.compare_tensors(
        clean(check.a),
        clean(check.b),
        check.tensors.len(),
        tolerance,
    );
    page.wrap("", &head);
    page.line("");
    let (passed, failed) = (t.compare_tensor_passed(), t.compare_tensor_failed());
    let width = passed.width().max(failed.width());
    let lead = |error: &str, largest: &str, result: &str| {
        let blank = |width: usize, text: &str| " ".repeat(width.saturating_sub(text.width()));
        format!(
            "{}{error}{}{largest}  {result}{}  ",
            blank(9, error),
            blank(11, largest),
            blank(width, result)
        )
    };
    page.line(&lead(
        &t.compare_tensor_error(),
        &t.compare_tensor_largest(),
        "",
    ));
    for tensor in check.tensors.iter().take(SHOWN) {
        let number = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |v| format!("{v:.1e}"));
        let error = number(tensor.distance.and_then(|d| d.ratio()));
        let largest = number(tensor.distance.map(|d| d.largest));
        let within = tensor.outcome == TensorOutcome::Within;
        let lead = lead(&error, &largest, if within { &passed } else { &failed });
        let name = match clean(&tensor.name) {
            name if name.is_empty() => t.compare_tensor_unnamed().into_owned(),
            name => name.into_owned(),
        };
        let segments: Vec<String> = std::iter::once(name).chain(why(tensor, t)).collect();
        page.flow(&lead, &segments);
    }
    if let Some(more) = check.tensors.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        page.wrap("", &t.diagnosis_more(more));
    }
    page.line("");
    let line = match check.failed() {
        0 => t.compare_result_pass(),
        failed => t.compare_result_fail(failed),
    };
    page.wrap("", &line);
    page.finish()
}

/// Why a tensor has failed, where its numbers do not say it.
fn why(tensor: &ComparedTensor, t: &Catalogue) -> Option<String> {
    let shape = |form: &Option<TensorForm>| {
        let sides = form
            .as_ref()
            .map(|form| &form.shape[..])
            .unwrap_or_default();
        let sides: Vec<String> = sides.iter().map(u64::to_string).collect();
        format!("[{}]", sides.join(", "))
    };
    let text = match tensor.outcome {
        TensorOutcome::Within | TensorOutcome::Outside => return None,
        TensorOutcome::NotFinite => {
            t.compare_tensor_not_finite(tensor.distance.map_or(0, |d| d.not_finite))
        }
        TensorOutcome::Shape => t.compare_tensor_shapes(shape(&tensor.a), shape(&tensor.b)),
        TensorOutcome::Order => t.compare_tensor_orders(),
        TensorOutcome::OnlyA => t.compare_tensor_only_a(),
        TensorOutcome::OnlyB => t.compare_tensor_only_b(),
    };
    Some(text.into_owned())
}
