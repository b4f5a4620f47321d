//! Any theme file is read or refused, with an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::ui::theme::Theme;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Err(error) = Theme::check(Path::new("fuzzed.toml"), text) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
});
