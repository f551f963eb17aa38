//! All targets in one binary; `OXPORT_FUZZ_TARGET` chooses (`zip` by default):
//! `OXPORT_FUZZ_TARGET=pickles cargo +nightly fuzz run --fuzz-dir tests/fuzz parsers`.
#![no_main]

#[path = "../targets.rs"]
mod targets;

use std::sync::OnceLock;

static TARGET: OnceLock<targets::Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("OXPORT_FUZZ_TARGET").unwrap_or_else(|_| "zip".to_string());
        let found = targets::TARGETS.iter().find(|t| t.name == name);
        *found.unwrap_or_else(|| panic!("there is no target {name:?}"))
    });
    (target.run)(data);
});
