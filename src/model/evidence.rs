//! Numbers that a verdict rests on, each with its threshold and whose threshold it is (contract.md section 3).

use super::verdict::Cause;
use serde::{Deserialize, Serialize};

/// What kind of witness a number is. A device is called stalled only where two kinds agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the contract's words
pub enum EvidenceKind {
    Power,
    Clock,
    Counter,
    Link,
    Host,
    Peer,
    Event,
    Memory,
}

impl EvidenceKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Clock => "clock",
            Self::Counter => "counter",
            Self::Link => "link",
            Self::Host => "host",
            Self::Peer => "peer",
            Self::Event => "event",
            Self::Memory => "memory",
        }
    }
}

macro_rules! witnesses {
    ($($(#[$doc:meta])* $name:ident $metric:literal $kind:ident $unit:literal,)*) => {
        /// What was measured. New ones are appended: recordings keep their place.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Witness { $($(#[$doc])* $name,)* }

        impl Witness {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in documents; where it is a figure of the snapshot, that one's path.
            #[must_use]
            pub const fn metric(self) -> &'static str {
                match self { $(Self::$name => $metric,)* }
            }

            /// What kind of witness it is.
            #[must_use]
            pub const fn kind(self) -> EvidenceKind {
                match self { $(Self::$name => EvidenceKind::$kind,)* }
            }

            /// The unit of its numbers.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit,)* }
            }
        }
    };
}

