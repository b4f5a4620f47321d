//! The parts that are simulated: what the driver says of them when nothing happens.

use crate::units::LinkSpeed;

/// A model with the figures that its driver reports.
#[derive(Debug)]
pub(super) struct Part {
    /// As the driver writes it, so that its nameplate is found.
    pub(super) name: &'static str,
    /// PCI vendor and device id.
    pub(super) pci_id: (u16, u16),
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
    /// Core temperature plus margin, idle; it falls by about 2 °C under load.
    pub(super) margin_sum_c: f64,
    /// Absolute thresholds (shutdown, slowdown, core maximum, memory maximum) of parts that report those.
    pub(super) thresholds_c: Option<[f64; 4]>,
}

/// H100 SXM: captures of an idle and a loaded card (70 W idle at 345 MHz, 632 W at 1980 MHz, margin sum 87 to 85 °C,
/// 479 MiB reserved); 129 to 137 W with a process resident (nccl 1550).
pub(super) static H100: Part = Part {
    name: "NVIDIA H100 80GB HBM3",
    pci_id: (0x10de, 0x2330),
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
    margin_sum_c: 87.0,
    thresholds_c: None,
};

/// A100 PCIe 40 GB, the card of 250 W. Its thresholds are taken to be those of the SXM part (92/89/85/95 °C), its
/// idle power that of the A100 fleets (62 to 66 W bare); resident-idle power is an assumption.
pub(super) static A100_PCIE: Part = Part {
    name: "NVIDIA A100-PCIE-40GB",
    pci_id: (0x10de, 0x20f1),
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
    margin_sum_c: 0.0,
    thresholds_c: Some([92.0, 89.0, 85.0, 95.0]),
};

/// A100 SXM 80 GB: 400 W, 62 W idle and 66 W at the fleets' lower quartile, thresholds 92/89/85/95 °C, 12 NVLinks.
pub(super) static A100_SXM: Part = Part {
    name: "NVIDIA A100-SXM4-80GB",
    pci_id: (0x10de, 0x20b2),
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
    margin_sum_c: 0.0,
    thresholds_c: Some([92.0, 89.0, 85.0, 95.0]),
};
