//! What stands around a device in documents: the facts that are looked for, and the floors that apply to them.

use super::fields::Fields;
use crate::model::{Absent, DeviceView, Metric, Standing, Vendor, environment_facts, floors};
use crate::text::clean;
use serde_json::{Value as Json, json};

/// The device's `environment`. A fact that is null was looked for and not found.
pub(super) fn environment(fields: &mut Fields, view: &DeviceView) {
    let device = &view.device;
    for fact in environment_facts(device.vendor) {
        let mut details = device.details.iter();
        let value = details.find(|(name, _)| &**name == *fact);
        let value = value.map(|(_, value)| clean(value).into_owned());
        fields.option(&format!("environment.{fact}"), value, Absent::NotReported);
    }
    if device.vendor == Vendor::Ascend {
        let count = view.readings.get(Metric::ForkedWorkers);
        fields.reading("environment.forked_workers", count, |count| count as u64);
        let on = view.readings.get(Metric::ReducePrecision);
        fields.reading("environment.reduce_precision", on, |on| on > 0.0);
    }
    let floors: Vec<Json> = floors(device).iter().map(floor_json).collect();
    fields.put("environment.floors", floors);
}

fn floor_json(standing: &Standing) -> Json {
    json!({
        "fact": standing.fact,
        "value": clean(&standing.value),
        "at_least": standing.at_least,
        "rule": standing.rule.word(),
        "because": {"fact": standing.because, "value": clean(&standing.because_value)},
        "holds": standing.holds,
        "source": standing.source,
    })
}
