//! What is plainly known of a device in this instant, worst first. No causes: those are the verdict's.

use super::derive::Moment;
use super::device::DeviceState;
use crate::model::{
    Absent, DeviceKind, Figure, Figures, Known, KnownKind, Level, Metric, Phase, StateWord,
};
use jiff::Timestamp;

/// Headroom from which on a device counts as hot. Margins of 1 to 2 °C were seen just before clocks were cut.
const HOT_C: f64 = 3.0;
/// One direction at this share of usable is full (proposal of the facts: 85 % for 5 s is saturated).
const LINK_FULL: f64 = 0.85;
/// A limit this much below the plate is worth a word.
const LIMIT_BELOW: f64 = 0.98;
/// A driver default this much below the table's rated power is another card, or a lowered one.
const DEFAULT_BELOW: f64 = 0.95;
/// Utilization from which on a device counts as fully busy.
const BUSY: f64 = 0.95;
/// Work below this beside full utilization is doubtful: SM busy under 20 % (derived from GPM's definitions), and the
/// same share of the power span, in which spinning cards were seen at 0 to 7 %.
const LITTLE_WORK: f64 = 0.20;
/// Seconds before "busy at little power" is said: power is a one-second average.
const DOUBT_S: f64 = 3.0;
/// Memory nearly full.
const MEMORY_FULL: f64 = 0.97;
/// Traffic that shows that a link is in use, bytes per second.
const TRAFFIC: f64 = 100e6;
/// Utilization that shows the same.
const LOAD: f64 = 0.10;
/// Polls under load before a low generation is judged (links fall to gen 1 at idle to save power).
pub(crate) const SLOW_POLLS: u8 = 3;
/// An XID event is news for ten minutes.
const XID_S: f64 = 600.0;
/// XIDs that the application caused (13, 31, 32, 69), that follow another one (43, 45), or that are for information
/// only (63 row remap, 92 many single-bit errors, 121 C2C, once).
const XID_BENIGN: [u32; 9] = [13, 31, 32, 43, 45, 63, 69, 92, 121];

/// Clock event bits that mean slowing by heat.
const BITS_HEAT: u64 = 0x20 | 0x40;
/// An external power brake.
const BIT_BRAKE: u64 = 0x80;
/// Hardware slowdown of any kind.
const BIT_HARDWARE: u64 = 0x8;

/// Whether the new XID is to be shown rather than the one before: a clean-up (43, 45) does not hide its cause.
pub(crate) fn xid_replaces(before: Option<(u32, Timestamp)>, new: (u32, Timestamp)) -> bool {
    before.is_none_or(|(code, at)| {
        !XID_BENIGN.contains(&new.0)
            || XID_BENIGN.contains(&code)
            || new.1.duration_since(at).as_secs_f64() >= XID_S
    })
}

/// Whether the link is in use, so that its generation can be judged.
pub(crate) fn link_in_use(figures: &Figures) -> bool {
    let over = |figure, least| figures.get(figure).ok().is_some_and(|v| v >= least);
    over(Figure::Utilization, LOAD)
        || over(Figure::PcieRx, TRAFFIC)
        || over(Figure::PcieTx, TRAFFIC)
}

/// Whether the device is fully busy and yet does little.
pub(crate) fn is_doubtful(figures: &Figures) -> bool {
    let utilization = figures.get(Figure::Utilization).ok();
    let work = figures.get(Figure::Work).ok();
    matches!((utilization, work), (Some(u), Some(w)) if u >= BUSY && w < LITTLE_WORK)
}

/// All that is known of a device, worst first; never empty.
pub(crate) fn known(
    state: &DeviceState,
    figures: &Figures,
    phase: Phase,
    at: Timestamp,
    moment: Moment,
    span_s: f64,
) -> Vec<Known> {
    let facts = Facts {
        state,
        figures,
        at,
        moment,
    };
    let mut known = Vec::new();
    let mut say = |level, kind| known.push(Known { level, kind });
    match state.silent {
        Some((Absent::Lost, since)) => {
            say(
                Level::Bad,
                KnownKind::Lost {
                    seconds: moment.now.seconds_since(since).max(0.0),
                },
            );
        }
        Some((_, since)) => {
            say(
                Level::Bad,
                KnownKind::Silent {
                    seconds: moment.now.seconds_since(since).max(0.0),
                },
            );
        }
        None => {}
    }
    facts.faults(&mut say);
    facts.clocks(&mut say);
    facts.link(&mut say);
    facts.power(&mut say);
    facts.work(phase, span_s, &mut say);
    known.sort_by_key(|k| std::cmp::Reverse(k.level));
    if known.is_empty() {
        known.push(Known {
            level: Level::Info,
            kind: facts.fine(),
        });
    }
    known
}

