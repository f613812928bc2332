//! A file whose events are changed on their way: the first eight bytes say how.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((seed, file)) = bytes.split_first_chunk::<8>() else { return };
    let seed = u64::from_le_bytes(*seed);
    let one_in = [1, 3, 20, 500][(seed % 4) as usize];
    wirelap_test_pipeline::files::run(file, Some((one_in, wirelap_test_support::random::Random::new(seed))));
});
