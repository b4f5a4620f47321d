//! Where each value of a scenario stands in a report of `nvidia-smi`: XML path, text path, CSV column.

/// How the text becomes a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum As {
    Text,
    /// The first number: `83 %`, `16x`, `-8 C`, `P0`, `640 bank(s)`.
    Int,
    /// Watts to milliwatts.
    Milliwatts,
    /// MiB to bytes.
    Bytes,
    /// Microseconds to nanoseconds.
    Nanoseconds,
    Hex,
    /// Enabled, Yes, Active: 1; Disabled, No, Not Active: 0.
    Switch,
    /// Its place in the list.
    Enum(&'static [&'static str]),
}

/// Architectures by their NVML number.
#[rustfmt::skip]
pub(crate) const ARCHITECTURES: &[&str] = &[
    "", "", "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper",
    "Blackwell",
];
#[rustfmt::skip]
pub(crate) const BRANDS: &[&str] = &[
    "", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "", "", "", "", "", "Quadro RTX",
    "NVIDIA RTX", "NVIDIA", "GeForce RTX", "Titan RTX",
];
#[rustfmt::skip]
pub(crate) const VIRTUALIZATION: &[&str] = &["None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"];
#[rustfmt::skip]
pub(crate) const COMPUTE_MODES: &[&str] = &["Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"];
#[rustfmt::skip]
pub(crate) const RECOVERY: &[&str] = &["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"];

