//! Any rows under a header of each format: the instants of ticks never go back, and what is absent stays absent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::model::Metric;
use nameplate::record::{Import, ImportOptions};

const HEADS: [&str; 7] = [
    // No header: the columns are named below.
    "",
    "timestamp,gpu,gfx_activity,umc_activity,socket_power,throttle_status,gfx_0_clk,hotspot,vram_used\n",
    "{\"system.gpu.0.gpu\": 4.07, \"system.gpu.0.memory\": 0.0, \"system.cpu\": 65.2, \"_timestamp\": 1588000000, \"_runtime\": 3}\n",
    "timestamp, index, utilization.gpu [%], power.draw [W], clocks_throttle_reasons.active\n",
    "#Date Time gpu pwr gtemp sm\n",
    "{\"ts\": 1777906480, \"index\": 0, \"util\": 98}\n",
    "{\"schema\":\"nameplate/1\",\"document\":\"snapshot\",\"at\":\"2026-03-01T12:00:00.000Z\",\"seq\":1,\"interval_s\":1,\"devices\":[]}\n",
];

fuzz_target!(|input: (u8, &str)| {
    let (which, rows) = input;
    let head = HEADS[usize::from(which) % HEADS.len()];
    let columns = ["timestamp", "index", "utilization.gpu", "power.draw"];
    let options = ImportOptions {
        zone: jiff::tz::TimeZone::UTC,
        columns: head.is_empty().then(|| columns.map(str::to_owned).to_vec()),
    };
    let source = std::io::Cursor::new(format!("{head}{rows}").into_bytes());
    let Ok(mut import) = Import::open(Box::new(source), &options) else {
        return;
    };
    let mut last = None;
    for tick in &mut import {
        let Ok(tick) = tick else { break };
        assert!(last.is_none_or(|last| tick.mono >= last), "time goes back");
        last = Some(tick.mono);
        for reading in tick.samples.iter().flat_map(|s| Metric::ALL.iter().map(|m| s.readings.get(*m))) {
            assert!(reading.is_err() || reading.is_ok_and(f64::is_finite));
        }
    }
    assert!(import.warnings().iter().all(|warning| !warning.text.contains('\n')));
});
