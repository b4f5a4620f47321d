//! Keys from the terminal.

use std::io;

use crossterm::event::{Event, EventStream, KeyEvent, KeyEventKind};
use futures_util::{Stream, StreamExt};

/// No more keys will come.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The terminal is gone: end as after a hang-up.
    #[error("the terminal was closed")]
    Closed,
    /// Keys cannot be read.
    #[error("reading keys from the terminal failed: {0}; use `nameplate once`")]
    Failed(#[source] io::Error),
}

/// The keys pressed, one after another. A key that is held down counts as pressed again.
#[derive(Debug)]
pub struct Input<S = EventStream> {
    events: S,
}

impl Input {
    /// Reads the terminal's keys from now on; the screen has to be entered first. The thread behind it blocks until
    /// there is something to read.
    pub fn new() -> Self {
        Self {
            events: EventStream::new(),
        }
    }
}

impl Default for Input {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Stream<Item = io::Result<Event>> + Unpin> Input<S> {
    /// The next key pressed. Dropping the future loses none.
    ///
    /// # Errors
    /// When no more keys will come; do not ask again then.
    pub async fn next(&mut self) -> Result<KeyEvent, InputError> {
        loop {
            match self.events.next().await {
                Some(Ok(event)) => {
                    if let Some(key) = pressed(event) {
                        return Ok(key);
                    }
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Some(Err(error)) if super::is_hangup(&error) => return Err(InputError::Closed),
                Some(Err(error)) => return Err(InputError::Failed(error)),
                None => return Err(InputError::Closed),
            }
        }
    }
}

/// The key of an event that is a press; releases, the mouse, focus and pasted text are none, and sizes come by signal.
fn pressed(event: Event) -> Option<KeyEvent> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(KeyEvent {
            kind: KeyEventKind::Press,
            ..key
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};
    use futures_util::stream;

    fn key(code: char, kind: KeyEventKind) -> io::Result<Event> {
        Ok(Event::Key(KeyEvent::new_with_kind(
            KeyCode::Char(code),
            KeyModifiers::NONE,
            kind,
        )))
    }

    #[test]
    fn only_presses_come_through_and_the_end_is_told() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let events = stream::iter([
                key('a', KeyEventKind::Press),
                key('a', KeyEventKind::Release),
                Ok(Event::Resize(1, 1)),
                Ok(Event::Paste("q".into())),
                Err(io::ErrorKind::Interrupted.into()),
                key('b', KeyEventKind::Repeat),
                Err(io::Error::from_raw_os_error(5)),
                Err(io::Error::other("no reader")),
            ]);
            let mut input = Input { events };
            for code in ['a', 'b'] {
                let key = input.next().await.unwrap();
                assert_eq!(
                    (key.code, key.kind),
                    (KeyCode::Char(code), KeyEventKind::Press)
                );
            }
            assert!(matches!(input.next().await, Err(InputError::Closed)));
            assert!(matches!(input.next().await, Err(InputError::Failed(_))));
            assert!(matches!(input.next().await, Err(InputError::Closed)));
        });
    }
}
