//! Any file, through everything.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    wirelap_test_pipeline::files::run(bytes, None);
});
