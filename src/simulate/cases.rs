//! The cases, each a few lines over the behaviours. Numbers: facts on diagnosis, section 2 and cards C1, C4, C7, C19.

use super::behaviour::{Activity, Behaviour, Checkpoints, Drift, Owner, StartUp, Steady, Until};
use super::host::Surroundings;
use super::part::{A100_PCIE, A100_SXM, H100, Part};
use super::plan::{DevicePlan, Plan, Timing, Truth, device, training};
use crate::units::LinkSpeed;
use std::time::Duration;

/// One case of the demo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what is shown.
    pub title: &'static str,
    /// Two or three sentences: what to look for.
    pub description: &'static str,
    /// Simulated seconds until it has shown everything, what was before the screen opened included.
    pub seconds: f64,
    /// How many devices it simulates.
    pub devices: u32,
    /// Whose devices they resemble.
    pub vendor: &'static str,
    /// The cause that it simulates (contract.md section 4).
    pub cause: &'static str,
    /// Simulated seconds per real second.
    pub speed: f64,
    /// The span of charts that suits it (`Config::history`).
    pub history: Duration,
}

const HOUR: f64 = 3600.0;
const DRIFT_S: f64 = 36.0 * HOUR;

/// Two hours at a tick in 30 s, then 15 minutes at full rate: charts and meter are full when the screen opens.
const TIMING: Timing = Timing {
    coarse_s: 30.0,
    full_rate: 2.0 * HOUR,
    live: 2.25 * HOUR,
    interval_s: 1.0,
};

const QUARTER: Duration = Duration::from_secs(15 * 60);

static CASES: [Case; 10] = [
    Case {
        name: "healthy",
        title: "8 devices at work, nothing wrong",
        description: "A training run on eight H100 SXM: 86 to 90 % of the plate, full links, headroom. Every 41 minutes it \
                      stops to write a checkpoint, which is no fault.",
        seconds: 3.0 * HOUR,
        devices: 8,
        vendor: "nvidia",
        cause: "none",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "drift",
        title: "250 W becomes 228 W over 36 hours, utilization stays at 92 %",
        description: "An A100 PCIe does the same work with ever less power: its clock falls and the power cap's counter runs, \
                      while utilization tells nothing. Time runs 600 times faster.",
        seconds: DRIFT_S,
        devices: 1,
        vendor: "nvidia",
        cause: "power_drift",
        speed: 600.0,
        history: Duration::from_secs(36 * 3600),
    },
    Case {
        name: "narrow-link",
        title: "99 % busy but stalled: device 3 has 8 of 16 lanes",
        description: "Device 3 has x8 behind bridge 0000:17:00.0. Since its job streams weights from the host, the link \
                      is full, utilization says 99 % and power 31 % of the plate. Device 5 is capped at 500 W, device 6 \
                      only keeps memory, device 7 has 2 degrees left.",
        seconds: 2.75 * HOUR,
        devices: 8,
        vendor: "nvidia",
        cause: "pcie_link",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "hang",
        title: "100 % busy, 14 to 22 % of the plate: a collective that never ends",
        description: "After a step seven ranks spin in a collective: full utilization, little power, and no counter moves. Rank 5, \
                      at 0 %, is the one they wait for.",
        seconds: 2.5 * HOUR,
        devices: 8,
        vendor: "nvidia",
        cause: "collective_wait",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "forgotten",
        title: "The work ended, the model stays in memory, the meter runs",
        description: "Four A100 SXM finished seven minutes before the screen opens. A process keeps 61 GiB on each and does nothing.",
        seconds: 2.75 * HOUR,
        devices: 4,
        vendor: "nvidia",
        cause: "idle_billed",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "starved",
        title: "Utilization from 0 to 97 %: eight cores cannot feed four devices",
        description: "Four A100 PCIe train on pictures that are decoded on the CPU. Ten minutes before the screen opens the \
                      container is left with eight cores; they are all in use, and the devices wait for 40 to 60 % of the time.",
        seconds: 2.75 * HOUR,
        devices: 4,
        vendor: "nvidia",
        cause: "input_starved",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "thermal",
        title: "One device is too hot and gives up power and clock",
        description: "Device 2 of eight H100 SXM gets too little air. It holds its own maximum, draws a quarter less than its \
                      neighbours at the same utilization, and says why in a bit and a counter.",
        seconds: 2.75 * HOUR,
        devices: 8,
        vendor: "nvidia",
        cause: "thermal",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "power-cap",
        title: "400 W cards that somebody set to 280 W",
        description: "Four A100 SXM work at 98 % utilization. Half an hour before the screen opens their limit is set below the \
                      default; clock and power fall, utilization does not.",
        seconds: 2.75 * HOUR,
        devices: 4,
        vendor: "nvidia",
        cause: "power_cap",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "disk",
        title: "Workers wait for a network file system",
        description: "Four H100 SXM read their data over the network. Seven minutes before the screen opens the file server slows \
                      down: threads hang in the kernel, and the devices work for a third of the time.",
        seconds: 2.75 * HOUR,
        devices: 4,
        vendor: "nvidia",
        cause: "disk_io",
        speed: 1.0,
        history: QUARTER,
    },
    Case {
        name: "mixed",
        title: "Devices of five vendors in one node, each telling what it can",
        description: "Two NVIDIA, two Ascend of which one tells no power, both halves of an MLU370-X8, two partitions of \
                      an MI300X, and a Gaudi2. A board's power and money count once; a threshold that a vendor does not \
                      tell is not there.",
        seconds: 3.0 * HOUR,
        devices: 9,
        vendor: "mixed",
        cause: "none",
        speed: 1.0,
        history: QUARTER,
    },
];

