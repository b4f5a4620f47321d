//! The table itself: from the vendors' headers and pages, see assets/docs/vendors.md for what is verified on what.

use super::device::Vendor;
use super::meters::{Pace, VendorMeters, Way, WhyNot};
use Pace::{File, Once, Slow, Sweep, Thread};
use Way::{By, Not};
use WhyNot::{BothDirections, NotRead, NotTold, OnRequest, Refused, UnitUnknown, WrongNode};

const LINK_FILES: &str =
    "`current_link_speed` and `_width` of the PCI device and of each bridge above";

/// In the order in which vendors are told; each column in the order of `Meter::ALL`.
pub(super) const VENDORS: [VendorMeters; 7] = [
    VendorMeters {
        vendor: Vendor::Nvidia,
        title: "NVIDIA",
        interface: "NVML",
        ways: [
            By(
                "`nvmlDeviceGetPowerUsage`, fields for average and instant",
                Sweep,
            ),
            By(
                "`nvmlDeviceGetEnforcedPowerLimit`, requested and default limit",
                Slow,
            ),
            Not(NotTold),
            By("`nvmlDeviceGetTotalEnergyConsumption`", Sweep),
            By("`nvmlDeviceGetTemperature`", Sweep),
            By("field of the memory's temperature", Sweep),
            By("margin, or thresholds", Slow),
            By("`nvmlDeviceGetUtilizationRates`", Sweep),
            By("GPM, from Hopper on", Sweep),
            By("`nvmlDeviceGetMemoryInfo_v2`", Sweep),
            By("`nvmlDeviceGetClockInfo`", Sweep),
            By("`nvmlDeviceGetCurrentClocksEventReasons`", Sweep),
            By("violation counters by reason", Sweep),
            By(
                "link generation and width, before and after the counters",
                Sweep,
            ),
            By(
                "byte counters, else GPM; else the getter that takes 20 ms",
                Sweep,
            ),
            By("NVLink counters and states", Sweep),
            By("ECC counters, remapped rows, retired pages", Slow),
            By("list with memory, compute and graphics", Slow),
        ],
        notes: &["The nameplate is the driver's default limit."],
    },
    VendorMeters {
        vendor: Vendor::Ascend,
        title: "Huawei Ascend",
        interface: "DCMI",
        ways: [
            By(
                "`dcmi_get_device_power_info`, 0.1 W; 310P by `dcmi_mcu_get_power_info` on older drivers",
                Sweep,
            ),
            Not(NotTold),
            By(
                "`dcmi_get_device_info` (8, 10); older drivers refuse it: then the table",
                Once,
            ),
            Not(NotTold),
            By("`dcmi_get_device_temperature`", Sweep),
            By("`dcmi_get_device_hbm_info`", Sweep),
            Not(Refused),
            By(
                "`dcmi_get_device_multi_utilization_rate`, else `dcmi_get_device_utilization_rate`: AICore",
                Sweep,
            ),
            By(
                "bandwidth of the memory: HBM's with the memory, DDR's by `dcmi_get_device_utilization_rate`",
                Sweep,
            ),
            By(
                "`dcmi_get_device_hbm_info`, else `dcmi_get_device_memory_info_v3`",
                Sweep,
            ),
            By("`dcmi_get_device_frequency`, AICore now and rated", Sweep),
            By(
                "`dcmi_get_device_info` (8, 9), from the second generation on",
                Sweep,
            ),
            Not(NotTold),
            By(LINK_FILES, Slow),
            Not(OnRequest("--dcmi-pcie")),
            Not(NotRead),
            By("`dcmi_get_device_ecc_info`", Slow),
            By(
                "`dcmi_get_device_resource_info`; a container sees its own",
                Slow,
            ),
        ],
        notes: &[
            "A 910C is two chips of one board: chip 0 alone tells the power of both.",
            "A name `910B` with 32 GB is a first-generation Ascend 910, not the second generation's 910B1 to 910B4.",
            "While a profiler runs, AICore reads 0.",
            "PCIe: with `--dcmi-pcie` (`measure_pcie` in the file) `dcmi_get_pcie_link_bandwidth_info` is asked, 100 ms a device, in a process of its own. It tells whole GB/s, on bare metal and in privileged containers, and nothing of use while a profiler runs; which of its counts go which way is derived from their names, not verified.",
            "The driver turns a utilization over 100 % into 0: a lone 0 above 60 % of the rated power is implausible.",
            "Where the library cannot be loaded, `npu-smi info` every few seconds: power, temperature, utilization, memory, health, processes.",
        ],
    },
    VendorMeters {
        vendor: Vendor::Cambricon,
        title: "Cambricon",
        interface: "CNDEV",
        ways: [
            By("`cndevGetDevicePowerInfo`, whole watts", Sweep),
            By(
                "the same call: cap; default and range by `cndevGetPowerManagement...`",
                Sweep,
            ),
            By("the same call: TDP", Once),
            By("field 71, newer libraries", Sweep),
            By("`cndevGetTemperatureInfo`, chip", Sweep),
            By("the same call: memory", Sweep),
            By(
                "fields 52, 53, 68, 69 and the margin 70, newer libraries",
                Once,
            ),
            By("`cndevGetDeviceUtilizationInfo`", Sweep),
            By("field 65 and MPM, newer libraries", Sweep),
            By("`cndevGetMemoryUsageV2`", Sweep),
            By("`cndevGetFrequencyInfo`", Sweep),
            By(
                "`cndevGetPerformanceThrottleReason`, newer libraries",
                Sweep,
            ),
            By("fields 72 to 75, newer libraries", Slow),
            By("`cndevGetCurrentPCIInfo`, `cndevGetMaxPCIInfo`", Slow),
            Not(BothDirections),
            Not(NotRead),
            Not(NotRead),
            By("`cndevGetProcessInfo`; needs the host's PIDs", Slow),
        ],
        notes: &[
            "Both halves of an MLU370-X8 are devices of one board, and both tell the board's power.",
            "PCIe: `cndevGetPCIethroughputV2` has two totals and does not say which is which; their sum is told.",
            "The over-temperature record is the highest temperature so far, not a threshold, and is not read as one.",
        ],
    },
    VendorMeters {
        vendor: Vendor::Amd,
        title: "AMD",
        interface: "amdgpu (sysfs)",
        ways: [
            By(
                "`power1_average`, else `power1_input`, else `gpu_metrics`",
                File,
            ),
            By("`power1_cap`, `power1_cap_default`, `_min`, `_max`", Slow),
            Not(NotTold),
            By("`gpu_metrics`", File),
            By("`tempN_input` by its label: junction, else edge", File),
            By("`tempN_input` labelled mem", File),
            By("`tempN_crit`, `tempN_emergency`", Once),
            By("`gpu_busy_percent`", File),
            By("`mem_busy_percent`, where it is there", File),
            By("`mem_info_vram_used`, `mem_info_vram_total`", File),
            By(
                "`gpu_metrics`, the fastest of a package; else `freq1_input`",
                File,
            ),
            By(
                "`gpu_metrics` 1.3: independent throttle status; a lone bit must persist",
                File,
            ),
            By("`gpu_metrics` 1.6 to 1.8: residencies by cause", File),
            By(LINK_FILES, Slow),
            By(
                "`pcie_bw`: messages times the largest, an upper estimate; MI300: one sum of `gpu_metrics`",
                Thread,
            ),
            By("`gpu_metrics`: XGMI bytes, MI300", File),
            By("`ras/umc_err_count`", Slow),
            By(
                "`/proc/PID/fdinfo`; jobs through /dev/kfd may not show",
                Slow,
            ),
        ],
        notes: &[
            "MI250 and MI250X are two devices of one board: the even one tells the package's power.",
            "In CPX each partition repeats its package's power and temperature.",
            "PCIe: `gpu_metrics` of MI300 has one number for both directions, in a unit that the driver's texts disagree on (GB/s, Mb/s). It is told from the moment on at which it was too large for GB/s over this link, and not before.",
            "Only the exact revisions of `gpu_metrics` are decoded: 1.1 to 1.8.",
        ],
    },
    VendorMeters {
        vendor: Vendor::Gaudi,
        title: "Intel Gaudi",
        interface: "HLML",
        ways: [
            By("`hlml_device_get_power_usage`", Sweep),
            By(
                "`hlml_device_get_power_management_default_limit`; the cap from `max_power` in sysfs",
                Slow,
            ),
            Not(NotTold),
            By("`hlml_device_get_total_energy_consumption`", Sweep),
            By("`hlml_device_get_temperature`, AIP", Sweep),
            Not(NotTold),
            By("`hlml_device_get_temperature_threshold`", Once),
            By(
                "`hlml_device_get_utilization_rates`, a coarse figure",
                Sweep,
            ),
            Not(NotTold),
            By("`hlml_device_get_memory_info`", Sweep),
            By("`hlml_device_get_clock_info`", Sweep),
            By(
                "`hlml_device_get_current_clocks_throttle_reasons`: power and heat",
                Sweep,
            ),
            Not(UnitUnknown),
            By(
                "`hlml_device_get_curr_pcie_link_generation` (may need root) and `_width`, else sysfs",
                Slow,
            ),
            Not(UnitUnknown),
            Not(NotRead),
            By("`hlml_device_get_total_ecc_errors`, replaced rows", Slow),
            Not(NotTold),
        ],
        notes: &[
            "A refused call cannot be told from an unsupported one: HLML has no code for a permission.",
            "The index is not the module's id.",
            "A power of 0 is a message to the card that failed, and is read as absent.",
        ],
    },
    VendorMeters {
        vendor: Vendor::Intel,
        title: "Intel GPUs",
        interface: "xe and i915 (sysfs)",
        ways: [
            By(
                "difference of `energy1_input`: there is no file of the moment",
                File,
            ),
            By("`power1_max`, or `power1_cap`; 0 is none", Slow),
            By("`power1_rated_max`", Once),
            By("`energy1_input`", File),
            By("`tempN_input` labelled pkg", File),
            By("`tempN_input` labelled vram", File),
            By("`tempN_max`, `tempN_crit`, `tempN_emergency`", Once),
            By(
                "`/proc/PID/fdinfo`, of processes that may be looked at",
                Slow,
            ),
            Not(NotTold),
            Not(NotTold),
            By("`act_freq`, `cur_freq`", File),
            By("`throttle/reason_*`", File),
            Not(NotTold),
            Not(WrongNode),
            Not(NotTold),
            Not(NotRead),
            Not(NotRead),
            By("`/proc/PID/fdinfo`", Slow),
        ],
        notes: &["The device's own node reads 2.5 GT/s x1: the link is that of the bridges above."],
    },
    VendorMeters {
        vendor: Vendor::Iluvatar,
        title: "Iluvatar CoreX",
        interface: "IXML (NVML's names)",
        ways: [
            By("`nvmlDeviceGetPowerUsage`", Sweep),
            By("`nvmlDeviceGetEnforcedPowerLimit`", Slow),
            Not(NotTold),
            By("`nvmlDeviceGetTotalEnergyConsumption`", Sweep),
            By("`nvmlDeviceGetTemperature`", Sweep),
            Not(NotTold),
            By("`nvmlDeviceGetTemperatureThreshold`", Slow),
            By("`nvmlDeviceGetUtilizationRates`", Sweep),
            Not(NotTold),
            By("`nvmlDeviceGetMemoryInfo`", Sweep),
            By("`nvmlDeviceGetClockInfo`", Sweep),
            By("`nvmlDeviceGetCurrentClocksThrottleReasons`", Sweep),
            Not(NotTold),
            By("link generation and width", Slow),
            By("`nvmlDeviceGetPcieThroughput`", Thread),
            Not(NotRead),
            By("ECC counters", Slow),
            By("list of processes", Slow),
        ],
        notes: &[
            "Which of NVML's calls this library answers is not verified on hardware.",
            "BI-V150 and MR-V100 are two devices of one board: power and cap stand on one of the two.",
        ],
    },
];