/// Value of the scenario, kind, and where it may stand: XML path, text path, CSV column.
#[rustfmt::skip]
pub(crate) const VALUES: &[(&str, As, &[&str])] = &[
    ("name", As::Text, &["product_name", "name"]),
    ("pci_bus_id", As::Text, &["pci/pci_bus_id", "pci/bus_id", "pci.bus_id"]),
    ("pci_device_id", As::Hex, &["pci/pci_device_id", "pci/device_id", "pci.device_id"]),
    ("pci_subsystem_id", As::Hex, &["pci/pci_sub_system_id", "pci/sub_system_id", "pci.sub_device_id"]),
    ("serial", As::Text, &["serial", "serial_number"]),
    ("minor_number", As::Int, &["minor_number"]),
    ("board_id", As::Hex, &["board_id"]),
    ("multi_gpu_board", As::Switch, &["multigpu_board"]),
    ("board_part_number", As::Text, &["board_part_number"]),
    ("vbios_version", As::Text, &["vbios_version"]),
    ("gsp_firmware_version", As::Text, &["gsp_firmware_version"]),
    ("module_id", As::Int, &["platforminfo/module_id", "platform_info/module_id", "module_id", "platform.module_id"]),
    ("architecture", As::Enum(ARCHITECTURES), &["product_architecture"]),
    ("brand", As::Enum(BRANDS), &["product_brand"]),
    ("persistence_mode", As::Switch, &["persistence_mode"]),
    ("display_active", As::Switch, &["display_active"]),
    ("display_mode", As::Switch, &["display_mode"]),
    ("virtualization_mode", As::Enum(VIRTUALIZATION), &["gpu_virtualization_mode/virtualization_mode"]),
    ("compute_mode", As::Enum(COMPUTE_MODES), &["compute_mode"]),
    ("c2c_mode", As::Switch, &["c2c_mode", "gpu_c2c_mode", "c2c.mode"]),
    ("power_limit", As::Milliwatts, &["gpu_power_readings/requested_power_limit", "gpu_ceiling_power_limit/requested_power_limit", "power_readings/power_limit", "power.limit"]),
    ("enforced_power_limit", As::Milliwatts, &["gpu_power_readings/current_power_limit", "gpu_ceiling_power_limit/current_power_limit", "power_readings/enforced_power_limit", "enforced.power.limit"]),
    ("power_default_limit", As::Milliwatts, &["gpu_power_readings/default_power_limit", "gpu_ceiling_power_limit/default_power_limit", "power_readings/default_power_limit", "power.default_limit"]),
    ("power_min_limit", As::Milliwatts, &["gpu_power_readings/min_power_limit", "power_readings/min_power_limit", "power.min_limit"]),
    ("power_max_limit", As::Milliwatts, &["gpu_power_readings/max_power_limit", "power_readings/max_power_limit", "power.max_limit"]),
    ("temperature", As::Int, &["temperature/gpu_temp", "temperature/gpu_current_temp", "temperature.gpu"]),
    ("margin_temperature", As::Int, &["temperature/gpu_temp_tlimit", "temperature/gpu_t_limit_temp", "temperature.gpu.tlimit"]),
    ("threshold_shutdown", As::Int, &["temperature/gpu_temp_max_threshold", "temperature/gpu_shutdown_temp"]),
    ("threshold_slowdown", As::Int, &["temperature/gpu_temp_slow_threshold", "temperature/gpu_slowdown_temp"]),
    ("threshold_gpu_max", As::Int, &["temperature/gpu_temp_max_gpu_threshold", "temperature/gpu_max_operating_temp"]),
    ("threshold_mem_max", As::Int, &["temperature/gpu_temp_max_mem_threshold", "temperature/memory_max_operating_temp"]),
    ("fan_speed", As::Int, &["fan_speed", "fan.speed"]),
    ("clock_graphics", As::Int, &["clocks/graphics_clock", "clocks/graphics", "clocks.current.graphics"]),
    ("clock_sm", As::Int, &["clocks/sm_clock", "clocks/sm", "clocks.current.sm"]),
    ("clock_memory", As::Int, &["clocks/mem_clock", "clocks/memory", "clocks.current.memory"]),
    ("clock_video", As::Int, &["clocks/video_clock", "clocks/video", "clocks.current.video"]),
    ("max_clock_graphics", As::Int, &["max_clocks/graphics_clock", "max_clocks/graphics", "clocks.max.graphics"]),
    ("max_clock_sm", As::Int, &["max_clocks/sm_clock", "max_clocks/sm", "clocks.max.sm"]),
    ("max_clock_memory", As::Int, &["max_clocks/mem_clock", "max_clocks/memory", "clocks.max.memory"]),
    ("max_clock_video", As::Int, &["max_clocks/video_clock", "max_clocks/video"]),
    ("app_clock_graphics", As::Int, &["applications_clocks/graphics_clock", "applications_clocks/graphics", "clocks.applications.graphics"]),
    ("app_clock_memory", As::Int, &["applications_clocks/mem_clock", "applications_clocks/memory", "clocks.applications.memory"]),
    ("default_app_clock_graphics", As::Int, &["default_applications_clocks/graphics_clock", "default_applications_clocks/graphics", "clocks.default_applications.graphics"]),
    ("default_app_clock_memory", As::Int, &["default_applications_clocks/mem_clock", "default_applications_clocks/memory", "clocks.default_applications.memory"]),
    ("boost_clock_graphics", As::Int, &["max_customer_boost_clocks/graphics_clock", "max_customer_boost_clocks/graphics"]),
    ("performance_state", As::Int, &["performance_state", "pstate"]),
    ("event_reasons", As::Hex, &["clocks_event_reasons.active", "clocks_throttle_reasons.active"]),
    ("supported_event_reasons", As::Hex, &["clocks_event_reasons.supported", "clocks_throttle_reasons.supported"]),
    ("util_gpu", As::Int, &["utilization/gpu_util", "utilization/gpu", "utilization.gpu"]),
    ("util_memory", As::Int, &["utilization/memory_util", "utilization/memory", "utilization.memory"]),
    ("util_encoder", As::Int, &["utilization/encoder_util", "utilization/encoder", "utilization.encoder"]),
    ("util_decoder", As::Int, &["utilization/decoder_util", "utilization/decoder", "utilization.decoder"]),
    ("util_jpg", As::Int, &["utilization/jpeg_util", "utilization/jpeg", "utilization.jpeg"]),
    ("util_ofa", As::Int, &["utilization/ofa_util", "utilization/ofa", "utilization.ofa"]),
    ("memory_total", As::Bytes, &["fb_memory_usage/total", "memory.total"]),
    ("memory_reserved", As::Bytes, &["fb_memory_usage/reserved", "memory.reserved"]),
    ("memory_used", As::Bytes, &["fb_memory_usage/used", "memory.used"]),
    ("memory_free", As::Bytes, &["fb_memory_usage/free", "memory.free"]),
    ("bar1_total", As::Bytes, &["bar1_memory_usage/total"]),
    ("bar1_used", As::Bytes, &["bar1_memory_usage/used"]),
    ("bar1_free", As::Bytes, &["bar1_memory_usage/free"]),
    ("ecc_mode", As::Switch, &["ecc_mode/current_ecc", "ecc_mode/current", "ecc.mode.current"]),
    ("ecc_pending", As::Switch, &["ecc_mode/pending_ecc", "ecc_mode/pending", "ecc.mode.pending"]),
    ("ecc_corrected_volatile_dram", As::Int, &["ecc_errors/volatile/dram_correctable", "ecc_errors/volatile/single_bit/device_memory", "ecc.errors.corrected.volatile.dram"]),
    ("ecc_corrected_volatile_sram", As::Int, &["ecc_errors/volatile/sram_correctable", "ecc.errors.corrected.volatile.sram"]),
    ("ecc_corrected_aggregate_dram", As::Int, &["ecc_errors/aggregate/dram_correctable", "ecc_errors/aggregate/single_bit/device_memory", "ecc.errors.corrected.aggregate.dram"]),
    ("ecc_corrected_aggregate_sram", As::Int, &["ecc_errors/aggregate/sram_correctable", "ecc.errors.corrected.aggregate.sram"]),
    ("ecc_uncorrected_volatile_dram", As::Int, &["ecc_errors/volatile/dram_uncorrectable", "ecc_errors/volatile/double_bit/device_memory", "ecc.errors.uncorrected.volatile.dram"]),
    ("ecc_uncorrected_volatile_sram", As::Int, &["ecc_errors/volatile/sram_uncorrectable", "ecc.errors.uncorrected.volatile.sram"]),
    ("ecc_uncorrected_aggregate_dram", As::Int, &["ecc_errors/aggregate/dram_uncorrectable", "ecc_errors/aggregate/double_bit/device_memory", "ecc.errors.uncorrected.aggregate.dram"]),
    ("ecc_uncorrected_aggregate_sram", As::Int, &["ecc_errors/aggregate/sram_uncorrectable", "ecc.errors.uncorrected.aggregate.sram"]),
    ("ecc_corrected_volatile", As::Int, &["ecc_errors/volatile/single_bit/total", "ecc.errors.corrected.volatile.total"]),
    ("ecc_corrected_aggregate", As::Int, &["ecc_errors/aggregate/single_bit/total", "ecc.errors.corrected.aggregate.total"]),
    ("ecc_uncorrected_volatile", As::Int, &["ecc_errors/volatile/double_bit/total", "ecc.errors.uncorrected.volatile.total"]),
    ("ecc_uncorrected_aggregate", As::Int, &["ecc_errors/aggregate/double_bit/total", "ecc.errors.uncorrected.aggregate.total"]),
    ("retired_pages_sbe", As::Int, &["retired_pages/multiple_single_bit_retirement/retired_count", "retired_pages/single_bit_ecc", "retired_pages.single_bit_ecc.count"]),
    ("retired_pages_dbe", As::Int, &["retired_pages/double_bit_retirement/retired_count", "retired_pages/double_bit_ecc", "retired_pages.double_bit.count"]),
    ("retired_pages_pending", As::Switch, &["retired_pages/pending_retirement", "retired_pages/pending_page_blacklist", "retired_pages.pending"]),
    ("remapped_corrected", As::Int, &["remapped_rows/remapped_row_corr", "remapped_rows/correctable_error", "remapped_rows.correctable"]),
    ("remapped_uncorrected", As::Int, &["remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error", "remapped_rows.uncorrectable"]),
    ("remapped_pending", As::Switch, &["remapped_rows/remapped_row_pending", "remapped_rows/pending", "remapped_rows.pending"]),
    ("remapped_failure", As::Switch, &["remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred", "remapped_rows.failure"]),
    ("pcie_gen", As::Int, &["pcie_gen/current_link_gen", "pcie_generation/current", "pcie.link.gen.current"]),
    ("pcie_max_gen", As::Int, &["pcie_gen/max_link_gen", "pcie_generation/max", "pcie.link.gen.max"]),
    ("pcie_gpu_max_gen", As::Int, &["pcie_gen/max_device_link_gen", "pcie_generation/device_max", "pcie.link.gen.gpumax"]),
    ("pcie_width", As::Int, &["link_widths/current_link_width", "link_width/current", "pcie.link.width.current"]),
    ("pcie_max_width", As::Int, &["link_widths/max_link_width", "link_width/max", "pcie.link.width.max"]),
    ("pcie_tx", As::Int, &["pci/tx_util", "pci/tx_throughput"]),
    ("pcie_rx", As::Int, &["pci/rx_util", "pci/rx_throughput"]),
    ("pcie_replay", As::Int, &["pci/replay_counter", "pci/replays_since_reset"]),
    ("mig_mode", As::Switch, &["mig_mode/current_mig", "mig_mode/current", "mig.mode.current"]),
    ("mig_pending", As::Switch, &["mig_mode/pending_mig", "mig_mode/pending", "mig.mode.pending"]),
];