/// All cases.
#[must_use]
pub fn cases() -> &'static [Case] {
    &CASES
}

pub(super) fn find(name: &str) -> Option<(&'static Case, Plan)> {
    let case = CASES.iter().find(|case| case.name == name)?;
    let plan = match name {
        "healthy" => healthy(),
        "drift" => drift(),
        "narrow-link" => narrow_link(),
        "hang" => hang(),
        "forgotten" => forgotten(),
        "starved" => starved(),
        "thermal" => thermal(),
        "power-cap" => power_cap(),
        "disk" => disk(),
        "mixed" => super::mixed::mixed(TIMING),
        _ => return None,
    };
    Some((case, plan))
}

/// A rented machine's life: start-up (first process after two minutes, compute after four), then work with checkpoints.
type Life<B> = StartUp<Checkpoints<B>>;

fn life<B>(work: B) -> Life<B> {
    StartUp {
        work: Checkpoints {
            work,
            first: 1500.0,
            period: 41.0 * 60.0,
            length: 45.0,
        },
        process: 120.0,
        compute: 240.0,
    }
}

/// Devices do not work quite alike.
fn level(slot: usize) -> f64 {
    [1.0, 0.97, 0.983, 0.99, 0.978, 1.012, 0.995, 0.991]
        .get(slot)
        .copied()
        .unwrap_or(1.0)
}

fn parallel(part: &Part, slot: usize) -> Activity {
    Activity {
        nvlink_bytes_per_s: 0.45 * part.nvlinks * part.nvlink_bytes_per_s,
        ..training(part, level(slot), 61.0)
    }
}

fn nothing_wrong(devices: usize) -> Vec<Truth> {
    (0..devices)
        .map(|i| Truth::new(i as u32, 0.0, "none", "working"))
        .collect()
}

fn healthy() -> Plan {
    let one = |slot| device(&H100, slot, Box::new(life(Steady(parallel(&H100, slot)))));
    Plan::new(
        TIMING,
        "python3 train.py --config llama-8b.yaml",
        (0..8).map(one).collect(),
        nothing_wrong(8),
    )
}

/// Card C7: the articles' A100 of 250 W, 228 W (91.2 %) after 36 h at 92 % utilization.
fn drift() -> Plan {
    let work = Activity {
        utilization: 0.92,
        power_w: Some(250.0),
        clock_ratio: 0.97,
        capped_ratio: 0.05,
        rx_bytes_per_s: 2.1e9,
        ..training(&A100_PCIE, 1.0, 33.0)
    };
    let behaviour = StartUp {
        work: Drift {
            work,
            begin: 0.0,
            end: DRIFT_S,
            final_w: 228.0,
        },
        process: 120.0,
        compute: 240.0,
    };
    let mut card = device(&A100_PCIE, 0, Box::new(behaviour));
    // 62 °C at 250 W: a passive card in a server's air.
    card.condition.c_per_w = 0.14;
    Plan::new(
        Timing {
            coarse_s: 60.0,
            full_rate: 6.0 * HOUR,
            live: 6.0 * HOUR,
            interval_s: 60.0,
        },
        "python3 train.py --resume",
        vec![card],
        vec![Truth::new(0, 0.0, "power_drift", "throttled")],
    )
}

