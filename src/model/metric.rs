//! Every number that a device can say about itself, with its unit: the slots of [`Readings`](super::Readings).
//!
//! New metrics are appended: the number of a metric is its slot in recordings.

use serde::{Deserialize, Serialize};

/// The unit of a metric as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Watts.
    Watt,
    /// Joules.
    Joule,
    /// Degrees Celsius.
    Celsius,
    /// Megahertz.
    Megahertz,
    /// 0 to 1.
    Ratio,
    /// Bytes.
    Byte,
    /// Bytes per second.
    BytePerSecond,
    /// Seconds.
    Second,
    /// A plain count, state or number.
    Count,
    /// A bit mask.
    Bits,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident $key:literal $unit:ident $counter:literal,)*) => {
        /// One numeric thing that a device can say about itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Metric { $($(#[$doc])* $name,)* }

        impl Metric {
            /// All of them, in slot order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name, with the unit in it.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }

            /// Its unit as stored.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit,)* }
            }

            /// Whether it only ever grows (until the driver is loaded anew), so that differences count.
            #[must_use]
            pub const fn is_counter(self) -> bool {
                match self { $(Self::$name => $counter,)* }
            }
        }
    };
}

metrics! {
    /// `nvmlDeviceGetPowerUsage` or its like; what kind of value it is depends on the device (see `Device::power_usage_is_average`).
    PowerUsage "power_usage_w" Watt false,
    /// One-second average.
    PowerAverage "power_average_w" Watt false,
    /// Instantaneous.
    PowerInstant "power_instant_w" Watt false,
    /// The whole module's draw (superchips).
    ModulePower "module_power_w" Watt false,
    /// The module's limit.
    ModuleLimit "module_limit_w" Watt false,
    /// The limit after all limiters, out-of-band ones included.
    LimitEnforced "limit_enforced_w" Watt false,
    /// The limit that was asked for in-band.
    LimitRequested "limit_requested_w" Watt false,
    /// The driver's default limit.
    LimitDefault "limit_default_w" Watt false,
    /// The lowest limit that can be set.
    LimitMin "limit_min_w" Watt false,
    /// The highest limit that can be set.
    LimitMax "limit_max_w" Watt false,
    /// Energy since the driver was loaded.
    Energy "energy_j" Joule true,
    /// Core temperature.
    CoreTemperature "core_temperature_c" Celsius false,
    /// Memory temperature.
    MemoryTemperature "memory_temperature_c" Celsius false,
    /// Degrees left to the nearest slowdown threshold, as the device says.
    Margin "margin_c" Celsius false,
    /// Absolute shutdown threshold.
    ThresholdShutdown "threshold_shutdown_c" Celsius false,
    /// Absolute slowdown threshold (hardware).
    ThresholdSlowdown "threshold_slowdown_c" Celsius false,
    /// Absolute maximum operating temperature of the core: above it software slows the clocks.
    ThresholdGpuMax "threshold_gpu_max_c" Celsius false,
    /// Absolute maximum operating temperature of the memory.
    ThresholdMemoryMax "threshold_memory_max_c" Celsius false,
    /// Relative shutdown threshold: the margin at which the device shuts down.
    MarginShutdown "margin_shutdown_c" Celsius false,
    /// Relative slowdown threshold.
    MarginSlowdown "margin_slowdown_c" Celsius false,
    /// SM (core) clock.
    SmClock "sm_clock_mhz" Megahertz false,
    /// Highest SM clock.
    SmClockMax "sm_clock_max_mhz" Megahertz false,
    /// Memory clock.
    MemoryClock "memory_clock_mhz" Megahertz false,
    /// Highest memory clock.
    MemoryClockMax "memory_clock_max_mhz" Megahertz false,
    /// Application clock set for the SM.
    ApplicationClock "application_clock_mhz" Megahertz false,
    /// Performance state, 0 (fastest) to 15.
    PerformanceState "performance_state" Count false,
    /// Clock event (throttle) reasons as a bit mask in the words of all vendors ([`Reason`](super::Reason)), unknown bits kept.
    Reasons "clock_event_reasons" Bits false,
    /// Which reasons the device can report.
    ReasonsSupported "clock_event_reasons_supported" Bits false,
    /// Time spent under the software power cap, since the driver was loaded.
    SecondsSwPowerCap "seconds_sw_power_cap" Second true,
    /// Time held back by another device of the sync group.
    SecondsSyncBoost "seconds_sync_boost" Second true,
    /// Time slowed by software for heat.
    SecondsSwThermal "seconds_sw_thermal" Second true,
    /// Time slowed by hardware for heat.
    SecondsHwThermal "seconds_hw_thermal" Second true,
    /// Time under an external power brake.
    SecondsPowerBrake "seconds_power_brake" Second true,
    /// Share of the last sample period with a kernel resident.
    Utilization "utilization_ratio" Ratio false,
    /// Share of the last sample period in which memory was read or written.
    MemoryActivity "memory_activity_ratio" Ratio false,
    /// SM busy (GPM).
    SmActive "sm_active_ratio" Ratio false,
    /// SM occupancy (GPM).
    SmOccupancy "sm_occupancy_ratio" Ratio false,
    /// Any tensor pipe active (GPM).
    TensorActive "tensor_active_ratio" Ratio false,
    /// Share of peak memory bandwidth (GPM).
    DramActive "dram_active_ratio" Ratio false,
    /// Host to device, by GPM.
    GpmPcieRx "gpm_pcie_rx_bytes_per_s" BytePerSecond false,
    /// Device to host, by GPM.
    GpmPcieTx "gpm_pcie_tx_bytes_per_s" BytePerSecond false,
    /// NVLink in, by GPM.
    GpmNvlinkRx "gpm_nvlink_rx_bytes_per_s" BytePerSecond false,
    /// NVLink out, by GPM.
    GpmNvlinkTx "gpm_nvlink_tx_bytes_per_s" BytePerSecond false,
    /// Device memory in use.
    MemoryUsed "memory_used_bytes" Byte false,
    /// Device memory in all.
    MemoryTotal "memory_total_bytes" Byte false,
    /// Device memory that the driver keeps.
    MemoryReserved "memory_reserved_bytes" Byte false,
    /// BAR1 in use.
    Bar1Used "bar1_used_bytes" Byte false,
    /// BAR1 in all.
    Bar1Total "bar1_total_bytes" Byte false,
    /// Uncorrected ECC errors since the driver was loaded (volatile).
    EccUncorrected "ecc_uncorrected" Count true,
    /// Corrected ECC errors since the driver was loaded (volatile).
    EccCorrected "ecc_corrected" Count true,
    /// Rows remapped for correctable errors.
    RemapCorrectable "remapped_rows_correctable" Count false,
    /// Rows remapped for uncorrectable errors.
    RemapUncorrectable "remapped_rows_uncorrectable" Count false,
    /// A row remap waits for a reset (1) or not (0).
    RemapPending "remapped_rows_pending" Count false,
    /// A row remap failed (1) or not (0).
    RemapFailure "remapped_rows_failure" Count false,
    /// Retired pages (Turing and older).
    RetiredPages "retired_pages" Count false,
    /// Page retirement waits for a reboot (1) or not (0).
    RetiredPending "retired_pages_pending" Count false,
    /// What the driver asks for: 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset, 5 recover the IMEX domain.
    RecoveryAction "recovery_action" Count false,
    /// Link generation read before the byte counters.
    PcieGenerationBefore "pcie_generation_before" Count false,
    /// Link width read before the byte counters.
    PcieWidthBefore "pcie_width_before" Count false,
    /// Link generation read after the byte counters.
    PcieGenerationAfter "pcie_generation_after" Count false,
    /// Link width read after the byte counters.
    PcieWidthAfter "pcie_width_after" Count false,
    /// Highest generation that device and slot can negotiate, as the driver says.
    PcieGenerationMax "pcie_generation_max" Count false,
    /// Highest width that device and slot can negotiate, as the driver says.
    PcieWidthMax "pcie_width_max" Count false,
    /// Highest generation of the device alone.
    PcieGenerationDevice "pcie_generation_device_max" Count false,
    /// Bytes from host to device, a counter that may wrap (see [`Metric::PcieCounterBits`]).
    PcieRxBytes "pcie_rx_bytes" Byte true,
    /// Bytes from device to host, a counter that may wrap.
    PcieTxBytes "pcie_tx_bytes" Byte true,
    /// Width in bits of the two byte counters: 32 or 64.
    PcieCounterBits "pcie_counter_bits" Count false,
    /// Host to device by the blocking call (a 20 ms window).
    PcieRxRate "pcie_rx_bytes_per_s" BytePerSecond false,
    /// Device to host by the blocking call (a 20 ms window).
    PcieTxRate "pcie_tx_bytes_per_s" BytePerSecond false,
    /// PCIe replays.
    PcieReplays "pcie_replays" Count true,
    /// PCIe correctable errors.
    PcieCorrectable "pcie_correctable_errors" Count true,
    /// PCIe non-fatal errors.
    PcieNonFatal "pcie_non_fatal_errors" Count true,
    /// PCIe fatal errors.
    PcieFatal "pcie_fatal_errors" Count true,
    /// NVLinks that the device has.
    NvlinkLinks "nvlink_links" Count false,
    /// NVLinks that are up.
    NvlinkUp "nvlink_links_up" Count false,
    /// NVLink bytes in, over all links.
    NvlinkRxBytes "nvlink_rx_bytes" Byte true,
    /// NVLink bytes out, over all links.
    NvlinkTxBytes "nvlink_tx_bytes" Byte true,
    /// Speed of all links that are up together, one way.
    NvlinkSpeed "nvlink_bytes_per_s" BytePerSecond false,
    /// NVLink errors (replay, recovery, CRC, or the newer counters) over all links.
    NvlinkErrors "nvlink_errors" Count true,
    /// C2C link bandwidth of a superchip, one way.
    C2cSpeed "c2c_bytes_per_s" BytePerSecond false,
    /// MIG is on (1) or off (0).
    MigEnabled "mig_enabled" Count false,
    /// Persistence mode is on (1) or off (0).
    Persistence "persistence_mode" Count false,
    /// Fan speed as a share of the maximum.
    Fan "fan_ratio" Ratio false,
    /// Share of a card that this guest was given (cGPU, vGPU).
    Share "share_ratio" Ratio false,
    /// Relative maximum operating temperature of the memory: the margin at which software slows for it.
    MarginMemoryMax "margin_memory_max_c" Celsius false,
    /// Relative maximum operating temperature of the core.
    MarginGpuMax "margin_gpu_max_c" Celsius false,
    /// Application clock set for the memory.
    ApplicationMemoryClock "application_memory_clock_mhz" Megahertz false,
    /// ECC is on (1) or off (0).
    EccEnabled "ecc_enabled" Count false,
    /// Rated power as the driver itself says it.
    RatedPower "rated_power_w" Watt false,
    /// PCIe bytes of both directions together, where the device does not tell them apart: a 64-bit counter.
    PcieBothBytes "pcie_both_bytes" Byte true,
    /// PCIe bytes per second of both directions together, where the device does not tell them apart.
    PcieBothRate "pcie_both_bytes_per_s" BytePerSecond false,
    /// The vendor's own mask of reasons, as its library said it; [`Metric::Reasons`] has them in the words of all vendors.
    VendorReasons "vendor_reasons" Bits false,
    /// What the vendor's library thinks of the device: 0 healthy, 1 minor fault, 2 major fault, 3 critical fault.
    Health "health" Count false,
    /// Draw of the whole board, where each of the devices on it tells all of it.
    BoardPower "board_power_w" Watt false,
    /// Processes that were forked, without a program of their own, by one that had this device open: the workers of a data
    /// loader in fork mode.
    ForkedWorkers "forked_workers" Count false,
    /// The jobs on this device ask for reduced precision (1) or against it (0), as their command lines and configuration
    /// say (`enable_reduce_precision`).
    ReducePrecision "reduce_precision" Count false,
}