witnesses! {
    /// Power drawn now, or over the window.
    Power "power_w" Power "W",
    /// Power's place between the device's resident-idle power and its limit.
    PowerSpan "power_span_ratio" Power "ratio",
    /// Power over the enforced limit.
    PowerOfLimit "power_limit_ratio" Power "ratio",
    /// Power over plate.
    PowerOfPlate "power_ratio" Power "ratio",
    /// Standard deviation of power over the window, as a share of the limit.
    PowerSpread "power_spread_ratio" Power "ratio",
    /// Power over the device's own reference for the same work.
    PowerOfReference "power_reference_ratio" Power "ratio",
    /// Evidence of a falling power that was summed up (CUSUM), in watts.
    PowerSum "power_cusum_w" Power "W",
    /// The enforced limit over the default limit or plate.
    LimitOfPlate "power_limit_plate_ratio" Power "ratio",
    /// The driver's default limit over the rated power of the table.
    DefaultOfRated "power_default_rated_ratio" Power "ratio",
    /// Device memory over what the model was sold with.
    MemoryOfPlate "memory_plate_ratio" Memory "ratio",
    /// SM clock over its maximum.
    ClockOfMax "clock_max_ratio" Clock "ratio",
    /// SM clock over the device's own reference for the same work.
    ClockOfReference "clock_reference_ratio" Clock "ratio",
    /// Application clock over the maximum.
    ApplicationClock "application_clock_ratio" Clock "ratio",
    /// Share of the time under the software power cap.
    PowerCapTime "sw_power_cap_time_ratio" Event "ratio",
    /// Share of the time slowed by software for heat.
    SoftwareHeatTime "sw_thermal_time_ratio" Event "ratio",
    /// Share of the time slowed by hardware for heat.
    HardwareHeatTime "hw_thermal_time_ratio" Event "ratio",
    /// Share of the time under an external power brake or a hardware slowdown that is not heat.
    BrakeTime "hw_power_brake_time_ratio" Event "ratio",
    /// Share of the time at clocks that were set.
    SetClockTime "applications_clocks_time_ratio" Event "ratio",
    /// Share of the time with any reason that slows clocks.
    ReasonTime "throttle_time_ratio" Event "ratio",
    /// Core temperature.
    Temperature "temperature_c" Counter "C",
    /// Degrees left to the device's own slowdown.
    Headroom "headroom_c" Counter "C",
    /// Memory temperature.
    MemoryTemperature "memory_temperature_c" Counter "C",
    /// Share of time with a kernel resident.
    Utilization "utilization_ratio" Counter "ratio",
    /// Share of the window's seconds with no work to speak of.
    IdleShare "idle_seconds_ratio" Counter "ratio",
    /// Changes between work and none in the window.
    Swings "utilization_swings" Counter "count",
    /// Share of time memory was read or written.
    MemoryActivity "memory_activity_ratio" Counter "ratio",
    /// SMs busy.
    SmActive "sm_active_ratio" Counter "ratio",
    /// Tensor pipes busy.
    TensorActive "tensor_active_ratio" Counter "ratio",
    /// Memory bandwidth in use.
    DramActive "dram_active_ratio" Counter "ratio",
    /// Seconds in which no reading changed.
    Frozen "frozen_s" Counter "s",
    /// Seconds without work.
    IdleSeconds "idle_s" Counter "s",
    /// Lanes negotiated.
    LinkWidth "pcie.width" Link "lanes",
    /// Generation negotiated.
    LinkGeneration "pcie.generation" Link "generation",
    /// Lanes of the narrowest bridge on the way.
    BridgeWidth "pcie.path.width" Link "lanes",
    /// Host to device, as a share of what the link carries.
    LinkRx "pcie.rx_saturation_ratio" Link "ratio",
    /// Device to host, likewise.
    LinkTx "pcie.tx_saturation_ratio" Link "ratio",
    /// PCIe bytes both ways.
    LinkTraffic "pcie_bytes_per_s" Link "B/s",
    /// NVLinks that are up.
    NvlinkUp "nvlink.links_up" Link "links",
    /// NVLink bytes both ways.
    NvlinkTraffic "nvlink_bytes_per_s" Link "B/s",
    /// New NVLink errors in the window.
    NvlinkErrors "nvlink_errors_delta" Link "count",
    /// The host's CPUs.
    HostCpu "cpu_ratio" Host "ratio",
    /// Cores that the device's owners use, over what they may use.
    OwnerCpu "owner_cpu_ratio" Host "ratio",
    /// Cores that the device's owners use.
    OwnerCores "owner_cpu_cores" Host "cores",
    /// Periods in which the cgroup was held at its CPU quota.
    CgroupThrottled "cgroup_throttled_ratio" Host "ratio",
    /// Time in which some task waited for a CPU.
    CpuPressure "psi_cpu_some_ratio" Host "ratio",
    /// Time in which some task waited for storage.
    IoSome "psi_io_some_ratio" Host "ratio",
    /// Time in which all tasks waited for storage.
    IoFull "psi_io_full_ratio" Host "ratio",
    /// Time in which all tasks waited for memory.
    MemoryFull "psi_memory_full_ratio" Host "ratio",
    /// Threads of the owners in uninterruptible wait.
    WaitingThreads "waiting_threads" Host "threads",
    /// Bytes that the owners wrote to storage.
    OwnerWrites "write_bytes_per_s" Host "B/s",
    /// Bytes that the owners read from storage.
    OwnerReads "read_bytes_per_s" Host "B/s",
    /// TCP segments sent again.
    Retransmits "tcp_retransmit_ratio" Host "ratio",
    /// TCP segments sent in the window.
    Segments "tcp_segments" Host "count",
    /// InfiniBand and RoCE errors in the window.
    RdmaErrors "infiniband_errors" Host "count",
    /// Bytes through network cards.
    NetworkTraffic "net_bytes_per_s" Host "B/s",
    /// Bytes through InfiniBand.
    RdmaTraffic "infiniband_bytes_per_s" Host "B/s",
    /// Swap in use that grew.
    SwapGrowth "swap_growth_bytes_per_s" Host "B/s",
    /// Major page faults of the owners.
    MajorFaults "major_faults_per_s" Host "1/s",
    /// Host memory in use over its limit.
    HostMemory "host_memory_ratio" Host "ratio",
    /// Seconds since the youngest owner started.
    OwnerAge "owner_age_s" Host "s",
    /// Median power span of the peers.
    PeersSpan "peers_power_span_ratio" Peer "ratio",
    /// Clock over the median of the peers.
    ClockOfPeers "clock_peers_ratio" Peer "ratio",
    /// Work over the median of the peers.
    WorkOfPeers "work_peers_ratio" Peer "ratio",
    /// Power over the median of the peers, less the same in the reference time.
    PowerOfPeers "power_peers_ratio" Peer "ratio",
    /// Degrees above the median of the peers.
    HotterThanPeers "temperature_peers_c" Peer "C",
    /// Peers that wait too.
    PeersWaiting "peers_waiting" Peer "devices",
    /// Peers that work.
    PeersWorking "peers_working" Peer "devices",
    /// NVLinks up on the peers.
    PeersLinks "peers_nvlink_links_up" Peer "links",
    /// An XID event.
    Xid "xid" Event "code",
    /// Uncorrected memory errors.
    EccUncorrected "ecc_uncorrected" Event "count",
    /// A row remap failed.
    RemapFailed "remapped_rows_failure" Event "flag",
    /// A row remap or page retirement waits for a reset.
    RemapPending "remapped_rows_pending" Event "flag",
    /// What the driver asks for.
    RecoveryAction "recovery_action" Event "code",
    /// Seconds without an answer.
    Silent "silent_s" Event "s",
    /// Seconds since processes, memory or power changed in one step.
    StepAge "work_changed_s" Event "s",
    /// Device memory in use over all of it.
    MemoryUsed "memory_used_ratio" Memory "ratio",
    /// Growth of device memory as a share of all of it, per hour.
    MemoryGrowth "memory_growth_ratio_per_h" Memory "ratio/h",
    /// Seconds in this pause.
    PauseSeconds "pause_s" Counter "s",
    /// Seconds of the longest earlier pause of the same kind.
    EarlierPause "pause_earlier_s" Counter "s",
    /// Both directions of the link, as a share of what both carry, where they are not told apart.
    LinkBoth "pcie.both_saturation_ratio" Link "ratio",
    /// What the vendor's library thinks of the device: 1 minor fault, 2 major, 3 critical.
    Health "health" Event "level",
    /// Devices that the drivers list.
    DeviceCount "device_count" Host "devices",
    /// Whether it is the model that the platform rents out.
    ModelMatch "model_match" Host "flag",
}

