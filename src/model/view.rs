//! Derived figures of a device under the contract's names.

use super::reading::Absent;

/// A figure as it is shown: a value with its age, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The value, or why there is none.
    pub reading: Result<f64, Absent>,
    /// Seconds since the value was read; 0 for this tick's.
    pub age_s: f64,
}

impl Value {
    /// Read in this tick.
    #[must_use]
    pub const fn fresh(value: f64) -> Self {
        Self {
            reading: Ok(value),
            age_s: 0.0,
        }
    }

    /// Not there.
    #[must_use]
    pub const fn absent(why: Absent) -> Self {
        Self {
            reading: Err(why),
            age_s: 0.0,
        }
    }

    /// The number, where there is one.
    #[must_use]
    pub fn ok(self) -> Option<f64> {
        self.reading.ok()
    }

    /// Derives another figure, keeping age and reason.
    #[must_use]
    pub fn map(self, f: impl FnOnce(f64) -> f64) -> Self {
        Self {
            reading: self.reading.map(f),
            age_s: self.age_s,
        }
    }

    /// Combines two figures: absent for the first one's reason, else the second's; as old as the older.
    #[must_use]
    pub fn with(self, other: Self, f: impl FnOnce(f64, f64) -> f64) -> Self {
        let age_s = self.age_s.max(other.age_s);
        let reading = match (self.reading, other.reading) {
            (Ok(a), Ok(b)) => {
                let value = f(a, b);
                if value.is_finite() {
                    Ok(value)
                } else {
                    Err(Absent::NotReported)
                }
            }
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        Self { reading, age_s }
    }

    /// This value, or the other where this one is absent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.reading.is_ok() { self } else { other }
    }
}

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident $path:literal,)*) => {
        /// One derived number of a device (contract.md section 3).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Figure { $($(#[$doc])* $name,)* }

        impl Figure {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The dotted path in the documents; names carry the unit.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$name => $path,)* }
            }
        }
    };
}

figures! {
    /// Power drawn now.
    Power "power_w",
    /// Enforced limit.
    PowerLimit "power_limit_w",
    /// Driver's default limit.
    PowerDefaultLimit "power_default_limit_w",
    /// The driver's default limit, else the table's.
    PlatePower "plate_power_w",
    /// The table's, only where the model is unambiguous.
    RatedPower "rated_power_w",
    /// Power over plate.
    PowerRatio "power_ratio",
    /// Power over limit.
    PowerLimitRatio "power_limit_ratio",
    /// The driver's energy counter.
    Energy "energy_j",
    /// Core temperature.
    Temperature "temperature_c",
    /// The absolute temperature at which clocks are cut, where the device reports one.
    Slowdown "slowdown_c",
    /// Degrees left until clocks are cut.
    Headroom "headroom_c",
    /// Seconds until that happens at this rate.
    TimeToThrottle "time_to_throttle_s",
    /// Memory temperature.
    MemoryTemperature "memory_temperature_c",
    /// Share of time with a kernel resident.
    Utilization "utilization_ratio",
    /// Share of time memory was accessed.
    MemoryActivity "memory_activity_ratio",
    /// SM busy.
    SmActive "sm_active_ratio",
    /// Tensor pipes busy.
    TensorActive "tensor_active_ratio",
    /// Memory bandwidth used.
    DramActive "dram_active_ratio",
    /// Work: GPM's or the power span's, see `work_ratio_source`.
    Work "work_ratio",
    /// Share of a card given to this guest.
    Share "share_ratio",
    /// Memory in use.
    MemoryUsed "memory_used_bytes",
    /// Memory in all.
    MemoryTotal "memory_total_bytes",
    /// SM clock.
    Clock "clock_mhz",
    /// Highest SM clock.
    ClockMax "clock_max_mhz",
    /// Negotiated generation.
    PcieGeneration "pcie.generation",
    /// Best generation.
    PcieGenerationMax "pcie.generation_max",
    /// Negotiated width.
    PcieWidth "pcie.width",
    /// Best width.
    PcieWidthMax "pcie.width_max",
    /// Host to device.
    PcieRx "pcie.rx_bytes_per_s",
    /// Device to host.
    PcieTx "pcie.tx_bytes_per_s",
    /// What the negotiated link can really carry one way.
    PcieUsable "pcie.usable_bytes_per_s",
    /// Host to device over usable.
    PcieRxSaturation "pcie.rx_saturation_ratio",
    /// Device to host over usable.
    PcieTxSaturation "pcie.tx_saturation_ratio",
    /// Both directions together, of devices that do not tell them apart.
    PcieBoth "pcie.both_bytes_per_s",
    /// Both directions together over twice what is usable one way.
    PcieBothSaturation "pcie.both_saturation_ratio",
    /// Replays since the driver was loaded.
    PcieReplays "pcie.replays",
    /// Links of the device.
    NvlinkLinks "nvlink.links",
    /// Links that are up.
    NvlinkUp "nvlink.links_up",
    /// In, all links.
    NvlinkRx "nvlink.rx_bytes_per_s",
    /// Out, all links.
    NvlinkTx "nvlink.tx_bytes_per_s",
    /// What all links carry one way.
    NvlinkPlate "nvlink.plate_bytes_per_s",
    /// The busier direction over the plate.
    NvlinkSaturation "nvlink.saturation_ratio",
    /// Errors over all links.
    NvlinkErrors "nvlink.errors",
    /// Uncorrected ECC errors, volatile.
    EccUncorrected "ecc_uncorrected",
}

/// All derived figures of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures(Box<[Value]>);

impl Default for Figures {
    fn default() -> Self {
        Self(vec![Value::absent(Absent::NotReported); Figure::ALL.len()].into_boxed_slice())
    }
}

impl Figures {
    /// One figure.
    #[must_use]
    pub fn get(&self, figure: Figure) -> Value {
        self.0
            .get(figure as usize)
            .copied()
            .unwrap_or(Value::absent(Absent::NotReported))
    }

    /// Stores one figure; a number that is not finite becomes absent.
    pub fn set(&mut self, figure: Figure, value: Value) {
        if let Some(slot) = self.0.get_mut(figure as usize) {
            *slot = match value.reading {
                Ok(number) if !number.is_finite() => Value::absent(Absent::Implausible(0.0)),
                _ => value,
            };
        }
    }
}
