//! The screen's loop: ticks, keys and signals in, frames out. Nothing here blocks but the terminal itself.

use super::look::Look;
use super::tape::{Tape, played};
use super::terminal::{self, Input, InputError, Screen, ScreenError, Signal, Signals};
use super::views;
use crate::app::keymap::Key;
use crate::app::playback::{Order, Played};
use crate::app::{App, Effect, News};
use crate::model::{Control, FeedHandle};
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use crossterm::queue;
use std::io;
use tokio::sync::mpsc::UnboundedReceiver;

/// A started source with the state that it fills.
pub struct Running {
    /// The state.
    pub app: App,
    /// Ticks, and what else the source tells, as it comes.
    pub news: UnboundedReceiver<News>,
    /// Steers the source.
    pub feed: FeedHandle,
    /// The recording that can be looked into, where there is one.
    pub tape: Option<Tape>,
}

/// Which source the user wants now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The one that the program was started for.
    First,
    /// The demo.
    Demo,
}

/// Why the screen ended badly.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The terminal cannot be used.
    #[error(transparent)]
    Screen(#[from] ScreenError),
    /// Keys or signals cannot be had.
    #[error("reading keys and signals failed: {0}; use `nameplate once`")]
    Input(#[source] io::Error),
    /// A source could not be started.
    #[error("{0}")]
    Source(String),
}

/// Runs the screen until the user quits or the terminal is gone. `source` starts what is wanted.
///
/// # Errors
/// The terminal cannot be used, or a source cannot be started.
pub async fn run(
    look: &Look,
    source: &mut dyn FnMut(Wanted) -> Result<Running, String>,
) -> Result<(), RunError> {
    let mut screen = Screen::enter()?;
    let mut signals = Signals::listen(screen.descriptor().ok()).map_err(RunError::Input)?;
    let mut input = Input::new();
    let mut running = source(Wanted::First).map_err(RunError::Source)?;
    draw(&mut screen, &mut running.app, look)?;
    let mut ended = false;
    loop {
        let effect = tokio::select! {
            biased;
            signal = signals.next() => match signal {
                Signal::Resize => { screen.resize(); None }
                Signal::Continue => { screen.resume()?; None }
                Signal::Suspend => Some(Effect::Suspend),
                Signal::Terminate | Signal::Hangup | Signal::Interrupt => Some(Effect::Quit),
            },
            key = input.next() => match key {
                Ok(key) => key_of(key).and_then(|key| running.app.press(key, look.text)),
                Err(InputError::Closed) => Some(Effect::Quit),
                Err(InputError::Failed(error)) => return Err(RunError::Input(error)),
            },
            news = running.news.recv(), if !ended => {
                match news {
                    Some(news) => take(&mut running, news),
                    // A source that has ended leaves its last picture; keys go on.
                    None => ended = true,
                }
                None
            },
            played = played(running.tape.as_mut()) => {
                match played {
                    Played::Frame(frame) => running.app.show(frame),
                    Played::Failed(reason) => running.app.playback_failed(&reason, look.text),
                }
                None
            },
        };
        match effect {
            Some(Effect::Quit) => break,
            Some(Effect::Interval(interval)) => running.feed.tell(Control::Interval(interval)),
            Some(Effect::Speed(speed)) => running.feed.tell(Control::Speed(speed)),
            Some(Effect::Play(order)) => ask(&mut running, order, look),
            Some(Effect::Copy(text)) => copy(&mut screen, &text)?,
            Some(Effect::Mark(text)) => running.feed.tell(Control::Mark(text)),
            Some(Effect::Redraw) => screen.repaint(),
            Some(Effect::Suspend) => {
                let ended = terminal::suspend(&mut screen, &mut signals).await?;
                if ended.is_some_and(Signal::ends) {
                    break;
                }
            }
            Some(effect @ (Effect::Demo | Effect::Retry)) => {
                running.feed.tell(Control::Stop);
                let wanted = if effect == Effect::Demo {
                    Wanted::Demo
                } else {
                    Wanted::First
                };
                running = source(wanted).map_err(RunError::Source)?;
                ended = false;
            }
            None => {}
        }
        match draw(&mut screen, &mut running.app, look) {
            Err(RunError::Screen(error)) if error.is_hangup() => break,
            drawn => drawn?,
        }
    }
    running.feed.tell(Control::Stop);
    match screen.leave() {
        Err(error) if !error.is_hangup() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Takes in what was told and all that waits behind it, then makes one picture of it.
fn take(running: &mut Running, news: News) {
    running.app.hear(news);
    while let Ok(news) = running.news.try_recv() {
        running.app.hear(news);
    }
    running.app.refresh();
}

/// Asks the recording for something.
fn ask(running: &mut Running, order: Order, look: &Look) {
    let Some(tape) = &mut running.tape else {
        return;
    };
    if let Err(error) = tape.ask(order) {
        running.app.playback_failed(&error.to_string(), look.text);
    }
}

fn draw(screen: &mut Screen, app: &mut App, look: &Look) -> Result<(), RunError> {
    Ok(screen.draw(|frame| views::draw(app, look, frame.area, frame))?)
}

/// Puts text into the terminal's clipboard (OSC 52), also over SSH.
fn copy(screen: &mut Screen, text: &str) -> Result<(), RunError> {
    let mut bytes = Vec::new();
    // Writing to a vector does not fail.
    if queue!(bytes, CopyToClipboard::to_clipboard_from(text)).is_ok() {
        screen.write(&bytes)?;
    }
    Ok(())
}

/// The terminal library's key as ours.
fn key_of(event: KeyEvent) -> Option<Key> {
    Some(match event.code {
        KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        let key = |code, modifiers| key_of(KeyEvent::new(code, modifiers));
        assert_eq!(
            key(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Key::Ctrl('c'))
        );
        assert_eq!(
            key(KeyCode::Char('G'), KeyModifiers::SHIFT),
            Some(Key::Char('G'))
        );
        assert_eq!(key(KeyCode::F(5), KeyModifiers::NONE), None);
    }
}
