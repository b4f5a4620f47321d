//! What a log's columns and keys are called, and what they mean.

use super::cell::Written;
use crate::model::{Metric, Vendor};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The instant.
    Time,
    /// A date whose time of day stands in the next column (`nvidia-smi dmon -o DT`).
    Date,
    /// The time of day beside it.
    TimeOfDay,
    /// Position in the vendor's list.
    Index,
    /// UUID.
    Uuid,
    /// PCI address.
    Pci,
    /// Model.
    Name,
    /// Driver version.
    Driver,
    /// PCI vendor and device id.
    PciId,
    /// VBIOS version.
    Vbios,
    /// A number.
    Value(Metric),
    /// One throttle reason of its own, by its bit.
    Reason(u64),
    /// A number of the host.
    Host(&'static str),
    /// Whole-machine or per-run figures: they belong to no device.
    NoDevice,
}

/// A column: its meaning and the unit of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) meaning: Meaning,
    pub(super) written: Written,
}

/// The vendor whose tool uses such names; names that all use say nothing.
pub(super) fn vendor(name: &str) -> Option<Vendor> {
    let base = base(name);
    ["gfx_activity", "umc_activity", "socket_power", "gfx_0_clk"]
        .contains(&base.as_str())
        .then_some(Vendor::Amd)
}

/// What a name means, with the unit in its brackets or at its end; `None` for a name that is not known.
pub(super) fn column(name: &str) -> Option<Column> {
    let (name, bracket) = match name.trim().split_once('[') {
        Some((name, unit)) => (name, unit.trim_end().strip_suffix(']')),
        None => (name.trim(), None),
    };
    let base = base(name);
    let in_bracket = bracket.and_then(|unit| Written::of(unit.trim()));
    let made = |meaning, written| {
        Some(Column {
            meaning,
            written: in_bracket.unwrap_or(written),
        })
    };
    if let Some((meaning, written)) = known(&base) {
        return made(meaning, written);
    }
    // A name with its unit behind: power_draw_w, mem_used_mib, util_pct.
    let (stem, unit) = base.rsplit_once(['_', '.', ' '])?;
    let written = Written::of(unit)?;
    let (meaning, _) = known(stem)?;
    made(meaning, written)
}

fn base(name: &str) -> String {
    let name = name.trim().trim_matches(['"', '\'', '#']).trim();
    name.to_ascii_lowercase()
}

