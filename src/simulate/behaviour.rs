//! What devices are made to do: small behaviours, put together by wrapping one in another.
//!
//! A behaviour is a pure function of simulated time; noise, limits, heat and quantising are the body's.

use crate::units::LinkSpeed;

/// What the owner of a device does, as its host sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Owner {
    /// Kernel state letter.
    pub(super) state: char,
    /// Threads in uninterruptible wait, and where.
    pub(super) waiting: Option<(u32, &'static str)>,
    pub(super) cpu_cores: f64,
    pub(super) read_bytes_per_s: f64,
    pub(super) write_bytes_per_s: f64,
    pub(super) major_faults_per_s: f64,
    /// Which of the jobs that run one after the other: another number is another process.
    pub(super) job: u32,
    /// A second process on the same device holds so much memory.
    pub(super) guest_gib: f64,
}

impl Owner {
    pub(super) const WORKS: Self = Self {
        state: 'R',
        waiting: None,
        cpu_cores: 6.4,
        read_bytes_per_s: 210e6,
        write_bytes_per_s: 0.1e6,
        major_faults_per_s: 0.0,
        job: 0,
        guest_gib: 0.0,
    };
    /// Spins in a library call: one core, no data.
    pub(super) const SPINS: Self = Self {
        cpu_cores: 1.0,
        read_bytes_per_s: 0.0,
        write_bytes_per_s: 0.0,
        ..Self::WORKS
    };
    pub(super) const SLEEPS: Self = Self {
        state: 'S',
        cpu_cores: 0.0,
        ..Self::SPINS
    };
}

/// What a device should do at one instant, before noise and limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Activity {
    pub(super) utilization: f64,
    pub(super) sm_active: f64,
    pub(super) tensor_active: f64,
    pub(super) dram_active: f64,
    /// What the work would draw with no limit in its way; `None`: what the part draws idle.
    pub(super) power_w: Option<f64>,
    /// Clock over the highest clock.
    pub(super) clock_ratio: f64,
    /// Share of time under the software power cap beyond what the limit itself causes.
    pub(super) capped_ratio: f64,
    pub(super) memory_gib: f64,
    /// Host to device, before the link's own limit.
    pub(super) rx_bytes_per_s: f64,
    pub(super) tx_bytes_per_s: f64,
    /// Each way, over all NVLinks.
    pub(super) nvlink_bytes_per_s: f64,
    /// Nothing but the power sensor moves.
    pub(super) flat: bool,
    pub(super) owner: Option<Owner>,
    pub(super) stress: Stress,
}

/// What is done to a device rather than by it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Stress {
    /// A limit in place of the device's own.
    pub(super) limit_w: Option<f64>,
    /// A link in place of the device's own.
    pub(super) link: Option<LinkSpeed>,
    /// Degrees over what the device's own heat path gives at full plate, in proportion to power (dust, fan, paste).
    pub(super) hotter_c: f64,
    /// Event-reason bits beyond those that follow from limit and heat.
    pub(super) reasons: u64,
    /// Share of time under the power brake's counter.
    pub(super) braked_ratio: f64,
    /// Share of time under the sync boost counter.
    pub(super) synced_ratio: f64,
    /// NVLinks that are down, and errors per second on the others.
    pub(super) links_down: f64,
    pub(super) link_errors_per_s: f64,
    pub(super) uncorrected: f64,
    pub(super) corrected: f64,
    pub(super) remap_failed: bool,
    pub(super) performance_state: f64,
    /// The driver's figure of memory activity, where it is not a quarter of DRAM activity.
    pub(super) memory_activity: Option<f64>,
}

impl Activity {
    /// No process.
    pub(super) const NOTHING: Self = Self {
        utilization: 0.0,
        sm_active: 0.0,
        tensor_active: 0.0,
        dram_active: 0.0,
        power_w: None,
        clock_ratio: 1.0,
        capped_ratio: 0.0,
        memory_gib: 0.0,
        rx_bytes_per_s: 0.0,
        tx_bytes_per_s: 0.0,
        nvlink_bytes_per_s: 0.0,
        flat: false,
        owner: None,
        stress: Stress {
            limit_w: None,
            link: None,
            hotter_c: 0.0,
            reasons: 0,
            braked_ratio: 0.0,
            synced_ratio: 0.0,
            links_down: 0.0,
            link_errors_per_s: 0.0,
            uncorrected: 0.0,
            corrected: 0.0,
            remap_failed: false,
            performance_state: 0.0,
            memory_activity: None,
        },
    };

