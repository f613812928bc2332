//! Whatever packets come: pieces lie end to end, bytes are the flow's, memory is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../script.rs"]
mod script;

fuzz_target!(|data: &[u8]| script::run(data));
