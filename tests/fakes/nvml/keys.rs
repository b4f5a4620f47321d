//! The names that a scenario may use. A name that is not here stops the scenario, so that a slip
//! of the pen never reads as "not supported".

use std::collections::HashMap;

use toml::Table;

use crate::value::Value;

/// Values of the library itself.
pub(crate) const LIBRARY: &[&str] = &[
    "driver_version",
    "nvml_version",
    "cuda_version",
    "driver_branch",
    // Return code of nvmlInit; 0 or absent: it works.
    "init_error",
    // Devices that the count call admits to; absent: all.
    "device_count",
];

/// Values of a process row.
pub(crate) const PROCESS: &[&str] = &[
    "memory", "sm", "mem", "enc", "dec", "jpg", "ofa", "gi", "ci", "age",
];

/// Values of a device or MIG instance, in NVML's own units.
pub(crate) const DEVICE: &[&str] = &[
    // Identity.
    "name",
    "uuid",
    "serial",
    "pci_bus_id",
    "pci_device_id",
    "pci_subsystem_id",
    "pci_base_class",
    "pci_sub_class",
    "minor_number",
    "module_id",
    "board_id",
    "multi_gpu_board",
    "board_part_number",
    "vbios_version",
    "gsp_firmware_version",
    "architecture",
    "brand",
    "cuda_major",
    "cuda_minor",
    "num_cores",
    "memory_bus_width",
    "irq_num",
    "numa_node_id",
    "bus_type",
    // Power in mW, energy in mJ.
    "power_usage",
    "power_limit",
    "power_default_limit",
    "power_min_limit",
    "power_max_limit",
    "enforced_power_limit",
    "energy",
    "power_source",
    "power_management_mode",
    // Degrees Celsius.
    "temperature",
    "margin_temperature",
    "threshold_shutdown",
    "threshold_slowdown",
    "threshold_mem_max",
    "threshold_gpu_max",
    "threshold_acoustic_min",
    "threshold_acoustic_curr",
    "threshold_acoustic_max",
    "threshold_gps",
    "fan_speed",
    "num_fans",
    // MHz.
    "clock_graphics",
    "clock_sm",
    "clock_memory",
    "clock_video",
    "max_clock_graphics",
    "max_clock_sm",
    "max_clock_memory",
    "max_clock_video",
    "app_clock_graphics",
    "app_clock_memory",
    "default_app_clock_graphics",
    "default_app_clock_memory",
    "boost_clock_graphics",
    "boost_clock_sm",
    "boost_clock_memory",
    "boost_clock_video",
    "performance_state",
    // Bit masks.
    "event_reasons",
    "supported_event_reasons",
    "event_types",
    // Nanoseconds.
    "violation_power",
    "violation_thermal",
    "violation_sync_boost",
    "violation_board_limit",
    "violation_low_utilization",
    "violation_reliability",
    "violation_total_app_clocks",
    "violation_total_base_clocks",
    // Percent.
    "util_gpu",
    "util_memory",
    "util_encoder",
    "util_decoder",
    "util_jpg",
    "util_ofa",
    // Microseconds.
    "util_sampling_period",
    // Bytes. `memory_free` and `bar1_free` follow from the others where they are not named.
    "memory_total",
    "memory_used",
    "memory_free",
    "memory_reserved",
    "bar1_total",
    "bar1_used",
    "bar1_free",
    // Faults of memory.
    "ecc_mode",
    "ecc_pending",
    "ecc_corrected_volatile",
    "ecc_corrected_aggregate",
    "ecc_uncorrected_volatile",
    "ecc_uncorrected_aggregate",
    "ecc_corrected_volatile_l1",
    "ecc_corrected_volatile_l2",
    "ecc_corrected_volatile_dram",
    "ecc_corrected_volatile_register",
    "ecc_corrected_volatile_texture",
    "ecc_corrected_volatile_cbu",
    "ecc_corrected_volatile_sram",
    "ecc_corrected_aggregate_l1",
    "ecc_corrected_aggregate_l2",
    "ecc_corrected_aggregate_dram",
    "ecc_corrected_aggregate_register",
    "ecc_corrected_aggregate_texture",
    "ecc_corrected_aggregate_cbu",
    "ecc_corrected_aggregate_sram",
    "ecc_uncorrected_volatile_l1",
    "ecc_uncorrected_volatile_l2",
    "ecc_uncorrected_volatile_dram",
    "ecc_uncorrected_volatile_register",
    "ecc_uncorrected_volatile_texture",
    "ecc_uncorrected_volatile_cbu",
    "ecc_uncorrected_volatile_sram",
    "ecc_uncorrected_aggregate_l1",
    "ecc_uncorrected_aggregate_l2",
    "ecc_uncorrected_aggregate_dram",
    "ecc_uncorrected_aggregate_register",
    "ecc_uncorrected_aggregate_texture",
    "ecc_uncorrected_aggregate_cbu",
    "ecc_uncorrected_aggregate_sram",
    "retired_pages_sbe",
    "retired_pages_dbe",
    "retired_pages_pending",
    "remapped_corrected",
    "remapped_uncorrected",
    "remapped_pending",
    "remapped_failure",
    // Links. Throughput in KB/s, speed in MT/s.
    "pcie_gen",
    "pcie_width",
    "pcie_max_gen",
    "pcie_max_width",
    "pcie_gpu_max_gen",
    "pcie_speed",
    "pcie_max_speed",
    "pcie_tx",
    "pcie_rx",
    "pcie_replay",
    "nvlink_count",
    "nvlink_version",
    "nvlink_remote_type",
    "nvlink_replay_errors",
    "nvlink_recovery_errors",
    "nvlink_crc_flit_errors",
    "nvlink_crc_data_errors",
    "c2c_mode",
    // Modes.
    "persistence_mode",
    "virtualization_mode",
    "compute_mode",
    "display_active",
    "display_mode",
    // GPM.
    "gpm_support",
    "gpm_streaming",
    // MIG.
    "mig_mode",
    "mig_pending",
    "mig_max_count",
    "gpu_instance_id",
    "compute_instance_id",
    "mig_sm_count",
    "mig_copy_engines",
    "mig_decoders",
    "mig_encoders",
    "mig_jpegs",
    "mig_ofas",
    "mig_gpu_slices",
    "mig_compute_slices",
    "mig_memory_mb",
];

