//! The parts that are simulated: what the driver says of them when nothing happens.

use crate::model::Vendor;
use crate::units::LinkSpeed;

/// A model with the figures that its driver reports.
#[derive(Debug)]
pub(super) struct Part {
    /// Who makes it.
    pub(super) vendor: Vendor,
    /// As the driver writes it, so that its nameplate is found.
    pub(super) name: &'static str,
    /// PCI vendor and device id, where it is known.
    pub(super) pci_id: Option<(u16, u16)>,
    /// Default and highest limit.
    pub(super) plate_w: f64,
    pub(super) limit_min_w: f64,
    /// Nothing resident.
    pub(super) bare_idle_w: f64,
    /// A process keeps memory, no kernel runs.
    pub(super) resident_idle_w: f64,
    pub(super) memory_mib: f64,
    pub(super) reserved_mib: f64,
    pub(super) bar1_mib: f64,
    pub(super) sm_clock_mhz: f64,
    pub(super) idle_clock_mhz: f64,
    pub(super) memory_clock_mhz: f64,
    pub(super) link: LinkSpeed,
    pub(super) nvlinks: f64,
    pub(super) nvlink_bytes_per_s: f64,
    /// Hopper and newer: activity by GPM, relative thresholds, power as one-second average.
    pub(super) hopper: bool,
    /// A card of a desktop: rests in P8 at generation 1.
    pub(super) desktop: bool,
    /// Core temperature plus margin, idle; it falls by about 2 °C under load.
    pub(super) margin_sum_c: f64,
    /// Absolute thresholds (shutdown, slowdown, core maximum, memory maximum) of parts that report those.
    pub(super) thresholds_c: Option<[f64; 4]>,
}

/// H100 SXM: captures of an idle and a loaded card (70 W idle at 345 MHz, 632 W at 1980 MHz, margin sum 87 to 85 °C,
/// 479 MiB reserved); 129 to 137 W with a process resident (nccl 1550).
pub(super) static H100: Part = Part {
    vendor: Vendor::Nvidia,
    name: "NVIDIA H100 80GB HBM3",
    pci_id: Some((0x10de, 0x2330)),
    plate_w: 700.0,
    limit_min_w: 200.0,
    bare_idle_w: 70.0,
    resident_idle_w: 132.0,
    memory_mib: 81_559.0,
    reserved_mib: 479.0,
    bar1_mib: 131_072.0,
    sm_clock_mhz: 1980.0,
    idle_clock_mhz: 345.0,
    memory_clock_mhz: 2619.0,
    link: LinkSpeed {
        generation: 5,
        width: 16,
    },
    nvlinks: 18.0,
    nvlink_bytes_per_s: 26.562e9,
    hopper: true,
    desktop: false,
    margin_sum_c: 87.0,
    thresholds_c: None,
};

/// A100 PCIe 40 GB, the card of 250 W. Its thresholds are taken to be those of the SXM part (92/89/85/95 °C), its
/// idle power that of the A100 fleets (62 to 66 W bare); resident-idle power is an assumption.
pub(super) static A100_PCIE: Part = Part {
    vendor: Vendor::Nvidia,
    name: "NVIDIA A100-PCIE-40GB",
    pci_id: Some((0x10de, 0x20f1)),
    plate_w: 250.0,
    limit_min_w: 150.0,
    bare_idle_w: 38.0,
    resident_idle_w: 55.0,
    memory_mib: 40_960.0,
    reserved_mib: 518.0,
    bar1_mib: 65_536.0,
    sm_clock_mhz: 1410.0,
    idle_clock_mhz: 210.0,
    memory_clock_mhz: 1215.0,
    link: LinkSpeed {
        generation: 4,
        width: 16,
    },
    nvlinks: 0.0,
    nvlink_bytes_per_s: 0.0,
    hopper: false,
    desktop: false,
    margin_sum_c: 0.0,
    thresholds_c: Some([92.0, 89.0, 85.0, 95.0]),
};

