//! Any bytes are read to an end; what is read can be written, and is then read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirelap_recording::{Encoder, EncoderSettings, Recording, SectionHeader, ShownSightings};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut recording) = Recording::new(bytes) else { return };
    let settings = EncoderSettings { shown: ShownSightings::All, payload: true };
    let mut encoder = Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None));
    let mut said = Vec::new();
    while let Some(entry) = recording.next() {
        encoder.entry(&entry);
        said.push(format!("{entry:?}"));
    }
    encoder.complete();
    let mut again = Recording::new(encoder.bytes()).expect("a recording");
    let mut all = said.into_iter();
    while let Some(entry) = again.next() {
        assert_eq!(Some(format!("{entry:?}")), all.next());
    }
    assert_eq!(all.next(), None);
    assert!(again.problems().is_empty());
});
