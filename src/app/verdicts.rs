//! Verdicts in words: causes, the numbers that they rest on, and what to do next.

use super::tools;
use super::words::{self, Signs};
use crate::model::{
    Cause, Comparison, Confidence, DeviceView, Episode, Evidence, KnownKind, Level, Rejected,
    Verdict, VerdictState, Whose, Why, Witness,
};
use crate::text::Catalogue;
use crate::units::{Bytes, BytesPerSecond, Ratio, Watts, format_span};
use std::borrow::Cow;

type Text = Cow<'static, str>;

/// Numbers in one sentence at most; the others stand in the evidence.
const FACTS: usize = 4;

/// The verdict on a device as one sentence; where no cause holds, the worst that is known of it.
#[must_use]
pub fn of_device(view: &DeviceView, t: Catalogue, signs: Signs) -> Text {
    match lines(view, t, signs).into_iter().next() {
        Some((_, line)) => line,
        None => words::state(view.word, t),
    }
}

/// All that is to be said of a device, worst first: the verdict, then what is known beside it.
#[must_use]
pub fn lines(view: &DeviceView, t: Catalogue, signs: Signs) -> Vec<(Level, Text)> {
    let said = spoken(view);
    let mut lines = Vec::with_capacity(view.known.len() + 1);
    if let Some(verdict) = said {
        let sentence = sentence(
            verdict.cause,
            verdict.state,
            &verdict.evidence,
            &verdict.rejected,
            t,
            signs,
        );
        let (level, line) = match verdict.confidence {
            _ if !verdict.cause.can_count() => (Level::Info, sentence),
            Confidence::Suspect => (Level::Warn, t.verdict_suspected(sentence)),
            Confidence::Likely => (Level::Bad, t.verdict_probably(sentence)),
            Confidence::Sure => (Level::Bad, sentence),
        };
        lines.push((level, line));
    }
    let cause = said.map_or(Cause::None, |verdict| verdict.cause);
    let rest = view.known.iter().filter(|known| {
        // Once a rule speaks, that nothing is known to be wrong is no line any more.
        let nothing = matches!(
            known.kind,
            KnownKind::Fine { .. } | KnownKind::Unjudged { .. } | KnownKind::Nothing
        );
        !(covers(cause, &known.kind) || nothing && said.is_some())
    });
    lines.extend(rest.map(|known| (known.level, words::known(&known.kind, t, signs))));
    // Pauses and kinds of work are said after what is wrong.
    lines.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    lines
}

/// The verdict where a rule speaks and says more than the known facts: those name money and advice for idle time,
/// faults and lost devices.
fn spoken(view: &DeviceView) -> Option<&Verdict> {
    let verdict = &view.verdict;
    let richer = matches!(
        verdict.cause,
        Cause::None | Cause::IdleBilled | Cause::DeviceLost | Cause::EccXid
    );
    (!richer && !verdict.evidence.is_empty()).then_some(verdict)
}

/// Whether a known fact is said by the verdict already.
const fn covers(cause: Cause, known: &KnownKind) -> bool {
    matches!(
        (cause, known),
        (Cause::PowerBrake, KnownKind::Braked)
            | (
                Cause::Thermal,
                KnownKind::SlowedByHeat { .. } | KnownKind::Hot { .. }
            )
            | (Cause::PcieSaturated, KnownKind::LinkFull { .. })
            | (
                Cause::PowerCap,
                KnownKind::LimitBelowPlate { .. } | KnownKind::HeldBelowLimit { .. }
            )
            | (Cause::PlateMismatch, KnownKind::DefaultBelowRated { .. })
            | (
                Cause::CollectiveWait
                    | Cause::LaunchBound
                    | Cause::NetworkIo
                    | Cause::PcieLink
                    | Cause::InputStarved
                    | Cause::MemoryBound,
                KnownKind::BusyAtLowPower { .. }
            )
            | (Cause::NvlinkDown, KnownKind::LinksDown { .. })
    )
}

/// What to do about the verdict, where a rule speaks.
#[must_use]
pub fn next_of_device(view: &DeviceView, t: Catalogue) -> Option<Vec<(String, Option<String>)>> {
    let verdict = spoken(view)?;
    let steps = next(verdict.cause, &verdict.evidence, view, t);
    (!steps.is_empty()).then_some(steps)
}

