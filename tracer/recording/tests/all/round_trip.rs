//! Entries that are written are read again, bit for bit.

use crate::any;
use proptest::prelude::*;
use wirelap_events::{Nanos, PacketHook};
use wirelap_recording::{
    Encoder, EncoderSettings, Entry, FileCounts, Problems, Recording, SectionHeader, ShownSightings,
};
use wirelap_test_support::event::OwnedEvent;

/// An entry that owns what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    Event(OwnedEvent),
    Known(OwnedEvent),
    Tick(Nanos),
    Note(String, String),
    TlsKeys(Vec<u8>),
}

impl Held {
    pub fn of(entry: &Entry<'_>) -> Held {
        match entry {
            Entry::Event(event) => Held::Event(OwnedEvent::of(event)),
            Entry::Known(event) => Held::Known(OwnedEvent::of(event)),
            Entry::Tick(at) => Held::Tick(*at),
            Entry::Note(note) => Held::Note(note.subject.into(), note.text.into()),
            Entry::TlsKeys(text) => Held::TlsKeys(text.to_vec()),
        }
    }
}

pub fn section() -> SectionHeader {
    SectionHeader {
        hardware: "a processor".into(),
        os: "Linux".into(),
        application: "wirelap".into(),
        host: "here".into(),
        wall: 1_700_000_000_123_456_789,
        kernel_run: 77,
    }
}

pub fn encoder(settings: EncoderSettings) -> Encoder {
    Encoder::new(section(), settings, Box::new(|_, device| (device.0 == 1).then(|| "lo".into())))
}

/// The bytes of a file with these events, and a tick after each third.
pub fn write(told: &[OwnedEvent], settings: EncoderSettings) -> Vec<u8> {
    let mut encoder = encoder(settings);
    for (index, told) in told.iter().enumerate() {
        encoder.event(&told.event());
        if index % 3 == 2 {
            encoder.tick(told.event.at);
        }
    }
    encoder.complete();
    encoder.bytes().to_vec()
}

pub fn read(bytes: &[u8]) -> (Vec<Held>, Problems, FileCounts) {
    let mut recording = Recording::new(bytes).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = recording.next() {
        all.push(Held::of(&entry));
    }
    (all, recording.problems().clone(), recording.counts())
}

pub fn expected(told: &[OwnedEvent]) -> Vec<Held> {
    let mut all = Vec::new();
    for (index, told) in told.iter().enumerate() {
        all.push(Held::Event(told.clone()));
        if index % 3 == 2 {
            all.push(Held::Tick(told.event.at));
        }
    }
    all
}

fn shown() -> impl Strategy<Value = ShownSightings> {
    prop_oneof![
        Just(ShownSightings::Once),
        Just(ShownSightings::All),
        Just(ShownSightings::At(PacketHook::Xmit)),
        Just(ShownSightings::At(PacketHook::Rx)),
    ]
}

proptest! {
    #[test]
    fn any_events_come_back(told in prop::collection::vec(any::told(), 0..40), shown in shown()) {
        let bytes = write(&told, EncoderSettings { shown, payload: true });
        let (read, problems, _) = read(&bytes);
        prop_assert_eq!(read, expected(&told));
        prop_assert_eq!(problems, Problems::default());
    }

    #[test]
    fn without_payload_all_else_comes_back(told in prop::collection::vec(any::told(), 0..40)) {
        let bytes = write(&told, EncoderSettings::default());
        let bare: Vec<OwnedEvent> =
            told.into_iter().map(|told| OwnedEvent { payload: Vec::new(), ..told }).collect();
        prop_assert_eq!(read(&bytes).0, expected(&bare));
    }
}

/// The kinds of the blocks of a file in the little-endian order.
fn kinds(mut bytes: &[u8]) -> Vec<u32> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let mut kinds = Vec::new();
    while !bytes.is_empty() {
        kinds.push(number(bytes));
        bytes = &bytes[number(&bytes[4..]) as usize..];
    }
    kinds
}

/// Wireshark's programs copy no file in which something stands before the first interface (pcapng: an interface's block has type 1).
#[test]
fn an_interface_comes_first_in_each_file() {
    let interface_first = |bytes: &[u8]| {
        let kinds = kinds(bytes);
        assert!(kinds.len() > 2, "{kinds:?}");
        assert_eq!(kinds[1], 1, "{kinds:?}");
    };
    let mut encoder = encoder(EncoderSettings::default());
    encoder.standing_note(wirelap_recording::Note { subject: "environment", text: "{}" });
    encoder.complete();
    interface_first(encoder.bytes());
    encoder.clear();
    encoder.restart();
    encoder.complete();
    interface_first(encoder.bytes());
    encoder.clear();
    encoder.restart();
    encoder.entry(&Entry::TlsKeys(b"CLIENT_RANDOM 00 00"));
    interface_first(encoder.bytes());
}
