//! Any conversations over a WebSocket: cut anywhere, compressed or not, they give the same frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|packed: &[u8]| wirelap_test_support::over_websocket::check_packed(packed));
