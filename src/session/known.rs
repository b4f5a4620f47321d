//! What is plainly known of a device in this instant, worst first. No causes: those are the verdict's.

use super::derive::{Derived, Moment};
use super::device::DeviceState;
use crate::model::{
    Absent, Charge, DeviceKind, Disagreement, Figure, Figures, Known, KnownKind, Level, Metric,
    Phase, PhaseSeconds, PlateEntry, StateWord,
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
/// Share of the power span up to which full utilization is doubtful: spinning V100 and H100 were seen at 0 to 7 % of
/// it, honest work from 20 % on (a sharded fine-tune at 36 % of the limit). A spinning T4 lies at a third, where
/// power alone tells nothing: it is left alone.
const SPIN_SPAN: f64 = 0.10;
/// SM busy below this beside full utilization is doubtful (derived from GPM's definitions)...
const FEW_SMS: f64 = 0.20;
/// ...unless the draw says that something works all the same.
const HALF_SPAN: f64 = 0.50;
/// Memory bandwidth or tensor pipes busy from here on is work, however little power it takes.
const PIPES_AT_WORK: f64 = 0.15;
/// Memory busy from here on beside little power is a memory-bound load, which is no stall.
const MEMORY_BOUND: f64 = 0.50;
/// Clocks held for power below this share of the limit are held by something else than the limit.
const WELL_BELOW: f64 = 0.80;
/// Clocks below this share of their maximum are held down.
const CLOCK_BELOW: f64 = 0.95;
/// Performance states in which devices compute, P0 to P2; in P5 and P8 links run at gen 1 and 2 to save power.
const STATE_AT_WORK: f64 = 2.0;
/// Seconds before "busy at little power" is said: power is a one-second average.
const DOUBT_S: f64 = 3.0;
/// Memory nearly full.
const MEMORY_FULL: f64 = 0.97;
/// Traffic that shows that a link is in use, bytes per second.
const TRAFFIC: f64 = 100e6;
/// Utilization that shows the same.
const LOAD: f64 = 0.10;
/// Polls under load before a low generation is judged (links fall to gen 1 at idle to save power), and seconds that
/// they cover at least: a link takes a moment to come up.
const SLOW_POLLS: f64 = 3.0;
const SLOW_S: f64 = 2.0;
/// An XID event is news for ten minutes.
const XID_S: f64 = 600.0;
/// XIDs that the application caused (13, 31, 32, 69), that follow another one (43, 45), or that are for information
/// only (63 row remap, 92 many single-bit errors, 121 C2C once, 154 whose action is read by itself, 162 to 165 power
/// smoothing).
const XID_BENIGN: [u32; 14] = [13, 31, 32, 43, 45, 63, 69, 92, 121, 154, 162, 163, 164, 165];
/// A contained memory error: its application ends, the device goes on.
const XID_CONTAINED: u32 = 94;

/// Clock event bits that mean slowing by heat.
const BITS_HEAT: u64 = 0x20 | 0x40;
/// Clocks set to stay within a power limit.
const BIT_POWER_CAP: u64 = 0x4;
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

/// The row of the table whose link a device can be held against: not a slice, a guest's share, a superchip (its link
/// to the host is C2C), nor a row that nobody vouches for.
pub(crate) fn link_plate<'a>(
    state: &DeviceState,
    entry: Option<&'a PlateEntry>,
) -> Option<&'a PlateEntry> {
    let device = &state.device;
    let comparable = device.has_plate() && !device.c2c;
    entry.filter(|entry| comparable && &*entry.confidence != "low")
}

/// The better of what the driver says is possible and what the plate says: the driver's maximum is that of device and
/// slot together, so a poor slot hides in it.
fn most(driver: Option<f64>, plate: Option<u8>) -> Option<u8> {
    driver.map(|most| most as u8).max(plate)
}

/// The best generation of a device.
pub(crate) fn best_generation(figures: &Figures, plate: Option<&PlateEntry>) -> Option<u8> {
    most(
        figures.get(Figure::PcieGenerationMax).ok(),
        plate.and_then(|plate| plate.pcie_generation),
    )
}

/// The most lanes of a device.
pub(crate) fn best_width(figures: &Figures, plate: Option<&PlateEntry>) -> Option<u8> {
    most(
        figures.get(Figure::PcieWidthMax).ok(),
        plate.and_then(|plate| plate.pcie_width),
    )
}

/// Polls in a row that a generation must be seen in use before it is judged.
pub(crate) fn slow_polls(moment: Moment) -> u8 {
    (SLOW_S / moment.interval_s.max(0.1) + 1.0)
        .ceil()
        .max(SLOW_POLLS) as u8
}

/// Whether the device is in a performance state for work, as far as it says.
fn at_work(state: &DeviceState, moment: Moment) -> bool {
    let value = state.held.value(
        Metric::PerformanceState,
        moment.now,
        moment.interval_s,
        state.silence(),
    );
    value.ok().is_none_or(|p| p <= STATE_AT_WORK)
}