struct Facts<'a> {
    state: &'a DeviceState,
    figures: &'a Figures,
    at: Timestamp,
    moment: Moment,
}

impl Facts<'_> {
    fn figure(&self, figure: Figure) -> Option<f64> {
        self.figures.get(figure).ok()
    }

    fn metric(&self, metric: Metric) -> Option<f64> {
        self.state
            .held
            .value(
                metric,
                self.moment.now,
                self.moment.interval_s,
                self.state.silence(),
            )
            .ok()
    }

    fn faults(&self, say: &mut impl FnMut(Level, KnownKind)) {
        if let Some(action) = self.metric(Metric::RecoveryAction).filter(|a| *a > 0.0) {
            say(
                Level::Bad,
                KnownKind::RecoveryAction {
                    action: action as u32,
                },
            );
        }
        if let Some((code, at)) = self.state.xid
            && self.at.duration_since(at).as_secs_f64() < XID_S
        {
            let level = if XID_BENIGN.contains(&code) {
                Level::Info
            } else {
                Level::Bad
            };
            say(level, KnownKind::Xid { code });
        }
        if let Some(count) = self.metric(Metric::EccUncorrected).filter(|c| *c > 0.0) {
            say(Level::Bad, KnownKind::Uncorrected { count });
        }
        let set = |metric| self.metric(metric).is_some_and(|v| v > 0.0);
        if set(Metric::RemapFailure) {
            say(Level::Bad, KnownKind::Remap { failed: true });
        } else if set(Metric::RemapPending) || set(Metric::RetiredPending) {
            say(Level::Warn, KnownKind::Remap { failed: false });
        }
    }

    fn clocks(&self, say: &mut impl FnMut(Level, KnownKind)) {
        if self.metric(Metric::Reasons).is_none() {
            return self.heat(say);
        }
        // Twice in a row: hardware slowdown may flash on a change of performance state.
        let lasting = self.state.bits_now & self.state.bits_before;
        let brake =
            lasting & BIT_BRAKE != 0 || (lasting & BIT_HARDWARE != 0 && lasting & BITS_HEAT == 0);
        if brake {
            say(Level::Bad, KnownKind::Braked);
        }
        if lasting & BITS_HEAT != 0 {
            say(
                Level::Bad,
                KnownKind::SlowedByHeat {
                    headroom_c: self.figure(Figure::Headroom),
                },
            );
        } else {
            self.heat(say);
        }
    }

    fn heat(&self, say: &mut impl FnMut(Level, KnownKind)) {
        if let Some(headroom_c) = self.figure(Figure::Headroom).filter(|h| *h <= HOT_C) {
            say(Level::Warn, KnownKind::Hot { headroom_c });
        }
    }

    fn link(&self, say: &mut impl FnMut(Level, KnownKind)) {
        let whole = |figure| self.figure(figure).map(|v| v as u8);
        let usable = self.figure(Figure::PcieUsable);
        let (width, width_max) = (whole(Figure::PcieWidth), whole(Figure::PcieWidthMax));
        if let (Some(width), Some(width_max)) = (width, width_max)
            && width < width_max
            && !self.state.device.c2c
            && self.state.device.kind == DeviceKind::Device
        {
            let bridge = self
                .state
                .path
                .iter()
                .skip(1)
                .find(|hop| !hop.emulated && hop.width_max.is_some_and(|w| w <= width))
                .map(|hop| hop.address.to_string());
            say(
                Level::Warn,
                KnownKind::Narrow {
                    width,
                    width_max,
                    bridge,
                    usable,
                },
            );
        }
        let (generation, generation_max) = (
            whole(Figure::PcieGeneration),
            whole(Figure::PcieGenerationMax),
        );
        if let (Some(generation), Some(generation_max)) = (generation, generation_max)
            && generation < generation_max
            && self.state.slow_polls >= SLOW_POLLS
        {
            say(
                Level::Warn,
                KnownKind::Slow {
                    generation,
                    generation_max,
                    usable,
                },
            );
        }
        for (rate, ratio, down) in [
            (Figure::PcieRx, Figure::PcieRxSaturation, true),
            (Figure::PcieTx, Figure::PcieTxSaturation, false),
        ] {
            if let (Some(rate), Some(ratio), Some(usable)) =
                (self.figure(rate), self.figure(ratio), usable)
                && ratio >= LINK_FULL
            {
                say(
                    Level::Warn,
                    KnownKind::LinkFull {
                        ratio,
                        rate,
                        usable,
                        down,
                    },
                );
            }
        }
        if let (Some(links), Some(up)) = (
            self.figure(Figure::NvlinkLinks),
            self.figure(Figure::NvlinkUp),
        ) && up > 0.0
            && up < links
        {
            say(
                Level::Info,
                KnownKind::LinksDown {
                    up: up as u32,
                    links: links as u32,
                },
            );
        }
    }

    fn power(&self, say: &mut impl FnMut(Level, KnownKind)) {
        // Of the device, not of its module; and not against a row of the table that nobody vouches for.
        let limit = self.metric(Metric::LimitEnforced);
        let plate = self
            .figure(Figure::PowerDefaultLimit)
            .or(self.figure(Figure::RatedPower));
        if let (Some(limit_w), Some(plate_w)) = (limit, plate)
            && limit_w < plate_w * LIMIT_BELOW
        {
            say(Level::Warn, KnownKind::LimitBelowPlate { limit_w, plate_w });
        }
        let default = self.figure(Figure::PowerDefaultLimit);
        if let (Some(default_w), Some(rated_w)) = (default, self.figure(Figure::RatedPower))
            && default_w < rated_w * DEFAULT_BELOW
        {
            say(
                Level::Warn,
                KnownKind::DefaultBelowRated { default_w, rated_w },
            );
        }
        let (used, total) = (
            self.figure(Figure::MemoryUsed),
            self.figure(Figure::MemoryTotal),
        );
        if let (Some(used), Some(total)) = (used, total)
            && total > 0.0
            && used / total >= MEMORY_FULL
        {
            say(
                Level::Info,
                KnownKind::MemoryFull {
                    ratio: used / total,
                },
            );
        }
    }

    fn work(&self, phase: Phase, span_s: f64, say: &mut impl FnMut(Level, KnownKind)) {
        let since =
            |at: Option<crate::units::MonoTime>| at.map(|at| self.moment.now.seconds_since(at));
        if let Some(seconds) = since(self.state.doubtful_since).filter(|s| *s >= DOUBT_S)
            && let (Some(utilization), Some(power_ratio)) = (
                self.figure(Figure::Utilization),
                self.figure(Figure::PowerRatio),
            )
        {
            say(
                Level::Bad,
                KnownKind::BusyAtLowPower {
                    utilization,
                    power_ratio,
                    seconds,
                },
            );
        }
        match phase {
            Phase::Queue => say(Level::Info, KnownKind::StartUp { seconds: span_s }),
            Phase::Idle => {
                let seconds = since(self.state.idle_since).unwrap_or(0.0);
                say(
                    Level::Info,
                    KnownKind::Idle {
                        seconds,
                        held_bytes: self.state.memory_held(),
                    },
                );
            }
            _ => {}
        }
    }

    fn fine(&self) -> KnownKind {
        let power_ratio = self.figure(Figure::PowerRatio);
        let headroom_c = self.figure(Figure::Headroom);
        let utilization = self.figure(Figure::Utilization);
        if power_ratio.is_none() && headroom_c.is_none() && utilization.is_none() {
            return KnownKind::Nothing;
        }
        KnownKind::Fine {
            power_ratio,
            headroom_c,
            utilization,
        }
    }
}

