use super::*;
use crate::FrameNote;
use crate::stream::Stream;
use wirelap_events::Offset;

/// A record of a type, with this version and fragment.
fn made(kind: u8, fragment: &[u8]) -> Vec<u8> {
    let len = u16::try_from(fragment.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3][..], &len, fragment].concat()
}

/// A hello of either end, with one extension that it may have.
fn hello(kind: u8, extension: &[u8]) -> Vec<u8> {
    let suites: &[u8] = if kind == CLIENT_HELLO { &[0, 2, 0x13, 1, 1, 0] } else { &[0x13, 1, 0] };
    let extensions = u16::try_from(extension.len()).unwrap().to_be_bytes();
    let body = [&[3, 3][..], &[7; 32], &[0], suites, &extensions, extension].concat();
    let len = u8::try_from(body.len()).unwrap();
    made(HANDSHAKE, &[&[kind, 0, 0, len][..], &body].concat())
}

/// `supported_versions` of a server that has chosen 1.3.
const IS_13: &[u8] = &[0, 43, 0, 2, 3, 4];

/// Names of frames, and lengths of the messages in them.
#[derive(Default)]
struct Frames(Vec<(Side, &'static str, u64)>, Option<Side>);

impl FrameSink for Frames {
    fn frame(&mut self, frame: &Frame<'_>) {
        let len = frame.data.map_or(0, |data| data.payload_len);
        self.0.push((self.1.unwrap(), frame.name, len));
    }

    fn note(&mut self, _: FrameNote<'_>) {}
}

/// The frames of packets, of which those of a side may begin in mid-stream; and the server.
fn read(packets: &[(Side, &[u8])], mid_stream: bool) -> (Frames, Option<Side>) {
    let mut connection = PROTOCOL.connection(Transport::Tcp);
    let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, mid_stream), Offset::START));
    let mut frames = Frames::default();
    for &(side, bytes) in packets {
        let (stream, at) = &mut streams[side as usize];
        frames.1 = Some(side);
        stream.feed(*at, bytes, 0, connection.as_mut(), &mut frames);
        *at = at.plus(bytes.len() as u64);
    }
    let server = connection.server();
    (frames, server)
}

#[test]
fn records_of_the_handshake_are_no_messages() {
    let (client, server) = (hello(CLIENT_HELLO, &[]), hello(2, IS_13));
    let (change, hidden, data) =
        (made(CHANGE_CIPHER_SPEC, &[1]), made(APPLICATION_DATA, &[9; 60]), made(23, &[9; 100]));
    let packets: [(Side, &[u8]); 8] = [
        (Side::A, &client),
        (Side::B, &server),
        (Side::B, &hidden),
        (Side::B, &hidden),
        (Side::A, &change),
        (Side::A, &hidden),
        (Side::A, &data),
        (Side::B, &data),
    ];
    let (frames, server) = read(&packets, false);
    assert_eq!(server, Some(Side::B));
    let is_message = |(_, name, len): &&(Side, &str, u64)| *name == "ApplicationData" || *len > 0;
    let found: Vec<_> = frames.0.iter().filter(is_message).collect();
    let expected = [(Side::A, "ApplicationData", 100), (Side::B, "ApplicationData", 100)];
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
    assert_eq!(frames.0.len(), packets.len());
}

/// TLS 1.2 says of each record of the handshake what it is.
#[test]
fn without_1_3_the_first_data_counts() {
    let (client, server) = (hello(CLIENT_HELLO, &[]), hello(2, &[]));
    let (change, finished, data) =
        (made(CHANGE_CIPHER_SPEC, &[1]), made(HANDSHAKE, &[9; 40]), made(23, &[9; 100]));
    let packets: [(Side, &[u8]); 6] = [
        (Side::A, &client),
        (Side::B, &server),
        (Side::A, &change),
        (Side::A, &finished),
        (Side::B, &data),
        (Side::A, &made(ALERT, &[9; 26])),
    ];
    let (frames, _) = read(&packets, false);
    let names: Vec<_> = frames.0.iter().map(|(_, name, len)| (*name, *len)).collect();
    let expected = [
        ("Handshake", 0),
        ("Handshake", 0),
        ("ChangeCipherSpec", 0),
        ("Handshake", 0),
        ("ApplicationData", 100),
        ("Alert", 0),
    ];
    assert_eq!(names, expected);
}

/// Joined in the middle of a record, and with records that lie across packets.
#[test]
fn a_connection_that_was_joined_late_is_read_from_the_next_record_on() {
    let data = made(APPLICATION_DATA, &[0x55; 200]);
    let all = [&[0x55; 80][..], &data, &data, &data, &data].concat();
    let packets: Vec<(Side, &[u8])> =
        [&all[..80], &all[80..300], &all[300..]].map(|part| (Side::A, part)).into();
    let (frames, _) = read(&packets, true);
    let messages = frames.0.iter().filter(|(_, _, len)| *len == 200).count();
    assert_eq!(messages, 4, "{:?}", frames.0);
}

#[test]
fn other_bytes_are_no_records() {
    for head in
        [&b"GET / HTTP"[..], &[23, 2, 0, 0, 40], &[23, 3, 3, 0xFF, 0xFF], &[25, 3, 3, 0, 40]]
    {
        assert_eq!(record(head), None, "{head:?}");
    }
    assert_eq!(record(&[23, 3, 3]), Some((23, PduLen::Need(HEADER))));
    assert_eq!(record(&[23, 3, 3, 0x40, 0]), Some((23, PduLen::Known(0x4005))));
}
