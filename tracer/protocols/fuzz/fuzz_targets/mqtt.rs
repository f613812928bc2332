//! Any conversation, to the MQTT decoder.
#![no_main]

libfuzzer_sys::fuzz_target!(|packed: &[u8]| wirelap_test_support::exercise::check_packed("mqtt", packed));
