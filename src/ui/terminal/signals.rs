//! Signals as a stream of plain words, the terminal's end among them, and stopping for the shell.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{getpgrp, getsid, kill_current_process_group};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::oneshot;

use super::screen::{Screen, ScreenError, in_foreground, restore};

/// What the system tells the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: end.
    Terminate,
    /// SIGHUP, or the terminal is gone: end.
    Hangup,
    /// SIGINT from outside (in raw mode Ctrl-C is a key): end.
    Interrupt,
    /// SIGTSTP from outside (in raw mode Ctrl-Z is a key): call [`suspend`].
    Suspend,
    /// SIGCONT after a stop that was not ours: call [`Screen::resume`].
    Continue,
    /// SIGWINCH: call [`Screen::resize`].
    Resize,
}

impl Signal {
    /// Whether the program has to end.
    pub fn ends(self) -> bool {
        matches!(self, Self::Terminate | Self::Hangup | Self::Interrupt)
    }
}

/// The signals that arrive while this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: unix::Signal,
    hangup: unix::Signal,
    interrupt: unix::Signal,
    suspend: unix::Signal,
    resume: unix::Signal,
    resize: unix::Signal,
    gone: Option<oneshot::Receiver<()>>,
    /// The next SIGCONT belongs to a stop of our own, after which the screen was taken again already.
    own_stop: bool,
}

impl Signals {
    /// Listens from now on. With a `terminal` its end is told as [`Signal::Hangup`] even where no SIGHUP comes (another
    /// session's terminal, a parent that ignores it); a thread sleeps on it that costs nothing until then. Reading keys
    /// cannot tell: crossterm's reader would spin at the end of its input.
    ///
    /// # Errors
    /// When called outside a runtime with I/O, or when the system refuses a handler or the thread.
    pub fn listen(terminal: Option<OwnedFd>) -> io::Result<Self> {
        let on = |kind| unix::signal(kind);
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
            interrupt: on(SignalKind::interrupt())?,
            suspend: on(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
            resume: on(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            resize: on(SignalKind::window_change())?,
            gone: terminal.map(watch).transpose()?,
            own_stop: false,
        })
    }

    /// The next signal; those that end the program come first. Dropping the future loses none.
    pub async fn next(&mut self) -> Signal {
        loop {
            let signal = tokio::select! {
                biased;
                _ = self.terminate.recv() => Signal::Terminate,
                _ = self.hangup.recv() => Signal::Hangup,
                () = gone(&mut self.gone) => Signal::Hangup,
                _ = self.interrupt.recv() => Signal::Interrupt,
                _ = self.suspend.recv() => Signal::Suspend,
                _ = self.resume.recv() => Signal::Continue,
                _ = self.resize.recv() => Signal::Resize,
            };
            if signal == Signal::Continue && std::mem::take(&mut self.own_stop) {
                continue;
            }
            return signal;
        }
    }
}

/// Stops for the shell, as Ctrl-Z does, and takes the terminal again when the shell continues us in the foreground.
///
/// The whole process group is stopped, as the terminal would: a parent in it (a script, `sudo`) has to be seen stopped
/// too. A group that no shell can continue (the session leader's own, as in a container) is not stopped at all.
/// Continued in the background (`bg`, `kill %1`) the terminal is another's: we stop again, unless a signal ends us, which
/// is returned then.
///
/// # Errors
/// When the terminal refuses to be given back or to be taken again.
pub async fn suspend(
    screen: &mut Screen,
    signals: &mut Signals,
) -> Result<Option<Signal>, ScreenError> {
    if getsid(None).is_ok_and(|session| session == getpgrp()) {
        return Ok(None);
    }
    restore()?;
    loop {
        signals.own_stop = true;
        kill_current_process_group(rustix::process::Signal::STOP).map_err(|errno| {
            ScreenError::Terminal {
                operation: "be left alone",
                source: errno.into(),
            }
        })?;
        if in_foreground() && screen.resume()? {
            return Ok(None);
        }
        // Long enough for a signal that was pending while we were stopped to come through.
        if let Ok(signal) = tokio::time::timeout(Duration::from_millis(20), signals.next()).await
            && signal.ends()
        {
            return Ok(Some(signal));
        }
    }
}