/// Names of `nvidia-smi --query-gpu` first, then those that scripts of people and other tools give the same things.
#[allow(clippy::too_many_lines)] // a table
fn known(base: &str) -> Option<(Meaning, Written)> {
    use Meaning::{Host, Reason, Value};
    use Written::{Mebi, Micro, Milli, Percent, Plain};
    Some(match base {
        "timestamp" | "time" | "ts" | "datetime" | "date_time" | "wall_clock" | "_timestamp"
        | "timestamp_s" | "unix_time" | "epoch" | "at" => (Meaning::Time, Plain),
        "index" | "gpu" | "gpu_index" | "gpu_id" | "gpuid" | "device" | "device_index"
        | "device_id" | "idx" | "id" => (Meaning::Index, Plain),
        "uuid" | "gpu_uuid" => (Meaning::Uuid, Plain),
        "pci.bus_id" | "gpu_bus_id" | "pci_bus_id" | "bus_id" | "pci.bus" | "pci" | "bdf"
        | "pci_address" => (Meaning::Pci, Plain),
        "name" | "gpu_name" | "model" | "product_name" => (Meaning::Name, Plain),
        "driver_version" | "driver" => (Meaning::Driver, Plain),
        "pci.device_id" => (Meaning::PciId, Plain),
        "vbios_version" => (Meaning::Vbios, Plain),

        "utilization.gpu" | "utilization_gpu" | "utilization" | "gpu_util" | "gpu_utilization"
        | "util" | "util_gpu" | "gpu_usage" | "gpu_load" | "sm_util" | "gfx_activity"
        | "gpu_util_percent" => (Value(Metric::Utilization), Percent),
        "utilization.memory" | "utilization_memory" | "mem_util" | "memory_util"
        | "memory_utilization" | "util_mem" | "umc_activity" => {
            (Value(Metric::MemoryActivity), Percent)
        }
        "sm_active" | "sm_activity" => (Value(Metric::SmActive), Plain),
        "tensor_active" | "tensor_activity" => (Value(Metric::TensorActive), Plain),
        "dram_active" | "dram_activity" => (Value(Metric::DramActive), Plain),

        "power.draw" | "power_draw" | "power" | "gpu_power" | "power_usage" | "watts"
        | "socket_power" | "powerwatts" | "power_w" => (Value(Metric::PowerUsage), Plain),
        "power.draw.average" | "power_average" | "average_power" => {
            (Value(Metric::PowerAverage), Plain)
        }
        "power.draw.instant" | "power_instant" => (Value(Metric::PowerInstant), Plain),
        "power.limit" | "power_limit" | "limit" => (Value(Metric::LimitRequested), Plain),
        "enforced.power.limit" | "enforced_power_limit" => (Value(Metric::LimitEnforced), Plain),
        "power.default_limit" | "power_default_limit" | "default_power_limit" => {
            (Value(Metric::LimitDefault), Plain)
        }
        "power.min_limit" => (Value(Metric::LimitMin), Plain),
        "power.max_limit" => (Value(Metric::LimitMax), Plain),
        "module.power.draw.average" | "module.power.draw.instant" => {
            (Value(Metric::ModulePower), Plain)
        }
        "module.enforced.power.limit" => (Value(Metric::ModuleLimit), Plain),
        "total_energy_consumption" | "energy" => (Value(Metric::Energy), Milli),
        "energy_j" => (Value(Metric::Energy), Plain),

        "temperature.gpu" | "temperature_gpu" | "temperature" | "temp" | "gpu_temp"
        | "gpu_temperature" | "temp_gpu" | "core_temp" | "hotspot" => {
            (Value(Metric::CoreTemperature), Plain)
        }
        "temperature.memory" | "temperature_memory" | "mem_temp" | "memory_temp"
        | "memory_temperature" => (Value(Metric::MemoryTemperature), Plain),
        "temperature.gpu.tlimit" => (Value(Metric::Margin), Plain),
        "fan.speed" | "fan" | "fan_speed" => (Value(Metric::Fan), Percent),

        "clocks.sm" | "clocks.current.sm" | "sm_clock" | "clk_sm" | "clock_sm" | "clocks_sm" => {
            (Value(Metric::SmClock), Plain)
        }
        "clocks.gr"
        | "clocks.current.graphics"
        | "graphics_clock"
        | "gpu_clock"
        | "clk_graphics"
        | "core_clock"
        | "clock"
        | "gfx_0_clk"
        | "clocks_gr" => (Value(Metric::SmClock), Plain),
        "clocks.mem"
        | "clocks.current.memory"
        | "mem_clock"
        | "memory_clock"
        | "clk_mem"
        | "clocks_mem"
        | "mem_0_clk" => (Value(Metric::MemoryClock), Plain),
        "clocks.max.sm"
        | "clocks.max.graphics"
        | "clocks.max.gr"
        | "gfx_0_max_clk"
        | "max_sm_clock" => (Value(Metric::SmClockMax), Plain),
        "clocks.max.memory" | "clocks.max.mem" => (Value(Metric::MemoryClockMax), Plain),
        "clocks.applications.graphics" | "clocks.applications.gr" => {
            (Value(Metric::ApplicationClock), Plain)
        }
        "clocks.applications.memory" | "clocks.applications.mem" => {
            (Value(Metric::ApplicationMemoryClock), Plain)
        }
        "pstate" | "perf_state" | "performance_state" => (Value(Metric::PerformanceState), Plain),

        "memory.used" | "memory_used" | "mem_used" | "vram_used" | "used_memory"
        | "gpu_memory_used" | "gpu_mem_used" => (Value(Metric::MemoryUsed), Mebi),
        "memory.total" | "memory_total" | "mem_total" | "vram_total" | "total_memory"
        | "gpu_memory_total" | "gpu_mem_total" => (Value(Metric::MemoryTotal), Mebi),
        "memory.reserved" => (Value(Metric::MemoryReserved), Mebi),

        "clocks_throttle_reasons.active"
        | "clocks_event_reasons.active"
        | "throttle_reasons"
        | "throttle_reason"
        | "clocks_throttle_reasons" => (Value(Metric::Reasons), Plain),
        "clocks_throttle_reasons.supported" | "clocks_event_reasons.supported" => {
            (Value(Metric::ReasonsSupported), Plain)
        }
        "clocks_event_reasons_counters.sw_power_cap" => (Value(Metric::SecondsSwPowerCap), Micro),
        "clocks_event_reasons_counters.sync_boost" => (Value(Metric::SecondsSyncBoost), Micro),
        "clocks_event_reasons_counters.sw_thermal_slowdown" => {
            (Value(Metric::SecondsSwThermal), Micro)
        }
        "clocks_event_reasons_counters.hw_thermal_slowdown" => {
            (Value(Metric::SecondsHwThermal), Micro)
        }
        "clocks_event_reasons_counters.hw_power_brake_slowdown" => {
            (Value(Metric::SecondsPowerBrake), Micro)
        }

        "pcie.link.gen.current" | "pcie.link.gen.gpucurrent" | "pcie_gen" | "pcie_link_gen" => {
            (Value(Metric::PcieGenerationAfter), Plain)
        }
        "pcie.link.gen.max" | "pcie_gen_max" => (Value(Metric::PcieGenerationMax), Plain),
        "pcie.link.gen.gpumax" => (Value(Metric::PcieGenerationDevice), Plain),
        "pcie.link.width.current" | "pcie_width" | "pcie_link_width" => {
            (Value(Metric::PcieWidthAfter), Plain)
        }
        "pcie.link.width.max" | "pcie_width_max" => (Value(Metric::PcieWidthMax), Plain),
        "pcie_rx" | "rx_pci" | "rxpci" => (Value(Metric::PcieRxRate), Written::Mega),
        "pcie_tx" | "tx_pci" | "txpci" => (Value(Metric::PcieTxRate), Written::Mega),
        "pcie_replay" | "pcie_replays" => (Value(Metric::PcieReplays), Plain),

        "ecc.errors.uncorrected.volatile.total" | "ecc_uncorrected" => {
            (Value(Metric::EccUncorrected), Plain)
        }
        "ecc.errors.corrected.volatile.total" | "ecc_corrected" => {
            (Value(Metric::EccCorrected), Plain)
        }
        "ecc.mode.current" => (Value(Metric::EccEnabled), Plain),
        "retired_pages.pending" => (Value(Metric::RetiredPending), Plain),
        "retired_pages.double_bit.count" => (Value(Metric::RetiredPages), Plain),
        "remapped_rows.correctable" => (Value(Metric::RemapCorrectable), Plain),
        "remapped_rows.uncorrectable" => (Value(Metric::RemapUncorrectable), Plain),
        "remapped_rows.pending" => (Value(Metric::RemapPending), Plain),
        "remapped_rows.failure" => (Value(Metric::RemapFailure), Plain),
        "gpu_recovery_action" => (Value(Metric::RecoveryAction), Plain),
        "mig.mode.current" => (Value(Metric::MigEnabled), Plain),
        "persistence_mode" => (Value(Metric::Persistence), Plain),

        "system.cpu" | "cpu" | "cpu_util" | "cpu_percent" => (Host("cpu_ratio"), Percent),

        "n1_watts" | "n2_watts" | "total_watts" | "node_power" | "gpu_power_total"
        | "emissions" => (Meaning::NoDevice, Plain),
        _ => (Reason(reason(base)?), Plain),
    })
}

