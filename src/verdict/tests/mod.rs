//! Each rule at and around its thresholds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod causes;
mod mended;

use super::*;
use crate::model::*;
use crate::units::MonoTime;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

pub(super) fn card() -> Device {
    let id: Arc<str> = "GPU-0".into();
    Device {
        id: DeviceId(id.clone()),
        index: 0,
        vendor: Vendor::Nvidia,
        name: "Card".into(),
        uuid: Ok(id.clone()),
        pci_address: Err(Absent::NotReported),
        pci_id: Err(Absent::NotReported),
        driver: Err(Absent::NotReported),
        board: BoardId(id),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: Some(true),
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

/// A device of 700 W at honest work.
pub(super) fn working<'a>(device: &'a Device, peers: &'a Peers) -> Seen<'a> {
    Seen {
        at: Timestamp::from_second(1_790_000_000).unwrap(),
        now: MonoTime(1_000_000_000_000),
        interval_s: 1.0,
        dt: 0.0,
        device,
        fresh: true,
        silent_s: None,
        lost: false,
        all_lost: false,
        power_w: Some(600.0),
        limit_w: Some(700.0),
        default_limit_w: Some(700.0),
        plate_w: Some(700.0),
        rated_w: Some(700.0),
        span: Some(0.82),
        span_learned: true,
        temperature_c: Some(60.0),
        headroom_c: Some(27.0),
        own_threshold: true,
        memory_temperature_c: None,
        memory_max_c: None,
        utilization: Some(0.98),
        memory_activity: Some(0.3),
        sm_active: Some(0.8),
        tensor_active: Some(0.4),
        dram_active: Some(0.3),
        memory_used: Some(60e9),
        memory_total: Some(85e9),
        plate_memory: Some(85e9),
        clock_mhz: Some(1980.0),
        clock_max_mhz: Some(1980.0),
        set_clock_mhz: None,
        bits: Some(0),
        performance_state: Some(0.0),
        reason_s: [None; 5],
        width: Some(16),
        width_max: Some(16),
        usual_width: None,
        generation: Some(5),
        generation_max: Some(5),
        link_by_plate: true,
        bridge_width: Some(16),
        link_in_use: true,
        usable_bytes_per_s: Some(52e9),
        rx_bytes_per_s: Some(2e9),
        tx_bytes_per_s: Some(1e9),
        rx_saturation: Some(0.04),
        tx_saturation: Some(0.02),
        both_saturation: None,
        both_bytes_per_s: None,
        nvlink_links: Some(18.0),
        nvlink_up: Some(18.0),
        nvlink_expected: true,
        nvlink_bytes_per_s: Some(50e9),
        nvlink_errors: Some(0.0),
        energy_j: None,
        ecc_uncorrected: Some(0.0),
        remap_failed: Some(0.0),
        remap_pending: Some(0.0),
        recovery_action: Some(0.0),
        health: None,
        xid: None,
        owners: Owners {
            listed: Some(1),
            ours: true,
            held_bytes: Some(60e9),
            cores: Some(2.0),
            waiting: Some(0.0),
            reads: Some(1e6),
            writes: Some(0.0),
            faults: Some(0.0),
            youngest_s: Some(5000.0),
            key: 7,
        },
        host: None,
        host_cores: Some(64.0),
        disagreements: &[],
        peers,
    }
}

/// Looks, one a second.
struct Looks {
    rules: RuleSet,
    memory: Memory,
    turns: Vec<Turn>,
    second: u64,
    device: Device,
}

impl Looks {
    fn new() -> Self {
        Self::with(&Thresholds::default())
    }

    fn with(thresholds: &Thresholds) -> Self {
        Self {
            rules: RuleSet::all().with_limits(Limits::new(thresholds, 0.1, 600.0)),
            memory: Memory::default(),
            turns: Vec::new(),
            second: 0,
            device: card(),
        }
    }

    /// So many seconds of the same, changed by `f` with the second in it.
    fn see(&mut self, seconds: u64, f: impl Fn(u64, &mut Seen<'_>)) -> &mut Self {
        self.beside(&Peers::default(), seconds, f)
    }

    /// The same beside these peers.
    fn beside(&mut self, peers: &Peers, seconds: u64, f: impl Fn(u64, &mut Seen<'_>)) -> &mut Self {
        let device = self.device.clone();
        for n in 0..seconds {
            let mut seen = working(&device, peers);
            // A sensor's noise.
            seen.power_w = seen.power_w.map(|w| w + 0.3 * (self.second % 7) as f64);
            f(n, &mut seen);
            seen.at += SignedDuration::from_secs(self.second as i64);
            seen.now = MonoTime(seen.now.0 + self.second * 1_000_000_000);
            seen.dt = if self.second == 0 { 0.0 } else { 1.0 };
            self.second += 1;
            self.rules.look(&mut self.memory, &seen, &mut self.turns);
            for evidence in self.memory.verdict().into_iter().flat_map(|v| v.evidence) {
                assert!(evidence.holds(), "{evidence:?}");
            }
        }
        self
    }

    fn cause(&self) -> Cause {
        self.memory.verdict().map_or(Cause::None, |v| v.cause)
    }

    fn confidence(&self) -> Option<Confidence> {
        self.memory.verdict().map(|v| v.confidence)
    }

    fn begun(&self, cause: Cause) -> bool {
        self.turns.iter().any(|t| t.episode.cause == cause)
    }
}

fn spins(seen: &mut Seen<'_>) {
    seen.utilization = Some(1.0);
    seen.power_w = Some(140.0 + seen.power_w.unwrap_or(0.0).fract());
    seen.span = Some(0.02);
    seen.memory_activity = Some(0.0);
    seen.dram_active = Some(0.0);
    seen.tensor_active = Some(0.0);
    seen.sm_active = Some(0.15);
    seen.rx_bytes_per_s = Some(1e5);
    seen.tx_bytes_per_s = Some(1e5);
    seen.rx_saturation = Some(0.0);
    seen.tx_saturation = Some(0.0);
    seen.nvlink_bytes_per_s = Some(0.0);
}

/// A device that does not tell the directions apart.
fn only_the_sum(seen: &mut Seen<'_>, saturation: f64) {
    (seen.rx_saturation, seen.tx_saturation) = (None, None);
    (seen.rx_bytes_per_s, seen.tx_bytes_per_s) = (None, None);
    seen.both_saturation = Some(saturation);
    seen.both_bytes_per_s = seen
        .usable_bytes_per_s
        .map(|usable| usable * 2.0 * saturation);
}

#[test]
fn honest_work_is_nothing() {
    let mut looks = Looks::new();
    looks.see(900, |_, _| {});
    assert_eq!(looks.cause(), Cause::None);
    assert!(looks.turns.is_empty(), "{:?}", looks.turns);
}

#[test]
fn idle_counts_after_the_limit() {
    let mut looks = Looks::new();
    looks.see(120, |_, _| {}).see(590, |_, s| {
        (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.0), Some(130.0));
    });
    assert!(!looks.memory.verdict().unwrap().counts);
    looks.see(20, |_, s| {
        (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.0), Some(130.0));
    });
    let verdict = looks.memory.verdict().unwrap();
    assert!(verdict.counts);
    assert_eq!(verdict.confidence, Confidence::Sure);
}

#[test]
fn what_is_configured_is_the_configurations() {
    let mut thresholds = Thresholds::default();
    thresholds.set(Threshold::LinkSuspect, 2.0);
    thresholds.set(Threshold::WaitBusy, 0.5);
    let mut looks = Looks::with(&thresholds);
    looks.see(30, |_, _| {}).see(3, |_, s| s.width = Some(8));
    assert_eq!(looks.cause(), Cause::PcieLink);
    let mut looks = Looks::with(&thresholds);
    looks.see(60, |_, s| {
        spins(s);
        s.utilization = Some(0.7);
    });
    let verdict = looks.memory.verdict().unwrap();
    let busy = verdict
        .evidence
        .iter()
        .find(|e| e.witness == Witness::Utilization)
        .unwrap();
    assert_eq!((busy.threshold, busy.whose), (0.5, Whose::Config));
}

#[test]
fn an_episode_has_its_begin_its_turns_and_its_end() {
    let mut looks = Looks::new();
    looks
        .see(60, |_, _| {})
        .see(40, |_, s| s.width = Some(8))
        .see(30, |_, _| {});
    let kinds: Vec<TurnKind> = looks.turns.iter().map(|t| t.kind).collect();
    assert_eq!(kinds, [TurnKind::Begin, TurnKind::Sure, TurnKind::End]);
    let end = &looks.turns[2].episode;
    assert!((end.seconds - 40.0).abs() < 1.5, "{}", end.seconds);
    let lasted = end.end.unwrap().duration_since(end.begin).as_secs();
    assert!((39..=41).contains(&lasted), "{lasted}");
    assert!(end.sure_at.unwrap() > end.suspect_at && end.suspect_at > end.begin);
}

#[test]
fn a_gap_ends_what_held_where_it_was_seen() {
    let mut looks = Looks::new();
    looks.see(20, |_, s| s.width = Some(8));
    let mut turns = Vec::new();
    looks.memory.after_gap(&card().id, &mut turns);
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].kind, TurnKind::End);
    assert_eq!(looks.cause(), Cause::None);
}

