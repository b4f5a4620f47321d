//! A node with devices of five vendors: what each of them tells, and what it does not.
//!
//! Limits, memory and what is not told are those of the facts on each vendor. Idle powers are of captures where there is
//! one (910B 88 to 101 W, MLU370-X8 106 W for both halves, MI300X and Gaudi2 near 100 W are assumptions); clocks that no
//! fact names are assumptions too.

use super::behaviour::{Activity, Behaviour, Checkpoints, StartUp, Steady};
use super::part::{A100_PCIE, H100, Part};
use super::plan::{DevicePlan, Lens, Plan, Timing, Truth, device, training};
use crate::model::{Absent, Metric, PciAddress, Readings, Vendor};
use crate::units::LinkSpeed;

const GEN4: LinkSpeed = LinkSpeed {
    generation: 4,
    width: 16,
};

/// The second-generation 910B: 400 W by a data sheet that others contradict, 64 GB.
static ASCEND_910B2: Part = Part {
    vendor: Vendor::Ascend,
    name: "910B2",
    pci_id: None,
    plate_w: 400.0,
    limit_min_w: 400.0,
    bare_idle_w: 90.0,
    resident_idle_w: 98.0,
    memory_mib: 65_536.0,
    reserved_mib: 0.0,
    bar1_mib: 0.0,
    sm_clock_mhz: 1800.0,
    idle_clock_mhz: 800.0,
    memory_clock_mhz: 1600.0,
    link: GEN4,
    nvlinks: 0.0,
    nvlink_bytes_per_s: 0.0,
    hopper: false,
    desktop: false,
    margin_sum_c: 95.0,
    thresholds_c: None,
};

/// An inference card of 72 W whose newer drivers do not tell its power.
static ASCEND_310P3: Part = Part {
    name: "310P3",
    plate_w: 72.0,
    bare_idle_w: 15.0,
    resident_idle_w: 18.0,
    memory_mib: 21_525.0,
    sm_clock_mhz: 1080.0,
    idle_clock_mhz: 1080.0,
    ..ASCEND_910B2
};

/// One half of a board of 250 W; both halves tell the board's power.
static MLU370_X8: Part = Part {
    vendor: Vendor::Cambricon,
    name: "MLU370-X8",
    plate_w: 250.0,
    limit_min_w: 250.0,
    bare_idle_w: 104.0,
    resident_idle_w: 106.0,
    memory_mib: 23_374.0,
    sm_clock_mhz: 1305.0,
    idle_clock_mhz: 990.0,
    ..ASCEND_910B2
};

/// One of eight partitions of a package of 750 W; each tells the package's power.
static MI300X_CPX: Part = Part {
    vendor: Vendor::Amd,
    name: "AMD Instinct MI300X OAM",
    plate_w: 750.0,
    limit_min_w: 0.0,
    bare_idle_w: 130.0,
    resident_idle_w: 140.0,
    memory_mib: 24_574.0,
    sm_clock_mhz: 2100.0,
    idle_clock_mhz: 135.0,
    link: LinkSpeed {
        generation: 5,
        width: 16,
    },
    thresholds_c: Some([110.0, 100.0, 100.0, 105.0]),
    ..ASCEND_910B2
};

/// Gaudi2: 600 W, 96 GB.
static GAUDI2: Part = Part {
    vendor: Vendor::Gaudi,
    name: "HL-225",
    plate_w: 600.0,
    limit_min_w: 0.0,
    bare_idle_w: 96.0,
    resident_idle_w: 110.0,
    memory_mib: 98_304.0,
    sm_clock_mhz: 1650.0,
    idle_clock_mhz: 1650.0,
    ..ASCEND_910B2
};