    /// A process that keeps memory and does nothing.
    pub(super) const fn held(memory_gib: f64) -> Self {
        Self {
            memory_gib,
            owner: Some(Owner::SLEEPS),
            ..Self::NOTHING
        }
    }
}

/// One way of behaving.
pub(super) trait Behaviour: Send {
    /// What to do at `t` simulated seconds.
    fn at(&self, t: f64) -> Activity;
}

impl<F: Fn(f64) -> Activity + Send> Behaviour for F {
    fn at(&self, t: f64) -> Activity {
        self(t)
    }
}

/// Always the same.
pub(super) struct Steady(pub(super) Activity);

impl Behaviour for Steady {
    fn at(&self, _: f64) -> Activity {
        self.0
    }
}

/// One behaviour until an instant, another from then on.
pub(super) struct Until<A, B> {
    pub(super) first: A,
    pub(super) end: f64,
    pub(super) then: B,
}

impl<A: Behaviour, B: Behaviour> Behaviour for Until<A, B> {
    fn at(&self, t: f64) -> Activity {
        if t < self.end {
            self.first.at(t)
        } else {
            self.then.at(t)
        }
    }
}

/// Work that stops now and then to write a checkpoint: device memory goes up the link, then threads wait for storage.
pub(super) struct Checkpoints<B> {
    pub(super) work: B,
    pub(super) first: f64,
    pub(super) period: f64,
    pub(super) length: f64,
}

impl<B: Behaviour> Behaviour for Checkpoints<B> {
    fn at(&self, t: f64) -> Activity {
        let work = self.work.at(t);
        let into = (t - self.first).rem_euclid(self.period);
        if t < self.first || into >= self.length {
            return work;
        }
        let copies = into < self.length * 0.1;
        Activity {
            memory_gib: work.memory_gib,
            tx_bytes_per_s: if copies { 21e9 } else { 0.2e9 },
            owner: Some(Owner {
                state: 'D',
                waiting: Some((4, "folio_wait_bit_common")),
                cpu_cores: 0.7,
                read_bytes_per_s: 0.0,
                write_bytes_per_s: 1.3e9,
                ..work.owner.unwrap_or(Owner::WORKS)
            }),
            ..Activity::NOTHING
        }
    }
}

/// A machine's first minutes: no process, then loading, then work.
pub(super) struct StartUp<B> {
    pub(super) work: B,
    pub(super) process: f64,
    pub(super) compute: f64,
}

impl<B: Behaviour> Behaviour for StartUp<B> {
    fn at(&self, t: f64) -> Activity {
        if t < self.process {
            return Activity::NOTHING;
        }
        let work = self.work.at(t);
        if t >= self.compute {
            return work;
        }
        let loaded = (t - self.process) / (self.compute - self.process);
        Activity {
            rx_bytes_per_s: 1.8e9,
            owner: Some(Owner {
                cpu_cores: 1.0,
                read_bytes_per_s: 1.9e9,
                ..Owner::WORKS
            }),
            ..Activity::held(work.memory_gib * loaded)
        }
    }
}

/// 250 W to 228 W.
const ARTICLE_LOSS: f64 = 0.088;

/// The articles' card: the same work at the same utilization, ever less power: 250 W to 228 W over 36 h, with the clock
/// falling and the power cap's counter running.
pub(super) struct Drift {
    pub(super) work: Activity,
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) final_w: f64,
}

impl Behaviour for Drift {
    fn at(&self, t: f64) -> Activity {
        let share = ((t - self.begin) / (self.end - self.begin)).clamp(0.0, 1.0);
        let from = self.work.power_w.unwrap_or(self.final_w);
        // At a given voltage power goes with the clock: 8.8 % less power is about 7 % less clock.
        let loss = (1.0 - self.final_w / from) / ARTICLE_LOSS;
        Activity {
            power_w: Some(from + (self.final_w - from) * share),
            clock_ratio: self.work.clock_ratio * (1.0 - 0.07 * loss * share),
            capped_ratio: (self.work.capped_ratio + 0.6 * loss * share).min(0.95),
            rx_bytes_per_s: self.work.rx_bytes_per_s * (1.0 - 0.06 * loss * share),
            ..self.work
        }
    }
}
