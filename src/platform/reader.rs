//! From an answer to facts: what a descriptor's values and notices say, and the trait that adapters share with them.

use super::descriptor::{Kind, Notices, Request, Slot};
use super::value::{Said, short, text, time, time_of};
use crate::model::{Claims, Notice, NoticeKind, PastStart};
use crate::units::Currency;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde_json::Value as Json;
use std::sync::Arc;

/// Notices that are kept of one answer.
const NOTICES: usize = 32;

/// What one answer said; what it did not say is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    pub(super) instance_id: Option<Arc<str>>,
    pub(super) instance_type: Option<Arc<str>>,
    pub(super) region: Option<Arc<str>>,
    /// The platform's name for this host.
    pub(super) name: Option<Arc<str>>,
    pub(super) state: Option<Arc<str>>,
    pub(super) billing_started: Option<Timestamp>,
    pub(super) price: Option<Decimal>,
    pub(super) currency: Option<Currency>,
    pub(super) spot: Option<bool>,
    pub(super) claims: Claims,
    pub(super) notices: Vec<Notice>,
    /// The instance ran then, and not any more.
    pub(super) runs: Vec<PastStart>,
}

/// What reading an answer may need to know beside it.
pub(super) struct About<'a> {
    pub(super) now: Timestamp,
    /// The platform's name for this host, as far as it is known.
    pub(super) name: Option<&'a str>,
}

/// Reads answers: data does so by its values and notices, adapters in code.
pub(super) trait Read {
    /// The facts of an answer that was found to be a good one.
    fn read(&self, said: &Said, about: &About<'_>) -> Facts;
}

impl Read for Request {
    fn read(&self, said: &Said, about: &About<'_>) -> Facts {
        let mut facts = Facts::default();
        for value in &self.value {
            facts.take(value, said, about);
        }
        let name = facts.name.clone().or_else(|| about.name.map(Arc::from));
        for notices in &self.notice {
            notices.read(said, &self.path, name.as_deref(), &mut facts.notices);
        }
        facts.notices.truncate(NOTICES);
        facts
    }
}

impl Facts {
    fn take(&mut self, value: &super::descriptor::Value, said: &Said, about: &About<'_>) {
        let whole = |most: f64| {
            let number = value.number(said)?;
            (number.fract() == 0.0 && (0.0..=most).contains(&number)).then_some(number)
        };
        match value.is {
            Slot::InstanceId => self.instance_id = value.text(said),
            Slot::InstanceType => self.instance_type = value.text(said),
            Slot::Region => self.region = value.text(said),
            Slot::Name => self.name = value.text(said),
            Slot::State => self.state = value.text(said),
            Slot::BillingStarted => {
                // The first of several that is there: when it ran, else when it was made.
                self.billing_started = self
                    .billing_started
                    .or_else(|| value.time(said, about.now))
                    .filter(|at| *at <= about.now);
            }
            Slot::Price => self.price = self.price.or_else(|| value.price(said)),
            Slot::Currency => {
                self.currency = value.text(said).and_then(|code| code.parse().ok());
            }
            Slot::Spot => self.spot = value.text(said).and_then(|word| is_spot(&word)),
            Slot::DeviceCount => self.claims.device_count = whole(1024.0).map(|n| n as u32),
            Slot::Model => self.claims.model = value.text(said),
            Slot::PcieGeneration => self.claims.pcie_generation = whole(7.0).map(|n| n as u8),
            Slot::PcieWidth => self.claims.pcie_width = whole(32.0).map(|n| n as u8),
            Slot::PcieRate => self.claims.pcie_bytes_per_s = value.number(said),
            Slot::PowerLimit => self.claims.power_limit_w = value.number(said),
            Slot::Utilization => {
                self.claims.utilization_ratio = value.number(said);
                self.claims.at = Some(about.now);
            }
            Slot::Temperature => {
                self.claims.temperature_c = value.number(said);
                self.claims.at = Some(about.now);
            }
        }
    }

