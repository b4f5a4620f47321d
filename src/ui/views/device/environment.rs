//! What stands around the device, against what its vendor asks of it.
//!
//! ```text
//! environment
//!   kernel            5.4.0-150-generic    below 5.15, the least for driver 1.21.0
//!   distribution      Ubuntu 22.04.5 LTS   at least 22.04 for driver 1.21.0
//!   CANN              8.5.0
//!   forked workers    4                    forked after the device was opened: may hang, start them with spawn
//! ```

use super::rows::{Page, Row, Section};
use super::sections::detail;
use crate::model::{
    Absent, DRIVER_FACT, FloorRule, Metric, Reading, Standing, Value, Vendor, environment_facts,
    floors, is_framework,
};
use crate::text::clean;
use crate::ui::theme::Role;
use std::borrow::Cow;

impl Page<'_> {
    /// The section, where anything is known of it.
    pub(super) fn environment(&self) -> Option<Section> {
        let device = &self.view.device;
        let facts = environment_facts(device.vendor);
        let known = |name: &str| {
            let mut details = device.details.iter();
            let detail = details.find(|(known, _)| &**known == name);
            detail.map(|(_, value)| clean(value).into_owned())
        };
        if !facts.iter().any(|fact| known(fact).is_some()) {
            return None;
        }
        let t = self.look.text;
        let standings = floors(device);
        let mut rows = Vec::new();
        if let (Ok(driver), true) = (
            &device.driver,
            standings.iter().any(|s| s.fact == DRIVER_FACT),
        ) {
            let value = Ok(clean(driver).into_owned());
            rows.push(self.fact(DRIVER_FACT, value, &standings));
        }
        for fact in facts {
            let value = known(fact);
            if value.is_some() || !is_framework(fact) {
                let value = value.ok_or(Absent::NotReported);
                rows.push(self.fact(fact, value, &standings));
            }
        }
        if device.vendor == Vendor::Ascend {
            rows.extend(self.jobs());
        }
        Some(self.section(t.device_section_environment(), rows))
    }

    /// A fact; beside it the floor that it misses, else the first that it reaches.
    fn fact(&self, name: &str, value: Reading<String>, standings: &[Standing]) -> Row {
        let label = detail(name, self.look.text);
        let mut of_fact = standings.iter().filter(|standing| standing.fact == name);
        let missed = of_fact.clone().find(|standing| !standing.holds);
        match (value, missed.or_else(|| of_fact.next())) {
            (Ok(value), Some(standing)) => Row::Value {
                label: label.into_owned(),
                value,
                note: self.against(standing),
                role: match standing.holds {
                    true => Role::Text,
                    false => Role::Warn,
                },
            },
            (value, _) => self.text(label, value),
        }
    }

    fn against(&self, standing: &Standing) -> String {
        let t = self.look.text;
        let least = standing.at_least.as_str();
        let cause = format!(
            "{} {}",
            detail(standing.because, t),
            clean(&standing.because_value)
        );
        match (standing.holds, standing.rule) {
            (true, _) => t.device_floor_held(least, cause),
            (false, FloorRule::Stated) => t.device_floor_below(least, cause),
            (false, FloorRule::Paired) => t.device_floor_paired(least, cause),
            (false, FloorRule::Listed) => t.device_floor_listed(cause),
        }
        .into_owned()
    }

    /// What the jobs on an Ascend do.
    fn jobs(&self) -> [Row; 2] {
        let t = self.look.text;
        let reading = self.view.readings.get(Metric::ForkedWorkers);
        let some = reading.is_ok_and(|count| count > 0.0);
        let forked = Value {
            reading,
            age_s: 0.0,
        };
        let note = match some {
            true => t.device_forked_note(),
            false => Cow::Borrowed(""),
        };
        let whole = |count: f64| format!("{count:.0}");
        let mut workers = self.value(t.device_forked_workers(), forked, whole, note);
        let mut precision = self.switch(t.device_reduce_precision(), Metric::ReducePrecision);
        if let (true, Row::Value { role, .. }) = (some, &mut workers) {
            *role = Role::Warn;
        }
        if self.view.readings.get(Metric::ReducePrecision) == Ok(1.0)
            && let Row::Value { note, role, .. } = &mut precision
        {
            *note = t.device_reduce_note().into_owned();
            *role = Role::Warn;
        }
        [workers, precision]
    }
}
