//! The probe process: opens a vendor's library, samples when it is polled, and never lets one device's call that does
//! not return hold up the others, the answer or its own end.
//!
//! Threads: the coordinator (hears, decides and answers), the sweep, the slow lane (rare readings, paths,
//! process lists), four lanes for blocking PCIe calls, one that opens the library, one that waits for events. A call past
//! its deadline keeps its thread; the sweep then goes on with a new one and the device has its own thread from then on.
//! At most four such threads are left behind beside the sweep, so that their number is bounded by devices + 17.

mod call;
mod coordinator;
mod inbox;
mod lane;
mod outcomes;
mod slot;
#[cfg(test)]
pub(crate) mod tests;

use super::vendor::Vendor;
use super::wire::{Hello, Request, WireError};
use crate::model::{Hop, PciAddress};
use coordinator::{Coordinator, Message};
use inbox::Inbox;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Reads the way from a device to the root port, below a root directory.
pub type PathReader = Arc<dyn Fn(&Path, PciAddress) -> Vec<Hop> + Send + Sync>;

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Readings that change rarely, link paths.
    pub(crate) slow: Duration,
    /// Process lists; twice as long where nobody comes or goes.
    pub(crate) processes: Duration,
    /// Rates of blocking PCIe calls older than this have timed out.
    pub(crate) pcie_stale: Duration,
    /// A call beside the sweep is left behind after this.
    pub(crate) side_deadline: Duration,
    /// First wait before a lost device or a library that could not be opened is tried again.
    pub(crate) backoff: Duration,
    /// How long the first sweep waits for the rare readings.
    pub(crate) hold: Duration,
    /// How long shutting the library down may take.
    pub(crate) close: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            slow: Duration::from_secs(30),
            processes: Duration::from_secs(5),
            pcie_stale: Duration::from_secs(5),
            side_deadline: Duration::from_secs(2),
            backoff: super::backoff::FIRST,
            hold: Duration::from_millis(12),
            close: Duration::from_secs(1),
        }
    }
}

/// Serves polls on `socket` until it is closed or a stop is asked for, then shuts the library down (for one second at
/// most). Threads whose calls never return are left as they are.
///
/// # Errors
/// The socket failed or said something else than requests.
pub fn serve(
    vendor: Arc<dyn Vendor>,
    socket: UnixStream,
    path: PathReader,
) -> Result<(), WireError> {
    serve_at(vendor, socket, path, Pace::default())
}

pub(crate) fn serve_at(
    vendor: Arc<dyn Vendor>,
    socket: UnixStream,
    path: PathReader,
    pace: Pace,
) -> Result<(), WireError> {
    // A parent that is stopped does not read; answers to its few polls fit the socket's buffer all the same.
    socket.set_write_timeout(Some(Duration::from_secs(5)))?;
    let (post, mut inbox) = Inbox::new(socket.try_clone()?)?;
    let close = pace.close;
    let served = match hello(&mut inbox) {
        Ok(Some(hello)) => {
            let work = call::work(Arc::clone(&vendor), hello.root, path);
            Coordinator::new(Arc::clone(&vendor), work, post, pace, hello.interval)
                .run(&mut inbox, socket)
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    shut_down(vendor, close);
    served
}

/// Serves on file descriptor 0, which is a socket to the screen's process. Afterwards the process ends within half a
/// second, whatever threads and exit handlers of the library do: the caller returns from `main` at once.
///
/// # Errors
/// File descriptor 0 is no socket, or what [`serve`] says.
pub fn serve_from_stdin(vendor: Arc<dyn Vendor>) -> Result<(), WireError> {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let served = serve(vendor, socket, path_reader());
    // A vendor's tool that still runs would outlive us.
    if is_group_leader() && has_children() {
        end_process();
    }
    let watchdog = std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            end_process();
        });
    if watchdog.is_err() {
        end_process();
    }
    served
}

/// The link path from sysfs.
fn path_reader() -> PathReader {
    Arc::new(crate::probe::pcie::path)
}

/// Whether the group of processes that we are in is our own, so that nobody else is in it but our children.
fn is_group_leader() -> bool {
    rustix::process::getpgrp() == rustix::process::getpid()
}

fn has_children() -> bool {
    // An empty list is "no child".
    !matches!(
        rustix::process::waitid(
            rustix::process::WaitId::All,
            rustix::process::WaitIdOptions::EXITED
                | rustix::process::WaitIdOptions::NOHANG
                | rustix::process::WaitIdOptions::NOWAIT,
        ),
        Err(rustix::io::Errno::CHILD)
    )
}

/// SIGKILL to ourselves and the tools that we run: nothing of the library gets to run, and no other end is as sure.
fn end_process() {
    if is_group_leader() {
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::KILL);
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Waits for the first request that counts.
fn hello(inbox: &mut Inbox) -> Result<Option<Hello>, WireError> {
    loop {
        match inbox.next(None) {
            Some(Message::Request(Request::Hello(hello))) => return Ok(Some(hello)),
            Some(Message::End(end)) => return end.map(|()| None),
            _ => {}
        }
    }
}

fn shut_down(vendor: Arc<dyn Vendor>, limit: Duration) {
    let (done, closed) = channel();
    let closer = std::thread::Builder::new()
        .name("close".to_owned())
        .spawn(move || {
            vendor.close();
            let _ = done.send(());
        });
    if closer.is_ok() {
        let _ = closed.recv_timeout(limit);
    }
}
