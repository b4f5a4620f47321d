//! An object whose missing values carry their reasons.

use super::number;
use crate::model::{Absent, Reading, Value};
use serde_json::{Map, Value as Json};

/// Collects the fields of one object under dotted paths, with `absent`, `absent_detail` and `age_s` beside them.
#[derive(Debug, Default)]
pub(super) struct Fields {
    map: Map<String, Json>,
    absent: Map<String, Json>,
    detail: Map<String, Json>,
    age_s: Map<String, Json>,
    interval_s: f64,
    silent: Option<(&'static str, String)>,
}

impl Fields {
    /// Values older than `interval_s` are written with their age.
    pub(super) fn new(interval_s: f64) -> Self {
        Self {
            interval_s,
            ..Self::default()
        }
    }

    /// Values that are absent for this reason have been so since then (RFC 3339).
    pub(super) fn silent_since(&mut self, reason: Absent, since: String) {
        self.silent = Some((reason.word(), since));
    }

    /// A field as it is. A path with a dot goes into the object before the dot.
    pub(super) fn put(&mut self, path: &str, value: impl Into<Json>) {
        let value = value.into();
        match path.split_once('.') {
            None => {
                self.map.insert(path.to_owned(), value);
            }
            Some((object, name)) => {
                let slot = self
                    .map
                    .entry(object)
                    .or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(inner) = slot {
                    inner.insert(name.to_owned(), value);
                }
            }
        }
    }

    /// Null, with its reason.
    pub(super) fn put_absent(&mut self, path: &str, why: Absent) {
        self.put(path, Json::Null);
        self.absent.insert(path.to_owned(), why.word().into());
        let mut detail = Map::new();
        if let Absent::Implausible(raw) = why {
            detail.insert("raw".to_owned(), number::rounded(raw, 6));
        }
        if let Some((reason, since)) = &self.silent
            && *reason == why.word()
        {
            detail.insert("since".to_owned(), since.as_str().into());
        }
        if !detail.is_empty() {
            self.detail.insert(path.to_owned(), detail.into());
        }
    }

    /// A value, or null with its reason.
    pub(super) fn reading<T, J: Into<Json>>(
        &mut self,
        path: &str,
        reading: Reading<T>,
        write: impl FnOnce(T) -> J,
    ) {
        match reading {
            Ok(value) => self.put(path, write(value)),
            Err(why) => self.put_absent(path, why),
        }
    }

    /// A value that has no reason of its own where it is missing.
    pub(super) fn option<J: Into<Json>>(&mut self, path: &str, value: Option<J>, why: Absent) {
        match value {
            Some(value) => self.put(path, value),
            None => self.put_absent(path, why),
        }
    }

    /// A derived figure with its age.
    pub(super) fn figure(&mut self, path: &str, value: Value) {
        self.reading(path, value.reading, |number| number::by_name(path, number));
        if value.reading.is_ok() {
            self.age(path, value.age_s);
        }
    }

    /// Notes how old a field is, where that is more than one interval.
    pub(super) fn age(&mut self, path: &str, age_s: f64) {
        if age_s > self.interval_s {
            self.age_s
                .insert(path.to_owned(), number::rounded(age_s, 1));
        }
    }

    /// The object with its reasons; the details and ages only where there are any, unless `all`.
    pub(super) fn finish(mut self, all: bool) -> Json {
        self.map.insert("absent".to_owned(), self.absent.into());
        if all || !self.detail.is_empty() {
            self.map
                .insert("absent_detail".to_owned(), self.detail.into());
        }
        if all || !self.age_s.is_empty() {
            self.map.insert("age_s".to_owned(), self.age_s.into());
        }
        Json::Object(self.map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_says_why() {
        let mut fields = Fields::new(1.0);
        fields.silent_since(Absent::TimedOut, "2026-03-01T00:00:00.000Z".to_owned());
        fields.figure("pcie.generation", Value::fresh(4.0));
        fields.figure("pcie.width", Value::absent(Absent::Transition));
        fields.figure("power_w", Value::absent(Absent::Implausible(3_700_000.0)));
        fields.figure("clock_mhz", Value::absent(Absent::TimedOut));
        fields.figure(
            "temperature_c",
            Value {
                reading: Ok(61.0),
                age_s: 3.04,
            },
        );
        assert_eq!(
            fields.finish(false),
            serde_json::json!({
                "pcie": {"generation": 4, "width": null}, "power_w": null, "clock_mhz": null, "temperature_c": 61.0,
                "absent": {"pcie.width": "transition", "power_w": "implausible", "clock_mhz": "timed_out"},
                "absent_detail": {"power_w": {"raw": 3_700_000.0}, "clock_mhz": {"since": "2026-03-01T00:00:00.000Z"}},
                "age_s": {"temperature_c": 3.0},
            })
        );
    }
}
