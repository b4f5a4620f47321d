//! Entering and leaving the screen, so that the shell's terminal comes back whatever happens.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use ratatui::buffer::Buffer;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios};

use super::Lean;

/// Alternate screen, cursor hidden, bracketed paste off. The mouse stays the terminal's own, for its selection.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004l";
/// End of a frame that was cut off, plain pen, cursor shown, main screen.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[m\x1b[?25h\x1b[?1049l";

/// The terminal's modes before it was entered; none while it is the shell's.
static ENTERED: Mutex<Option<Termios>> = Mutex::new(None);

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// Standard output is a file, a pipe or closed.
    #[error("the screen needs a terminal; use --linear, `nameplate once` or `nameplate stream`")]
    NotATerminal,
    /// A call to the terminal failed.
    #[error("the terminal refused to {operation}: {source}; use `nameplate once`")]
    Terminal {
        /// What was asked of it.
        operation: &'static str,
        /// What it said.
        source: io::Error,
    },
}

impl ScreenError {
    fn of(operation: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::Terminal {
            operation,
            source: errno.into(),
        }
    }

    /// Whether the terminal is gone: the program ends as after a hang-up, without a complaint.
    pub fn is_hangup(&self) -> bool {
        matches!(self, Self::Terminal { source, .. } if is_hangup(source))
    }
}

/// Whether a failed read or write says that the terminal is gone (its window closed, its connection lost).
pub fn is_hangup(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
        || matches!(
            Errno::from_io_error(error),
            Some(Errno::IO | Errno::NXIO | Errno::BADF)
        )
}

/// Whether a terminal cannot move its cursor, by the environment's `TERM`: `dumb`, empty or not set.
#[must_use]
pub fn is_dumb(term: Option<&str>) -> bool {
    matches!(term.map(str::trim), None | Some("" | "dumb"))
}

/// Standard output as a plain file: what is written goes out in one write, not line by line.
#[derive(Debug)]
pub struct Tty {
    file: File,
}

impl Write for Tty {
    /// # Errors
    /// Refuses once the terminal was given back (a panic elsewhere, say): it is the shell's then.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if entered().is_none() {
            return Err(io::Error::other("the screen was left"));
        }
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_writable(self.file.as_fd())?
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal while it is ours. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Screen {
    lean: Lean<Tty>,
    _guard: Guard,
}

/// Gives the terminal back when dropped.
#[derive(Debug)]
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = restore() {
            tracing::debug!(%error, "could not restore the terminal");
        }
    }
}

impl Screen {
    /// Takes the terminal on standard output: raw mode, alternate screen, cursor hidden.
    ///
    /// # Errors
    /// When standard output is no terminal, and when a call to it fails.
    pub fn enter() -> Result<Self, ScreenError> {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Err(ScreenError::NotATerminal);
        }
        let opened = |source| ScreenError::Terminal {
            operation: "be opened",
            source,
        };
        let file = File::from(stdout.as_fd().try_clone_to_owned().map_err(opened)?);
        let size = size_of(file.as_fd());
        let guard = Guard;
        take()?;
        Ok(Self {
            lean: Lean::new(Tty { file }, size),
            _guard: guard,
        })
    }

    /// Draws a frame; `paint` has to paint every cell.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Buffer)) -> Result<(), ScreenError> {
        self.lean.draw(paint).map_err(drawn)
    }

    /// Writes beside the frames what moves neither cursor nor pen.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.lean.sink_mut().write_all(bytes).map_err(drawn)
    }

    /// Gives the terminal back.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn leave(self) -> Result<(), ScreenError> {
        restore()
    }

    /// Takes the terminal's new size, and says whether it is another one; then the next frame paints all of it.
    pub fn resize(&mut self) -> bool {
        let size = size_of(io::stdout().as_fd());
        let changed = self.lean.size() != size;
        if changed {
            self.lean.set_size(size);
        }
        changed
    }

    /// Makes the next frame paint everything anew, whatever something else wrote to the terminal.
    pub fn repaint(&mut self) {
        self.lean.set_size(size_of(io::stdout().as_fd()));
    }

    /// Takes the terminal again after a stop, whoever caused it: modes and screen may be the shell's by now.
    ///
    /// Says false, and does nothing, while the program is in the background: the terminal is another's.
    ///
    /// # Errors
    /// When a call to the terminal fails.
    pub fn resume(&mut self) -> Result<bool, ScreenError> {
        if !in_foreground() {
            return Ok(false);
        }
        take()?;
        self.repaint();
        Ok(true)
    }

    /// Bytes of frames written so far.
    pub fn bytes_written(&self) -> u64 {
        self.lean.bytes_written()
    }

    /// A descriptor of the terminal, to learn of its end (see [`super::Signals::listen`]).
    ///
    /// # Errors
    /// When no more descriptors are to be had.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        io::stdout().as_fd().try_clone_to_owned()
    }
}

fn drawn(source: io::Error) -> ScreenError {
    ScreenError::Terminal {
        operation: "be drawn on",
        source,
    }
}

