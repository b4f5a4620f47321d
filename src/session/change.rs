//! What a tick says has changed.

use super::device::{DeviceState, PROCESSES_KEPT};
use super::{DEVICES_KEPT, HOST_PROCESSES_KEPT, Session, bounded, happen};
use crate::model::{
    Absent, BillingStart, BillingStartSource, Change, Device, DeviceId, DeviceProcess, Event,
    EventKind, Hop, Host, ProbeReport, ProbeStatus, Process, Reading, Tick,
};
use crate::units::MonoTime;
use std::collections::HashMap;
use std::sync::Arc;

/// Hops kept of a path to the root port; real ones have fewer than ten.
const HOPS_KEPT: usize = 32;
/// Bytes kept of a process's command line.
const COMMAND_BYTES: usize = 4096;

impl Session {
    pub(super) fn change(&mut self, change: &Change, tick: &Tick, events: &mut Vec<Event>) {
        match change {
            Change::Device(device) => self.device(device),
            Change::Path(id, hops) => self.path(id, hops),
            Change::Processes(id, list) => self.processes(id, list, tick, events),
            Change::HostProcesses(list) => self.host_processes(list),
            Change::Host(host) => self.host(host),
            Change::Probe(report) => self.probe(report, tick),
            Change::Silent(id, why, since) => self.silent(id, *why, *since, tick, events),
            Change::Answers(id) => self.answers(id, tick, events),
            Change::Gone(id) => self.gone(id, tick, events),
            Change::Platform(news) => self.platform_news(news, tick, events),
        }
    }

    pub(super) fn state_of(&mut self, id: &DeviceId) -> Option<&mut DeviceState> {
        self.start.devices.iter_mut().find(|d| d.device.id == *id)
    }

    fn device(&mut self, device: &Arc<Device>) {
        if let Some(state) = self.state_of(&device.id) {
            if state.device == *device {
                return;
            }
            state.device = device.clone();
        } else {
            if self.start.devices.len() >= DEVICES_KEPT && !self.forget_one() {
                return;
            }
            self.start.devices.push(DeviceState::new(device.clone()));
        }
        // Vendors in their own order, devices as the vendor lists them, instances behind their parent.
        let parents: HashMap<DeviceId, u32> = self
            .start
            .devices
            .iter()
            .map(|d| (d.device.id.clone(), d.device.index))
            .collect();
        self.start.devices.sort_by_key(|d| {
            let parent = d
                .device
                .parent
                .as_ref()
                .and_then(|p| parents.get(p))
                .copied();
            (
                d.device.vendor,
                parent.unwrap_or(d.device.index),
                parent.is_some(),
                d.device.index,
            )
        });
    }

    /// Makes room: the device that is lost for longest goes. `false` where none is lost.
    fn forget_one(&mut self) -> bool {
        let lost = self
            .start
            .devices
            .iter()
            .enumerate()
            .filter_map(|(i, d)| match d.silent {
                Some((Absent::Lost, since)) => Some((since, i)),
                _ => None,
            });
        let Some((_, oldest)) = lost.min() else {
            return false;
        };
        let state = self.start.devices.remove(oldest);
        self.series.remove(&state.device.id);
        true
    }

    fn path(&mut self, id: &DeviceId, hops: &[Hop]) {
        if let Some(state) = self.state_of(id) {
            state.path = hops.iter().take(HOPS_KEPT).cloned().collect();
        }
    }

    fn host(&mut self, host: &Host) {
        self.start.host = host.clone();
        let offers = [
            (host.container_started, BillingStartSource::Container),
            (host.boot, BillingStartSource::Boot),
        ];
        for (at, source) in offers {
            if let Ok(at) = at {
                self.ledger.offer_start(BillingStart { at, source });
            }
        }
        if let Ok(at) = host.boot {
            self.ledger.note_boot(at);
        }
        if let Ok(at) = host.container_started {
            self.ledger.note_container(at);
        }
    }

    fn probe(&mut self, report: &ProbeReport, tick: &Tick) {
        let driver = &mut self.start.driver;
        match report.status {
            // Only a driver that was looked for in vain before is known to have become visible now; one that was
            // there from the first look on may have been there for long.
            ProbeStatus::Ok => {
                if !driver.answered && driver.missing.contains(&report.vendor) {
                    self.ledger.note_driver(tick.at);
                }
                driver.answered = true;
            }
            ProbeStatus::NoLibrary
            | ProbeStatus::NoDevice
            | ProbeStatus::Mismatch
            | ProbeStatus::NoPermission => {
                if !driver.missing.contains(&report.vendor) {
                    driver.missing.push(report.vendor);
                }
            }
            ProbeStatus::Crashed | ProbeStatus::TimedOut | ProbeStatus::Starting => {}
        }
        match self
            .start
            .probes
            .iter_mut()
            .find(|p| p.vendor == report.vendor)
        {
            Some(slot) => slot.clone_from(report),
            None => self.start.probes.push(report.clone()),
        }
    }

