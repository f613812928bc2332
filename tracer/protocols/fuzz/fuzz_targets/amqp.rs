//! Any conversation, to the AMQP decoder.
#![no_main]

libfuzzer_sys::fuzz_target!(|packed: &[u8]| wirelap_test_support::exercise::check_packed("amqp", packed));