/// The word of a device's row.
pub(crate) fn word(known: &[Known], phase: Phase, held: bool) -> StateWord {
    let first = |test: fn(&KnownKind) -> bool| known.iter().any(|k| test(&k.kind));
    match () {
        () if first(|k| matches!(k, KnownKind::Lost { .. })) => StateWord::Lost,
        () if first(|k| matches!(k, KnownKind::Silent { .. })) => StateWord::Silent,
        () if known
            .iter()
            .any(|k| k.level == Level::Bad && is_fault(&k.kind)) =>
        {
            StateWord::Faulty
        }
        () if first(|k| matches!(k, KnownKind::Braked)) => StateWord::Braked,
        () if first(|k| matches!(k, KnownKind::SlowedByHeat { .. } | KnownKind::Hot { .. })) => {
            StateWord::Hot
        }
        () if first(|k| matches!(k, KnownKind::BusyAtLowPower { .. })) => StateWord::Doubtful,
        () if phase == Phase::Idle && held => StateWord::Held,
        () if matches!(phase, Phase::Idle | Phase::Queue | Phase::IoWait) => StateWord::Idle,
        () if phase == Phase::Unobserved => StateWord::Unknown,
        () if first(|k| matches!(k, KnownKind::Narrow { .. } | KnownKind::Slow { .. })) => {
            StateWord::Narrow
        }
        () if first(|k| matches!(k, KnownKind::LimitBelowPlate { .. })) => StateWord::Capped,
        () => StateWord::Working,
    }
}

fn is_fault(kind: &KnownKind) -> bool {
    matches!(
        kind,
        KnownKind::RecoveryAction { .. }
            | KnownKind::Xid { .. }
            | KnownKind::Uncorrected { .. }
            | KnownKind::Remap { failed: true }
    )
}