/// Card C4. Eight jobs, each for itself. Device 3 trained at x8 since boot without harm, until its job moved weights to
/// the host and streams them: generation 5 x8 carries 27.75 GB/s, the work wants more. Then 214 W (31 %), SMs at 6 %.
fn narrow_link() -> Plan {
    let begins = TIMING.live - 420.0;
    let alone = |slot| training(&H100, level(slot), 61.0);
    let streaming = Activity {
        utilization: 0.99,
        sm_active: 0.06,
        tensor_active: 0.02,
        dram_active: 0.05,
        power_w: Some(214.0),
        memory_gib: 52.0,
        rx_bytes_per_s: 40e9,
        owner: Some(Owner {
            cpu_cores: 0.6,
            ..Owner::SLEEPS
        }),
        ..alone(3)
    };
    let mut devices: Vec<DevicePlan> = (0..8)
        .map(|slot| match slot {
            3 => {
                let work = Until {
                    first: Steady(alone(3)),
                    end: begins,
                    then: Steady(streaming),
                };
                device(&H100, slot, Box::new(life(work)))
            }
            6 => {
                let behaviour = Until {
                    first: life(Steady(alone(6))),
                    end: 5400.0,
                    then: Steady(Activity::held(47.0)),
                };
                device(&H100, slot, Box::new(behaviour))
            }
            _ => device(&H100, slot, Box::new(life(Steady(alone(slot))))),
        })
        .collect();
    if let Some(narrow) = devices.get_mut(3) {
        narrow.condition.link = LinkSpeed {
            width: 8,
            ..H100.link
        };
    }
    if let Some(capped) = devices.get_mut(5) {
        capped.condition.limit_w = 500.0;
    }
    if let Some(hot) = devices.get_mut(7) {
        // 82.4 °C where its neighbours have 57: 2 °C of margin.
        hot.condition.inlet_c = 27.0;
        hot.condition.c_per_w = 0.0912;
    }
    let mut truths = nothing_wrong(8);
    truths.extend([
        Truth::new(3, 0.0, "pcie_link", "degraded"),
        Truth::new(3, begins, "pcie_link", "stalled"),
        Truth::new(5, 0.0, "power_cap", "throttled"),
        Truth::new(6, 5400.0, "idle_billed", "idle"),
    ]);
    Plan::new(TIMING, "python3 sweep.py --worker", devices, truths)
}

/// Card C1: ranks in a collective at 100 % and 14 to 22 % of 700 W (NeMo 9291, nccl 1550); the odd one at 0 % with its
/// model resident (libgpuarray 387, nccl 857).
fn hang() -> Plan {
    const SPIN_W: [f64; 8] = [104.0, 118.0, 126.0, 111.0, 139.0, 132.0, 147.0, 152.0];
    const ODD: usize = 5;
    let begins = TIMING.live - 200.0;
    let one = |slot: usize| {
        let hung = Activity {
            flat: true,
            ..if slot == ODD {
                Activity::held(61.0)
            } else {
                Activity {
                    utilization: 1.0,
                    sm_active: 0.15,
                    power_w: SPIN_W.get(slot).copied(),
                    memory_gib: 61.0,
                    owner: Some(Owner::SPINS),
                    ..Activity::NOTHING
                }
            }
        };
        let behaviour = Until {
            first: life(Steady(parallel(&H100, slot))),
            end: begins,
            then: Steady(hung),
        };
        device(&H100, slot, Box::new(behaviour))
    };
    let mut truths = nothing_wrong(8);
    truths.extend((0..8).map(|slot| Truth {
        culprit: slot == ODD as u32,
        ..Truth::new(slot, begins, "collective_wait", "stalled")
    }));
    Plan::new(
        TIMING,
        "python3 train.py --config llama-70b.yaml",
        (0..8).map(one).collect(),
        truths,
    )
}

/// Card C19: nobody works, a process keeps the memory.
fn forgotten() -> Plan {
    let ends = TIMING.live - 420.0;
    let one = |slot| {
        let behaviour = Until {
            first: life(Steady(parallel(&A100_SXM, slot))),
            end: ends,
            then: Steady(Activity::held(61.0)),
        };
        device(&A100_SXM, slot, Box::new(behaviour))
    };
    let mut truths = nothing_wrong(4);
    truths.extend((0..4).map(|slot| Truth::new(slot, ends, "idle_billed", "idle")));
    Plan::new(
        TIMING,
        "jupyter-lab --no-browser",
        (0..4).map(one).collect(),
        truths,
    )
}

