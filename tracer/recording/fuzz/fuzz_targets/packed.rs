//! Any bytes of an agent are refused, or read to an end; what is read can be packed, and is then read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirelap_recording::{Entry, RecordPacker, RecordUnpacker, Unpacked};

fuzz_target!(|bytes: &[u8]| {
    let Some(Unpacked::Records(mut block)) = RecordUnpacker::default().unpack(bytes) else { return };
    let mut packer = RecordPacker::default();
    let mut said = Vec::new();
    while let Some(entry) = block.peek() {
        match entry {
            Entry::Event(event) => packer.event(&event),
            Entry::Tick(at) => packer.tick(at),
            Entry::Note(note) => packer.note(note),
            Entry::Known(_) | Entry::TlsKeys(_) => panic!("agents send none"),
        }
        said.push(format!("{entry:?}"));
        block.advance();
    }
    let mut packed = Vec::new();
    packer.move_to(&mut packed);
    let Some(Unpacked::Records(mut again)) = RecordUnpacker::default().unpack(&packed) else {
        panic!("it was packed")
    };
    for said in said {
        assert_eq!(Some(said), again.peek().map(|entry| format!("{entry:?}")));
        again.advance();
    }
    assert!(again.peek().is_none());
});
