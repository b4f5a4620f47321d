//! The view that sinks read.

use super::board::{Boards, Share};
use super::derive::{Derived, Moment};
use super::device::{DeviceState, REASON_COUNTERS};
use super::{Session, judge, known};
use crate::model::{
    Absent, BoardId, BoardView, Carbon, CarbonTable, Charge, DeviceKind, DeviceView, Disagreement,
    Energy, Figure, HostSample, Metric, MinutePoint, PathView, PlatformView, ProcessView, Reading,
    Reason, Snapshot, StateWord, Value,
};
use crate::units::MonoTime;

impl Session {
    /// The view at the newest tick; `None` before the first.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let last = self.start.last?;
        let moment = self.moment();
        let platform = self.platform_view(moment);
        let states = self.start.devices.iter().zip(&self.derived);
        let devices: Vec<DeviceView> = states
            .map(|(d, derived)| self.device_view(d, derived, platform.as_ref(), last.at))
            .collect();
        let (host_at, host_sample) = match &self.start.host_sample {
            Some((at, sample)) => (Some(*at), not_stale(sample, *at, moment)),
            None => (None, HostSample::default()),
        };
        let energy = self.energy();
        let carbon = energy.and_then(|energy| self.carbon(energy.kwh));
        Some(Snapshot {
            seq: last.seq,
            at: last.at,
            mono: last.mono,
            interval: last.interval,
            dropped: last.dropped,
            source: self.source.clone(),
            probes: self.start.probes.clone(),
            host: self.start.host.clone(),
            host_sample,
            host_age_s: host_at.map_or(0.0, |at| last.mono.seconds_since(at)),
            platform,
            startup: self.ledger.startup(),
            boards: self.boards(&devices, last.at),
            energy,
            carbon,
            devices,
            events: self.start.events.clone(),
            past: self.start.past.clone(),
            // Billing goes on where no device can be seen.
            cost: self.ledger.cost(last.at),
        })
    }

    /// What a recording's plain table takes of the newest tick.
    #[must_use]
    pub fn minute_points(&self) -> Vec<MinutePoint<'_>> {
        let Some(last) = self.start.last else {
            return Vec::new();
        };
        let states = self.start.devices.iter().zip(&self.derived);
        states
            .map(|(state, derived)| MinutePoint {
                device: &state.device.id,
                figures: &derived.figures,
                phase_seconds: self.ledger.device_seconds(&state.device.id, last.at),
                answers: state.silent.is_none(),
                sampled: state.sampled.is_some(),
            })
            .collect()
    }

    /// Emissions, where platform and region, or the user, say which grid it is.
    fn carbon(&self, kwh: f64) -> Option<Carbon> {
        let (platform, region) = self.ledger.place();
        CarbonTable::shared().carbon(kwh, platform, region, &self.start.config.grid)
    }

    fn device_view(
        &self,
        state: &DeviceState,
        derived: &Derived,
        platform: Option<&PlatformView>,
        at: jiff::Timestamp,
    ) -> DeviceView {
        let moment = self.moment();
        let disagreements = disagreements(state, platform);
        let phase_seconds = self.ledger.device_seconds(&state.device.id, at);
        let known = known::known(&known::Facts {
            state,
            figures: &derived.figures,
            at,
            moment,
            phase_seconds: &phase_seconds,
            plate: known::link_plate(state, self.entry(state)),
            disagreements: &disagreements,
            charge: &|seconds| self.charge(state, seconds),
        });
        let held = state.memory_held().is_some_and(|bytes| bytes > 0.0);
        let verdict = judge::verdict(
            state,
            derived.figures.get(Figure::Utilization).ok(),
            self.judge.compute(),
            moment.interval_s,
        );
        let known_word = known::word(&known, state.phase, held);
        let verdict_word = judge::word(&verdict, held);
        let reasons = state.held.value(
            Metric::Reasons,
            moment.now,
            moment.interval_s,
            state.silence(),
        );
        let mig = state
            .held
            .readings()
            .get(Metric::MigEnabled)
            .ok()
            .map(|on| {
                let mine = |d: &&DeviceState| d.device.parent.as_ref() == Some(&state.device.id);
                (
                    on > 0.0,
                    self.start
                        .devices
                        .iter()
                        .filter(mine)
                        .map(|d| d.device.id.clone())
                        .collect(),
                )
            });
        DeviceView {
            device: state.device.clone(),
            readings: state
                .held
                .shown(moment.now, moment.interval_s, state.silence()),
            age_s: state
                .sampled
                .map(|sampled| moment.now.seconds_since(sampled).max(0.0)),
            silent: state.silent,
            power_kind: derived.power_kind,
            power_scope: derived.power_scope,
            plate_power_source: derived.plate_power_source,
            plate_unverified: derived.plate_unverified,
            rated_power_source: derived.rated_power_source.clone(),
            temperature_sensor: derived.temperature_sensor,
            headroom_source: derived.headroom_source,
            work_ratio_source: derived.work_ratio_source,
            throttle: reasons.reading.map(|bits| Reason::words(bits as u64)),
            throttle_seconds: REASON_COUNTERS
                .iter()
                .zip(&state.reasons)
                .filter_map(|((_, name), growth)| Some((*name, growth.sum()?)))
                .collect(),
            pcie_method: derived.pcie_method,
            path: PathView {
                hops: state.path.clone(),
            },
            mig,
            xid: state.xid,
            processes: self.process_views(state, moment),
            processes_age_s: processes_age(state, moment),
            phase: state.phase,
            phase_seconds,
            utilization_seconds: self.ledger.utilization_seconds(&state.device.id),
            work_seconds: self.ledger.work_seconds(&state.device.id),
            word: verdict_word
                .filter(|word| worse(*word, known_word))
                .unwrap_or(known_word),
            verdict,
            episodes: state
                .judged
                .as_ref()
                .map(|memory| memory.episodes(&state.device.id))
                .unwrap_or_default(),
            figures: derived.figures.clone(),
            known,
        }
    }

    fn boards(&self, devices: &[DeviceView], at: jiff::Timestamp) -> Vec<BoardView> {
        let mut boards: Vec<BoardView> = Vec::new();
        for view in devices {
            if let Some(board) = boards.iter_mut().find(|b| b.id == view.device.board) {
                board.devices.push(view.device.id.clone());
                if view.device.kind == DeviceKind::Device {
                    // Where each device tells the whole board's, it counts once.
                    let add = |sum: &mut Value, figure| {
                        let value = view.figures.get(figure);
                        *sum = match view.power_scope {
                            "board" if sum.ok().is_some() && value.ok().is_some() => {
                                sum.with(value, f64::max)
                            }
                            "board" => sum.or(value),
                            _ => sum.with(value, |a, b| a + b),
                        };
                    };
                    add(&mut board.power_w, Figure::Power);
                    add(&mut board.power_limit_w, Figure::PowerLimit);
                    add(&mut board.plate_power_w, Figure::PlatePower);
                }
                continue;
            }
            boards.push(BoardView {
                id: view.device.board.clone(),
                name: view.device.name.clone(),
                devices: vec![view.device.id.clone()],
                power_w: view.figures.get(Figure::Power),
                power_limit_w: view.figures.get(Figure::PowerLimit),
                plate_power_w: view.figures.get(Figure::PlatePower),
                phase_seconds: self.ledger.board_seconds(&view.device.board, at),
            });
        }
        boards
    }

    /// What seconds of a device cost: where it is alone on its board, since the board is what is rented.
    fn charge(&self, state: &DeviceState, seconds: f64) -> Option<Charge> {
        let alone = state.device.kind == DeviceKind::Device
            && !self.start.devices.iter().any(|other| {
                other.device.kind == DeviceKind::Device
                    && other.device.board == state.device.board
                    && other.device.id != state.device.id
            });
        self.ledger.charge(seconds).filter(|_| alone)
    }

    fn process_views(&self, state: &DeviceState, moment: Moment) -> Reading<Vec<ProcessView>> {
        let list = state.processes_now(moment)?;
        Ok(list
            .iter()
            .map(|process| ProcessView {
                device: process.clone(),
                host: self.host_process(process.pid).cloned(),
            })
            .collect())
    }

    /// Energy over all boards since the session began: the counter's where there is one, else power over time.
    fn energy(&self) -> Option<Energy> {
        let whole = || {
            self.start
                .devices
                .iter()
                .filter(|d| d.device.kind == DeviceKind::Device)
        };
        let boards = Boards::of(&self.start.devices);
        let mut counted: Vec<&BoardId> = Vec::new();
        let mut joules = 0.0;
        let (mut any, mut estimated, mut board) = (false, false, false);
        for state in whole() {
            let sum = state
                .energy
                .sum()
                .or((state.energy_by_power_j > 0.0).then_some(state.energy_by_power_j));
            let Some(sum) = sum else { continue };
            let share = boards.share(state, self.entry(state));
            board |= share != Share::Own;
            if share == Share::Shared {
                if counted.contains(&&state.device.board) {
                    continue;
                }
                counted.push(&state.device.board);
            }
            any = true;
            estimated |= state.energy.sum().is_none();
            joules += sum;
        }
        // A superchip's counter covers its whole module.
        let module = whole().any(|d| d.held.readings().get(Metric::ModulePower).is_ok());
        any.then_some(Energy {
            kwh: joules / 3.6e6,
            scope: match (module, board) {
                (true, _) => "module",
                (_, true) => "board",
                _ => "gpu",
            },
            estimated,
        })
    }
}

