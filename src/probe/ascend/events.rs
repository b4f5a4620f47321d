//! Error codes that come and go, as events. DCMI is asked for them; the looks are made beside the process lists, so that a
//! device that hangs holds up only its own.

use super::unit::{Question, Round};
use crate::model::{DeviceId, Event, EventKind};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Events that wait to be handed on.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The codes that were set at the last look, over every opening of the library.
    known: Mutex<HashMap<DeviceId, Vec<u32>>>,
    waiting: Mutex<Vec<Event>>,
    came: Condvar,
}

/// More than this many wait for nobody.
const WAITING_MAX: usize = 1024;

impl Events {
    /// Those that came, at once or within `timeout`.
    pub(super) fn wait(&self, timeout: Duration) -> Vec<Event> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .came
            .wait_timeout_while(waiting, timeout, |waiting| waiting.is_empty());
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting)
    }

    /// Looks at a device's error codes.
    pub(super) fn look(&self, round: &Round<'_>) {
        let codes = round.ask(Question::Codes, |library, place| library.codes(place));
        let Ok(mut codes) = codes else { return };
        codes.sort_unstable();
        codes.dedup();
        let before = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(round.unit.device.id.clone(), codes.clone())
        };
        let known = before.as_deref().unwrap_or_default();
        let came = codes.iter().filter(|code| !known.contains(code));
        let went = known.iter().filter(|code| !codes.contains(code));
        let state = match before {
            Some(_) => State::Set,
            // Since when is not known.
            None => State::WasSet,
        };
        let events: Vec<Event> = came
            .map(|code| (*code, state))
            .chain(went.map(|code| (*code, State::Cleared)))
            .map(|(code, state)| told(round, code, state))
            .collect();
        if events.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let room = WAITING_MAX.saturating_sub(waiting.len());
        waiting.extend(events.into_iter().take(room));
        self.came.notify_one();
    }
}

/// What became of an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was set between two looks.
    Set,
    /// It was set when the device was first looked at.
    WasSet,
    Cleared,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::WasSet => "was_set",
            Self::Cleared => "cleared",
        }
    }
}

fn told(round: &Round<'_>, code: u32, state: State) -> Event {
    let unit = round.unit;
    // The driver's words for a code, which is asked once or twice in a session.
    let meaning = match state {
        State::Cleared => None,
        _ => unit.library.code_text(unit.place, code).ok(),
    };
    Event {
        at: jiff::Timestamp::now(),
        device: Some(unit.device.id.clone()),
        kind: EventKind::Notice,
        text: line(code, state, meaning.as_deref()).into(),
        data: [
            ("code", format!("{code:08X}")),
            ("state", state.word().to_owned()),
        ]
        .map(|(name, value)| (Arc::from(name), Arc::from(value)))
        .to_vec(),
    }
}

fn line(code: u32, state: State, meaning: Option<&str>) -> String {
    let what = match state {
        State::Set => "is set",
        State::WasSet => "was set already",
        State::Cleared => "is cleared",
    };
    match meaning.filter(|meaning| !meaning.is_empty()) {
        Some(meaning) => format!("error code {code:08X} {what}: {meaning}"),
        None => format!("error code {code:08X} {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_worded() {
        assert_eq!(
            line(0x8C08_4E00, State::Set, Some("Heartbeat Lost.")),
            "error code 8C084E00 is set: Heartbeat Lost."
        );
        assert_eq!(
            line(0x40, State::Cleared, Some("")),
            "error code 00000040 is cleared"
        );
        assert!(line(1, State::WasSet, None).ends_with("was set already"));
    }

    #[test]
    fn nothing_is_waited_for_longer_than_asked() {
        let events = Events::default();
        assert_eq!(events.wait(Duration::ZERO), vec![]);
    }
}