/// 22 of 250 W over 36 h, minute by minute, with the clock falling along: suspected by 14 h, sure by 17.5 h.
#[test]
fn the_articles_ramp_is_dated() {
    let mut looks = Looks::new();
    let device = card();
    let peers = Peers::default();
    let (mut suspected, mut sure) = (None, None);
    for minute in 0..36 * 60_u64 {
        let hours = minute as f64 / 60.0;
        let share = 1.0 - 0.088 * hours / 36.0;
        let mut seen = working(&device, &peers);
        seen.interval_s = 60.0;
        let noise = 0.6 * ((minute * 7919) % 13) as f64 / 13.0 - 0.3;
        seen.power_w = Some(250.0 * share + noise);
        (
            seen.limit_w,
            seen.default_limit_w,
            seen.plate_w,
            seen.rated_w,
        ) = (Some(250.0), Some(250.0), Some(250.0), Some(250.0));
        seen.utilization = Some(0.92);
        seen.clock_mhz = Some((1410.0 * (1.0 - 0.6 * (1.0 - share)) / 15.0).round() * 15.0);
        seen.clock_max_mhz = Some(1410.0);
        seen.at += SignedDuration::from_mins(minute as i64);
        seen.now = MonoTime(seen.now.0 + minute * 60_000_000_000);
        seen.dt = if minute == 0 { 0.0 } else { 60.0 };
        looks.rules.look(&mut looks.memory, &seen, &mut looks.turns);
        for turn in looks
            .turns
            .drain(..)
            .filter(|t| t.episode.cause == Cause::PowerDrift)
        {
            match turn.kind {
                TurnKind::Begin => suspected = suspected.or(Some(hours)),
                TurnKind::Sure => sure = sure.or(Some(hours)),
                TurnKind::End => {}
            }
        }
    }
    assert!(
        suspected.is_some_and(|h| (6.0..14.5).contains(&h)),
        "{suspected:?}"
    );
    assert!(sure.is_some_and(|h| (12.0..17.6).contains(&h)), "{sure:?}");
    assert_eq!(looks.cause(), Cause::PowerDrift);
}