/// A100 SXM 80 GB: 400 W, 62 W idle and 66 W at the fleets' lower quartile, thresholds 92/89/85/95 °C, 12 NVLinks.
pub(super) static A100_SXM: Part = Part {
    vendor: Vendor::Nvidia,
    name: "NVIDIA A100-SXM4-80GB",
    pci_id: Some((0x10de, 0x20b2)),
    plate_w: 400.0,
    limit_min_w: 100.0,
    bare_idle_w: 62.0,
    resident_idle_w: 76.0,
    memory_mib: 81_920.0,
    reserved_mib: 518.0,
    bar1_mib: 131_072.0,
    sm_clock_mhz: 1410.0,
    idle_clock_mhz: 1275.0,
    memory_clock_mhz: 1593.0,
    link: LinkSpeed {
        generation: 4,
        width: 16,
    },
    nvlinks: 12.0,
    nvlink_bytes_per_s: 25.0e9,
    hopper: false,
    desktop: false,
    margin_sum_c: 0.0,
    thresholds_c: Some([92.0, 89.0, 85.0, 95.0]),
};

/// H200: 78 W idle, 627 W under load, margin sum 87 to 85 °C (captures).
pub(super) static H200: Part = Part {
    name: "NVIDIA H200",
    pci_id: Some((0x10de, 0x2335)),
    bare_idle_w: 78.0,
    resident_idle_w: 136.0,
    memory_mib: 143_771.0,
    memory_clock_mhz: 3201.0,
    ..H100
};

/// V100 SXM2 32 GB: 53 W with memory resident, 66 to 71 W in a spinning collective (facts 2b). Thresholds as the
/// nameplate table has no own ones: those of the A100 less 2 °C are an assumption.
pub(super) static V100: Part = Part {
    vendor: Vendor::Nvidia,
    name: "Tesla V100-SXM2-32GB",
    pci_id: Some((0x10de, 0x1db5)),
    plate_w: 300.0,
    limit_min_w: 150.0,
    bare_idle_w: 42.0,
    resident_idle_w: 53.0,
    memory_mib: 32_768.0,
    reserved_mib: 268.0,
    bar1_mib: 32_768.0,
    sm_clock_mhz: 1530.0,
    idle_clock_mhz: 135.0,
    memory_clock_mhz: 877.0,
    link: LinkSpeed {
        generation: 3,
        width: 16,
    },
    nvlinks: 6.0,
    nvlink_bytes_per_s: 25.0e9,
    hopper: false,
    desktop: false,
    margin_sum_c: 0.0,
    thresholds_c: Some([90.0, 87.0, 83.0, 85.0]),
};

/// T4: 70 W, 40 to 41 W in a spin that ought to be near idle, resident-idle power about 26 W (facts 2b, unverified).
pub(super) static T4: Part = Part {
    name: "Tesla T4",
    pci_id: Some((0x10de, 0x1eb8)),
    plate_w: 70.0,
    limit_min_w: 60.0,
    bare_idle_w: 10.0,
    resident_idle_w: 26.0,
    memory_mib: 15_360.0,
    reserved_mib: 458.0,
    bar1_mib: 256.0,
    sm_clock_mhz: 1590.0,
    idle_clock_mhz: 300.0,
    memory_clock_mhz: 5001.0,
    nvlinks: 0.0,
    nvlink_bytes_per_s: 0.0,
    thresholds_c: Some([96.0, 93.0, 85.0, 95.0]),
    ..V100
};

/// L40S: 350 W, generation 4, no NVLink; captures at 145 and 110 W whose utilization lags (facts 2a).
pub(super) static L40S: Part = Part {
    vendor: Vendor::Nvidia,
    name: "NVIDIA L40S",
    pci_id: Some((0x10de, 0x26b9)),
    plate_w: 350.0,
    limit_min_w: 100.0,
    bare_idle_w: 34.0,
    resident_idle_w: 88.0,
    memory_mib: 46_068.0,
    reserved_mib: 579.0,
    bar1_mib: 65_536.0,
    sm_clock_mhz: 2520.0,
    idle_clock_mhz: 210.0,
    memory_clock_mhz: 9001.0,
    link: LinkSpeed {
        generation: 4,
        width: 16,
    },
    nvlinks: 0.0,
    nvlink_bytes_per_s: 0.0,
    hopper: false,
    desktop: false,
    margin_sum_c: 88.0,
    thresholds_c: None,
};

/// RTX 4090: a desktop card, P8 and generation 1 at rest as the 2080S and 4080S of facts 2a; 450 W.
pub(super) static RTX_4090: Part = Part {
    name: "NVIDIA GeForce RTX 4090",
    pci_id: Some((0x10de, 0x2684)),
    plate_w: 450.0,
    limit_min_w: 150.0,
    bare_idle_w: 26.0,
    resident_idle_w: 30.0,
    memory_mib: 24_564.0,
    reserved_mib: 480.0,
    bar1_mib: 32_768.0,
    desktop: true,
    ..L40S
};