/// How a value stands to its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the contract's signs
pub enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

impl Comparison {
    /// The contract's sign.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "=",
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::Less => value < threshold,
            Self::AtMost => value <= threshold,
            Self::More => value > threshold,
            Self::AtLeast => value >= threshold,
            Self::Equal => value == threshold,
        }
    }
}

/// Whose threshold it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whose {
    /// The device's own.
    Device,
    /// The plate's: what the model was sold as.
    Plate,
    /// Learned from the device's own past, or from its peers.
    Baseline,
    /// The articles that nameplate was written after.
    Article,
    /// A paper's or a tool's.
    Paper(Paper),
    /// The configuration's: somebody set it.
    Config,
}

impl Whose {
    /// A default of ours, where nobody else's is known.
    pub const OURS: Self = Self::Paper(Paper::Nameplate);
}

/// Papers and tools whose thresholds are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Paper {
    /// NSDI 2025: what lasts five minutes is a fault.
    Minder,
    /// arXiv 2410.12588: slower by ten percent is slow.
    Falcon,
    /// arXiv 2509.16293: ten minutes of silent RDMA; two alerts in five minutes.
    ByteRobust,
    /// NVIDIA's DCGM background health checks.
    Dcgm,
    /// Roofline classes of kempnerpulse, after NVIDIA's DCGM guide.
    Kempner,
    /// NVIDIA's XID catalogue and the exporter's chart.
    Exporter,
    /// Rule of thumb for input pipelines (ibee.ai).
    Ibee,
    /// Nobody else's: what this program holds to be right until somebody configures another.
    Nameplate,
}

impl Paper {
    /// Its id in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Minder => "minder",
            Self::Falcon => "falcon",
            Self::ByteRobust => "byterobust",
            Self::Dcgm => "dcgm",
            Self::Kempner => "kempnerpulse",
            Self::Exporter => "nvidia_gpu_exporter",
            Self::Ibee => "ibee",
            Self::Nameplate => "nameplate",
        }
    }
}

impl std::fmt::Display for Whose {
    /// The contract's word.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device => f.write_str("device"),
            Self::Plate => f.write_str("plate"),
            Self::Baseline => f.write_str("baseline"),
            Self::Article => f.write_str("article"),
            Self::Paper(paper) => write!(f, "paper:{}", paper.id()),
            Self::Config => f.write_str("config"),
        }
    }
}

/// A number with its threshold and whose threshold it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was measured: its name, kind and unit.
    pub witness: Witness,
    /// The number, in the witness' unit.
    pub value: f64,
    /// How it stands to the threshold.
    pub comparison: Comparison,
    /// The threshold.
    pub threshold: f64,
    /// Whose that is.
    pub whose: Whose,
    /// Over how many seconds it was measured; 0 for a state of this instant.
    pub window_s: f64,
}

impl Evidence {
    /// Whether the comparison holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.comparison.holds(self.value, self.threshold)
    }
}

/// A look-alike that was looked at and turned down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// What it could have been.
    pub cause: Cause,
    /// Why it is not.
    pub why: Why,
}

/// Why a look-alike was turned down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Why {
    /// This number speaks against it: the comparison holds, and would not if the look-alike were true.
    Against(Evidence),
    /// This number would decide, and cannot be read here: the two cannot be told apart.
    CannotTell(Witness),
}