/// The next command about a device, and whether it is worth asking the provider.
#[must_use]
pub fn next_command(view: &DeviceView, t: Catalogue) -> Option<(Text, bool)> {
    let Some(verdict) = spoken(view) else {
        return words::next(view, t);
    };
    let steps = next(verdict.cause, &verdict.evidence, view, t);
    let command = steps.into_iter().find_map(|(_, command)| command);
    match command {
        Some(command) => Some((command.into(), is_the_providers(verdict.cause))),
        None => words::next(view, t),
    }
}

/// What only the provider can mend.
const fn is_the_providers(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::PcieLink
            | Cause::PowerBrake
            | Cause::EccXid
            | Cause::NvlinkDown
            | Cause::DeviceLost
            | Cause::PlateMismatch
            | Cause::PowerCap
    )
}

/// An episode as one sentence.
#[must_use]
pub fn of_episode(episode: &Episode, t: Catalogue, signs: Signs) -> Text {
    sentence(
        episode.cause,
        episode.state,
        &episode.evidence,
        &episode.rejected,
        t,
        signs,
    )
}

/// The device that others wait for is the one that does not spin.
fn is_not_busy(evidence: &Evidence) -> bool {
    evidence.witness == Witness::Utilization && evidence.comparison == Comparison::Less
}

/// What shows that heat has cut clocks.
const HEAT_SHOWN: [Witness; 3] = [
    Witness::SoftwareHeatTime,
    Witness::HardwareHeatTime,
    Witness::ClockOfMax,
];
/// What shows that a limit has.
const CAP_SHOWN: [Witness; 2] = [Witness::PowerCapTime, Witness::ClockOfMax];

pub(super) fn sentence(
    cause: Cause,
    state: VerdictState,
    evidence: &[Evidence],
    rejected: &[Rejected],
    t: Catalogue,
    signs: Signs,
) -> Text {
    let blind = rejected.iter().any(|r| matches!(r.why, Why::CannotTell(_)));
    let told = |witnesses: &[Witness]| evidence.iter().any(|e| witnesses.contains(&e.witness));
    let lead = match (cause, state) {
        // What cut the clocks, or that they are cut, is said only where it was read.
        (Cause::Thermal, _) if !evidence.is_empty() && !told(&HEAT_SHOWN) => t.verdict_too_hot(),
        (Cause::PowerCap, _) if blind && !told(&CAP_SHOWN) => t.verdict_at_limit(),
        (Cause::CollectiveWait, _) if evidence.iter().any(is_not_busy) => t.verdict_held_up(),
        (Cause::PcieLink, VerdictState::Stalled) => t.verdict_link_stalled(),
        (Cause::Unknown, _) if !evidence.is_empty() => t.verdict_start_stalled(),
        (Cause::PowerDrift, _) if blind => t.verdict_drift_blind(),
        _ => lead(cause, t),
    };
    if evidence.is_empty() {
        return t.verdict_says_bare(lead);
    }
    let facts: Vec<Text> = evidence
        .iter()
        .take(FACTS)
        .map(|e| fact(e, t, signs))
        .collect();
    t.verdict_says(lead, facts.join(&t.verdict_join()))
}

/// One number with its threshold, as in "power of plate 31 % (below 85 %)".
#[must_use]
pub fn fact(evidence: &Evidence, t: Catalogue, signs: Signs) -> Text {
    let label = witness(evidence.witness, t);
    let value = number(evidence.witness, evidence.value, t, signs);
    // A code says enough by itself.
    if evidence.comparison == Comparison::Equal && evidence.value == evidence.threshold {
        return format!("{label} {value}").into();
    }
    t.verdict_fact(label, value, bound(evidence, t, signs))
}

/// The threshold with the direction in which it was passed.
#[must_use]
pub fn bound(evidence: &Evidence, t: Catalogue, signs: Signs) -> Text {
    let threshold = number(evidence.witness, evidence.threshold, t, signs);
    match evidence.comparison {
        Comparison::Less => t.verdict_below(threshold),
        Comparison::AtMost => t.verdict_at_most(threshold),
        Comparison::More => t.verdict_over(threshold),
        Comparison::AtLeast => t.verdict_at_least(threshold),
        Comparison::Equal => t.verdict_equal(threshold),
    }
}