#[test]
fn a_pause_with_writes_is_a_checkpoint_and_no_disk() {
    let mut looks = Looks::new();
    looks.see(120, |_, _| {}).see(60, |_, s| {
        (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.01), Some(130.0));
        s.owners.writes = Some(900e6);
        s.owners.waiting = Some(3.0);
    });
    assert_eq!(looks.cause(), Cause::CheckpointPause);
    looks.see(60, |_, _| {});
    assert!(!looks.begun(Cause::DiskIo) && !looks.begun(Cause::IdleBilled));
}

#[test]
fn threads_that_wait_for_storage_are_a_disk() {
    let mut looks = Looks::new();
    looks.see(120, |_, _| {}).see(90, |n, s| {
        if n % 10 < 6 {
            (s.utilization, s.span, s.power_w) = (Some(0.01), Some(0.02), Some(131.3));
            (s.owners.waiting, s.owners.cores) = (Some(4.0), Some(0.3));
        }
    });
    assert_eq!(looks.cause(), Cause::DiskIo);
    assert!(looks.memory.held_s(Cause::DiskIo) > 20.0);
}

/// Work in bursts while all cores that it may use are busy.
#[test]
fn a_sawtooth_with_busy_workers_starves() {
    let mut looks = Looks::new();
    looks.see(120, |_, _| {}).see(325, |n, s| {
        s.owners.cores = Some(62.0);
        if n % 12 < 4 {
            (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.02), Some(131.3));
        }
    });
    assert_eq!(looks.cause(), Cause::InputStarved);
    assert_eq!(looks.confidence(), Some(Confidence::Sure));
}

