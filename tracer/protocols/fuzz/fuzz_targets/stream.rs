//! Any segments, with gaps and overlaps, to the code that cuts a flow into PDUs.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| wirelap_test_support::segments::play(script));