/// A number of a witness with its unit.
#[must_use]
pub fn number(witness: Witness, value: f64, t: Catalogue, signs: Signs) -> Text {
    match witness.unit() {
        "ratio" => Ratio(value).to_string().into(),
        "ratio/h" => t.verdict_per_hour(Ratio(value)),
        "W" => Watts(value).to_string().into(),
        "C" => format!("{value:.0}{}", signs.celsius).into(),
        "B/s" => BytesPerSecond(value).to_string().into(),
        "B" => Bytes(value).to_string().into(),
        // Beyond a minute no line changes with every second.
        "s" if value >= 60.0 => format_span((value / 10.0).floor() * 10.0).into(),
        "s" => format_span(value).into(),
        "1/s" => t.verdict_per_second(format!("{value:.0}")),
        "cores" => format!("{value:.1}").into(),
        _ => format!("{value:.0}").into(),
    }
}

/// Why a look-alike was turned down.
#[must_use]
pub fn rejected(rejected: &Rejected, t: Catalogue, signs: Signs) -> Text {
    match &rejected.why {
        Why::Against(evidence) => t.verdict_against(
            witness(evidence.witness, t),
            number(evidence.witness, evidence.value, t, signs),
            bound(evidence, t, signs),
        ),
        Why::CannotTell(lacking) => t.verdict_cannot_tell(witness(*lacking, t)),
    }
}

/// How sure a verdict is, in a word.
#[must_use]
pub fn confidence(confidence: Confidence, t: Catalogue) -> Text {
    match confidence {
        Confidence::Suspect => t.verdict_suspect(),
        Confidence::Likely => t.verdict_likely(),
        Confidence::Sure => t.verdict_sure(),
    }
}

/// What to do about a cause: a text, and a command where there is one.
#[must_use]
pub fn next(
    cause: Cause,
    evidence: &[Evidence],
    view: &DeviceView,
    t: Catalogue,
) -> Vec<(String, Option<String>)> {
    let index = &tools::called(view);
    let own = view.processes.as_ref().ok().and_then(|list| {
        let ours = list
            .iter()
            .find(|p| p.host.as_ref().is_some_and(|h| !h.foreign));
        ours.map(|p| p.device.pid)
    });
    let link = view
        .device
        .pci_address
        .ok()
        .map(|address| t.findings_next_link(address));
    let with = |f: fn(&Catalogue, u32) -> Text| own.map(|pid| f(&t, pid));
    let health = || Some(t.findings_next_health(index));
    let mut steps: Vec<(Text, Option<Text>)> = match cause {
        Cause::CollectiveWait => vec![
            (
                t.verdict_step_stacks(),
                with(|t, pid| t.verdict_run_stacks(pid)),
            ),
            (t.verdict_step_nccl(), Some(t.verdict_run_nccl())),
        ],
        Cause::PcieLink => vec![(t.verdict_step_link(), link)],
        Cause::PcieSaturated => vec![(t.verdict_step_topology(), Some(t.verdict_run_topology()))],
        Cause::InputStarved | Cause::CompilePause => {
            vec![(
                t.verdict_step_workers(),
                with(|t, pid| t.verdict_run_threads(pid)),
            )]
        }
        Cause::HostThrottled => vec![(t.verdict_step_quota(), Some(t.verdict_run_quota()))],
        Cause::DiskIo => vec![(
            t.verdict_step_disk(),
            with(|t, pid| t.verdict_run_wchan(pid)),
        )],
        Cause::NetworkIo => vec![(t.verdict_step_network(), Some(t.verdict_run_network()))],
        Cause::PowerCap | Cause::PlateMismatch => {
            vec![(t.verdict_step_power(), Some(t.findings_next_power(index)))]
        }
        Cause::PowerDrift | Cause::PowerBrake => {
            vec![(t.verdict_step_clocks(), Some(t.findings_next_clocks(index)))]
        }
        Cause::Thermal => vec![
            (t.verdict_step_clocks(), Some(t.findings_next_clocks(index))),
            (t.verdict_step_cool(), None),
        ],
        Cause::ClockLocked => vec![
            (t.verdict_step_clocks(), Some(t.findings_next_clocks(index))),
            (
                t.verdict_step_reset_clocks(),
                Some(t.verdict_run_reset_clocks(index)),
            ),
        ],
        Cause::LaunchBound | Cause::MemoryBound => vec![(t.verdict_step_batch(), None)],
        Cause::MemoryLeak => {
            vec![(t.verdict_step_leak(), Some(t.verdict_run_memory(index)))]
        }
        Cause::HostMemory => {
            vec![(
                t.verdict_step_host_memory(),
                Some(t.verdict_run_host_memory()),
            )]
        }
        Cause::EccXid if evidence.iter().any(|e| e.witness == Witness::Xid) => {
            vec![(t.verdict_step_kernel(), Some(t.findings_next_kernel()))]
        }
        Cause::EccXid => vec![(t.verdict_step_health(), health())],
        Cause::NvlinkDown => {
            vec![(t.verdict_step_nvlink(), Some(t.verdict_run_nvlink(index)))]
        }
        Cause::DeviceLost | Cause::CounterFrozen => {
            vec![(t.verdict_step_kernel(), Some(t.findings_next_kernel()))]
        }
        Cause::Straggler => {
            vec![(
                t.verdict_step_straggler(),
                Some(t.findings_next_clocks(index)),
            )]
        }
        Cause::IdleBilled => {
            let command = own.map(|pid| t.findings_next_processes(pid));
            vec![(t.verdict_step_stop(), command)]
        }
        Cause::None
        | Cause::Unknown
        | Cause::WarmUp
        | Cause::EvalPause
        | Cause::CheckpointPause
        | Cause::WorkChanged
        | Cause::Serving
        | Cause::PowerSmoothing
        | Cause::PanelDisagrees
        | Cause::Flapping => Vec::new(),
    };
    if is_the_providers(cause) {
        steps.push((t.verdict_step_support(), None));
    }
    tools::steps(view, steps)
}