/// Gives the terminal back to the shell: once, however often and from wherever it is called.
///
/// # Errors
/// When the terminal refuses.
pub fn restore() -> Result<(), ScreenError> {
    let mut entered = entered();
    let Some(original) = entered.take() else {
        return Ok(());
    };
    let written = write_out(LEAVE).map_err(ScreenError::of("leave the alternate screen"));
    // In the background the modes are the shell's own already, and setting them would stop us.
    let set = if in_foreground() {
        rustix::termios::tcsetattr(modes_of(), OptionalActions::Now, &original)
            .map_err(ScreenError::of("take back its modes"))
    } else {
        Ok(())
    };
    // A terminal that is gone needs nothing back.
    written.and(set).or_else(|error| {
        if error.is_hangup() {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Makes a panic give the terminal back before it is reported by the hook that is installed now. Does so once.
///
/// Install the hook that reports (color_eyre's) first. A panic on any thread gives the terminal back, so that its report
/// can be read; the next frame then fails, and the program ends.
pub fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The report matters more than a terminal that is gone.
            let _ = restore();
            super::typed::give_back();
            report(panic);
        }));
    });
}

/// Whether the terminal's foreground is ours. Where that cannot be told (no job control) it is.
pub(super) fn in_foreground() -> bool {
    rustix::termios::tcgetpgrp(modes_of()).map_or(true, |group| group == rustix::process::getpgrp())
}

/// Raw mode and alternate screen. The modes kept for the way back are those of the first time.
fn take() -> Result<(), ScreenError> {
    let mut entered = entered();
    let now = rustix::termios::tcgetattr(modes_of()).map_err(ScreenError::of("tell its modes"))?;
    let mut raw = now.clone();
    raw.make_raw();
    rustix::termios::tcsetattr(modes_of(), OptionalActions::Now, &raw)
        .map_err(ScreenError::of("enter raw mode"))?;
    entered.get_or_insert(now);
    drop(entered);
    write_out(ENTER).map_err(ScreenError::of("enter the alternate screen"))
}

/// Nothing that can panic happens under this lock; a poisoned one is as good.
fn entered() -> MutexGuard<'static, Option<Termios>> {
    ENTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptor whose modes are set: where keys come from, or else where frames go.
fn modes_of() -> BorrowedFd<'static> {
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        rustix::stdio::stdin()
    } else {
        rustix::stdio::stdout()
    }
}

/// The terminal's size in cells. One that says 0 is taken for the usual 80 x 24.
fn size_of(terminal: BorrowedFd<'_>) -> Size {
    rustix::termios::tcgetwinsize(terminal)
        .map_or(usual(0, 0), |size| usual(size.ws_col, size.ws_row))
}

fn usual(columns: u16, rows: u16) -> Size {
    let or = |n, usual| if n == 0 { usual } else { n };
    Size::new(or(columns, 80), or(rows, 24))
}

/// Writes all of it to standard output, past the standard library's buffer.
fn write_out(mut bytes: &[u8]) -> Result<(), Errno> {
    let stdout = rustix::stdio::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(stdout, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_writable(stdout)?,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn wait_writable(file: BorrowedFd<'_>) -> Result<(), Errno> {
    match rustix::event::poll(&mut [PollFd::from_borrowed_fd(file, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_terminal_without_a_size_is_the_usual_one() {
        assert_eq!(usual(0, 0), Size::new(80, 24));
        assert_eq!(usual(10, 3), Size::new(10, 3));
        assert_eq!(usual(0, 3), Size::new(80, 3));
        let null = File::open("/dev/null").unwrap();
        assert_eq!(size_of(null.as_fd()), Size::new(80, 24));
    }

    #[test]
    fn a_terminal_that_cannot_move_its_cursor_is_known_by_its_name() {
        for term in [None, Some(""), Some(" "), Some("dumb")] {
            assert!(is_dumb(term), "{term:?}");
        }
        for term in ["xterm-256color", "linux", "screen", "vt100"] {
            assert!(!is_dumb(Some(term)), "{term}");
        }
        let refusal = ScreenError::NotATerminal.to_string();
        assert!(refusal.contains("--linear") && refusal.contains("`nameplate once`"));
    }

    #[test]
    fn a_terminal_that_was_never_taken_needs_no_way_back() {
        restore().unwrap();
        restore().unwrap();
    }

    #[test]
    fn nothing_is_drawn_on_a_terminal_that_is_not_ours() {
        let file = File::options().write(true).open("/dev/null").unwrap();
        let error = Tty { file }.write(b"x").unwrap_err();
        // The program has to end and say so: this is no hang-up.
        assert!(!is_hangup(&error));
    }

    #[test]
    fn hang_ups_are_told_from_other_errors() {
        for (errno, gone) in [
            (Errno::IO, true),
            (Errno::PIPE, true),
            (Errno::NXIO, true),
            (Errno::NOSPC, false),
            (Errno::INTR, false),
        ] {
            assert_eq!(is_hangup(&errno.into()), gone, "{errno:?}");
            assert_eq!(ScreenError::of("x")(errno).is_hangup(), gone);
        }
        assert!(!ScreenError::NotATerminal.is_hangup());
    }
}