/// The same on a share of a card: whose work starves is not known, so that it stays a suspicion. A link is as narrow for
/// everybody, and what the memory lacks of the model's is others'.
#[test]
fn what_others_work_may_explain_is_never_sure_on_a_share() {
    let shared = |f: &dyn Fn(u64, &mut Seen<'_>)| {
        let mut looks = Looks::new();
        looks.device.virtual_share = true;
        looks.see(120, |_, _| {}).see(325, f);
        looks
    };
    let starved = shared(&|n, s| {
        s.owners.cores = Some(62.0);
        if n % 12 < 4 {
            (s.utilization, s.span, s.power_w) = (Some(0.0), Some(0.02), Some(131.3));
        }
    });
    assert_eq!(starved.cause(), Cause::InputStarved);
    assert_eq!(starved.confidence(), Some(Confidence::Suspect));
    assert_eq!(starved.memory.verdict().unwrap().sure_in_s, None);
    assert_eq!(starved.memory.worth(), None, "no money is called stalled");
    let narrow = shared(&|_, s| s.width = Some(8));
    assert_eq!(narrow.cause(), Cause::PcieLink);
    assert_eq!(narrow.confidence(), Some(Confidence::Sure));
    let small = shared(&|_, s| s.memory_total = Some(8e9));
    assert_eq!(small.cause(), Cause::None);
}

#[test]
fn memory_of_another_form_is_begun_anew() {
    let mut looks = Looks::new();
    looks.see(60, |_, s| s.width = Some(8));
    looks.memory.version = 0;
    looks.see(1, |_, _| {});
    assert_eq!(looks.cause(), Cause::None);
}

#[test]
fn what_is_remembered_comes_back_from_its_bytes_and_is_small() {
    let mut looks = Looks::new();
    looks.see(4000, |n, s| {
        if n > 3900 {
            s.width = Some(8);
        }
    });
    let bytes = postcard::to_allocvec(&looks.memory).unwrap();
    assert!(bytes.len() < 6_000, "{}", bytes.len());
    let back: Memory = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(back, looks.memory);
}

#[test]
fn a_hang_without_power_is_told_by_pipes_and_links() {
    let mut looks = Looks::new();
    looks.see(60, |_, _| {}).see(310, |_, s| {
        spins(s);
        (s.power_w, s.span) = (None, None);
    });
    assert_eq!(looks.cause(), Cause::CollectiveWait);
    assert_eq!(looks.confidence(), Some(Confidence::Sure));
}

/// One device rests with its memory while another of the same job spins: both belong to the hang.
#[test]
fn the_resting_side_of_a_hang_is_part_of_it() {
    let rests = |_: u64, s: &mut Seen<'_>| {
        spins(s);
        (s.utilization, s.power_w, s.span) = (Some(0.0), Some(131.5), Some(0.0));
    };
    let same = Peers {
        count: 2,
        waiting: 1,
        waiting_key: Some(7),
        resting: 1,
        ..Peers::default()
    };
    let mut looks = Looks::new();
    looks.see(60, |_, _| {}).beside(&same, 40, rests);
    assert_eq!(looks.cause(), Cause::CollectiveWait);
    let other = Peers {
        waiting_key: Some(8),
        ..same
    };
    let mut looks = Looks::new();
    looks.see(60, |_, _| {}).beside(&other, 40, rests);
    assert_ne!(looks.cause(), Cause::CollectiveWait);
}

/// A card at 228 of 250 W whose log has no clock, no reasons and no peers: suspected, and it says what it cannot tell.
#[test]
fn a_drift_that_nothing_else_shows_is_suspected_only() {
    let mut looks = Looks::new();
    let device = card();
    let peers = Peers::default();
    for minute in 0..8 * 60_u64 {
        let mut seen = working(&device, &peers);
        seen.interval_s = 60.0;
        let watts = if minute < 300 { 250.0 } else { 228.0 };
        seen.power_w = Some(watts + 0.1 * (minute % 7) as f64);
        (seen.clock_mhz, seen.bits, seen.utilization) = (None, None, Some(0.92));
        seen.at += SignedDuration::from_mins(minute as i64);
        seen.now = MonoTime(seen.now.0 + minute * 60_000_000_000);
        seen.dt = if minute == 0 { 0.0 } else { 60.0 };
        looks.rules.look(&mut looks.memory, &seen, &mut looks.turns);
    }
    let verdict = looks.memory.verdict().unwrap();
    assert_eq!(
        (verdict.cause, verdict.confidence),
        (Cause::PowerDrift, Confidence::Suspect)
    );
    let cannot = Why::CannotTell(Witness::ClockOfReference);
    assert!(
        verdict.rejected.iter().any(|r| r.why == cannot),
        "{verdict:?}"
    );
}
