//! Keys from the terminal.

use std::io;

use crossterm::event::{Event, EventStream, KeyEvent, KeyEventKind};
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

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
///
/// They are read by a task of their own, which runs when there is something to read: asked with each tick, crossterm would
/// contend each time for the lock of its waiting thread.
#[derive(Debug)]
pub struct Input {
    keys: UnboundedReceiver<Result<KeyEvent, InputError>>,
    task: JoinHandle<()>,
}

impl Input {
    /// Reads the terminal's keys from now on; the screen has to be entered first, and a runtime to be there. The thread
    /// behind it blocks until there is something to read.
    pub fn new() -> Self {
        Self::of(EventStream::new())
    }

    fn of(events: impl Stream<Item = io::Result<Event>> + Unpin + Send + 'static) -> Self {
        let (heard, keys) = unbounded_channel();
        let mut events = events;
        let task = tokio::spawn(async move {
            loop {
                let key = next(&mut events).await;
                let last = key.is_err();
                if heard.send(key).is_err() || last {
                    return;
                }
            }
        });
        Self { keys, task }
    }

    /// The next key pressed. Dropping the future loses none.
    ///
    /// # Errors
    /// When no more keys will come; do not ask again then.
    pub async fn next(&mut self) -> Result<KeyEvent, InputError> {
        self.keys.recv().await.unwrap_or(Err(InputError::Closed))
    }
}

impl Default for Input {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn next(
    events: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
) -> Result<KeyEvent, InputError> {
    loop {
        match events.next().await {
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
            let mut events = stream::iter([
                key('a', KeyEventKind::Press),
                key('a', KeyEventKind::Release),
                Ok(Event::Resize(1, 1)),
                Ok(Event::Paste("q".into())),
                Err(io::ErrorKind::Interrupted.into()),
                key('b', KeyEventKind::Repeat),
                Err(io::Error::from_raw_os_error(5)),
                Err(io::Error::other("no reader")),
            ]);
            for code in ['a', 'b'] {
                let key = next(&mut events).await.unwrap();
                assert_eq!(
                    (key.code, key.kind),
                    (KeyCode::Char(code), KeyEventKind::Press)
                );
            }
            assert!(matches!(next(&mut events).await, Err(InputError::Closed)));
            assert!(matches!(
                next(&mut events).await,
                Err(InputError::Failed(_))
            ));
            assert!(matches!(next(&mut events).await, Err(InputError::Closed)));
        });
    }

    #[test]
    fn the_task_that_reads_hands_on_keys_and_the_end() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let events = [key('a', KeyEventKind::Press), key('b', KeyEventKind::Press)];
            let mut input = Input::of(stream::iter(events));
            for code in ['a', 'b'] {
                assert_eq!(input.next().await.unwrap().code, KeyCode::Char(code));
            }
            for _ in 0..2 {
                assert!(matches!(input.next().await, Err(InputError::Closed)));
            }
        });
    }
}
