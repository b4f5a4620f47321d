//! What is known, in the words of a catalogue, for documents and text.

use crate::app::platform;
use crate::app::words::{self, Signs};
use crate::model::{DeviceView, PlatformView, ProbeReport, StateWord};
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

    fn next(&self, device: &DeviceView) -> Vec<(String, Option<String>)> {
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

    fn state(&self, word: StateWord) -> String {
        words::state(word, self.t).into_owned()
    }
}
