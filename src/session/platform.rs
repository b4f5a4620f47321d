//! What the platform says, folded: its price and begin of billing for the ledger, events once each, and where it and
//! the drivers differ.

use super::derive::Moment;
use super::{Session, happen};
use crate::ledger::{Offer, Priced};
use crate::model::{
    BillingStart, BillingStartSource, DeviceId, DeviceKind, Disagreement, Event, EventKind, Notice,
    Platform, PlatformNews, PlatformPrice, PlatformStatus, PlatformView, Price, PriceSource, Tick,
};
use jiff::Timestamp;
use panel::Panel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod compare;
mod panel;

/// An answer that nobody renewed for this long is stale: ten times the politest rate.
const STALE_S: f64 = 300.0;
/// Notices remembered as told.
const TOLD: usize = 256;

/// What is kept of the platform between two ticks; part of Start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PlatformState {
    newest: Option<Arc<Platform>>,
    /// It is being looked for, and nothing is known yet.
    looking: bool,
    /// The newest price: one that is not in an answer (of a stopped instance) is not taken back.
    price: Option<PlatformPrice>,
    /// The event that it does not answer was told.
    stale_told: bool,
    /// Notices that were told.
    told: Vec<Arc<str>>,
    panel: Panel,
}

impl PlatformState {
    /// How good the newest answer is at this instant.
    fn status(&self, at: Timestamp) -> Option<PlatformStatus> {
        let platform = self.newest.as_ref()?;
        let old = platform.is_asked && age(platform, at).is_some_and(|age| age > STALE_S);
        Some(match platform.status {
            PlatformStatus::Fresh if old => PlatformStatus::Stale,
            status => status,
        })
    }
}

/// Seconds since the newest good answer.
fn age(platform: &Platform, at: Timestamp) -> Option<f64> {
    let answered = platform.answered?;
    Some(at.duration_since(answered).as_secs_f64().max(0.0))
}

impl Session {
    /// Whether the platform is still being looked for: a document can wait for it.
    #[must_use]
    pub fn is_looking_for_platform(&self) -> bool {
        self.start.platform.looking
    }

    pub(super) fn platform_news(
        &mut self,
        news: &PlatformNews,
        tick: &Tick,
        events: &mut Vec<Event>,
    ) {
        let state = &mut self.start.platform;
        let platform = match news {
            PlatformNews::Looking => {
                state.looking = true;
                return;
            }
            PlatformNews::Unknown => {
                *state = PlatformState::default();
                self.offer_to_ledger();
                return;
            }
            PlatformNews::Known(platform) => platform,
        };
        state.looking = false;
        let same = state.newest.as_ref().is_some_and(|before| {
            before.name == platform.name && before.instance_id == platform.instance_id
        });
        if !same {
            state.price = None;
            state.told.clear();
            state.panel = Panel::default();
        }
        state.panel.claimed(&platform.claims);
        state.newest = Some(platform.clone());
        for notice in &platform.notices {
            if !state.told.contains(&notice.id) {
                state.told.push(notice.id.clone());
                events.push(notice_event(platform, notice, tick.at));
            }
        }
        let over = state.told.len().saturating_sub(TOLD);
        state.told.drain(..over);
        if platform.price.is_some() {
            state.price.clone_from(&platform.price);
        }
        self.offer_to_ledger();
        if let Some(at) = platform.billing_started.filter(|start| *start <= tick.at) {
            self.ledger.offer_start(BillingStart {
                at,
                source: BillingStartSource::Platform,
            });
        }
    }

    /// With each tick: what the drivers say beside the panel, and whether the platform still answers.
    pub(super) fn platform_after(&mut self, tick: &Tick, events: &mut Vec<Event>) {
        let moment = self.moment();
        let seen = panel::seen(&self.start.devices, moment);
        let state = &mut self.start.platform;
        if state.newest.is_some() {
            state.panel.watch(seen, moment);
        }
        let Some((status, platform)) = state.status(tick.at).zip(state.newest.as_ref()) else {
            return;
        };
        let stale = status != PlatformStatus::Fresh;
        if stale != state.stale_told {
            state.stale_told = stale;
            events.push(status_event(platform, status, tick.at));
        }
    }

    /// What the ledger may know of the platform's bill; flag and file stand before it there.
    pub(super) fn offer_to_ledger(&mut self) {
        let state = &self.start.platform;
        let priced = |price: &PlatformPrice| Priced {
            price: Price {
                per_hour: price.per_hour,
                scope: price.scope,
                source: PriceSource::Platform,
            },
            currency: price.currency.clone(),
            at: Some(price.at),
        };
        let offer = state.newest.as_ref().map(|platform| Offer {
            platform: platform.name.clone(),
            rule: platform.rule.clone(),
            price: state.price.as_ref().map(priced),
            instance_type: platform.instance_type.clone(),
            region: platform.region.clone(),
            spot: platform.spot == Some(true),
        });
        self.ledger.offer(offer);
    }

    /// Whether the platform's scheduler says that the work waits.
    pub(super) fn is_queued(&self) -> bool {
        let newest = self.start.platform.newest.as_ref();
        newest
            .and_then(|p| p.state.as_deref())
            .is_some_and(|state| {
                let state = state.to_ascii_lowercase();
                matches!(
                    state.as_str(),
                    "queue" | "queued" | "in_queue" | "pending" | "queueing"
                )
            })
    }

    /// Where the platform's word and the drivers' differ now.
    pub(super) fn disagreements(&self, moment: Moment) -> Vec<(Option<DeviceId>, Disagreement)> {
        let platform = self.start.platform.newest.as_ref();
        platform.map_or_else(Vec::new, |said| compare::disagreements(self, said, moment))
    }

    pub(super) fn platform_view(&self, moment: Moment) -> Option<PlatformView> {
        let at = self.start.last?.at;
        let state = &self.start.platform;
        let platform = state.newest.clone()?;
        Some(PlatformView {
            status: state.status(at)?,
            age_s: age(&platform, at),
            disagreements: self.disagreements(moment),
            still_bills: platform.still_bills(),
            platform,
        })
    }
}

fn notice_event(platform: &Platform, notice: &Notice, at: Timestamp) -> Event {
    let due = match notice.at {
        Some(due) => format!(", due {due}"),
        None => String::new(),
    };
    let text = format!("{}: {}{due}", platform.title, notice.text);
    let mut data = vec![
        ("kind", notice.kind.word().to_owned()),
        ("platform", platform.name.to_string()),
    ];
    if let Some(due) = notice.at {
        data.push(("at", due.to_string()));
    }
    happen::event(at, None, EventKind::Notice, text, &data)
}

fn status_event(platform: &Platform, status: PlatformStatus, at: Timestamp) -> Event {
    let (kind, text) = match status {
        PlatformStatus::Fresh => (
            EventKind::PlatformRecovered,
            format!("{} answers again", platform.title),
        ),
        PlatformStatus::Stale | PlatformStatus::Refused => {
            let why = platform.trouble.as_deref().unwrap_or("no answer any more");
            let verb = match status {
                PlatformStatus::Refused => "refuses",
                _ => "does not answer",
            };
            (
                EventKind::PlatformStale,
                format!("{} {verb}: {why}", platform.title),
            )
        }
    };
    let data = [
        ("platform", platform.name.to_string()),
        ("status", status.word().to_owned()),
    ];
    happen::event(at, None, kind, text, &data)
}

/// Whether a device counts for the platform: a whole one, not a slice.
pub(super) fn is_whole(kind: DeviceKind) -> bool {
    kind == DeviceKind::Device
}
