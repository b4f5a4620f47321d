//! PCIe traffic by `dcmi_get_pcie_link_bandwidth_info`, where it was asked for: the call blocks for as long as it measures,
//! and calls into DCMI take turns, so that it has a process of its own. The probe and it exchange lines: `chip CARD CHIP` or
//! `device NUMBER` to it, and back, behind [`MARK`], six averages or a return code. Whatever else the library prints is
//! passed over.

use super::fault::{Fault, INNER, TIMEOUT};
use super::ffi::{Dcmi, Place};
use super::layout::PcieBandwidth;
use crate::model::Reading;
use crate::probe::plausible;
use crate::probe::supervise::this_program;
use crate::probe::tool;
use crate::probe::vendor::VendorOptions;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long one measurement takes.
pub(super) const WINDOW_MS: i32 = 100;
/// How long an answer is waited for; Huawei's own monitor gives a call a second.
const PATIENCE: Duration = Duration::from_millis(1_200);
/// A device whose measurement hung, and a process that could not be started, are left alone for so long.
const REST: Duration = Duration::from_secs(30);
/// What stands before an answer.
const MARK: &str = "nameplate-pcie ";
/// Megabytes per millisecond, as bytes per second.
const UNIT: f64 = 1e9;

/// The averages of one measurement, in megabytes per millisecond: posted writes, reads asked for, and answers to reads, each
/// way as the library calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traffic {
    sent: [u32; 3],
    received: [u32; 3],
}

impl Traffic {
    /// Bytes per second from the host and to it. Reads go out as requests and come back as answers, so that writes and
    /// answers carry the data; derived from the header's names, not verified on hardware.
    pub(super) fn rates(self) -> [Reading<f64>; 2] {
        let rate = |[posted, _, answers]: [u32; 3]| {
            plausible::pcie_rate((f64::from(posted) + f64::from(answers)) * UNIT)
        };
        [rate(self.received), rate(self.sent)]
    }

    fn line(self) -> String {
        let numbers = self.sent.iter().chain(&self.received);
        let words: Vec<String> = numbers.map(ToString::to_string).collect();
        words.join(" ")
    }
}

impl From<PcieBandwidth> for Traffic {
    fn from(info: PcieBandwidth) -> Self {
        // The third of each is the average.
        let average = |[_, _, average]: [u32; 3]| average;
        Self {
            sent: [info.tx_p, info.tx_np, info.tx_cpl].map(average),
            received: [info.rx_p, info.rx_np, info.rx_cpl].map(average),
        }
    }
}

/// The probe's side: starts the process when it is first needed, and again when it is gone.
pub(super) struct Meter {
    options: VendorOptions,
    state: Mutex<State>,
    /// The process that runs, 0 for none: it is ended even while somebody waits for its answer.
    running: Arc<AtomicU32>,
    stopped: AtomicBool,
}

#[derive(Default)]
struct State {
    process: Option<Process>,
    /// Not to be started again before then.
    rests_until: Option<Instant>,
    hung: HashMap<Place, Instant>,
}

struct Process {
    child: Child,
    running: Arc<AtomicU32>,
    requests: ChildStdin,
    answers: Receiver<Result<Traffic, Fault>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.store(0, Ordering::Release);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Meter {
    pub(super) fn new(options: &VendorOptions) -> Self {
        Self {
            options: options.clone(),
            state: Mutex::default(),
            running: Arc::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Measures one device. Blocks for the length of a measurement for each device that is measured at this moment.
    ///
    /// # Errors
    /// Why there is no figure.
    pub(super) fn measure(&self, place: Place) -> Result<Traffic, Fault> {
        let mut state = self.locked();
        let now = Instant::now();
        state.hung.retain(|_, until| *until > now);
        if state.hung.contains_key(&place) {
            return Err(Fault::Code(TIMEOUT));
        }
        if state.process.is_none() {
            if state.rests_until.is_some_and(|until| now < until) {
                return Err(Fault::Code(INNER));
            }
            if self.stopped.load(Ordering::Acquire) {
                return Err(Fault::Code(INNER));
            }
            state.process = start(&self.options, &self.running).ok();
            state.rests_until = Some(now + REST);
        }
        let answer = match &mut state.process {
            Some(process) => process.ask(place),
            None => return Err(Fault::Code(INNER)),
        };
        match answer {
            Ok(answer) => answer,
            Err(gone) => {
                state.process = None;
                // One that hangs is ended, and may be started anew for the others at once.
                if gone == Gone::Hangs {
                    state.rests_until = None;
                    state.hung.insert(place, now + REST);
                    return Err(Fault::Code(TIMEOUT));
                }
                Err(Fault::Code(INNER))
            }
        }
    }

    /// Ends the process, for good. Waits for nobody.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let pid = self.running.swap(0, Ordering::AcqRel);
        if pid != 0 {
            tool::kill(pid);
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a process gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    Hangs,
    Ended,
}

impl Process {
    fn ask(&mut self, place: Place) -> Result<Result<Traffic, Fault>, Gone> {
        let line = match place {
            Place::Chip { card, chip } => format!("chip {card} {chip}\n"),
            Place::Device(number) => format!("device {number}\n"),
        };
        self.requests
            .write_all(line.as_bytes())
            .map_err(|_| Gone::Ended)?;
        self.answers
            .recv_timeout(PATIENCE)
            .map_err(|why| match why {
                std::sync::mpsc::RecvTimeoutError::Timeout => Gone::Hangs,
                std::sync::mpsc::RecvTimeoutError::Disconnected => Gone::Ended,
            })
    }
}

/// This program again, as the process that measures.
fn start(options: &VendorOptions, running: &Arc<AtomicU32>) -> io::Result<Process> {
    let mut command = Command::new(this_program());
    command
        .args(["probe", "--vendor", options.vendor.word(), "--root"])
        .arg(&options.root)
        .args(["--pcie", "meter"]);
    if let Some(library) = &options.library {
        command.arg("--library").arg(library);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("it has no pipes"));
    };
    let (sender, answers) = channel();
    std::thread::Builder::new()
        .name("pcie-meter".to_owned())
        .spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let answer = parse(&String::from_utf8_lossy(&line));
                if answer.is_some_and(|answer| sender.send(answer).is_err()) {
                    return;
                }
            }
        })?;
    running.store(child.id(), Ordering::Release);
    Ok(Process {
        child,
        running: Arc::clone(running),
        requests,
        answers,
    })
}

