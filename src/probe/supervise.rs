//! The screen side of a probe process: start, poll, and start again when it dies.

use super::backoff::{Backoff, FIRST, LAST};
use super::clock::{boot_ago, boot_now};
use super::wire::{Hello, Reply, Request, WireError, receive, send};
use crate::model::{
    Absent, Change, DeviceId, Event, EventKind, ProbeHint, ProbeReport, ProbeStatus, Sample, Vendor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A probe that has answered nothing for this long (or three intervals) is called unresponsive.
const PATIENCE: Duration = Duration::from_secs(3);
/// Room for the answer of some sixteen devices, so that one read takes it in.
const REPLY: usize = 16 << 10;
/// Longest wait of a write into a socket that nobody reads.
const WRITE_LIMIT: Duration = Duration::from_millis(50);

/// A probe that was started.
#[derive(Debug)]
pub struct Launched {
    /// Our end.
    pub socket: UnixStream,
    /// The process, where it is one.
    pub child: Option<Child>,
}

/// Starts a probe.
pub trait Launch: Send {
    /// Starts it; may be called again after it died.
    ///
    /// # Errors
    /// It could not be started.
    fn launch(&mut self) -> io::Result<Launched>;
}

/// This program once more, as a probe process.
#[derive(Debug, Clone)]
pub struct Reexec {
    /// Arguments: the hidden subcommand and its flags.
    pub args: Vec<OsString>,
    /// Where its stdout and stderr are appended; `/dev/null` if there is none.
    pub log: Option<PathBuf>,
    /// Variables that are none of its business, besides those whose names tell.
    pub secrets: Vec<String>,
}

/// One probe to run.
pub struct ProbeSpec {
    /// Which vendor it is for.
    pub vendor: Vendor,
    /// The library as it is asked for, for reports until the probe itself says more.
    pub library: Arc<str>,
    /// How it is started.
    pub launch: Box<dyn Launch>,
}

impl Launch for Reexec {
    fn launch(&mut self) -> io::Result<Launched> {
        let (ours, theirs) = UnixStream::pair()?;
        let log = || -> Stdio {
            let file = self
                .log
                .as_ref()
                .and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
            file.map_or_else(Stdio::null, Stdio::from)
        };
        let mut command = Command::new(this_program());
        command
            .args(&self.args)
            .stdin(OwnedFd::from(theirs))
            .stdout(log())
            .stderr(log())
            // Ctrl-C is for the screen's process, which then ends its probes.
            .process_group(0);
        for (name, _) in std::env::vars_os() {
            let is_ours = |name: &str| is_secret(name) || self.secrets.iter().any(|s| s == name);
            if name.to_str().is_none_or(is_ours) {
                command.env_remove(&name);
            }
        }
        let child = command.spawn()?;
        Ok(Launched {
            socket: ours,
            child: Some(child),
        })
    }
}

/// The running program, even where its file was replaced or removed in the meantime.
pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe()
        .ok()
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Whether an environment variable of this name is none of a vendor library's business.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name == "NAMEPLATE_PLATFORM_KEY"
        || [
            "API_KEY",
            "APIKEY",
            "ACCESS_KEY",
            "TOKEN",
            "SECRET",
            "PASSWORD",
            "CREDENTIAL",
        ]
        .iter()
        .any(|part| name.contains(part))
        || name.starts_with("AWS_")
}

/// What came in for the next tick.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The newest of each device.
    pub(super) samples: BTreeMap<DeviceId, Sample>,
    pub(super) changes: Vec<Change>,
    pub(super) events: Vec<Event>,
}

/// What a probe's reader thread says.
#[derive(Debug)]
pub(super) enum News {
    Reply(Box<Reply>),
    /// The connection ended; why, as a clause.
    Died(String),
}

/// Where a reader thread brings it: the number of the start, the news.
pub(super) type Deliver = Arc<dyn Fn(u64, News) + Send + Sync>;

/// One probe, over all its starts.
pub(super) struct Supervisor {
    spec: ProbeSpec,
    root: PathBuf,
    deliver: Deliver,
    socket: Option<UnixStream>,
    /// Number of the current start.
    start: u64,
    started: Instant,
    retry: Backoff,
    died: bool,
    /// The poll that is not answered yet.
    asked: Option<Instant>,
    asked_now: bool,
    /// As the probe process itself said last.
    own_report: Option<ProbeReport>,
    /// As was told last.
    report: ProbeReport,
    answered_once: bool,
    known: BTreeSet<DeviceId>,
    /// Devices that are silent because the probe is.
    muted: BTreeSet<DeviceId>,
    /// A new process has not listed its devices yet.
    relisting: bool,
}

