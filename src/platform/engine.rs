//! A platform's requests in turn, each at its pace, and the one answer that they make together.

use super::ask::{Asked, Asker, Outcome};
use super::descriptor::{Descriptor, Place, Request, Slot, State, Terms};
use super::pace::{Asks, Pace, chance};
use super::reader::{About, Facts};
use super::surroundings::Surroundings;
use super::value::short;
use crate::model::{
    DetectedBy, Event, Platform, PlatformPrice, PlatformStatus, Step, StepKind, StepResult,
};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request and what it has said.
struct Part {
    request: Request,
    pace: Pace,
    facts: Option<(Facts, Timestamp)>,
    last: Option<Asked>,
    /// Somebody waits for its next answer already.
    waits: bool,
}

impl Part {
    /// What others may know without it is no reason to call the whole stale.
    fn is_main(&self) -> bool {
        self.request.notice.is_empty()
    }
}

/// A platform that is asked again and again.
pub(super) struct Engine {
    pub(super) asker: Asker,
    detected_by: DetectedBy,
    parts: Vec<Part>,
    /// What variables say outright.
    known: Facts,
    /// The newest end of a run that was told.
    told: Option<Timestamp>,
    /// Nothing may be asked.
    silent: bool,
    /// Why a key is not used, where one lies here.
    trouble: Option<String>,
}

impl Engine {
    pub(super) fn new(
        asker: Asker,
        detected_by: DetectedBy,
        here: &Surroundings,
        silent: bool,
        trouble: Option<String>,
    ) -> Self {
        let now = Instant::now();
        let parts = asker
            .descriptor
            .request
            .iter()
            .filter(|request| asker.concerns(request))
            .map(|request| Part {
                request: request.clone(),
                pace: Pace::new(Duration::from_secs(request.every_s), now),
                facts: None,
                last: None,
                waits: false,
            })
            .collect();
        Self {
            known: of_variables(&asker.descriptor, here),
            detected_by,
            told: None,
            parts,
            asker,
            silent,
            trouble,
        }
    }

    /// Whether there is anything to ask.
    pub(super) fn asks(&self) -> bool {
        !self.silent && !self.parts.is_empty()
    }

    /// Asks what is due. Where nobody was reached at a place, the others there wait as well.
    pub(super) fn turn(&mut self, at: Timestamp) {
        if !self.asks() {
            return;
        }
        let mut unreached: Vec<(Place, Asked)> = Vec::new();
        let mut name = self.facts().name;
        for part in &mut self.parts {
            let now = Instant::now();
            if !part.pace.is_due(now) {
                continue;
            }
            let place = part.request.place;
            let asked = match unreached.iter().find(|(known, _)| *known == place) {
                Some((_, asked)) => asked.clone(),
                None => {
                    let about = About {
                        now: at,
                        name: name.as_deref(),
                    };
                    self.asker.ask(&part.request, &about, None, None)
                }
            };
            if asked.unreached {
                unreached.push((place, asked.clone()));
            }
            part.take(asked, Instant::now(), at);
            if let Some((facts, _)) = &part.facts
                && facts.name.is_some()
            {
                name.clone_from(&facts.name);
            }
        }
    }