/// An answer's line; `None` for what the library printed.
fn parse(line: &str) -> Option<Result<Traffic, Fault>> {
    // The library may have printed something without an end of line.
    let (_, answer) = line.split_once(MARK)?;
    match answer.split_once(' ') {
        Some(("code", code)) => Some(Err(Fault::Code(code.trim().parse().ok()?))),
        None if answer.trim() == "missing" => Some(Err(Fault::Missing)),
        _ => {
            let numbers: Option<Vec<u32>> = answer
                .split_whitespace()
                .map(|word| word.parse().ok())
                .collect();
            let (sent, received) = numbers.as_deref()?.split_first_chunk::<3>()?;
            Some(Ok(Traffic {
                sent: *sent,
                received: received.try_into().ok()?,
            }))
        }
    }
}

/// The process's side: measures what is asked for on stdin until that ends.
///
/// # Errors
/// The library cannot be loaded, or the probe is gone.
pub(crate) fn serve(options: &VendorOptions) -> io::Result<()> {
    let library = Dcmi::load(options).map_err(|refused| io::Error::other(refused.message))?;
    let ready = library.init();
    let mut stdout = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match asked(&line) {
            Some(place) => ready.and_then(|()| library.traffic(place, WINDOW_MS)),
            None => Err(Fault::Code(INNER)),
        };
        let text = match answer {
            Ok(info) => Traffic::from(info).line(),
            Err(Fault::Missing) => "missing".to_owned(),
            Err(fault) => format!("code {}", fault.code().unwrap_or(INNER)),
        };
        writeln!(stdout, "{MARK}{text}")?;
        stdout.flush()?;
    }
    Ok(())
}

fn asked(line: &str) -> Option<Place> {
    let mut words = line.split_whitespace();
    let kind = words.next()?;
    let mut number = || words.next()?.parse().ok();
    match kind {
        "chip" => Some(Place::Chip {
            card: number()?,
            chip: number()?,
        }),
        "device" => Some(Place::Device(number()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::Absent;
    use proptest::prelude::*;

    #[test]
    fn writes_and_answers_carry_data_and_requests_do_not() {
        let traffic = Traffic {
            sent: [3, 900, 4],
            received: [10, 900, 1],
        };
        assert_eq!(traffic.rates(), [Ok(11e9), Ok(7e9)]);
        let wild = Traffic {
            sent: [u32::MAX, 0, 0],
            received: [0; 3],
        };
        assert_eq!(wild.rates()[0], Ok(0.0));
        assert!(matches!(wild.rates()[1], Err(Absent::Implausible(_))));
    }

    #[test]
    fn answers_are_found_among_what_a_library_prints() {
        let traffic = Traffic {
            sent: [1, 2, 3],
            received: [4, 5, 6],
        };
        let line = format!("{MARK}{}", traffic.line());
        for (line, expected) in [
            (&*line, Some(Ok(traffic))),
            (&format!("[dcmi] hello{line}"), Some(Ok(traffic))),
            ("nameplate-pcie code -8255", Some(Err(Fault::Code(-8255)))),
            ("nameplate-pcie missing", Some(Err(Fault::Missing))),
            ("nameplate-pcie 1 2 3 4 5", None),
            ("nameplate-pcie 1 2 3 4 5 6 7", None),
            ("[dcmi] hello", None),
            ("", None),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
        for (line, place) in [
            ("chip 2 1", Some(Place::Chip { card: 2, chip: 1 })),
            ("device 7", Some(Place::Device(7))),
            ("chip 2", None),
            ("", None),
        ] {
            assert_eq!(asked(line), place);
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in "(nameplate-pcie )?(code|missing|[0-9 -]|\\PC){0,8}") {
            let _ = parse(&line);
            let _ = asked(&line);
        }
    }
}