/// A cause in a few words.
#[must_use]
pub fn cause(cause: Cause, t: Catalogue) -> Text {
    match cause {
        Cause::None => t.verdict_no_cause(),
        Cause::WarmUp => t.verdict_cause_warm_up(),
        Cause::EvalPause => t.verdict_cause_eval_pause(),
        Cause::CompilePause => t.verdict_cause_compile_pause(),
        Cause::CheckpointPause => t.verdict_cause_checkpoint_pause(),
        Cause::WorkChanged => t.verdict_cause_work_changed(),
        Cause::Serving => t.verdict_cause_serving(),
        Cause::MemoryBound => t.verdict_cause_memory_bound(),
        Cause::PowerSmoothing => t.verdict_cause_power_smoothing(),
        Cause::CounterFrozen => t.verdict_cause_counter_frozen(),
        Cause::Unknown => t.verdict_cause_unknown(),
        Cause::IdleBilled => t.verdict_cause_idle_billed(),
        Cause::PcieLink => t.verdict_cause_pcie_link(),
        Cause::PcieSaturated => t.verdict_cause_pcie_saturated(),
        Cause::CollectiveWait => t.verdict_cause_collective_wait(),
        Cause::InputStarved => t.verdict_cause_input_starved(),
        Cause::HostThrottled => t.verdict_cause_host_throttled(),
        Cause::DiskIo => t.verdict_cause_disk_io(),
        Cause::NetworkIo => t.verdict_cause_network_io(),
        Cause::PowerCap => t.verdict_cause_power_cap(),
        Cause::PowerDrift => t.verdict_cause_power_drift(),
        Cause::PowerBrake => t.verdict_cause_power_brake(),
        Cause::Thermal => t.verdict_cause_thermal(),
        Cause::ClockLocked => t.verdict_cause_clock_locked(),
        Cause::LaunchBound => t.verdict_cause_launch_bound(),
        Cause::MemoryLeak => t.verdict_cause_memory_leak(),
        Cause::HostMemory => t.verdict_cause_host_memory(),
        Cause::EccXid => t.verdict_cause_ecc_xid(),
        Cause::NvlinkDown => t.verdict_cause_nvlink_down(),
        Cause::Straggler => t.verdict_cause_straggler(),
        Cause::PlateMismatch => t.verdict_cause_plate_mismatch(),
        Cause::PanelDisagrees => t.verdict_cause_panel_disagrees(),
        Cause::Flapping => t.verdict_cause_flapping(),
        Cause::DeviceLost => t.verdict_cause_device_lost(),
    }
}