/// The same for `fields`.
#[rustfmt::skip]
pub(crate) const FIELDS: &[(&str, As, &[&str])] = &[
    ("memory_temperature", As::Int, &["temperature/memory_temp", "temperature/memory_current_temp", "temperature.memory"]),
    ("power_average", As::Milliwatts, &["gpu_power_readings/average_power_draw", "power.draw.average"]),
    ("power_instant", As::Milliwatts, &["gpu_power_readings/instant_power_draw", "gpu_power_readings/instantaneous_power_draw", "power.draw.instant"]),
    ("power_current_limit", As::Milliwatts, &["gpu_power_readings/current_power_limit", "gpu_ceiling_power_limit/current_power_limit", "enforced.power.limit"]),
    ("power_requested_limit", As::Milliwatts, &["gpu_power_readings/requested_power_limit", "gpu_ceiling_power_limit/requested_power_limit", "power.limit"]),
    ("power_default_limit", As::Milliwatts, &["gpu_power_readings/default_power_limit", "gpu_ceiling_power_limit/default_power_limit", "power.default_limit"]),
    ("power_min_limit", As::Milliwatts, &["gpu_power_readings/min_power_limit", "power.min_limit"]),
    ("power_max_limit", As::Milliwatts, &["gpu_power_readings/max_power_limit", "power.max_limit"]),
    ("power_average.1", As::Milliwatts, &["module_power_readings/average_power_draw", "module.power.draw.average"]),
    ("power_instant.1", As::Milliwatts, &["module_power_readings/instant_power_draw", "module_power_readings/instantaneous_power_draw", "module.power.draw.instant"]),
    ("power_current_limit.1", As::Milliwatts, &["module_power_readings/current_power_limit", "module.enforced.power.limit"]),
    ("power_default_limit.1", As::Milliwatts, &["module_power_readings/default_power_limit", "module.power.default_limit"]),
    ("margin_shutdown", As::Int, &["temperature/gpu_temp_max_tlimit_threshold", "temperature/gpu_shutdown_t_limit_temp"]),
    ("margin_slowdown", As::Int, &["temperature/gpu_temp_slow_tlimit_threshold", "temperature/gpu_slowdown_t_limit_temp"]),
    ("margin_gpu_max", As::Int, &["temperature/gpu_temp_max_gpu_tlimit_threshold", "temperature/gpu_max_operating_t_limit_temp"]),
    ("margin_mem_max", As::Int, &["temperature/gpu_temp_max_mem_tlimit_threshold", "temperature/memory_max_operating_t_limit_temp"]),
    ("sw_power_cap_ns", As::Nanoseconds, &["clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", "clocks_event_reasons_counters/sw_power_capping", "clocks_event_reasons_counters.sw_power_cap"]),
    ("sync_boost_ns", As::Nanoseconds, &["clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost", "clocks_event_reasons_counters/sync_boost", "clocks_event_reasons_counters.sync_boost"]),
    // Numbers of a driver from 580.82 on; an older one has them 18 lower.
    ("269", As::Nanoseconds, &["clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", "clocks_event_reasons_counters/sw_thermal_slowdown", "clocks_event_reasons_counters.sw_thermal_slowdown"]),
    ("270", As::Nanoseconds, &["clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown", "clocks_event_reasons_counters/hw_thermal_slowdown", "clocks_event_reasons_counters.hw_thermal_slowdown"]),
    ("271", As::Nanoseconds, &["clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake", "clocks_event_reasons_counters/hw_power_braking", "clocks_event_reasons_counters.hw_power_brake_slowdown"]),
    ("pcie_replay", As::Int, &["pci/replay_counter", "pci/replays_since_reset"]),
    ("pcie_replay_rollover", As::Int, &["pci/replay_rollover_counter", "pci/replay_number_rollovers"]),
    ("remapped_corrected", As::Int, &["remapped_rows/remapped_row_corr", "remapped_rows/correctable_error", "remapped_rows.correctable"]),
    ("remapped_uncorrected", As::Int, &["remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error", "remapped_rows.uncorrectable"]),
    ("remapped_pending", As::Switch, &["remapped_rows/remapped_row_pending", "remapped_rows/pending", "remapped_rows.pending"]),
    ("remapped_failure", As::Switch, &["remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred", "remapped_rows.failure"]),
    ("recovery_action", As::Enum(RECOVERY), &["gpu_recovery_action"]),
];

