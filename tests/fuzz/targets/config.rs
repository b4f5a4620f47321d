//! Any configuration file is read or refused, with problems of one line each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::cli::config::parse;

fuzz_target!(|text: &str| {
    if let Err(problems) = parse(text) {
        assert!(!problems.is_empty());
        for problem in problems {
            assert!(
                (1..=text.lines().count() + 1).contains(&problem.line),
                "line {}",
                problem.line
            );
            assert!(!problem.to_string().contains('\n'), "{problem}");
        }
    }
});
