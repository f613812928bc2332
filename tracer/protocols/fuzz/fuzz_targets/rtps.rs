//! Any conversation, to the RTPS decoder.
#![no_main]

libfuzzer_sys::fuzz_target!(|packed: &[u8]| wirelap_test_support::exercise::check_packed("dds", packed));