fn lead(cause: Cause, t: Catalogue) -> Text {
    match cause {
        Cause::None => t.verdict_no_cause(),
        Cause::WarmUp => t.verdict_lead_warm_up(),
        Cause::EvalPause => t.verdict_lead_eval_pause(),
        Cause::CompilePause => t.verdict_lead_compile_pause(),
        Cause::CheckpointPause => t.verdict_lead_checkpoint_pause(),
        Cause::WorkChanged => t.verdict_lead_work_changed(),
        Cause::Serving => t.verdict_lead_serving(),
        Cause::MemoryBound => t.verdict_lead_memory_bound(),
        Cause::PowerSmoothing => t.verdict_lead_power_smoothing(),
        Cause::CounterFrozen => t.verdict_lead_counter_frozen(),
        Cause::Unknown => t.verdict_lead_unknown(),
        Cause::IdleBilled => t.verdict_lead_idle_billed(),
        Cause::PcieLink => t.verdict_lead_pcie_link(),
        Cause::PcieSaturated => t.verdict_lead_pcie_saturated(),
        Cause::CollectiveWait => t.verdict_lead_collective_wait(),
        Cause::InputStarved => t.verdict_lead_input_starved(),
        Cause::HostThrottled => t.verdict_lead_host_throttled(),
        Cause::DiskIo => t.verdict_lead_disk_io(),
        Cause::NetworkIo => t.verdict_lead_network_io(),
        Cause::PowerCap => t.verdict_lead_power_cap(),
        Cause::PowerDrift => t.verdict_lead_power_drift(),
        Cause::PowerBrake => t.verdict_lead_power_brake(),
        Cause::Thermal => t.verdict_lead_thermal(),
        Cause::ClockLocked => t.verdict_lead_clock_locked(),
        Cause::LaunchBound => t.verdict_lead_launch_bound(),
        Cause::MemoryLeak => t.verdict_lead_memory_leak(),
        Cause::HostMemory => t.verdict_lead_host_memory(),
        Cause::EccXid => t.verdict_lead_ecc_xid(),
        Cause::NvlinkDown => t.verdict_lead_nvlink_down(),
        Cause::Straggler => t.verdict_lead_straggler(),
        Cause::PlateMismatch => t.verdict_lead_plate_mismatch(),
        Cause::PanelDisagrees => t.verdict_lead_panel_disagrees(),
        Cause::Flapping => t.verdict_lead_flapping(),
        Cause::DeviceLost => t.verdict_lead_device_lost(),
    }
}