impl Supervisor {
    pub(super) fn new(spec: ProbeSpec, root: PathBuf, deliver: Deliver) -> Self {
        let report = ProbeReport {
            vendor: spec.vendor,
            library: Arc::clone(&spec.library),
            path: None,
            version: None,
            status: ProbeStatus::Starting,
            code: None,
            message: None,
            hint: ProbeHint::Nothing,
        };
        Self {
            spec,
            root,
            deliver,
            socket: None,
            start: 0,
            started: Instant::now(),
            retry: Backoff::new(FIRST),
            died: false,
            asked: None,
            asked_now: false,
            own_report: None,
            report,
            answered_once: false,
            known: BTreeSet::new(),
            muted: BTreeSet::new(),
            relisting: false,
        }
    }

    /// It has said once what there is, or died trying.
    pub(super) fn has_answered(&self) -> bool {
        self.answered_once
    }

    pub(super) fn report(&self) -> &ProbeReport {
        &self.report
    }

    /// It was asked for this tick and has not answered yet. One that already let a tick pass is not waited for.
    pub(super) fn is_waited_for(&self) -> bool {
        self.asked.is_some() && self.asked_now
    }

    /// Starts it if it does not run and the wait is over, and asks for a round of readings unless one is on its way.
    pub(super) fn poll(&mut self, seq: u64, interval: Duration, now: Instant, out: &mut Gathered) {
        if self.socket.is_none()
            && self.retry.is_due(now)
            && let Err(error) = self.launch(interval, out)
        {
            self.end(&format!("could not be started: {error}"), now, out);
        }
        let Some(socket) = &mut self.socket else {
            return;
        };
        match self.asked {
            Some(asked) => {
                self.asked_now = false;
                let silent = now.duration_since(asked);
                if silent >= PATIENCE.max(interval * 3) {
                    let message = format!("the probe has not answered for {} s", silent.as_secs());
                    self.unresponsive(message, out);
                    self.mute(silent, out);
                }
            }
            None => match send(socket, &Request::Poll { seq, interval }) {
                Ok(()) => {
                    self.asked = Some(now);
                    self.asked_now = true;
                }
                // Its reader thread sees the end as well, and knows more.
                Err(error) => tracing::debug!(%error, "polling a probe"),
            },
        }
    }

    fn launch(&mut self, interval: Duration, out: &mut Gathered) -> Result<(), WireError> {
        let Launched { mut socket, child } = self.spec.launch.launch()?;
        self.start += 1;
        socket.set_write_timeout(Some(WRITE_LIMIT))?;
        let hello = Hello {
            interval,
            root: self.root.clone(),
        };
        let reader = socket.try_clone()?;
        let (start, deliver) = (self.start, Arc::clone(&self.deliver));
        std::thread::Builder::new()
            .name(format!("{} probe", self.spec.vendor.word()))
            .spawn(move || read_replies(reader, child, start, &deliver))?;
        if let Err(error) = send(&mut socket, &Request::Hello(hello)) {
            tracing::debug!(%error, "greeting a probe");
        }
        self.socket = Some(socket);
        self.started = Instant::now();
        self.relisting = true;
        if self.died {
            self.tell(out, "was started again");
        }
        Ok(())
    }

    /// Takes in what its reader thread brought.
    pub(super) fn receive(&mut self, start: u64, news: News, now: Instant, out: &mut Gathered) {
        if start != self.start {
            return;
        }
        match news {
            News::Reply(reply) => self.answered(*reply, now, out),
            News::Died(why) => self.end(&why, now, out),
        }
    }

    fn answered(&mut self, reply: Reply, now: Instant, out: &mut Gathered) {
        self.asked = None;
        if now.duration_since(self.started) >= LAST {
            self.retry.reset();
        }
        let mut listed = None;
        for change in reply.changes {
            match &change {
                Change::Probe(report) => {
                    self.own_report = Some(report.clone());
                    self.report = report.clone();
                    if matches!(report.status, ProbeStatus::Ok | ProbeStatus::NoDevice) {
                        listed = Some(BTreeSet::new());
                    }
                }
                Change::Device(device) => {
                    self.known.insert(device.id.clone());
                    if let Some(listed) = &mut listed {
                        listed.insert(device.id.clone());
                    }
                }
                Change::Gone(id) => {
                    self.known.remove(id);
                    self.muted.remove(id);
                }
                // From here on the probe process itself says when it answers again.
                Change::Silent(id, ..) => {
                    self.muted.remove(id);
                }
                _ => {}
            }
            out.changes.push(change);
        }
        if let Some(listed) = listed.filter(|_| self.relisting) {
            self.relisting = false;
            for id in self.known.difference(&listed) {
                self.muted.remove(id);
                out.changes.push(Change::Gone(id.clone()));
            }
            self.known = listed;
        }
        match reply
            .opening_since
            .map(|since| boot_now().seconds_since(since))
        {
            None => {
                self.answered_once = true;
                self.restore_report(out);
            }
            Some(seconds) if seconds >= PATIENCE.as_secs_f64() => {
                self.unresponsive(
                    format!("opening the library has taken {seconds:.0} s so far"),
                    out,
                );
            }
            Some(_) => {}
        }
        for sample in reply.samples {
            if self.muted.remove(&sample.device) {
                out.changes.push(Change::Answers(sample.device.clone()));
            }
            out.samples.insert(sample.device.clone(), sample);
        }
        out.events.extend(reply.events);
    }

