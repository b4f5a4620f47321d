//! What ends a command that would go on for ever: signals, and the time that it was given.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// The signals that end a command cleanly.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl Signals {
    /// Listens. A hangup that whoever started us has had ignored (`nohup`) stays ignored.
    pub(super) fn new() -> std::io::Result<Self> {
        let hangup = if is_ignored(SignalKind::hangup()) {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for any of them.
    pub(super) async fn any(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(kind: SignalKind) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| mask_has(&status, kind.as_raw_value()))
}

/// Whether the line `SigIgn` of /proc/PID/status (a hexadecimal mask, signal 1 in its lowest bit) has a signal.
fn mask_has(status: &str, signal: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1).clamp(0, 63)) & 1 == 1)
}

/// Waits until an instant, or for ever.
pub(super) async fn until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hangup_is_seen() {
        assert!(mask_has("Name:\tx\nSigIgn:\t0000000000001001\n", 1));
        assert!(!mask_has("SigIgn:\t0000000000001000\n", 1));
        assert!(!mask_has("", 1));
    }
}
