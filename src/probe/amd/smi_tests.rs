use super::*;
use proptest::prelude::*;
use std::path::Path;

const METRIC: &str = r#"WARNING: user is not in the group render
{"gpu_data": [
  {"gpu": 0,
   "usage": {"gfx_activity": {"value": 87, "unit": "%"}, "umc_activity": "N/A", "vcn_activity": ["N/A", {"value": 1, "unit": "%"}]},
   "power": {"socket_power": {"value": 512, "unit": "W"}, "gfx_voltage": "N/A"},
   "clock": {"gfx_0": {"clk": {"value": 1710, "unit": "MHz"}}},
   "temperature": {"edge": "N/A", "hotspot": {"value": 81, "unit": "C"}, "mem": {"value": "N/A", "unit": "C"}},
   "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}},
   "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": "AMDSMI_STATUS_NO_PERM"}},
  {"gpu": 1, "power": {"average_socket_power": "121"}, "usage": "N/A", "pcie": {"width": "N/A", "speed": 32}},
  {"power": {}}
]}
"#;

#[test]
fn numbers_stand_alone_or_with_their_unit_or_say_why_not() {
    let all = readings(METRIC);
    assert_eq!(all.len(), 2);
    let of = |gpu: u64, metric| all.get(&gpu).map_or(Err(Absent::Lost), |r| r.get(metric));
    for (gpu, metric, expected) in [
        (0, Metric::PowerUsage, Ok(512.0)),
        (0, Metric::Utilization, Ok(0.87)),
        (0, Metric::MemoryActivity, Err(Absent::NotSupported)),
        (0, Metric::CoreTemperature, Ok(81.0)),
        (0, Metric::MemoryTemperature, Err(Absent::NotSupported)),
        (0, Metric::SmClock, Ok(1710.0)),
        (0, Metric::MemoryTotal, Ok(196_592.0 * 1_048_576.0)),
        (0, Metric::MemoryUsed, Err(Absent::NoPermission)),
        (0, Metric::PcieGenerationAfter, Ok(5.0)),
        (0, Metric::PcieWidthAfter, Ok(16.0)),
        (1, Metric::PowerUsage, Ok(121.0)),
        (1, Metric::Utilization, Err(Absent::NotSupported)),
        (1, Metric::PcieGenerationAfter, Err(Absent::NotReported)),
    ] {
        assert_eq!(of(gpu, metric), expected, "{gpu} {metric:?}");
    }
}

#[test]
fn limits_come_in_three_shapes() {
    for (limit, enforced, most) in [
        (
            r#"{"max_power": {"value": 300, "unit": "W"}, "socket_power": {"value": 280, "unit": "W"}}"#,
            280.0,
            300.0,
        ),
        (
            r#"{"max_power": {"value": 550, "unit": "W"}, "current_power": {"value": 540, "unit": "W"}}"#,
            540.0,
            550.0,
        ),
        (
            r#"{"ppt0": {"max_power_limit": {"value": 300, "unit": "W"}, "socket_power_limit": {"value": 211, "unit": "W"}}, "ppt1": "N/A"}"#,
            211.0,
            300.0,
        ),
    ] {
        let text = format!(
            r#"[{{"gpu": 0, "asic": {{"market_name": "AMD Instinct\u001b[1m MI210", "device_id": "0x740f"}},
                "bus": {{"bdf": "0000:c3:00.0"}}, "limit": {limit}}}]"#
        );
        let cards = listed(&text);
        let card = &cards[0];
        assert_eq!(card.name.as_deref(), Some("AMD Instinct MI210"));
        assert_eq!((card.gpu, card.id), (0, Some(0x740f)));
        assert_eq!(
            card.address.map(|a| a.to_string()).as_deref(),
            Some("0000:c3:00.0")
        );
        assert_eq!(card.limits.get(Metric::LimitEnforced), Ok(enforced));
        assert_eq!(card.limits.get(Metric::LimitMax), Ok(most));
        assert_eq!(
            card.limits.get(Metric::ThresholdSlowdown),
            Err(Absent::NotSupported)
        );
    }
}

#[test]
fn what_the_tool_said_counts_once() {
    let tool = Tool::default();
    tool.locked().begun = Some(Instant::now());
    assert_eq!(
        tool.take(0).get(Metric::PowerUsage),
        Err(Absent::NotReported)
    );
    tool.accept(METRIC);
    assert_eq!(tool.take(0).get(Metric::PowerUsage), Ok(512.0));
    assert_eq!(tool.take(0).get(Metric::PowerUsage), Err(Absent::TimedOut));
    assert_eq!(
        tool.take(0).get(Metric::MemoryActivity),
        Err(Absent::NotSupported)
    );
    tool.accept("");
    assert_eq!(
        tool.take(0).get(Metric::PowerUsage),
        Err(Absent::NotReported)
    );
}

/// Every captured output is read; file, and power and hotspot of its first card.
#[test]
#[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
fn captured_outputs_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures/amd");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let Some(metric) = read("amd-smi-metric-mi3xx-testdummy.json") else {
        eprintln!("ignored: no captures beside the project");
        return;
    };
    let of = |text: &str, metric| {
        readings(text)
            .get(&0)
            .map_or(Err(Absent::Lost), |r| r.get(metric))
    };
    assert_eq!(of(&metric, Metric::PowerUsage), Ok(140.0));
    assert_eq!(of(&metric, Metric::CoreTemperature), Ok(37.0));
    assert_eq!(of(&metric, Metric::PcieGenerationAfter), Ok(5.0));
    let power = read("amd-smi-metric-power.json").unwrap_or_default();
    assert_eq!(of(&power, Metric::PowerUsage), Ok(10.0));
    let usage = read("amd-smi-metric-usage-w7700.json").unwrap_or_default();
    assert_eq!(of(&usage, Metric::Utilization), Ok(0.42));
    for (name, limit, slowdown) in [
        ("amd-smi-static-mi210-limits.json", 300.0, 100.0),
        ("amd-smi-static-r9700-limit-ppt-schema.json", 211.0, 110.0),
    ] {
        let cards = listed(&read(name).unwrap_or_default());
        assert_eq!(
            cards[0].limits.get(Metric::LimitEnforced),
            Ok(limit),
            "{name}"
        );
        assert_eq!(
            cards[0].limits.get(Metric::ThresholdSlowdown),
            Ok(slowdown),
            "{name}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = (readings(&text), listed(&text));
    }

    #[test]
    fn any_cut_or_change_is_read_or_refused(at in 0..METRIC.len(), change in "[\\[\\]{}\",:0-9a-zA-Z-]{0,3}") {
        let at = (0..=at).rev().find(|at| METRIC.is_char_boundary(*at)).unwrap_or(0);
        let text = format!("{}{change}{}", &METRIC[..at], &METRIC[at..]);
        let _ = (readings(&METRIC[..at]), readings(&text), listed(&text));
    }
}