    /// The probe answers again: what it said itself holds.
    fn restore_report(&mut self, out: &mut Gathered) {
        if let Some(own) = self.own_report.as_ref().filter(|own| **own != self.report) {
            self.report = own.clone();
            out.changes.push(Change::Probe(own.clone()));
        }
    }

    /// It runs, but says nothing.
    fn unresponsive(&mut self, message: String, out: &mut Gathered) {
        if self.report.status != ProbeStatus::TimedOut {
            self.change_status(ProbeStatus::TimedOut, message, out);
        }
    }

    fn change_status(&mut self, status: ProbeStatus, message: String, out: &mut Gathered) {
        self.report.status = status;
        self.report.code = None;
        self.report.message = Some(message.into());
        self.report.hint = ProbeHint::Unknown;
        out.changes.push(Change::Probe(self.report.clone()));
    }

    /// Its devices do not answer because it does not.
    fn mute(&mut self, since: Duration, out: &mut Gathered) {
        let since = boot_ago(since);
        for id in &self.known {
            if self.muted.insert(id.clone()) {
                let silent = Change::Silent(id.clone(), Absent::TimedOut, since);
                out.changes.push(silent);
            }
        }
    }

    /// It is dead, or never lived.
    fn end(&mut self, why: &str, now: Instant, out: &mut Gathered) {
        if let Some(socket) = self.socket.take() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.asked = None;
        self.own_report = None;
        self.answered_once = true;
        self.retry.fail(now);
        let message = format!("the {} probe {why}", self.spec.vendor.word());
        let told = self.report.status == ProbeStatus::Crashed
            && self.report.message.as_deref() == Some(message.as_str());
        if !told {
            self.tell(out, why);
            self.change_status(ProbeStatus::Crashed, message, out);
        }
        self.died = true;
        self.mute(Duration::ZERO, out);
    }

    fn tell(&self, out: &mut Gathered, what: &str) {
        out.events.push(Event {
            at: jiff::Timestamp::now(),
            device: None,
            kind: EventKind::Probe,
            text: format!("the {} probe {what}", self.spec.vendor.word()).into(),
            data: vec![("vendor".into(), self.spec.vendor.word().into())],
        });
    }

    /// Tells it to end, and waits for nothing: its end of the connection closes in any case.
    pub(super) fn stop(&mut self) {
        // News of its end is no news any more.
        self.start += 1;
        if let Some(mut socket) = self.socket.take() {
            let _ = send(&mut socket, &Request::Stop);
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The reader thread's life.
fn read_replies(socket: UnixStream, child: Option<Child>, start: u64, deliver: &Deliver) {
    let mut body = Vec::new();
    let mut socket = BufReader::with_capacity(REPLY, socket);
    let error = loop {
        match receive::<Reply>(&mut socket, &mut body) {
            Ok(reply) => deliver(start, News::Reply(Box::new(reply))),
            Err(error) => break error,
        }
    };
    let _ = socket.get_ref().shutdown(Shutdown::Both);
    let end = child.and_then(|child| reap(child, &error));
    let why = match (end, error) {
        (Some(end), WireError::Closed) => format!("ended ({end})"),
        (None, WireError::Closed) => "ended".to_owned(),
        (_, error) => format!("was ended: {error}"),
    };
    deliver(start, News::Died(why));
}

/// Collects the process, so that no zombie stays. It has half a second and more to end by itself (its own limit for shutting
/// the library down is one second); one that talks nonsense has not.
fn reap(mut child: Child, error: &WireError) -> Option<std::process::ExitStatus> {
    if matches!(error, WireError::Closed) {
        for _ in 0..40 {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // With the vendor's tools that it runs: a probe is started in a group of its own.
    let group = i32::try_from(child.id()).ok();
    if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    child.wait().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_here() {
        for name in [
            "NAMEPLATE_PLATFORM_KEY",
            "RUNPOD_API_KEY",
            "HF_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "MY_SECRET",
            "DB_PASSWORD",
            "hf_token",
            "MODAL_TOKEN_ID",
            "ALIBABA_CLOUD_ACCESS_KEY_ID",
            "TENCENTCLOUD_SECRET_KEY",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "LD_LIBRARY_PATH",
            "CUDA_VISIBLE_DEVICES",
            "NVIDIA_VISIBLE_DEVICES",
            "LANG",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