/// The same for a MIG instance.
#[rustfmt::skip]
pub(crate) const MIG: &[(&str, As, &[&str])] = &[
    ("gpu_instance_id", As::Int, &["gpu_instance_id"]),
    ("compute_instance_id", As::Int, &["compute_instance_id"]),
    ("mig_sm_count", As::Int, &["shared/multiprocessor_count"]),
    ("mig_copy_engines", As::Int, &["shared/copy_engine_count"]),
    ("mig_encoders", As::Int, &["shared/encoder_count"]),
    ("mig_decoders", As::Int, &["shared/decoder_count"]),
    ("mig_jpegs", As::Int, &["shared/jpg_count"]),
    ("mig_ofas", As::Int, &["shared/ofa_count"]),
    ("memory_total", As::Bytes, &["fb_memory_usage/total", "shared_fb_memory_usage/total"]),
    ("memory_reserved", As::Bytes, &["fb_memory_usage/reserved", "shared_fb_memory_usage/reserved"]),
    ("memory_used", As::Bytes, &["fb_memory_usage/used", "shared_fb_memory_usage/used"]),
    ("memory_free", As::Bytes, &["fb_memory_usage/free", "shared_fb_memory_usage/free"]),
    ("bar1_total", As::Bytes, &["bar1_memory_usage/total", "shared_bar1_memory/total"]),
    ("bar1_used", As::Bytes, &["bar1_memory_usage/used", "shared_bar1_memory/used"]),
];

/// Clock event reasons by the end of their name, with their bit.
#[rustfmt::skip]
pub(crate) const REASONS: &[(&str, i64)] = &[
    ("idle", 0x1),
    ("applications_clocks_setting", 0x2),
    ("sw_power_cap", 0x4),
    ("hw_slowdown", 0x8),
    ("sync_boost", 0x10),
    ("sw_thermal_slowdown", 0x20),
    ("hw_thermal_slowdown", 0x40),
    ("hw_power_brake_slowdown", 0x80),
    ("display_clocks_setting", 0x100),
    ("display_clock_setting", 0x100),
];
