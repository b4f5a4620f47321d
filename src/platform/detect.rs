//! Which platform is this: what the user says, then the environment, the first process's, the firmware's strings, and
//! last the metadata addresses, all at once and once only. Inside a container the environment outranks the host's cloud.

use super::ask::{Asked, Asker, Outcome};
use super::catalogue::Known;
use super::descriptor::{Descriptor, Place, Request};
use super::engine::step;
use super::http::Client;
use super::reader::About;
use super::surroundings::Surroundings;
use crate::model::{DetectedBy, Step, StepKind, StepResult};
use jiff::Timestamp;
use std::time::Duration;

/// A metadata address has this long to be there.
const PROBE: Duration = Duration::from_millis(500);

/// What detection may use.
pub(super) struct Means<'a> {
    pub(super) here: &'a Surroundings,
    pub(super) client: &'a Client,
    pub(super) url: Option<&'a str>,
    /// Metadata addresses may be asked.
    pub(super) network: bool,
    /// Why not, where they may not.
    pub(super) why_not: &'static str,
    pub(super) now: Timestamp,
}

/// What was tried for one platform.
#[derive(Default)]
pub(super) struct Tried {
    pub(super) steps: Vec<Step>,
    by: Option<DetectedBy>,
    asked: bool,
}

/// What was tried for each, in their order, and which it is.
pub(super) struct Detection {
    pub(super) tried: Vec<Tried>,
    pub(super) chosen: Option<(usize, DetectedBy)>,
    pub(super) asked_network: bool,
}

impl Detection {
    /// Whether anything here says that it is this one.
    pub(super) fn is_detected(&self, place: usize) -> bool {
        self.tried
            .get(place)
            .is_some_and(|tried| tried.by.is_some())
    }
}

/// Looks for all, and chooses.
pub(super) fn detect(
    all: &[Known],
    wanted: Option<(&str, DetectedBy)>,
    means: &Means<'_>,
) -> Detection {
    let mut tried: Vec<Tried> = all
        .iter()
        .map(|known| locally(&known.descriptor, means.here))
        .collect();
    let wanted = wanted.and_then(|(name, by)| {
        let place = all.iter().position(|known| known.descriptor.name == name)?;
        Some((place, by))
    });
    let mut chosen = wanted.or_else(|| best(&tried));
    let mut asked_network = false;
    if chosen.is_none() && means.network {
        ask_all(all, means, &mut tried);
        asked_network = tried.iter().any(|one| one.asked);
        chosen = best(&tried);
    } else {
        let why = if chosen.is_some() {
            "it is known already"
        } else {
            means.why_not
        };
        // The chosen one's own requests tell of themselves.
        let place_of_chosen = chosen.map(|(place, _)| place);
        for (place, (known, one)) in all.iter().zip(&mut tried).enumerate() {
            if let Some(request) =
                proof(&known.descriptor).filter(|_| place_of_chosen != Some(place))
            {
                one.steps.push(step(request, &Asked::not_asked(why)));
            }
        }
    }
    Detection {
        tried,
        chosen,
        asked_network,
    }
}

/// The surest of what was found; of two as sure the first in the list.
fn best(tried: &[Tried]) -> Option<(usize, DetectedBy)> {
    const ORDER: [DetectedBy; 4] = [
        DetectedBy::Environment,
        DetectedBy::Pid1Environment,
        DetectedBy::Dmi,
        DetectedBy::Metadata,
    ];
    ORDER.iter().find_map(|by| {
        let place = tried.iter().position(|one| one.by == Some(*by))?;
        Some((place, *by))
    })
}

/// What this host itself says, without any network.
fn locally(descriptor: &Descriptor, here: &Surroundings) -> Tried {
    let mut tried = Tried::default();
    for set in &descriptor.detect.environment {
        let all = !set.is_empty() && set.iter().all(|name| here.variable(name).is_some());
        tried.note(StepKind::Environment, set.join(" and "), whether(all), None);
        if all {
            tried.by.get_or_insert(DetectedBy::Environment);
            continue;
        }
        // Some of a set may stand in one place and some in the other.
        let found: Result<Vec<bool>, StepResult> = set
            .iter()
            .map(|name| here.first_variable(name).map(|value| value.is_some()))
            .collect();
        let result = found.map_or_else(
            |why| why,
            |list| whether(!list.is_empty() && list.iter().all(|there| *there)),
        );
        tried.note(StepKind::Pid1Environment, set.join(" and "), result, None);
        if result == StepResult::Match {
            tried.by.get_or_insert(DetectedBy::Pid1Environment);
        }
    }
    for dmi in &descriptor.detect.dmi {
        let (result, text) = match here.dmi(&dmi.file) {
            Ok(text) => {
                let is = dmi.is.as_deref().is_some_and(|is| is == text)
                    || dmi
                        .begins
                        .as_deref()
                        .is_some_and(|begin| text.starts_with(begin));
                let result = if is {
                    StepResult::Match
                } else {
                    StepResult::NoMatch
                };
                (result, Some(text))
            }
            Err(why) => (why, None),
        };
        tried.note(StepKind::Dmi, dmi.file.clone(), result, text);
        if result == StepResult::Match {
            tried.by.get_or_insert(DetectedBy::Dmi);
        }
    }
    tried
}

fn whether(all: bool) -> StepResult {
    if all {
        StepResult::Match
    } else {
        StepResult::Absent
    }
}

impl Tried {
    fn note(&mut self, kind: StepKind, what: String, result: StepResult, text: Option<String>) {
        self.steps.push(Step {
            kind,
            what,
            result,
            http_status: None,
            ms: None,
            text,
        });
    }
}

/// The request whose good answer shows which platform this is.
fn proof(descriptor: &Descriptor) -> Option<&Request> {
    let mut all = descriptor.request.iter();
    all.find(|request| request.place == Place::Metadata && !request.proof.is_empty())
}

/// Asks all metadata addresses at once.
fn ask_all(all: &[Known], means: &Means<'_>, tried: &mut [Tried]) {
    std::thread::scope(|scope| {
        let asking: Vec<_> = all
            .iter()
            .map(|known| {
                let request = proof(&known.descriptor)?;
                let mut asker = Asker::new(
                    known.descriptor.clone(),
                    means.client.clone(),
                    means.url.map(str::to_owned),
                    None,
                );
                let about = About {
                    now: means.now,
                    name: None,
                };
                let thread = std::thread::Builder::new().name("metadata".to_owned());
                let handle = thread
                    .spawn_scoped(scope, move || asker.ask(request, &about, Some(PROBE), None))
                    .ok()?;
                Some((request, handle))
            })
            .collect();
        for (one, asking) in tried.iter_mut().zip(asking) {
            let Some((request, handle)) = asking else {
                continue;
            };
            let asked = handle
                .join()
                .unwrap_or_else(|_| Asked::not_asked("the thread ended"));
            one.asked |= !matches!(asked.outcome, Outcome::NotAsked(_));
            if matches!(asked.outcome, Outcome::Facts(_)) {
                one.by.get_or_insert(DetectedBy::Metadata);
            }
            one.steps.push(step(request, &asked));
        }
    });
}
