//! What follows from what the calls into the library gave.

use super::call::{Key, Outcome};
use super::coordinator::Coordinator;
use super::lane::{Lane, Wake};
use super::slot::{Own, Slot};
use crate::model::{Absent, Change, DeviceId, Event, EventKind, ProbeReport, ProbeStatus};
use crate::probe::clock::boot_now;
use crate::probe::vendor::Opened;
use crate::units::MonoTime;
use std::sync::Arc;
use std::time::Instant;

impl Coordinator {
    pub(super) fn slot(&mut self, id: &DeviceId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.device.id == *id)
    }

    pub(super) fn accept(&mut self, outcome: Outcome, now: Instant) {
        let mut changes = std::mem::take(&mut self.changes);
        let pace = self.pace;
        match outcome {
            Outcome::Opened(Ok(opened)) => self.opened(opened, now, &mut changes),
            Outcome::Opened(Err(report)) => self.not_opened(Some(*report), now, &mut changes),
            Outcome::Sampled {
                device,
                at,
                readings,
                answer,
                needs_pcie,
            } => {
                if let Some(slot) = self.slot(&device) {
                    slot.pcie.needed = needs_pcie;
                    if slot.accept(at, readings, answer, now, &pace, &mut changes) {
                        self.reopen(now);
                    }
                }
            }
            Outcome::Slow {
                device,
                readings,
                path,
            } => {
                if let Some(slot) = self.slot(&device) {
                    slot.accept_slow(readings, path, now, &mut changes);
                }
            }
            Outcome::Pcie(id, rates) => {
                if let Some(slot) = self.slot(&id) {
                    slot.accept_pcie(rates, now);
                }
            }
            Outcome::Processes(id, list) => {
                if let Some(slot) = self.slot(&id) {
                    slot.processes.asked = None;
                    slot.accept_processes(list, &mut changes);
                }
            }
            Outcome::Panicked(key) => self.panicked(key, now, &mut changes),
        }
        self.changes = changes;
    }

    /// A call that was left behind came back: its result counts, and its device is asked again.
    pub(super) fn accept_late(&mut self, outcome: Outcome, now: Instant) {
        let key = match &outcome {
            Outcome::Opened(_) => Key::Open,
            Outcome::Sampled { device, .. } => Key::Sample(device.clone()),
            Outcome::Slow { device, .. } => Key::Slow(device.clone()),
            Outcome::Pcie(id, _) => Key::Pcie(id.clone()),
            Outcome::Processes(id, _) => Key::Processes(id.clone()),
            Outcome::Panicked(key) => key.clone(),
        };
        match &key {
            Key::Open => {}
            Key::Sample(id) => {
                let lane = Lane::new("own", Wake::Each, Arc::clone(&self.work), self.post.clone());
                if let Some(slot) = self.slot(id) {
                    slot.out = false;
                    slot.own = Some(Own::new(lane));
                }
            }
            Key::Slow(id) | Key::Processes(id) => {
                self.left_behind = self.left_behind.saturating_sub(1);
                if let Some(slot) = self.slot(id) {
                    slot.side_stuck = false;
                }
            }
            Key::Pcie(_) => self.left_behind = self.left_behind.saturating_sub(1),
        }
        self.accept(outcome, now);
    }

    /// The library works: what it lists counts, by id, wherever it stands in the list now.
    fn opened(&mut self, opened: Opened, now: Instant, changes: &mut Vec<Change>) {
        let library = &mut self.library;
        library.opening = None;
        library.open = true;
        library.wanted = opened.report.status == ProbeStatus::NoDevice;
        if library.wanted {
            library.retry.fail(now);
        }
        self.report(opened.report, changes);
        let mut old = std::mem::take(&mut self.slots);
        for device in opened.devices {
            let known = old.iter().position(|slot| slot.device.id == device.id);
            let mut slot = match known.map(|i| old.swap_remove(i)) {
                Some(slot) if slot.device == device => slot,
                Some(mut slot) => {
                    changes.push(Change::Device(Arc::clone(&device)));
                    slot.device = device;
                    slot
                }
                None => {
                    changes.push(Change::Device(Arc::clone(&device)));
                    Slot::new(device, now, &self.pace)
                }
            };
            slot.slow.due = now;
            slot.retry.hurry();
            self.slots.push(slot);
        }
        changes.extend(old.iter().map(|s| Change::Gone(s.device.id.clone())));
        self.swept = false;
        self.start_events();
        self.ask_beside_the_sweep(now);
        if self.slots.iter().any(|slot| !slot.slow.tried) {
            self.hold_until = Some(now + self.pace.hold);
        } else if self.pending.is_some() {
            self.start_sweep(now);
        }
    }

    fn not_opened(&mut self, report: Option<ProbeReport>, now: Instant, changes: &mut Vec<Change>) {
        self.library.opening = None;
        self.library.open = false;
        self.library.wanted = true;
        self.library.retry.fail(now);
        if let Some(report) = report {
            self.report(report, changes);
        }
        self.silence_all(Absent::Lost, boot_now(), changes);
    }

    fn report(&mut self, report: ProbeReport, changes: &mut Vec<Change>) {
        if self.library.report.as_ref() != Some(&report) {
            changes.push(Change::Probe(report.clone()));
            self.library.report = Some(report);
        }
    }

    pub(super) fn silence_all(&mut self, why: Absent, since: MonoTime, changes: &mut Vec<Change>) {
        for slot in self.slots.iter_mut().filter(|slot| slot.silent.is_none()) {
            slot.silence(why, since, changes);
        }
    }

    /// A device says that the library has to be opened again: at once the first time, with back-off if that did not help.
    fn reopen(&mut self, now: Instant) {
        self.sweep_reopen = true;
        if self.library.wanted || self.library.opening.is_some() {
            return;
        }
        self.library.wanted = true;
        if self.library.calm {
            self.library.retry.reset();
        } else {
            self.library.retry.fail(now);
        }
        self.library.calm = false;
    }

    /// A panic in a call: that device (or the opening) failed, nothing else.
    fn panicked(&mut self, key: Key, now: Instant, changes: &mut Vec<Change>) {
        let (what, id) = match &key {
            Key::Open => ("opening the library", None),
            Key::Sample(id) => ("sampling", Some(id)),
            Key::Slow(id) => ("reading limits and thresholds", Some(id)),
            Key::Pcie(id) => ("measuring PCIe", Some(id)),
            Key::Processes(id) => ("listing processes", Some(id)),
        };
        self.events.push(Event {
            at: jiff::Timestamp::now(),
            device: id.cloned(),
            kind: EventKind::Probe,
            text: format!("the probe failed inside itself while {what}").into(),
            data: Vec::new(),
        });
        match &key {
            Key::Open => self.not_opened(None, now, changes),
            Key::Sample(id) => {
                if let Some(slot) = self.slot(id) {
                    slot.retry.fail(now);
                    slot.silence(Absent::NotReported, boot_now(), changes);
                }
            }
            Key::Slow(id) => {
                if let Some(slot) = self.slot(id) {
                    slot.slow.asked = false;
                    slot.slow.tried = true;
                }
            }
            Key::Pcie(id) => {
                if let Some(slot) = self.slot(id) {
                    slot.accept_pcie([Err(Absent::NotReported); 2], now);
                }
            }
            Key::Processes(id) => {
                if let Some(slot) = self.slot(id) {
                    slot.processes.asked = None;
                    slot.accept_processes(Err(Absent::NotReported), changes);
                }
            }
        }
    }
}