/// The bit of a column that has one throttle reason of its own.
fn reason(base: &str) -> Option<u64> {
    let word = base
        .strip_prefix("clocks_throttle_reasons.")
        .or_else(|| base.strip_prefix("clocks_event_reasons."))?;
    Some(match word {
        "gpu_idle" => 0x1,
        "applications_clocks_setting" => 0x2,
        "sw_power_cap" => 0x4,
        "hw_slowdown" => 0x8,
        "sync_boost" => 0x10,
        "sw_thermal_slowdown" => 0x20,
        "hw_thermal_slowdown" => 0x40,
        "hw_power_brake_slowdown" => 0x80,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_tool_and_of_scripts_mean_the_same() {
        for (name, metric, written) in [
            ("utilization.gpu [%]", Metric::Utilization, Written::Percent),
            ("util_pct", Metric::Utilization, Written::Percent),
            ("power.draw [W]", Metric::PowerUsage, Written::Plain),
            ("power_draw_w", Metric::PowerUsage, Written::Plain),
            ("power_limit_w", Metric::LimitRequested, Written::Plain),
            ("mem_used_mib", Metric::MemoryUsed, Written::Mebi),
            ("memory.total [MiB]", Metric::MemoryTotal, Written::Mebi),
            ("clk_sm_mhz", Metric::SmClock, Written::Plain),
            ("temp_c", Metric::CoreTemperature, Written::Plain),
            ("fan_pct", Metric::Fan, Written::Percent),
        ] {
            let wanted = Column {
                meaning: Meaning::Value(metric),
                written,
            };
            assert_eq!(column(name), Some(wanted), "{name}");
        }
        assert_eq!(column("phase"), None);
        assert_eq!(column("value"), None);
        let reason = column("clocks_throttle_reasons.sw_power_cap").map(|c| c.meaning);
        assert_eq!(reason, Some(Meaning::Reason(0x4)));
    }
}