    fn silent(
        &mut self,
        id: &DeviceId,
        why: Absent,
        since: MonoTime,
        tick: &Tick,
        events: &mut Vec<Event>,
    ) {
        let Some(state) = self.state_of(id) else {
            return;
        };
        // A source that is slow to say so names the instant; none lies ahead.
        let since = since.min(tick.mono);
        if let Some((before, first)) = state.silent
            && before == why
        {
            state.silent = Some((why, first.min(since)));
            return;
        }
        state.silent = Some((why, since));
        let what = if why == Absent::Lost {
            "is lost"
        } else {
            "does not answer in time"
        };
        let text = format!("{} {} {what}", state.device.index, state.device.name);
        events.push(happen::event(
            tick.at,
            Some(state),
            EventKind::Lost,
            text,
            &[("why", why.word().to_owned())],
        ));
    }

    fn answers(&mut self, id: &DeviceId, tick: &Tick, events: &mut Vec<Event>) {
        if let Some(state) = self.state_of(id) {
            happen::answers(state, tick.at, events);
        }
    }

    fn gone(&mut self, id: &DeviceId, tick: &Tick, events: &mut Vec<Event>) {
        let Some(place) = self.start.devices.iter().position(|d| d.device.id == *id) else {
            return;
        };
        let Some(state) = self.start.devices.get_mut(place) else {
            return;
        };
        // A device keeps its row, history and meter; an instance that was taken down leaves.
        if state.device.parent.is_some() {
            self.start.devices.remove(place);
            self.series.remove(id);
            return;
        }
        if state.silent.is_none_or(|(why, _)| why != Absent::Lost) {
            let text = format!(
                "{} {} is not listed any more",
                state.device.index, state.device.name
            );
            events.push(happen::event(
                tick.at,
                Some(state),
                EventKind::Lost,
                text,
                &[],
            ));
            state.silent = Some((Absent::Lost, tick.mono));
        }
    }

    fn processes(
        &mut self,
        id: &DeviceId,
        list: &Reading<Vec<DeviceProcess>>,
        tick: &Tick,
        events: &mut Vec<Event>,
    ) {
        let Some(state) = self.state_of(id) else {
            return;
        };
        let list: Reading<Vec<DeviceProcess>> = list
            .as_ref()
            .map(|l| l.iter().take(PROCESSES_KEPT).cloned().collect())
            .map_err(|why| *why);
        let pids = |list: &Reading<Vec<DeviceProcess>>| -> Option<Vec<u32>> {
            list.as_ref()
                .ok()
                .map(|l| l.iter().map(|p| p.pid).collect())
        };
        if let (Some(before), Some(after)) = (pids(&state.processes), pids(&list)) {
            happen::processes(state, &before, &after, tick.at, events);
        }
        state.processes = list;
    }

    fn host_processes(&mut self, list: &[Process]) {
        let mut kept: Vec<Process> = list
            .iter()
            .take(HOST_PROCESSES_KEPT)
            .map(own_words)
            .collect();
        kept.sort_by_key(|p| p.pid);
        self.start.host_processes = kept;
        let earliest = list
            .iter()
            .filter(|p| !p.foreign)
            .filter_map(|p| p.started.ok())
            .min();
        if let Some(earliest) = earliest {
            self.ledger.note_process(earliest);
        }
    }
}

/// A process as it is kept: of one outside this container nothing is known but its number, whatever a local process
/// of the same number is called.
fn own_words(process: &Process) -> Process {
    let mut kept = process.clone();
    if kept.foreign {
        let none = || Err(Absent::NotReported);
        (kept.name, kept.command, kept.user, kept.wait_channel) = (none(), none(), none(), none());
        (kept.state, kept.started, kept.waiting_threads) = (
            Err(Absent::NotReported),
            Err(Absent::NotReported),
            Err(Absent::NotReported),
        );
        (
            kept.cpu_cores,
            kept.read_bytes_per_s,
            kept.write_bytes_per_s,
        ) = (
            Err(Absent::NotReported),
            Err(Absent::NotReported),
            Err(Absent::NotReported),
        );
        kept.major_faults_per_s = Err(Absent::NotReported);
    }
    kept.command = kept.command.map(|text| bounded(text, COMMAND_BYTES));
    kept.name = kept.name.map(|text| bounded(text, COMMAND_BYTES));
    kept
}