/// Calls by which `errors`, `latency_us`, `blocks`, `print` and `crash` name a function: the NVML
/// name without `nvmlDeviceGet` or `nvml`, in snake case, without its version.
const CALLS: &[&str] = &[
    "all",
    "init",
    "shutdown",
    "driver_version",
    "nvml_version",
    "cuda_version",
    "driver_branch",
    "process_name",
    "count",
    "handle_by_index",
    "handle_by_uuid",
    "handle_by_pci_bus_id",
    "handle_by_serial",
    "name",
    "uuid",
    "serial",
    "pci_info",
    "index",
    "minor_number",
    "module_id",
    "board_id",
    "multi_gpu_board",
    "board_part_number",
    "vbios_version",
    "gsp_firmware_version",
    "architecture",
    "brand",
    "cuda_compute_capability",
    "num_gpu_cores",
    "memory_bus_width",
    "irq_num",
    "numa_node_id",
    "bus_type",
    "power_usage",
    "power_limit",
    "power_default_limit",
    "power_limit_constraints",
    "enforced_power_limit",
    "energy",
    "power_source",
    "power_management_mode",
    "temperature",
    "temperature_v",
    "temperature_threshold",
    "margin_temperature",
    "fan_speed",
    "num_fans",
    "clock_info",
    "clock",
    "max_clock_info",
    "applications_clock",
    "default_applications_clock",
    "max_customer_boost_clock",
    "performance_state",
    "event_reasons",
    "supported_event_reasons",
    "violation_status",
    "utilization_rates",
    "encoder_utilization",
    "decoder_utilization",
    "jpg_utilization",
    "ofa_utilization",
    "process_utilization",
    "processes_utilization_info",
    "memory_info",
    "memory_info_v2",
    "bar1_memory_info",
    "ecc_mode",
    "total_ecc_errors",
    "memory_error_counter",
    "detailed_ecc_errors",
    "retired_pages",
    "retired_pages_pending",
    "remapped_rows",
    "supported_event_types",
    "register_events",
    "event_set_create",
    "event_set_wait",
    "pcie_gen",
    "pcie_width",
    "pcie_max_gen",
    "pcie_max_width",
    "pcie_gpu_max_gen",
    "pcie_speed",
    "pcie_max_speed",
    "pcie_throughput",
    "pcie_replay_counter",
    "field_values",
    "nvlink_state",
    "nvlink_version",
    "nvlink_remote_type",
    "nvlink_error_counter",
    "c2c_mode",
    "gpm_support",
    "gpm_streaming",
    "gpm_sample_alloc",
    "gpm_sample_get",
    "gpm_mig_sample_get",
    "gpm_metrics_get",
    "compute_processes",
    "graphics_processes",
    "mps_processes",
    "mig_mode",
    "mig_max_count",
    "mig_handle_by_index",
    "mig_parent",
    "is_mig_handle",
    "attributes",
    "gpu_instance_id",
    "compute_instance_id",
    "persistence_mode",
    "virtualization_mode",
    "compute_mode",
    "display_active",
    "display_mode",
];