/// A device's work that stops for `wait` of each period from `begins` on, in the way given.
fn in_fits(
    work: Activity,
    begins: f64,
    (period, wait): (f64, f64),
    waiting: Activity,
) -> Box<dyn Behaviour> {
    Box::new(life(move |t: f64| {
        let into = (t - begins).rem_euclid(period);
        if t >= begins && into < period * wait {
            waiting
        } else {
            work
        }
    }))
}

/// Card C2 and the sawtooth of facts 2e: workers take all the CPU there is.
fn starved() -> Plan {
    let begins = TIMING.live - 600.0;
    let busy = Owner {
        cpu_cores: 1.98,
        read_bytes_per_s: 60e6,
        ..Owner::WORKS
    };
    let one = |slot: usize| {
        let work = training(&A100_PCIE, level(slot), 29.0);
        let waiting = Activity {
            utilization: 0.01,
            rx_bytes_per_s: 2e6,
            owner: Some(busy),
            ..Activity::held(29.0)
        };
        let wait = 0.4 + 0.06 * slot as f64;
        let period = 11.0 + 2.5 * slot as f64;
        device(
            &A100_PCIE,
            slot,
            in_fits(work, begins, (period, wait), waiting),
        )
    };
    let mut truths = nothing_wrong(4);
    truths.extend((0..4).map(|slot| Truth::new(slot, begins, "input_starved", "stalled")));
    let devices = (0..4).map(one).collect();
    let mut plan = Plan::new(TIMING, "python3 train.py --workers 16", devices, truths);
    plan.weather = Some(Box::new(move |t| Surroundings {
        quota_cores: if t >= begins { 8.0 } else { 32.0 },
        cpu_pressure: if t >= begins { 0.41 } else { 0.01 },
        ..Surroundings::QUIET
    }));
    plan
}

/// Card C8: the heat path of one device gets worse; it holds 85 °C.
fn thermal() -> Plan {
    let begins = TIMING.live - 900.0;
    let one = |slot: usize| {
        let work = parallel(&H100, slot);
        let behaviour = move |t: f64| {
            let mut now = work;
            if slot == 2 && t >= begins {
                now.stress.hotter_c = 52.0;
            }
            now
        };
        device(&H100, slot, Box::new(life(behaviour)))
    };
    let mut truths = nothing_wrong(8);
    truths.push(Truth::new(2, begins, "thermal", "throttled"));
    Plan::new(
        TIMING,
        "python3 train.py --config llama-8b.yaml",
        (0..8).map(one).collect(),
        truths,
    )
}

/// Card C7, bit 0x4: a limit below the default.
fn power_cap() -> Plan {
    let begins = TIMING.live - 1800.0;
    let one = |slot: usize| {
        let work = parallel(&A100_SXM, slot);
        let behaviour = move |t: f64| {
            let mut now = work;
            now.stress.limit_w = (t >= begins).then_some(280.0);
            now
        };
        device(&A100_SXM, slot, Box::new(life(behaviour)))
    };
    let mut truths = nothing_wrong(4);
    truths.extend((0..4).map(|slot| Truth::new(slot, begins, "power_cap", "throttled")));
    Plan::new(
        TIMING,
        "python3 train.py --resume",
        (0..4).map(one).collect(),
        truths,
    )
}

/// Card C9: threads in D state in the kernel's RPC code, io pressure in our own cgroup.
fn disk() -> Plan {
    let begins = TIMING.live - 420.0;
    let stuck = Owner {
        state: 'D',
        waiting: Some((6, "rpc_wait_bit_killable")),
        cpu_cores: 0.4,
        read_bytes_per_s: 34e6,
        ..Owner::WORKS
    };
    let one = |slot: usize| {
        let waiting = Activity {
            utilization: 0.01,
            owner: Some(stuck),
            ..Activity::held(61.0)
        };
        let period = 14.0 + 3.0 * slot as f64;
        device(
            &H100,
            slot,
            in_fits(parallel(&H100, slot), begins, (period, 0.66), waiting),
        )
    };
    let mut truths = nothing_wrong(4);
    truths.extend((0..4).map(|slot| Truth::new(slot, begins, "disk_io", "stalled")));
    let devices = (0..4).map(one).collect();
    let mut plan = Plan::new(
        TIMING,
        "python3 train.py --data /mnt/dataset",
        devices,
        truths,
    );
    plan.weather = Some(Box::new(move |t| Surroundings {
        io_pressure: if t >= begins { 0.52 } else { 0.004 },
        ..Surroundings::QUIET
    }));
    plan
}
