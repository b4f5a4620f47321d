//! Any rows under a header of each format: the instants of ticks never go back, and what is absent stays absent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::record::{Import, ImportOptions};

const HEADS: [&str; 4] = [
    "timestamp, index, utilization.gpu [%], power.draw [W], clocks_throttle_reasons.active\n",
    "#Date Time gpu pwr gtemp sm\n",
    "{\"ts\": 1777906480, \"index\": 0, \"util\": 98}\n",
    "{\"schema\":\"nameplate/1\",\"document\":\"snapshot\",\"at\":\"2026-03-01T12:00:00.000Z\",\"seq\":1,\"interval_s\":1,\"devices\":[]}\n",
];

fuzz_target!(|input: (u8, &str)| {
    let (which, rows) = input;
    let head = HEADS[usize::from(which) % HEADS.len()];
    let options = ImportOptions {
        zone: jiff::tz::TimeZone::UTC,
        columns: None,
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
    }
    assert!(import.warnings().iter().all(|warning| !warning.text.contains('\n')));
});
