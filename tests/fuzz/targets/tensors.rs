//! Any bytes are a file of tensors that is compared with itself, or refused in one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nameplate::model::TensorOutcome;
use nameplate::tensors::{Tensors, compare};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let open = || Tensors::open(Cursor::new(bytes));
    let (mut a, mut b) = match (open(), open()) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) | (_, Err(error)) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    for tensor in a.tensors() {
        assert!(tensor.elements() * tensor.kind.bytes() as u64 <= bytes.len() as u64);
    }
    // What the header says lies in the file: reading it cannot fail.
    for tensor in compare(&mut a, &mut b, 0.0).unwrap_or_else(|(_, error)| panic!("{error}")) {
        assert_eq!(tensor.outcome, TensorOutcome::Within, "{}", tensor.name);
    }
});
