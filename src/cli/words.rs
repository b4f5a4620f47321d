//! What is known, in the words of a catalogue, for documents and text.

use crate::app::platform;
use crate::app::words::{self, Signs};
use crate::app::{blind, verdicts};
use crate::model::{
    CannotSee, Cause, Confidence, DeviceView, Episode, Evidence, PlatformView, ProbeReport,
    Rejected, Snapshot, StateWord,
};
use crate::publish::Words;
use crate::text::Catalogue;

/// The words of one language.
#[derive(Clone, Copy)]
pub struct CatalogueWords {
    t: Catalogue,
    signs: Signs,
}

impl CatalogueWords {
    /// With `ascii` the few signs in sentences have their ASCII twins.
    #[must_use]
    pub fn new(t: Catalogue, ascii: bool) -> Self {
        Self {
            t,
            signs: if ascii { Signs::ASCII } else { Signs::UNICODE },
        }
    }
}

impl Words for CatalogueWords {
    fn known(&self, device: &DeviceView) -> String {
        match device.known.first() {
            Some(known) => words::known(&known.kind, self.t, self.signs).into_owned(),
            None => words::state(device.word, self.t).into_owned(),
        }
    }

    fn verdict(&self, device: &DeviceView) -> String {
        verdicts::of_device(device, self.t, self.signs).into_owned()
    }

    fn episode(&self, episode: &Episode) -> String {
        verdicts::of_episode(episode, self.t, self.signs).into_owned()
    }

    fn episode_next(
        &self,
        episode: &Episode,
        device: &DeviceView,
    ) -> Vec<(String, Option<String>)> {
        verdicts::next(episode.cause, &episode.evidence, device, self.t)
    }

    fn evidence(&self, evidence: &Evidence) -> [String; 4] {
        [
            verdicts::witness(evidence.witness, self.t),
            verdicts::number(evidence.witness, evidence.value, self.t, self.signs),
            verdicts::bound(evidence, self.t, self.signs),
            verdicts::whose(evidence.whose, self.t),
        ]
        .map(Into::into)
    }

    fn cause(&self, cause: Cause) -> String {
        verdicts::cause(cause, self.t).into_owned()
    }

    fn confidence(&self, confidence: Confidence) -> String {
        verdicts::confidence(confidence, self.t).into_owned()
    }

    fn cannot_see(&self, snapshot: &Snapshot) -> Vec<CannotSee> {
        blind::cannot_see(snapshot, self.t)
    }

    fn rejected(&self, rejected: &Rejected) -> String {
        verdicts::rejected(rejected, self.t, self.signs).into_owned()
    }

    fn next(&self, device: &DeviceView) -> Vec<(String, Option<String>)> {
        if let Some(steps) = verdicts::next_of_device(device, self.t) {
            return steps;
        }
        let Some((command, ask_provider)) = words::next(device, self.t) else {
            return Vec::new();
        };
        let mut steps = vec![("look closer".to_owned(), Some(command.into_owned()))];
        if ask_provider {
            steps.push((
                "send what it says to the provider's support".to_owned(),
                None,
            ));
        }
        steps
    }

    fn probe_next(&self, probe: &ProbeReport) -> Option<String> {
        words::probe_next(probe, self.t).map(Into::into)
    }

    fn probe_status(&self, probe: &ProbeReport) -> String {
        words::probe_status(probe, self.t).into_owned()
    }

    fn platform(&self, view: &PlatformView, at: jiff::Timestamp) -> Vec<String> {
        platform::pieces(view, at, self.t, self.signs)
    }

    fn throttle(&self, name: &str) -> String {
        words::throttle(name, self.t).into_owned()
    }

    fn state(&self, word: StateWord) -> String {
        words::state(word, self.t).into_owned()
    }
}
