//! Keys of a terminal that is not taken: lines are written to it as to a pipe, and what is typed comes without Enter and
//! is not echoed.

use super::screen::in_foreground;
use super::signals::{Signal, Signals, stop};
use super::{Input, InputError};
use crossterm::event::{KeyCode, KeyModifiers};
use rustix::termios::{LocalModes, OptionalActions, Termios};
use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The terminal's modes before keys were listened to; none while it is the shell's.
static CHANGED: Mutex<Option<Termios>> = Mutex::new(None);

/// What somebody who reads lines asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// All of it again.
    Again,
    /// To end.
    End,
}

/// The keys and signals of the terminal on standard input. Dropping it gives the terminal its modes back.
#[derive(Debug)]
pub struct Typed {
    /// None while the terminal is another's (`bg`).
    keys: Option<Input>,
    signals: Signals,
}

impl Drop for Typed {
    fn drop(&mut self) {
        give_back();
    }
}

impl Typed {
    /// Listens from now on. `None` where standard input is no terminal, or another program's at present.
    ///
    /// # Errors
    /// When called outside a runtime with I/O, or when the system refuses a handler, a thread or a mode.
    pub fn listen() -> io::Result<Option<Self>> {
        if !rustix::termios::isatty(rustix::stdio::stdin()) || !in_foreground() {
            return Ok(None);
        }
        let terminal = io::stdin().as_fd().try_clone_to_owned()?;
        let signals = Signals::listen(Some(terminal))?;
        take()?;
        Ok(Some(Self {
            keys: Some(Input::new()),
            signals,
        }))
    }

    /// What is asked for next. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The terminal refuses its modes.
    pub async fn next(&mut self) -> io::Result<Asked> {
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => match signal {
                    Signal::Terminate | Signal::Hangup | Signal::Interrupt => return Ok(Asked::End),
                    Signal::Suspend => {
                        give_back();
                        if !stop()? {
                            take()?;
                        }
                    }
                    Signal::Continue => self.go_on()?,
                    Signal::Resize => {}
                },
                key = key(self.keys.as_mut()) => match key {
                    Ok((KeyCode::Enter | KeyCode::Char(' '), _)) => return Ok(Asked::Again),
                    Ok((KeyCode::Char('q'), _)) => return Ok(Asked::End),
                    // Where Ctrl-C is a key, whoever set the terminal so.
                    Ok((KeyCode::Char('c'), KeyModifiers::CONTROL)) => return Ok(Asked::End),
                    Ok(_) => {}
                    // Its end comes as a signal.
                    Err(InputError::Closed | InputError::Failed(_)) => self.keys = None,
                },
            }
        }
    }

    /// After a stop: the terminal may be another's now.
    fn go_on(&mut self) -> io::Result<()> {
        if in_foreground() {
            take()?;
            self.keys.get_or_insert_with(Input::new);
        } else {
            self.keys = None;
        }
        Ok(())
    }
}

async fn key(keys: Option<&mut Input>) -> Result<(KeyCode, KeyModifiers), InputError> {
    match keys {
        Some(keys) => keys.next().await.map(|key| (key.code, key.modifiers)),
        None => std::future::pending().await,
    }
}

/// Keys one by one and without an echo; Ctrl-C and Ctrl-Z stay signals, and lines are written as before.
fn take() -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let now = rustix::termios::tcgetattr(stdin)?;
    let mut modes = now.clone();
    modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    rustix::termios::tcsetattr(stdin, OptionalActions::Now, &modes)?;
    changed().get_or_insert(now);
    Ok(())
}

/// Gives the terminal the modes that it had: once, however often it is called.
pub(super) fn give_back() {
    let original = changed().take();
    // In the background the modes are another's already, and setting them would stop us.
    if let Some(original) = original.filter(|_| in_foreground()) {
        let stdin = rustix::stdio::stdin();
        if let Err(error) = rustix::termios::tcsetattr(stdin, OptionalActions::Now, &original) {
            tracing::debug!(%error, "could not give the terminal its modes back");
        }
    }
}

/// Nothing that can panic happens under this lock; a poisoned one is as good.
fn changed() -> MutexGuard<'static, Option<Termios>> {
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner)
}
