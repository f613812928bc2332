//! Any file, through everything.

#![no_main]

#[path = "../pipeline.rs"]
#[allow(clippy::cast_possible_truncation)]
mod pipeline;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pipeline::run(bytes, None);
});