/// Whether the link is in use, so that its generation can be judged.
pub(crate) fn link_in_use(state: &DeviceState, figures: &Figures, moment: Moment) -> bool {
    let over = |figure, least| figures.get(figure).ok().is_some_and(|v| v >= least);
    let load = over(Figure::Utilization, LOAD)
        || over(Figure::PcieRx, TRAFFIC)
        || over(Figure::PcieTx, TRAFFIC);
    load && at_work(state, moment)
}

/// Whether the device is fully busy and yet does little: by its draw, or by its SMs where the draw does not say
/// otherwise. A memory-bound load is no such thing.
pub(crate) fn is_doubtful(derived: &Derived) -> bool {
    let get = |figure| derived.figures.get(figure).ok();
    let over = |figure, least| get(figure).is_some_and(|v| v >= least);
    if !over(Figure::Utilization, BUSY)
        || over(Figure::MemoryActivity, MEMORY_BOUND)
        || over(Figure::DramActive, PIPES_AT_WORK)
        || over(Figure::TensorActive, PIPES_AT_WORK)
    {
        return false;
    }
    let span = derived.power_span;
    let few_sms = get(Figure::SmActive).is_some_and(|sm| sm < FEW_SMS);
    span.is_some_and(|s| s <= SPIN_SPAN) || (few_sms && span.is_none_or(|s| s < HALF_SPAN))
}

/// Whether the driver holds the clocks of a fully busy device for power, well below its own limit. At idle the bit
/// means nothing (seen on an A40 at 30 of 300 W).
pub(crate) fn is_held_below_limit(state: &DeviceState, figures: &Figures, moment: Moment) -> bool {
    let get = |figure| figures.get(figure).ok();
    let below = |figure, of, share| {
        get(figure)
            .zip(get(of))
            .is_some_and(|(value, most)| value < most * share)
    };
    state.bits_now & BIT_POWER_CAP != 0
        && get(Figure::Utilization).is_some_and(|u| u >= BUSY)
        && at_work(state, moment)
        && below(Figure::Power, Figure::PowerLimit, WELL_BELOW)
        && below(Figure::Clock, Figure::ClockMax, CLOCK_BELOW)
}

/// What the known facts of a device rest on.
pub(crate) struct Facts<'a> {
    pub(crate) state: &'a DeviceState,
    pub(crate) figures: &'a Figures,
    pub(crate) at: Timestamp,
    pub(crate) moment: Moment,
    pub(crate) phase_seconds: &'a PhaseSeconds,
    /// The device's row of the table, where it may be held against it (see [`link_plate`]).
    pub(crate) plate: Option<&'a PlateEntry>,
    /// Where the platform's word is not the driver's.
    pub(crate) disagreements: &'a [&'a Disagreement],
    /// What seconds of this device cost.
    pub(crate) charge: &'a dyn Fn(f64) -> Option<Charge>,
}