/// Field ids that a scenario may write by name. Ids 251 to 273 changed their meaning with driver
/// 580.82, so those are written as numbers: as the driver of the scenario means them.
const FIELDS: &[(&str, u32)] = &[
    ("retired_sbe", 29),
    ("retired_dbe", 30),
    ("retired_pending", 31),
    ("sw_power_cap_ns", 74),
    ("sync_boost_ns", 76),
    ("memory_temperature", 82),
    ("energy", 83),
    ("nvlink_count", 91),
    ("pcie_replay", 94),
    ("pcie_replay_rollover", 95),
    ("nvlink_tx_kib", 138),
    ("nvlink_rx_kib", 139),
    ("nvlink_raw_tx_kib", 140),
    ("nvlink_raw_rx_kib", 141),
    ("remapped_corrected", 142),
    ("remapped_uncorrected", 143),
    ("remapped_pending", 144),
    ("remapped_failure", 145),
    ("nvlink_replay_errors", 161),
    ("nvlink_recovery_errors", 162),
    ("nvlink_crc_errors", 163),
    ("nvlink_speed_mbps", 164),
    ("nvlink_state", 165),
    ("nvlink_version", 166),
    ("pcie_l0_to_recovery", 169),
    ("c2c_count", 170),
    ("c2c_status", 171),
    ("c2c_max_mbps", 172),
    ("pcie_correctable", 173),
    ("pcie_nak_received", 174),
    ("pcie_receiver_error", 175),
    ("pcie_bad_tlp", 176),
    ("pcie_nak_sent", 177),
    ("pcie_bad_dllp", 178),
    ("pcie_non_fatal", 179),
    ("pcie_fatal", 180),
    ("pcie_lcrc", 182),
    ("pcie_lane", 183),
    ("power_average", 185),
    ("power_instant", 186),
    ("power_min_limit", 187),
    ("power_max_limit", 188),
    ("power_default_limit", 189),
    ("power_current_limit", 190),
    ("energy_counter", 191),
    ("power_requested_limit", 192),
    ("margin_shutdown", 193),
    ("margin_slowdown", 194),
    ("margin_mem_max", 195),
    ("margin_gpu_max", 196),
    ("pcie_tx_bytes", 197),
    ("pcie_rx_bytes", 198),
    ("recovery_action", 230),
];

/// GPM metric ids by name.
const GPM: &[(&str, u32)] = &[
    ("graphics", 1),
    ("sm", 2),
    ("occupancy", 3),
    ("integer", 4),
    ("tensor", 5),
    ("dfma", 6),
    ("hmma", 7),
    ("dmma", 8),
    ("imma", 9),
    ("dram", 10),
    ("fp64", 11),
    ("fp32", 12),
    ("fp16", 13),
    ("pcie_tx_mib", 20),
    ("pcie_rx_mib", 21),
    ("nvlink_rx_mib", 60),
    ("nvlink_tx_mib", 61),
];

/// Event types by name.
const EVENTS: &[(&str, u64)] = &[
    ("sbe", 0x1),
    ("dbe", 0x2),
    ("pstate", 0x4),
    ("xid", 0x8),
    ("clock", 0x10),
    ("mig_config", 0x100),
];

/// `NVML_FI_DEV_*` types that are not the least one that holds the value: counters are 64 bits
/// wide, margins signed. Which type a real driver gives to the margins is not known; the header
/// speaks of signed values.
pub(crate) fn field_type(id: u32) -> Option<u32> {
    const U64: u32 = 3;
    const SIGNED_INT: u32 = 5;
    match id {
        74 | 76 | 83 | 138..=141 | 191 | 197 | 198 => Some(U64),
        193..=196 => Some(SIGNED_INT),
        _ => None,
    }
}

pub(crate) fn field_id(name: &str) -> Result<u32, String> {
    by_name(FIELDS, name)
        .or_else(|| name.parse().ok())
        .ok_or_else(|| format!("no field `{name}`"))
}

pub(crate) fn gpm_id(name: &str) -> Result<u32, String> {
    by_name(GPM, name)
        .or_else(|| name.parse().ok())
        .ok_or_else(|| format!("no GPM metric `{name}`"))
}

pub(crate) fn event_type(name: &str) -> Result<u64, String> {
    by_name(EVENTS, name).ok_or_else(|| format!("no event `{name}`"))
}

fn by_name<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, id)| *id)
}

pub(crate) fn check_call(call: &str) -> Result<(), String> {
    match CALLS.contains(&call) {
        true => Ok(()),
        false => Err(format!("no call `{call}`")),
    }
}

/// True where the calls of the code know `call`.
pub(crate) fn is_call(call: &str) -> bool {
    CALLS.contains(&call)
}

/// Tables that a scenario lays over its base key by key.
pub(crate) fn is_section(key: &str) -> bool {
    matches!(
        key,
        "fields" | "gpm" | "errors" | "latency_us" | "blocks" | "only" | "reload"
    )
}

/// The rest of a table: values by name, all of them known.
pub(crate) fn readings(table: Table, known: &[&str]) -> Result<HashMap<String, Value>, String> {
    table
        .into_iter()
        .map(|(key, toml)| {
            if !known.contains(&key.as_str()) {
                return Err(format!("no value `{key}`"));
            }
            let value = Value::parse(&toml).map_err(|e| format!("{key}: {e}"))?;
            Ok((key, value))
        })
        .collect()
}