    /// When the next request is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let parts = self.parts.iter().map(|part| part.pace.due());
        parts.min().filter(|_| self.asks())
    }

    /// The requests that wait for a change, each once, when the platform has answered it for the first time: their places,
    /// and the tag of what was answered. They are not asked in turn any more.
    pub(super) fn waiting(&mut self) -> Vec<(usize, Request, Option<String>)> {
        let now = Instant::now();
        let mut waiting = Vec::new();
        for (place, part) in self.parts.iter_mut().enumerate() {
            let answered = matches!(
                part.last.as_ref().map(|asked| &asked.outcome),
                Some(Outcome::Facts(_) | Outcome::Nothing)
            );
            if part.request.waits_s.is_some() && answered && !part.waits {
                part.waits = true;
                part.pace.never(now);
                let etag = part.last.as_ref().and_then(|asked| asked.etag.clone());
                waiting.push((place, part.request.clone(), etag));
            }
        }
        waiting
    }

    /// Takes what a waiting request was answered.
    pub(super) fn heard(&mut self, place: usize, asked: Asked, at: Timestamp) {
        if let Some(part) = self.parts.get_mut(place) {
            let now = Instant::now();
            part.take(asked, now, at);
            part.pace.never(now);
        }
    }

    /// Everything that is known, the newest last.
    fn facts(&self) -> Facts {
        let mut facts = self.known.clone();
        for (said, _) in self.parts.iter().filter_map(|part| part.facts.as_ref()) {
            facts.merge(said);
        }
        facts
    }

    /// The runs that are over and were not told yet, as events.
    pub(super) fn runs(&mut self, at: Timestamp) -> Vec<Event> {
        let mut runs = self.facts().runs;
        let told = self.told;
        runs.retain(|run| told.is_none_or(|told| run.last_at > told));
        runs.sort_by_key(|run| run.last_at);
        self.told = runs.last().map(|run| run.last_at).or(told);
        let title = short(&self.asker.descriptor.title);
        let title = title.unwrap_or_else(|| self.asker.descriptor.name.as_str().into());
        runs.iter().map(|run| run.event(at, &title)).collect()
    }

    /// The one answer.
    pub(super) fn platform(&self) -> Platform {
        let descriptor = &self.asker.descriptor;
        let facts = self.facts();
        let meaning = facts
            .state
            .as_deref()
            .and_then(|state| state_of(descriptor, state));
        let (status, trouble) = self.status();
        let mut claims = facts.claims.clone();
        let row = facts.instance_type.as_deref().and_then(|name| {
            descriptor
                .types
                .iter()
                .find(|row| row.name.eq_ignore_ascii_case(name))
        });
        if let Some(row) = row {
            claims.device_count.get_or_insert(row.count);
            claims
                .model
                .get_or_insert_with(|| row.model.as_str().into());
        }
        Platform {
            name: descriptor.name.as_str().into(),
            title: short(&descriptor.title).unwrap_or_else(|| descriptor.name.as_str().into()),
            detected_by: self.detected_by,
            instance_id: facts
                .instance_id
                .clone()
                .or_else(|| self.asker.instance.clone()),
            instance_type: facts.instance_type.clone(),
            region: facts.region.clone(),
            state: facts.state.clone(),
            billed_by_state: meaning.and_then(|meaning| meaning.billed),
            runs: meaning.map(|meaning| meaning.runs),
            billing_started: facts.billing_started,
            price: self.price(&facts),
            spot: facts.spot,
            rule: descriptor.rule.as_deref().map(Arc::from),
            notices: facts.notices.clone(),
            claims,
            status,
            answered: self.answered(),
            is_asked: self.asks(),
            trouble: trouble.map(Arc::from),
        }
    }

    fn price(&self, facts: &Facts) -> Option<PlatformPrice> {
        let terms = &self.asker.descriptor.price;
        let at = self
            .parts
            .iter()
            .filter_map(|part| part.facts.as_ref())
            .rfind(|(said, _)| said.price.is_some())
            .map(|(_, at)| *at)?;
        priced(facts, terms, at)
    }

    /// When the newest good answer came.
    fn answered(&self) -> Option<Timestamp> {
        let has_main = self.parts.iter().any(Part::is_main);
        self.parts
            .iter()
            .filter(|part| part.is_main() || !has_main)
            .filter_map(|part| part.facts.as_ref().map(|(_, at)| *at))
            .max()
    }

    /// How good the newest round was, and why it is not better.
    fn status(&self) -> (PlatformStatus, Option<String>) {
        if !self.asks() {
            return (PlatformStatus::Fresh, None);
        }
        let mut status = PlatformStatus::Fresh;
        let mut why = None;
        let mut aside = None;
        for part in &self.parts {
            let outcome = part.last.as_ref().map(|asked| &asked.outcome);
            let (worse, text) = match outcome {
                Some(Outcome::Facts(_) | Outcome::Nothing) => continue,
                Some(Outcome::Refused(text)) => (PlatformStatus::Refused, text.as_str()),
                Some(Outcome::Failed(_, text)) => (PlatformStatus::Stale, text.as_str()),
                Some(Outcome::NotAsked(text)) => (
                    PlatformStatus::Stale,
                    self.trouble.as_deref().unwrap_or(text),
                ),
                None => (PlatformStatus::Stale, "it has not answered yet"),
            };
            let text = format!(
                "{} {}: {text}",
                part.request.method.word(),
                bare(&part.request.path)
            );
            if !part.is_main() {
                aside.get_or_insert(format!("notices cannot be read: {text}"));
            } else if status == PlatformStatus::Fresh || worse == PlatformStatus::Refused {
                if status != worse {
                    why = Some(text);
                }
                status = worse;
            }
        }
        (status, why.or(aside))
    }

    /// What was asked, for the report.
    pub(super) fn steps(&self) -> Vec<Step> {
        self.parts
            .iter()
            .filter_map(|part| part.last.as_ref().map(|asked| step(&part.request, asked)))
            .collect()
    }

    /// Whether anything went out.
    pub(super) fn has_asked(&self) -> bool {
        self.parts
            .iter()
            .filter_map(|part| part.last.as_ref())
            .any(|asked| !matches!(asked.outcome, Outcome::NotAsked(_)))
    }
}

