//! Whatever packets come: pieces lie end to end, bytes are the flow's, memory is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wirelap_test_pipeline::reassembly::run(data));