/// Stops the process group for the shell, as the terminal would, where some shell can continue it; what continues it comes
/// as [`Signal::Continue`]. Says whether it was stopped.
pub(super) fn stop() -> io::Result<bool> {
    if getsid(None).is_ok_and(|session| session == getpgrp()) {
        return Ok(false);
    }
    kill_current_process_group(rustix::process::Signal::STOP)?;
    Ok(true)
}

/// The end of whoever reads what is written to a pipe or a terminal.
#[derive(Debug)]
pub struct ReaderEnd(Option<oneshot::Receiver<()>>);

impl ReaderEnd {
    /// Watches standard output, with a thread that sleeps until then.
    ///
    /// # Errors
    /// There are no more descriptors or threads.
    pub fn of_stdout() -> io::Result<Self> {
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        watch(stdout).map(|end| Self(Some(end)))
    }

    /// Waits for it; a file's never comes.
    pub async fn come(&mut self) {
        gone(&mut self.0).await;
    }
}

/// Waits for the terminal's end; for ever where nothing watches it, or when it was told already.
async fn gone(watched: &mut Option<oneshot::Receiver<()>>) {
    let told = match watched {
        Some(receiver) => receiver.await.is_ok(),
        None => false,
    };
    *watched = None;
    if !told {
        std::future::pending::<()>().await;
    }
}

/// A thread that sleeps until the terminal hangs up, or a pipe's reader is gone: poll tells it without being asked for any
/// event.
fn watch(terminal: OwnedFd) -> io::Result<oneshot::Receiver<()>> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new()
        .name("terminal-end".into())
        .stack_size(64 * 1024)
        .spawn(move || {
            loop {
                let mut polled = [PollFd::from_borrowed_fd(
                    terminal.as_fd(),
                    PollFlags::empty(),
                )];
                match rustix::event::poll(&mut polled, None) {
                    Ok(0) | Err(Errno::INTR) => {}
                    Ok(_) => break,
                    // Nothing is known then; dropping the sender says so.
                    Err(_) => return,
                }
            }
            // Nobody may be left to hear it.
            let _ = tell.send(());
        })?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use rustix::process::{getpid, kill_process};

    fn within<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn signals_arrive_as_words() {
        // Only those that cannot hurt the other tests of this process.
        within(async {
            let mut signals = Signals::listen(None).unwrap();
            for (raised, word) in [
                (rustix::process::Signal::WINCH, Signal::Resize),
                (rustix::process::Signal::TSTP, Signal::Suspend),
                (rustix::process::Signal::TERM, Signal::Terminate),
                (rustix::process::Signal::CONT, Signal::Continue),
            ] {
                kill_process(getpid(), raised).unwrap();
                assert_eq!(signals.next().await, word);
            }
            signals.own_stop = true;
            kill_process(getpid(), rustix::process::Signal::CONT).unwrap();
            kill_process(getpid(), rustix::process::Signal::WINCH).unwrap();
            assert_eq!(
                signals.next().await,
                Signal::Resize,
                "our own stop's end is not told"
            );
        });
    }

    #[test]
    fn the_end_of_a_terminal_is_a_hang_up_told_once() {
        within(async {
            let pair = portable_pty::native_pty_system()
                .openpty(portable_pty::PtySize::default())
                .unwrap();
            let path = pair.master.tty_name().unwrap();
            // Not to become this process's controlling terminal, of which the end would be SIGHUP.
            let flags = OFlags::RDWR | OFlags::NOCTTY;
            let slave = rustix::fs::open(path, flags, Mode::empty()).unwrap();
            let mut watched = Some(watch(slave).unwrap());
            drop(pair);
            gone(&mut watched).await;
            assert!(watched.is_none());
        });
    }
}
