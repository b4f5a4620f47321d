//! What a case is made of: devices with their conditions and behaviours, and the truth about each.

use super::behaviour::{Activity, Behaviour, Owner};
use super::body::Condition;
use super::host::Surroundings;
use super::part::Part;
use crate::model::{Absent, Hop, PciAddress, Readings};
use crate::units::LinkSpeed;

/// What is really the matter with a device from an instant on: the ground truth that verdicts are measured against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truth {
    /// Index of the device.
    pub device: u32,
    /// From this simulated second on.
    pub from_s: f64,
    /// Cause in the contract's words (section 4); `none` where nothing is wrong.
    pub cause: &'static str,
    /// State in the contract's words.
    pub state: &'static str,
    /// It is this device that the others wait for.
    pub culprit: bool,
}

impl Truth {
    pub(super) const fn new(
        device: u32,
        from_s: f64,
        cause: &'static str,
        state: &'static str,
    ) -> Self {
        Self {
            device,
            from_s,
            cause,
            state,
            culprit: false,
        }
    }
}

/// Simulated seconds: what has been before the screen opens, and the pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timing {
    /// Ticks so far apart until `full_rate`.
    pub(super) coarse_s: f64,
    pub(super) full_rate: f64,
    /// Ticks up to here are delivered at once.
    pub(super) live: f64,
    /// Seconds between ticks from `full_rate` on.
    pub(super) interval_s: f64,
}

/// One device of a case.
pub(super) struct DevicePlan {
    pub(super) part: &'static Part,
    pub(super) address: PciAddress,
    /// Downstream port, upstream port of a switch, root port.
    pub(super) bridges: [PciAddress; 3],
    pub(super) condition: Condition,
    pub(super) behaviour: Box<dyn Behaviour>,
    /// What the driver makes of the sensors, by simulated second.
    pub(super) lens: Option<Lens>,
    /// Its first owner had been at work for so many seconds at second 0.
    pub(super) owned_for_s: f64,
    /// A slice of a card, or a guest's share of one.
    pub(super) virtual_share: bool,
    /// Another name than the part's.
    pub(super) name: Option<&'static str>,
    /// It shares the board of the device in this slot, and tells that one's power.
    pub(super) board_of: Option<usize>,
    /// Its driver has a list of processes.
    pub(super) lists_processes: bool,
}

/// Changes what a driver says.
pub(super) type Lens = Box<dyn Fn(f64, &mut Readings) + Send>;

/// What the host goes through, by simulated second.
pub(super) type Weather = Box<dyn Fn(f64) -> Surroundings + Send>;

/// What happens to a device or the machine rather than being done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Incident {
    /// The driver reports an XID.
    Xid(u32, u32),
    /// A device stops answering, and why.
    Silent(u32, Absent),
    /// It answers again.
    Answers(u32),
    /// It is not listed any more.
    Gone(u32),
    /// So many polls of a device bring nothing, without a word.
    Skip(u32, u32),
    /// The driver was loaded anew: counters begin at 0.
    Reset(u32),
    /// Nobody looked for so many seconds (a suspend).
    Gap(f64),
    /// The wall clock is set by so many seconds.
    WallJump(f64),
}

impl DevicePlan {
    /// The way up. Where the link is narrow, the port above has no more lanes (bifurcated): the device's driver still
    /// says 16, only the bridge tells (facts on NVIDIA: a root port of x8 under a card of x16).
    pub(super) fn path(&self) -> Vec<Hop> {
        let (own, full) = (self.condition.link, self.part.link);
        let hop = |address, link: LinkSpeed, most: LinkSpeed| Hop {
            address,
            generation: Some(link.generation),
            width: Some(link.width),
            generation_max: Some(most.generation),
            width_max: Some(most.width),
            emulated: false,
        };
        let [down, up, root] = self.bridges;
        vec![
            hop(self.address, own, full),
            hop(down, own, own),
            hop(up, full, full),
            hop(root, full, full),
        ]
    }
}

/// A whole case.
pub(super) struct Plan {
    pub(super) timing: Timing,
    pub(super) command: &'static str,
    pub(super) devices: Vec<DevicePlan>,
    pub(super) truths: Vec<Truth>,
    pub(super) weather: Option<Weather>,
    /// In the order of time.
    pub(super) incidents: Vec<(f64, Incident)>,
}

impl Plan {
    /// Devices that work on a quiet host.
    pub(super) const fn new(
        timing: Timing,
        command: &'static str,
        devices: Vec<DevicePlan>,
        truths: Vec<Truth>,
    ) -> Self {
        Self {
            timing,
            command,
            devices,
            truths,
            weather: None,
            incidents: Vec::new(),
        }
    }
}

/// Buses of eight modules, each behind a switch of its own.
const BUSES: [u8; 8] = [0x05, 0x0b, 0x12, 0x19, 0x85, 0x8b, 0x92, 0x99];

/// A device at its default limit with a whole link, in the n-th slot.
pub(super) fn device(
    part: &'static Part,
    slot: usize,
    behaviour: Box<dyn Behaviour>,
) -> DevicePlan {
    let bus = BUSES.get(slot).copied().unwrap_or(0x20);
    let at = |bus| PciAddress {
        domain: 0,
        bus,
        device: 0,
        function: 0,
    };
    // H100: 59 °C at 632 W beside 28 °C idle at 78 W (captures of both); neighbours differ by a degree or two.
    let spread = [0.0, 1.6, -0.9, 0.7, -1.4, 1.1, 0.2, -0.5]
        .get(slot)
        .copied()
        .unwrap_or(0.0);
    DevicePlan {
        part,
        address: at(bus),
        bridges: [at(bus - 2), at(bus - 3), at(bus - 4)],
        condition: Condition {
            limit_w: part.plate_w,
            link: part.link,
            inlet_c: 27.0 + spread,
            c_per_w: 34.3 / part.plate_w,
        },
        behaviour,
        lens: None,
        owned_for_s: 0.0,
        virtual_share: false,
        name: None,
        board_of: None,
        lists_processes: true,
    }
}

/// Training of a kind that keeps a device busy: `level` 1 draws what a well-fed H100 draws (612 of 700 W at 71 % of its
/// SMs' time; full compute load was captured at 632 W).
pub(super) fn training(part: &Part, level: f64, memory_gib: f64) -> Activity {
    Activity {
        utilization: 0.98,
        sm_active: 0.71 * level,
        tensor_active: 0.44 * level,
        dram_active: 0.36 * level,
        power_w: Some(part.resident_idle_w + (0.875 * part.plate_w - part.resident_idle_w) * level),
        memory_gib,
        rx_bytes_per_s: 1.7e9,
        tx_bytes_per_s: 0.55e9,
        owner: Some(Owner::WORKS),
        ..Activity::NOTHING
    }
}
