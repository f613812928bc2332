//! Any conversation, to the XRCE decoder.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|packed: &[u8]| common::check_packed("xrce", packed));