impl Part {
    fn take(&mut self, asked: Asked, now: Instant, at: Timestamp) {
        let asks = Asks::of(
            asked.retry_after.as_deref(),
            asked.rate_limit.as_deref(),
            at,
        );
        match &asked.outcome {
            Outcome::Facts(facts) => {
                self.facts = Some((facts.as_ref().clone(), at));
                self.pace.good(now, asks);
            }
            Outcome::Nothing => {
                self.facts = Some((Facts::default(), at));
                self.pace.good(now, asks);
            }
            Outcome::Refused(_) | Outcome::Failed(..) | Outcome::NotAsked(_) => {
                self.pace.bad(now, asks, chance());
            }
        }
        self.last = Some(asked);
    }
}

/// A path without its query.
fn bare(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// One request as a step of the report.
pub(super) fn step(request: &Request, asked: &Asked) -> Step {
    let (result, text) = match &asked.outcome {
        Outcome::Facts(_) => (StepResult::Match, None),
        Outcome::Nothing => (
            StepResult::Absent,
            Some("there is nothing, as usual".to_owned()),
        ),
        Outcome::Refused(text) => (StepResult::Refused, Some(text.clone())),
        Outcome::Failed(result, text) => (*result, Some(text.clone())),
        Outcome::NotAsked(text) => (StepResult::NotAsked, Some(text.clone())),
    };
    Step {
        kind: match request.place {
            Place::Metadata => StepKind::Metadata,
            Place::Api => StepKind::Api,
        },
        what: format!("{} {}", request.method.word(), request.path),
        result,
        http_status: asked.status,
        ms: asked.ms,
        text,
    }
}

/// The price that was told; one in no currency that is known is none.
fn priced(facts: &Facts, terms: &Terms, at: Timestamp) -> Option<PlatformPrice> {
    Some(PlatformPrice {
        per_hour: facts.price?,
        currency: facts
            .currency
            .clone()
            .or_else(|| terms.currency.parse().ok())?,
        scope: terms.scope,
        at,
    })
}

/// What a state means, whatever its case.
fn state_of(descriptor: &Descriptor, state: &str) -> Option<State> {
    let mut all = descriptor.states.iter();
    all.find(|(name, _)| name.eq_ignore_ascii_case(state))
        .map(|(_, meaning)| *meaning)
}

/// What variables say outright.
fn of_variables(descriptor: &Descriptor, here: &Surroundings) -> Facts {
    let mut facts = Facts::default();
    for variable in &descriptor.variable {
        let Some(value) = here.either(&variable.name).as_deref().and_then(short) else {
            continue;
        };
        match variable.is {
            Slot::InstanceType => facts.instance_type = Some(value),
            Slot::Region => facts.region = Some(value),
            Slot::Name => facts.name = Some(value),
            Slot::DeviceCount => {
                facts.claims.device_count = value.parse().ok().filter(|n| (1..=1024).contains(n));
            }
            Slot::Model => facts.claims.model = Some(value),
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_price_without_a_currency_is_none_and_not_dollars() {
        let facts = Facts {
            price: Some("2.10".parse().unwrap()),
            ..Facts::default()
        };
        let terms = |currency: &str| Terms {
            currency: currency.to_owned(),
            ..Terms::default()
        };
        let at = Timestamp::UNIX_EPOCH;
        for unknown in ["", "credits"] {
            assert_eq!(priced(&facts, &terms(unknown), at), None, "{unknown}");
        }
        let price = priced(&facts, &terms("CNY"), at).unwrap();
        assert_eq!(price.currency.code(), "CNY");
        let told = Facts {
            currency: "EUR".parse().ok(),
            ..facts
        };
        let price = priced(&told, &terms(""), at).unwrap();
        assert_eq!(price.currency.code(), "EUR");
    }
}