/// What was measured, in a few words.
#[must_use]
pub fn witness(witness: Witness, t: Catalogue) -> Text {
    match witness {
        Witness::Power => t.verdict_w_power(),
        Witness::PowerSpan => t.verdict_w_power_span(),
        Witness::PowerOfLimit => t.verdict_w_power_of_limit(),
        Witness::PowerOfPlate => t.verdict_w_power_of_plate(),
        Witness::PowerSpread => t.verdict_w_power_spread(),
        Witness::PowerOfReference => t.verdict_w_power_of_reference(),
        Witness::PowerSum => t.verdict_w_power_sum(),
        Witness::LimitOfPlate => t.verdict_w_limit_of_plate(),
        Witness::DefaultOfRated => t.verdict_w_default_of_rated(),
        Witness::MemoryOfPlate => t.verdict_w_memory_of_plate(),
        Witness::ClockOfMax => t.verdict_w_clock_of_max(),
        Witness::ClockOfReference => t.verdict_w_clock_of_reference(),
        Witness::ApplicationClock => t.verdict_w_application_clock(),
        Witness::PowerCapTime => t.verdict_w_power_cap_time(),
        Witness::SoftwareHeatTime => t.verdict_w_software_heat_time(),
        Witness::HardwareHeatTime => t.verdict_w_hardware_heat_time(),
        Witness::BrakeTime => t.verdict_w_brake_time(),
        Witness::SetClockTime => t.verdict_w_set_clock_time(),
        Witness::ReasonTime => t.verdict_w_reason_time(),
        Witness::Temperature => t.verdict_w_temperature(),
        Witness::Headroom => t.verdict_w_headroom(),
        Witness::MemoryTemperature => t.verdict_w_memory_temperature(),
        Witness::Utilization => t.verdict_w_utilization(),
        Witness::IdleShare => t.verdict_w_idle_share(),
        Witness::Swings => t.verdict_w_swings(),
        Witness::MemoryActivity => t.verdict_w_memory_activity(),
        Witness::SmActive => t.verdict_w_sm_active(),
        Witness::TensorActive => t.verdict_w_tensor_active(),
        Witness::DramActive => t.verdict_w_dram_active(),
        Witness::Frozen => t.verdict_w_frozen(),
        Witness::IdleSeconds => t.verdict_w_idle_seconds(),
        Witness::LinkWidth => t.verdict_w_link_width(),
        Witness::LinkGeneration => t.verdict_w_link_generation(),
        Witness::BridgeWidth => t.verdict_w_bridge_width(),
        Witness::LinkRx => t.verdict_w_link_rx(),
        Witness::LinkTx => t.verdict_w_link_tx(),
        Witness::Health => t.verdict_w_health(),
        Witness::LinkBoth => t.verdict_w_link_both(),
        Witness::LinkTraffic => t.verdict_w_link_traffic(),
        Witness::NvlinkUp => t.verdict_w_nvlink_up(),
        Witness::NvlinkTraffic => t.verdict_w_nvlink_traffic(),
        Witness::NvlinkErrors => t.verdict_w_nvlink_errors(),
        Witness::HostCpu => t.verdict_w_host_cpu(),
        Witness::OwnerCpu => t.verdict_w_owner_cpu(),
        Witness::OwnerCores => t.verdict_w_owner_cores(),
        Witness::CgroupThrottled => t.verdict_w_cgroup_throttled(),
        Witness::CpuPressure => t.verdict_w_cpu_pressure(),
        Witness::IoSome => t.verdict_w_io_some(),
        Witness::IoFull => t.verdict_w_io_full(),
        Witness::MemoryFull => t.verdict_w_memory_full(),
        Witness::WaitingThreads => t.verdict_w_waiting_threads(),
        Witness::OwnerWrites => t.verdict_w_owner_writes(),
        Witness::OwnerReads => t.verdict_w_owner_reads(),
        Witness::Retransmits => t.verdict_w_retransmits(),
        Witness::Segments => t.verdict_w_segments(),
        Witness::RdmaErrors => t.verdict_w_rdma_errors(),
        Witness::NetworkTraffic => t.verdict_w_network_traffic(),
        Witness::RdmaTraffic => t.verdict_w_rdma_traffic(),
        Witness::SwapGrowth => t.verdict_w_swap_growth(),
        Witness::MajorFaults => t.verdict_w_major_faults(),
        Witness::HostMemory => t.verdict_w_host_memory(),
        Witness::OwnerAge => t.verdict_w_owner_age(),
        Witness::PeersSpan => t.verdict_w_peers_span(),
        Witness::ClockOfPeers => t.verdict_w_clock_of_peers(),
        Witness::WorkOfPeers => t.verdict_w_work_of_peers(),
        Witness::PowerOfPeers => t.verdict_w_power_of_peers(),
        Witness::HotterThanPeers => t.verdict_w_hotter_than_peers(),
        Witness::PeersWaiting => t.verdict_w_peers_waiting(),
        Witness::PeersWorking => t.verdict_w_peers_working(),
        Witness::PeersLinks => t.verdict_w_peers_links(),
        Witness::DeviceCount => t.verdict_w_device_count(),
        Witness::ModelMatch => t.verdict_w_model_match(),
        Witness::Xid => t.verdict_w_xid(),
        Witness::EccUncorrected => t.verdict_w_ecc_uncorrected(),
        Witness::RemapFailed => t.verdict_w_remap_failed(),
        Witness::RemapPending => t.verdict_w_remap_pending(),
        Witness::RecoveryAction => t.verdict_w_recovery_action(),
        Witness::Silent => t.verdict_w_silent(),
        Witness::StepAge => t.verdict_w_step_age(),
        Witness::MemoryUsed => t.verdict_w_memory_used(),
        Witness::MemoryGrowth => t.verdict_w_memory_growth(),
        Witness::PauseSeconds => t.verdict_w_pause_seconds(),
        Witness::EarlierPause => t.verdict_w_earlier_pause(),
    }
}

/// Whose a threshold is, in a word or two.
#[must_use]
pub fn whose(whose: Whose, t: Catalogue) -> Text {
    match whose {
        Whose::Device => t.verdict_whose_device(),
        Whose::Plate => t.verdict_whose_plate(),
        Whose::Baseline => t.verdict_whose_baseline(),
        Whose::Article => t.verdict_whose_article(),
        Whose::Paper(paper) => paper.id().into(),
        Whose::Config => t.verdict_whose_config(),
    }
}
