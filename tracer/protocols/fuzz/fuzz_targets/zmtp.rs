//! Any conversation, to the ZMTP decoder.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|packed: &[u8]| common::check_packed("zmtp", packed));
