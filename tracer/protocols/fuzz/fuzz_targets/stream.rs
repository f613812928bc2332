//! Any segments, with gaps and overlaps, to the code that cuts a flow into PDUs.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|script: &[u8]| common::segments::play(script));