/// All that is known of a device, worst first; never empty.
pub(crate) fn known(facts: &Facts<'_>) -> Vec<Known> {
    let mut known = Vec::new();
    let mut say = |level, kind| known.push(Known { level, kind });
    if let Some((why, since)) = facts.state.silent {
        let seconds = facts.moment.now.seconds_since(since).max(0.0);
        let kind = match why {
            Absent::Lost => KnownKind::Lost {
                seconds,
                charge: (facts.charge)(seconds),
            },
            _ => KnownKind::Silent { seconds },
        };
        say(Level::Bad, kind);
    }
    facts.faults(&mut say);
    facts.clocks(&mut say);
    facts.link(&mut say);
    facts.power(&mut say);
    facts.work(&mut say);
    for what in facts.disagreements {
        say(Level::Warn, KnownKind::Disagrees((*what).clone()));
    }
    facts.usual_link(&mut say);
    known.sort_by_key(|k| std::cmp::Reverse(k.level));
    if known.is_empty() {
        known.push(Known {
            level: Level::Info,
            kind: facts.fine(),
        });
    }
    known.extend(super::share::known(facts.state, facts.figures));
    known
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
            let level = match code {
                XID_CONTAINED => Level::Warn,
                code if XID_BENIGN.contains(&code) => Level::Info,
                _ => Level::Bad,
            };
            say(level, KnownKind::Xid { code });
        }
        if let Some(count) = self.metric(Metric::EccUncorrected).filter(|c| *c > 0.0) {
            say(Level::Bad, KnownKind::Uncorrected { count });
        }
        match self.metric(Metric::Health) {
            Some(health) if health >= 2.0 => say(Level::Bad, KnownKind::Unhealthy { grave: true }),
            Some(health) if health >= 1.0 => {
                say(Level::Warn, KnownKind::Unhealthy { grave: false })
            }
            _ => {}
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
        // Without a margin the slowdown threshold is hardware's; software cuts the clocks from the maximum operating
        // temperature on. (A margin counts to the nearest of the two.)
        let software = || {
            let most = self.metric(Metric::ThresholdGpuMax)?;
            Some(most - self.metric(Metric::CoreTemperature)?)
        };
        let software = match self.metric(Metric::Margin) {
            Some(_) => None,
            None => software(),
        };
        let left = [self.figure(Figure::Headroom), software];
        let left = left.into_iter().flatten().reduce(f64::min);
        if let Some(headroom_c) = left.filter(|h| *h <= HOT_C) {
            say(Level::Warn, KnownKind::Hot { headroom_c });
        }
        if let (Some(temperature_c), Some(max_c)) = (
            self.figure(Figure::MemoryTemperature),
            self.metric(Metric::ThresholdMemoryMax),
        ) && max_c - temperature_c <= HOT_C
        {
            say(
                Level::Warn,
                KnownKind::MemoryHot {
                    temperature_c,
                    max_c,
                },
            );
        }
    }

    /// A link with fewer lanes than it could have, and whether that is usual for the model. The single lane of a
    /// superchip is by design.
    fn narrow(&self) -> Option<KnownKind> {
        let whole = |figure| self.figure(figure).map(|v| v as u8);
        let width = whole(Figure::PcieWidth)?;
        let width_max = best_width(self.figures, self.plate)?;
        let device = &self.state.device;
        if width >= width_max || device.c2c || device.kind != DeviceKind::Device {
            return None;
        }
        let hops = self.state.path.iter().skip(1);
        let bridge = hops
            .filter(|hop| !hop.emulated && hop.width_max.is_some_and(|w| w <= width))
            .map(|hop| hop.address.to_string())
            .next();
        Some(KnownKind::Narrow {
            width,
            width_max,
            bridge,
            usable: self.figure(Figure::PcieUsable),
            usual: self.plate.and_then(|plate| plate.usual_width) == Some(width),
        })
    }

    /// Half a link that everyone has is said last.
    fn usual_link(&self, say: &mut impl FnMut(Level, KnownKind)) {
        if let Some(kind @ KnownKind::Narrow { usual: true, .. }) = self.narrow() {
            say(Level::Info, kind);
        }
    }

    fn link(&self, say: &mut impl FnMut(Level, KnownKind)) {
        let whole = |figure| self.figure(figure).map(|v| v as u8);
        let usable = self.figure(Figure::PcieUsable);
        if let Some(kind @ KnownKind::Narrow { usual: false, .. }) = self.narrow() {
            say(Level::Warn, kind);
        }
        let (generation, generation_max) = (
            whole(Figure::PcieGeneration),
            best_generation(self.figures, self.plate),
        );
        if let (Some(generation), Some(generation_max)) = (generation, generation_max)
            && generation < generation_max
            && self.state.slow_polls >= slow_polls(self.moment)
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
        if let Some(since) = self.state.held_since
            && self.moment.now.seconds_since(since) >= DOUBT_S
            && let (Some(power_w), Some(limit_w)) =
                (self.figure(Figure::Power), self.figure(Figure::PowerLimit))
        {
            say(Level::Warn, KnownKind::HeldBelowLimit { power_w, limit_w });
        }
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

    fn work(&self, say: &mut impl FnMut(Level, KnownKind)) {
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
        match self.state.phase {
            Phase::Queue => say(
                Level::Info,
                KnownKind::StartUp {
                    seconds: self.phase_seconds.total(),
                    charge: (self.charge)(self.phase_seconds.queue),
                },
            ),
            Phase::Idle => {
                let seconds = since(self.state.idle_since).unwrap_or(0.0);
                say(
                    Level::Info,
                    KnownKind::Idle {
                        seconds,
                        held_bytes: self.state.memory_held(),
                        charge: (self.charge)(seconds),
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
            let power_w = self.figure(Figure::Power);
            let temperature_c = self.figure(Figure::Temperature);
            return match (power_w, temperature_c) {
                (None, None) => KnownKind::Nothing,
                _ => KnownKind::Unjudged {
                    power_w,
                    temperature_c,
                },
            };
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
        () if first(|k| {
            matches!(
                k,
                KnownKind::SlowedByHeat { .. }
                    | KnownKind::Hot { .. }
                    | KnownKind::MemoryHot { .. }
            )
        }) =>
        {
            StateWord::Hot
        }
        () if first(|k| matches!(k, KnownKind::BusyAtLowPower { .. })) => StateWord::Doubtful,
        () if phase == Phase::Idle && held => StateWord::Held,
        () if matches!(phase, Phase::Idle | Phase::Queue | Phase::IoWait) => StateWord::Idle,
        () if phase == Phase::Unobserved => StateWord::Unknown,
        () if first(|k| {
            matches!(
                k,
                KnownKind::Narrow { usual: false, .. } | KnownKind::Slow { .. }
            )
        }) =>
        {
            StateWord::Narrow
        }
        () if first(|k| {
            matches!(
                k,
                KnownKind::LimitBelowPlate { .. } | KnownKind::HeldBelowLimit { .. }
            )
        }) =>
        {
            StateWord::Capped
        }
        () => StateWord::Working,
    }
}

fn is_fault(kind: &KnownKind) -> bool {
    matches!(
        kind,
        KnownKind::RecoveryAction { .. }
            | KnownKind::Xid { .. }
            | KnownKind::Uncorrected { .. }
            | KnownKind::Unhealthy { grave: true }
            | KnownKind::Remap { failed: true }
    )
}