    /// Takes what a later answer says over what is known; notices are kept by their request.
    pub(super) fn merge(&mut self, other: &Self) {
        fn later<T: Clone>(slot: &mut Option<T>, other: &Option<T>) {
            if other.is_some() {
                slot.clone_from(other);
            }
        }
        later(&mut self.instance_id, &other.instance_id);
        later(&mut self.instance_type, &other.instance_type);
        later(&mut self.region, &other.region);
        later(&mut self.name, &other.name);
        later(&mut self.state, &other.state);
        later(&mut self.billing_started, &other.billing_started);
        later(&mut self.price, &other.price);
        later(&mut self.currency, &other.currency);
        later(&mut self.spot, &other.spot);
        let (mine, theirs) = (&mut self.claims, &other.claims);
        later(&mut mine.device_count, &theirs.device_count);
        later(&mut mine.model, &theirs.model);
        later(&mut mine.pcie_generation, &theirs.pcie_generation);
        later(&mut mine.pcie_width, &theirs.pcie_width);
        later(&mut mine.pcie_bytes_per_s, &theirs.pcie_bytes_per_s);
        later(&mut mine.power_limit_w, &theirs.power_limit_w);
        later(&mut mine.utilization_ratio, &theirs.utilization_ratio);
        later(&mut mine.temperature_c, &theirs.temperature_c);
        later(&mut mine.at, &theirs.at);
        self.runs.extend(&other.runs);
        self.notices.extend(other.notices.iter().cloned());
    }
}

/// Whether a platform's word for the kind of rental means one that can be taken back; `None`: a word that is not known.
fn is_spot(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "spot" | "spotpaid" | "low" | "preemptible" | "true" => Some(true),
        "on-demand" | "regular" | "postpaid_by_hour" | "prepaid" | "false" => Some(false),
        _ => None,
    }
}

impl Notices {
    fn read(&self, said: &Said, path: &str, name: Option<&str>, out: &mut Vec<Notice>) {
        match (said, &self.list) {
            (Said::Text(text), _) => out.extend(self.of_text(text.trim(), path)),
            (Said::Json(json), Some(list)) => {
                let items = json.pointer(list).and_then(Json::as_array);
                let items = items.into_iter().flatten().take(NOTICES);
                out.extend(items.filter_map(|item| self.of_item(item, path, name)));
            }
            (Said::Json(json), None) => out.extend(self.of_item(json, path, name)),
        }
    }

    fn kind_of(&self, word: Option<&str>) -> Option<NoticeKind> {
        let by_word = word.and_then(|word| self.kinds.get(word)).copied();
        by_word.or(self.kind).map(Kind::into)
    }

    fn of_text(&self, said: &str, path: &str) -> Option<Notice> {
        let kind = self.kind_of(Some(said))?;
        let due = self.due.is_some();
        let at = due.then(|| time_of(said, self.zone.as_deref())).flatten();
        // A text that was to be a time and is none is no notice: a page of a portal, an empty line.
        if due && at.is_none() {
            return None;
        }
        let text = self.says.as_deref().map_or_else(|| short(said), short)?;
        Some(Notice {
            id: format!("{path} {said}")
                .chars()
                .take(200)
                .collect::<String>()
                .into(),
            kind,
            at,
            text,
        })
    }

    fn of_item(&self, item: &Json, path: &str, name: Option<&str>) -> Option<Notice> {
        let word = |pointer: &Option<String>| item.pointer(pointer.as_deref()?).and_then(text);
        if let Some(concerns) = &self.concerns {
            let list = item.pointer(concerns).and_then(Json::as_array)?;
            // Events go to all machines of a set. Where our own name is not known, ours may be among them.
            let ours = list
                .iter()
                .filter_map(Json::as_str)
                .any(|one| name.is_none_or(|name| one.eq_ignore_ascii_case(name)));
            if !ours {
                return None;
            }
        }
        if let Some(unless) = &self.unless
            && item
                .pointer(&unless.at)
                .and_then(text)
                .is_some_and(|is| unless.is.iter().any(|w| w.eq_ignore_ascii_case(&is)))
        {
            return None;
        }
        let kind = self.kind_of(word(&self.word).as_deref())?;
        let at = self
            .due
            .as_deref()
            .and_then(|due| time(item.pointer(due)?, self.zone.as_deref()));
        let texts: Vec<Arc<str>> = self
            .text
            .iter()
            .filter_map(|pointer| item.pointer(pointer).and_then(text))
            .take(2)
            .collect();
        let says = self.says.as_deref().map(Arc::from);
        let text = match texts.is_empty() {
            true => says?,
            false => short(&texts.join(": "))?,
        };
        let id = word(&self.id).unwrap_or_else(|| {
            let due = at.map_or_else(String::new, |at| at.to_string());
            format!("{text} {due}").into()
        });
        Some(Notice {
            id: format!("{path} {id}").into(),
            kind,
            at,
            text,
        })
    }
}
