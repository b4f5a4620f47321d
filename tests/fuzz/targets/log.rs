//! Any bytes are a log that is read, or refused in one line; no reading is anything but a number that can be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::model::Metric;
use nameplate::record::{Import, ImportOptions};

fuzz_target!(|bytes: &[u8]| {
    let options = ImportOptions {
        zone: jiff::tz::TimeZone::UTC,
        columns: None,
    };
    let source = std::io::Cursor::new(bytes.to_vec());
    let mut import = match Import::open(Box::new(source), &options) {
        Ok(import) => import,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    for tick in &mut import {
        let Ok(tick) = tick else { break };
        for sample in &tick.samples {
            for metric in Metric::ALL {
                assert!(sample.readings.get(*metric).is_ok_and(f64::is_finite) || sample.readings.get(*metric).is_err());
            }
        }
    }
});