/// In what the platform and the drivers differ, as far as it concerns a device: its own, and the whole instance's.
fn disagreements<'a>(
    state: &DeviceState,
    platform: Option<&'a PlatformView>,
) -> Vec<&'a Disagreement> {
    let whole = state.device.kind == DeviceKind::Device;
    let all = platform.map_or(&[][..], |view| &view.disagreements);
    all.iter()
        .filter(|(of, _)| match of {
            Some(id) => *id == state.device.id,
            None => whole,
        })
        .map(|(_, what)| what)
        .collect()
}

/// Lists come on change only, so a list is as old as the newest sample of a device that does not answer now.
fn processes_age(state: &DeviceState, moment: Moment) -> f64 {
    let age = state.sampled.map_or(0.0, |at| moment.now.seconds_since(at));
    if age > 1.5 * moment.interval_s {
        age
    } else {
        0.0
    }
}

/// The host's readings; those older than five intervals are not shown any more.
fn not_stale(sample: &HostSample, at: MonoTime, moment: Moment) -> HostSample {
    let mut sample = sample.clone();
    if moment.now.seconds_since(at) <= 5.0 * moment.interval_s {
        return sample;
    }
    let HostSample {
        cpu_ratio,
        load1,
        memory_used_bytes,
        memory_limit_bytes,
        swap_used_bytes,
        psi_scope: _,
        psi_cpu_some_ratio,
        psi_io_some_ratio,
        psi_io_full_ratio,
        psi_memory_full_ratio,
        cgroup_throttled_ratio,
        net_rx_bytes_per_s,
        net_tx_bytes_per_s,
        tcp_retransmit_ratio,
        tcp_segments,
        disk_read_bytes_per_s,
        disk_write_bytes_per_s,
        infiniband_rx_bytes_per_s,
        infiniband_tx_bytes_per_s,
        infiniband_errors,
        cpu_quota_cores,
    } = &mut sample;
    for reading in [
        cpu_ratio,
        load1,
        memory_used_bytes,
        memory_limit_bytes,
        swap_used_bytes,
        psi_cpu_some_ratio,
        psi_io_some_ratio,
        psi_io_full_ratio,
        psi_memory_full_ratio,
        cgroup_throttled_ratio,
        net_rx_bytes_per_s,
        net_tx_bytes_per_s,
        tcp_retransmit_ratio,
        tcp_segments,
        disk_read_bytes_per_s,
        disk_write_bytes_per_s,
        infiniband_rx_bytes_per_s,
        infiniband_tx_bytes_per_s,
        infiniband_errors,
        cpu_quota_cores,
    ] {
        *reading = reading.and(Err(Absent::Stale));
    }
    sample
}

/// Whether a state is worse than another, for the selection that follows the worst.
#[must_use]
pub fn worse(a: StateWord, b: StateWord) -> bool {
    let rank = |word| match word {
        StateWord::Working => 0,
        StateWord::Idle => 1,
        StateWord::Held => 2,
        StateWord::Paused => 3,
        StateWord::Capped => 4,
        StateWord::Narrow => 5,
        StateWord::Degraded => 6,
        StateWord::Slowed => 7,
        StateWord::Unknown => 8,
        StateWord::Hot => 9,
        StateWord::Doubtful => 10,
        StateWord::Braked => 11,
        StateWord::Stalled => 12,
        StateWord::Silent => 13,
        StateWord::Faulty => 14,
        StateWord::Lost => 15,
    };
    rank(a) > rank(b)
}