/// What every vendor tells.
const ALL: &[Metric] = &[
    Metric::CoreTemperature,
    Metric::Utilization,
    Metric::MemoryUsed,
    Metric::MemoryTotal,
    Metric::SmClock,
    Metric::SmClockMax,
    Metric::PcieGenerationBefore,
    Metric::PcieGenerationAfter,
    Metric::PcieGenerationMax,
    Metric::PcieWidthBefore,
    Metric::PcieWidthAfter,
    Metric::PcieWidthMax,
    Metric::EccUncorrected,
];
const ASCEND: &[Metric] = &[
    Metric::PowerUsage,
    Metric::MemoryTemperature,
    Metric::Reasons,
];
const CAMBRICON: &[Metric] = &[Metric::PowerUsage, Metric::LimitEnforced, Metric::Reasons];
const AMD: &[Metric] = &[
    Metric::PowerUsage,
    Metric::LimitEnforced,
    Metric::LimitDefault,
    Metric::LimitMax,
    Metric::Energy,
    Metric::MemoryTemperature,
    Metric::MemoryActivity,
    Metric::ThresholdSlowdown,
    Metric::ThresholdShutdown,
    Metric::ThresholdMemoryMax,
    Metric::Reasons,
];
const GAUDI: &[Metric] = &[
    Metric::PowerUsage,
    Metric::LimitEnforced,
    Metric::LimitDefault,
    Metric::Energy,
    Metric::Reasons,
    Metric::PcieReplays,
];

/// Leaves what a vendor tells; the rest is not supported. `rated_w` is what its library calls rated.
fn tells(more: &'static [Metric], rated_w: Option<f64>) -> Lens {
    Box::new(move |_, readings: &mut Readings| {
        for metric in Metric::ALL {
            if !ALL.contains(metric) && !more.contains(metric) {
                readings.set(*metric, Err(Absent::NotSupported));
            }
        }
        if let Some(watts) = rated_w {
            readings.set(Metric::RatedPower, Ok(watts));
        }
    })
}

/// Two NVIDIA devices of two models, two Ascend of which one tells no power, both halves of an MLU370-X8, two partitions
/// of an MI300X in CPX, a Gaudi2; all at work.
pub(super) fn mixed(timing: Timing) -> Plan {
    let plan = |part: &'static Part, slot: usize, gib: f64, lens: Option<Lens>| {
        let work: Activity = training(part, 0.9 + 0.01 * slot as f64, gib);
        DevicePlan {
            lens,
            ..device(part, slot, life(work))
        }
    };
    let rated = |part: &Part| Some(part.plate_w);
    let mut devices = vec![
        plan(&H100, 0, 61.0, None),
        plan(&A100_PCIE, 1, 29.0, None),
        plan(
            &ASCEND_910B2,
            2,
            51.0,
            Some(tells(ASCEND, rated(&ASCEND_910B2))),
        ),
        plan(&ASCEND_310P3, 3, 14.0, Some(tells(&[], None))),
        plan(
            &MLU370_X8,
            4,
            19.0,
            Some(tells(CAMBRICON, rated(&MLU370_X8))),
        ),
        plan(
            &MLU370_X8,
            5,
            19.0,
            Some(tells(CAMBRICON, rated(&MLU370_X8))),
        ),
        plan(&MI300X_CPX, 6, 20.0, Some(tells(AMD, None))),
        plan(&MI300X_CPX, 7, 20.0, Some(tells(AMD, None))),
        plan(&GAUDI2, 8, 88.0, Some(tells(GAUDI, None))),
    ];
    for (slot, first) in [(5, 4), (7, 6)] {
        if let Some(second) = devices.get_mut(slot) {
            second.board_of = Some(first);
        }
    }
    // A partition is a function of its package.
    let package = devices.get(6).map(|first| first.address);
    if let (Some(address), Some(second)) = (package, devices.get_mut(7)) {
        second.address = PciAddress {
            function: 1,
            ..address
        };
    }
    if let Some(gaudi) = devices.get_mut(8) {
        gaudi.lists_processes = false;
    }
    let truths = (0..devices.len())
        .map(|slot| Truth::new(slot as u32, 0.0, "none", "working"))
        .collect();
    Plan::new(timing, "python3 bench.py --all", devices, truths)
}

/// Start-up, then work with checkpoints.
fn life(work: Activity) -> Box<dyn Behaviour> {
    Box::new(StartUp {
        work: Checkpoints {
            work: Steady(work),
            first: 1500.0,
            period: 41.0 * 60.0,
            length: 45.0,
        },
        process: 120.0,
        compute: 240.0,
    })
}
