//! Machines with AMD's cards, and blobs of their firmware.

use super::machine::Machine;

pub(crate) const BRIDGE: &str = "0000:80:01.0";
const CARD: &str = "0000:83:00.0";

/// A blob of all-ones with a header and numbers of two and of four bytes.
pub(crate) fn blob(
    content: u8,
    size: usize,
    two: &[(usize, u16)],
    four: &[(usize, u32)],
) -> Vec<u8> {
    let mut bytes = vec![0xFF; size];
    bytes[..2].copy_from_slice(&(size as u16).to_le_bytes());
    bytes[2..4].copy_from_slice(&[1, content]);
    for (at, value) in two {
        bytes[*at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    for (at, value) in four {
        bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// An MI300X's blob: 612 W, 91 °C, busy, its link at x8, and `steps` with so many under the power limit.
pub(crate) fn mi300x_blob(steps: u32, capped: u32) -> Vec<u8> {
    blob(
        6,
        1664,
        &[
            (4, 91),
            (6, 74),
            (8, 60),
            (10, 612),
            (12, 97),
            (14, 55),
            (60, 8),
            (62, 320),
            (264, 1320),
            (266, 1480),
            (304, 1300),
        ],
        &[
            (16, 655_360),
            (20, 0),
            (32, steps),
            (36, 0),
            (40, capped),
            (44, 3),
            (48, 0),
            (52, 0),
        ],
    )
}

/// An MI300X below one bridge.
pub(crate) fn mi300x() -> Machine {
    let machine = Machine::new();
    let folder = machine.card(1, &[BRIDGE], CARD, "1002:74a1");
    machine.link(
        &format!("sys/devices/pci0000:00/{BRIDGE}"),
        ("32.0 GT/s PCIe", "16"),
        ("64.0 GT/s PCIe", "16"),
    );
    machine.link(&folder, ("32.0 GT/s PCIe", "16"), ("32.0 GT/s PCIe", "16"));
    machine.fill(
        &folder,
        &[
            ("product_name", "AMD Instinct MI300X OAM"),
            ("unique_id", "7a1c5e0b3d2f4a68"),
            ("vbios_version", "113-M3000100-102"),
            ("current_compute_partition", "SPX"),
            ("current_memory_partition", "NPS1"),
            ("mem_info_vram_total", "206141652992"),
            ("mem_info_vram_used", "151397597184"),
            ("power/runtime_status", "active"),
            ("pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz"),
            ("pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *"),
            ("ras/umc_err_count", "ue: 1\nce: 12"),
            ("ras/gfx_err_count", "ue: 1\nce: 0"),
            ("pcie_replay_count", "4"),
            ("hwmon/hwmon5/name", "amdgpu"),
            ("hwmon/hwmon5/power1_input", "613000000"),
            ("hwmon/hwmon5/power1_cap", "650000000"),
            ("hwmon/hwmon5/power1_cap_default", "750000000"),
            ("hwmon/hwmon5/power1_cap_max", "750000000"),
            ("hwmon/hwmon5/power1_cap_min", "0"),
            ("hwmon/hwmon5/temp2_label", "junction"),
            ("hwmon/hwmon5/temp2_input", "90000"),
            ("hwmon/hwmon5/temp2_crit", "100000"),
            ("hwmon/hwmon5/temp2_emergency", "110000"),
            ("hwmon/hwmon5/temp3_label", "mem"),
            ("hwmon/hwmon5/temp3_input", "73000"),
            ("hwmon/hwmon5/temp3_crit", "105000"),
            ("hwmon/hwmon5/temp3_crit_hyst", "-273150"),
        ],
    );
    machine.put(&format!("{folder}/gpu_metrics"), mi300x_blob(1000, 100));
    machine.put("sys/module/amdgpu/version", "6.12.12\n");
    machine.put("opt/rocm/.info/version", "6.4.1-83\n");
    machine.put(
        "proc/4100/fdinfo/7",
        "drm-driver:\tamdgpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:83:00.0\ndrm-memory-vram:\t1024 KiB\ndrm-engine-compute:\t90 ns\n",
    );
    machine.put("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51000\n");
    machine.put(
        "sys/class/kfd/kfd/topology/nodes/1/properties",
        "location_id 33536\ndomain 0\n",
    );
    machine.put("sys/class/kfd/kfd/proc/4100/vram_51000", "150000000000\n");
    machine
}

pub(crate) fn folder() -> String {
    format!("sys/devices/pci0000:00/{BRIDGE}/{CARD}")
}

/// A Radeon behind its own switch, in a slot of four lanes.
pub(crate) fn radeon() -> (Machine, String) {
    let machine = Machine::new();
    let (port, up, down) = ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0");
    let folder = machine.card(0, &[port, up, down], "0000:03:00.0", "1002:744c");
    let top = "sys/devices/pci0000:00";
    machine.link(
        &format!("{top}/{port}"),
        ("8.0 GT/s PCIe", "4"),
        ("16.0 GT/s PCIe", "16"),
    );
    machine.link(
        &format!("{top}/{port}/{up}"),
        ("8.0 GT/s PCIe", "4"),
        ("16.0 GT/s PCIe", "16"),
    );
    machine.link(
        &format!("{top}/{port}/{up}/{down}"),
        ("16.0 GT/s PCIe", "16"),
        ("16.0 GT/s PCIe", "16"),
    );
    machine.link(&folder, ("16.0 GT/s PCIe", "16"), ("16.0 GT/s PCIe", "16"));
    machine.fill(
        &folder,
        &[
            ("revision", "0xc8"),
            ("gpu_busy_percent", "37"),
            ("hwmon/hwmon8/power1_average", "68000000"),
            ("hwmon/hwmon8/temp7_label", "junction"),
            ("hwmon/hwmon8/temp7_input", "61000"),
            ("hwmon/hwmon8/temp1_label", "edge"),
            ("hwmon/hwmon8/temp1_input", "53000"),
            ("hwmon/hwmon8/freq1_label", "sclk"),
            ("hwmon/hwmon8/freq1_input", "2219000000"),
            ("hwmon/hwmon8/fan1_input", "800"),
            ("hwmon/hwmon8/fan1_max", "3200"),
        ],
    );
    machine.put(
        "usr/share/libdrm/amdgpu.ids",
        "1.0.0\n744C,\tC4,\tAMD Radeon RX 7900 XT\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n",
    );
    (machine, folder)
}
