//! Connections: those of the standards, whole, with losses, and hostile.

use super::keys::{HeaderKey, PayloadKey, updated};
use super::*;
use crate::Secret;
use crate::session::tests::{CLIENT, SERVER, TLS13_EXTENSION, client_hello, log, server_hello};
use proptest::prelude::*;

mod losses;
mod paths;

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// The hello messages of RFC 9001 §A, with their packets' other frames.
const CLIENT_FRAME: &str = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c\
    00000413011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d00170018001000070005\
    04616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74\
    d748002b0003020304000d0010000e0403050306030203080408050806002d00020101001c00024001003900320408ffffffffffff\
    ffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff";

#[test]
fn the_packets_of_the_standards_are_read() {
    let destination = bytes("8394c8f03e515708");
    let random: Random = bytes(&CLIENT_FRAME[20..84]).try_into().unwrap();
    for (version, unprotected, ends, server) in [
        (
            QuicVersion::V1,
            "c300000001088394c8f03e5157080000449e00000002",
            [
                "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98d",
                "e221af44860018ab0856972e194cd934",
            ],
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f\
             5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795\
             d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        ),
        (
            QuicVersion::V2,
            "d36b3343cf088394c8f03e5157080000449e00000002",
            [
                "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6a",
                "a18b2faa745b6fe189cf772a9f84cbfc",
            ],
            "dc6b3343cf0008f067a5502a4262b50040 75d92faaf16f05d8a4398c47089698baeea26b91eb761d9b89237bbf8726301791535823\
             0035f7fd3945d88965cf17f9af6e16886c61bfc703106fbaf3cb4cfa52382dd16a393e42757507698075b2c984c707f0a0812d8c\
             d5a6881eaf21ceda98f4bd23f6fe1a3e2c43edd9ce7ca84bed8521e2e140",
        ),
    ] {
        let [secret, _] = initial_secrets(version, &destination).unwrap();
        let suite = Suite::of_tls13(0x1301).unwrap();
        let mut frames = bytes(CLIENT_FRAME);
        frames.resize(1162, 0);
        let key = PayloadKey::new(suite, version, &secret).unwrap();
        let mut packet = key.seal(&bytes(unprotected), 2, &frames);
        HeaderKey::new(suite, version, &secret).unwrap().protect(&mut packet, 18);
        let [front, back] = ends.map(bytes);
        assert!(packet.starts_with(&front) && packet.ends_with(&back));

        let mut scratch = Vec::new();
        let mut session = QuicSession::begin(&packet, &mut scratch).unwrap();
        let log = log(&[("SERVER_TRAFFIC_SECRET_0", random, vec![7; 32])]);
        session.datagram(
            (TlsRole::Client, Nanos(0)),
            &packet,
            (&log, &mut scratch),
            &mut |found| {
                assert_eq!(found, QuicFound::Event(TlsEvent::Found));
            },
        );
        let server = bytes(&server.replace(' ', ""));
        session.datagram(
            (TlsRole::Server, Nanos(0)),
            &server,
            (&log, &mut scratch),
            &mut |_| panic!(),
        );
        assert!(session.hello.has_server, "its hello is read, whose suite has a key");
        assert!(session.application[TlsRole::Server as usize].has_keys());
    }
}

/// RFC 9001 §A.5, RFC 9369 §A.5.
#[test]
fn the_short_packets_of_the_standards_are_read() {
    let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
    let suite = Suite::of_tls13(0x1303).unwrap();
    for (version, packet) in [
        (QuicVersion::V1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"),
        (QuicVersion::V2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"),
    ] {
        let secret = Secret::new(&secret).unwrap();
        let packet = bytes(packet);
        let header = HeaderKey::new(suite, version, &secret).unwrap();
        let bare = header.bare(&packet, 1).unwrap();
        let number = bare.number(Some(654_360_563));
        assert_eq!(number, 654_360_564);
        let mut scratch = Vec::new();
        let key = PayloadKey::new(suite, version, &secret).unwrap();
        let payload = key.open(&packet, bare, number, &mut scratch).unwrap();
        assert_eq!(scratch[payload], [1]);
    }
    let ku = updated(suite, QuicVersion::V1, &Secret::new(&secret).unwrap()).unwrap();
    assert_eq!(
        ku.bytes(),
        bytes("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9")
    );
}

/// One end of a connection that is made here.
struct End {
    header: HeaderKey,
    secret: Secret,
    suite: Suite,
    phase: bool,
    number: u64,
    /// Id that its packets are sent to.
    to: Vec<u8>,
}

impl End {
    fn new(suite: Suite, byte: u8, to: &[u8]) -> End {
        let secret = Secret::new(&vec![byte; suite.hash.len()]).unwrap();
        let header = HeaderKey::new(suite, QuicVersion::V1, &secret).unwrap();
        End { header, secret, suite, phase: false, number: 0, to: to.to_vec() }
    }

    /// A packet of these frames, with a number of two bytes.
    fn packet(&mut self, frames: &[u8]) -> Vec<u8> {
        let [.., high, low] = self.number.to_be_bytes();
        let first = 0x41 | if self.phase { 4 } else { 0 };
        let header = [&[first][..], &self.to, &[high, low]].concat();
        let key = PayloadKey::new(self.suite, QuicVersion::V1, &self.secret).unwrap();
        let mut packet = key.seal(&header, self.number, &[frames, &[0; 4]].concat());
        self.header.protect(&mut packet, 1 + self.to.len());
        self.number += 1;
        packet
    }

    fn update(&mut self) {
        self.secret = updated(self.suite, QuicVersion::V1, &self.secret).unwrap();
        self.phase = !self.phase;
    }
}

/// A frame of a stream, up to its packet's end or not.
fn stream(id: u8, at: u8, bytes: &[u8]) -> Vec<u8> {
    [&[0x0E, id, at, u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
}

fn initial(role: TlsRole, ids: [&[u8]; 2], number: u8, frames: &[u8]) -> Vec<u8> {
    initial_of((QuicVersion::V1, b"original"), role, ids, number, frames)
}

fn initial_of(
    (version, original): (QuicVersion, &[u8]),
    role: TlsRole,
    ids: [&[u8]; 2],
    number: u8,
    frames: &[u8],
) -> Vec<u8> {
    let secrets = initial_secrets(version, original).unwrap();
    let secret = secrets[role as usize];
    let suite = Suite::of_tls13(0x1301).unwrap();
    let [to, from] = ids;
    let [high, low] = u16::try_from(frames.len() + 18).unwrap().to_be_bytes();
    let id = |id: &[u8]| [&[u8::try_from(id.len()).unwrap()][..], id].concat();
    let first = match version {
        QuicVersion::V1 => [0xC1, 0, 0, 0, 1],
        QuicVersion::V2 => [0xD1, 0x6B, 0x33, 0x43, 0xCF],
    };
    let head = [&first[..], &id(to), &id(from), &[0, 0x40 | high, low, 0, number]];
    let header = head.concat();
    let key = PayloadKey::new(suite, version, &secret).unwrap();
    let mut packet = key.seal(&header, number.into(), frames);
    HeaderKey::new(suite, version, &secret).unwrap().protect(&mut packet, header.len() - 2);
    packet
}

fn crypto(at: usize, bytes: &[u8]) -> Vec<u8> {
    let two = |value: usize| {
        let [high, low] = u16::try_from(value).unwrap().to_be_bytes();
        [0x40 | high, low]
    };
    [&[6][..], &two(at), &two(bytes.len()), bytes].concat()
}

/// A connection whose handshake is over.
struct Made {
    session: QuicSession,
    log: KeyLog,
    ends: [End; 2],
    found: Vec<String>,
}

const CLIENT_ID: &[u8] = b"";
const SERVER_ID: &[u8] = b"serv-1";

impl Made {
    fn new(suite: u16) -> Made {
        let number = suite;
        let suite = Suite::of_tls13(number).unwrap();
        let ends = [End::new(suite, 3, SERVER_ID), End::new(suite, 4, CLIENT_ID)];
        let secret = |end: usize| ends[end].secret.bytes().to_vec();
        let log = log(&[
            ("CLIENT_TRAFFIC_SECRET_0", CLIENT, secret(0)),
            ("SERVER_TRAFFIC_SECRET_0", CLIENT, secret(1)),
        ]);
        // The client's hello comes in two pieces, the last one first.
        let hello = client_hello(CLIENT);
        let frames = [crypto(20, &hello[20..]), crypto(0, &hello[..20]), vec![0; 900]].concat();
        let first = initial(TlsRole::Client, [b"original", CLIENT_ID], 0, &frames);
        let session = QuicSession::begin(&first, &mut Vec::new()).unwrap();
        let mut made = Made { session, log, ends, found: Vec::new() };
        made.feed(TlsRole::Client, &first);
        let hello = crypto(0, &server_hello(SERVER, number, TLS13_EXTENSION));
        let hello = initial(TlsRole::Server, [CLIENT_ID, SERVER_ID], 0, &hello);
        // A packet of the handshake lies behind it, and one of the application behind that.
        let handshake = [&[0xE0, 0, 0, 0, 1, 0, 6][..], SERVER_ID, &[30], &[9; 30]].concat();
        let early = made.ends[1].packet(&stream(3, 0, b"early"));
        made.feed(TlsRole::Server, &[hello, handshake, early].concat());
        assert_eq!(made.take(), ["Found", "Opened", "3@0 early"]);
        made
    }

    fn feed(&mut self, from: TlsRole, datagram: &[u8]) {
        let found = &mut self.found;
        let at = Nanos(0);
        self.session.datagram((from, at), datagram, (&self.log, &mut Vec::new()), &mut |one| {
            found.push(match one {
                QuicFound::Stream { id, at, bytes, is_last, .. } => {
                    let end = if is_last { "." } else { "" };
                    format!("{id}@{at} {}{end}", String::from_utf8_lossy(bytes))
                }
                QuicFound::Reset { id } => format!("{id} reset"),
                QuicFound::Unread { .. } => "Unread".to_owned(),
                QuicFound::Missing { from, packets, .. } => format!("{packets} of {from:?}"),
                QuicFound::Event(event) => format!("{event:?}"),
                QuicFound::Restart => "Restart".to_owned(),
            });
        });
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.found)
    }

    /// The client sends bytes of its first stream.
    fn says(&mut self, at: u8, bytes: &[u8]) -> Vec<u8> {
        self.ends[0].packet(&stream(0, at, bytes))
    }
}

#[test]
fn streams_are_read_in_both_directions() {
    for suite in [0x1301, 0x1302, 0x1303, 0x1304] {
        let mut made = Made::new(suite);
        let packet = made.ends[0].packet(&[stream(0, 0, b"one"), stream(4, 9, b"two")].concat());
        made.feed(TlsRole::Client, &packet);
        let packet = made.ends[1].packet(&stream(0, 0, b"answer"));
        made.feed(TlsRole::Server, &packet);
        assert_eq!(made.take(), ["0@0 one", "4@9 two", "0@0 answer"]);
    }
}

#[test]
fn keys_are_updated_and_late_packets_are_read() {
    let mut made = Made::new(0x1302);
    for round in 0..3 {
        let early = made.says(0, b"early");
        let late = made.says(0, b"late");
        made.feed(TlsRole::Client, &early);
        made.ends[0].update();
        let new = made.says(0, b"new");
        made.feed(TlsRole::Client, &new);
        made.feed(TlsRole::Client, &late);
        assert_eq!(made.take(), ["0@0 early", "0@0 new", "0@0 late"], "{round}");
    }
}

#[test]
fn ids_may_change_their_length() {
    let mut made = Made::new(0x1301);
    let mut announcement = vec![0x18, 1, 0, 9];
    announcement.extend([b"long-id-9".as_slice(), &[0; 16]].concat());
    let packet = made.ends[1].packet(&announcement);
    made.feed(TlsRole::Server, &packet);
    made.ends[0].to = b"long-id-9".to_vec();
    let packet = made.says(0, b"nine");
    made.feed(TlsRole::Client, &packet);
    made.ends[0].to = b"serv-2".to_vec();
    let packet = made.says(4, b"six");
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["0@0 nine", "0@4 six"]);
}

#[test]
fn packets_that_a_capture_lacks_cost_no_others() {
    let mut made = Made::new(0x1301);
    for lost in [0, 1, 100, 40_000, 130_000] {
        made.ends[0].number += lost;
        let packet = made.says(0, b"text");
        made.feed(TlsRole::Client, &packet);
        assert_eq!(made.take(), ["0@0 text"], "{lost}");
    }
    let mut packet = made.says(0, b"text");
    packet[12] ^= 1;
    made.feed(TlsRole::Client, &packet);
    made.feed(TlsRole::Client, &packet[..30]);
    let packet = made.says(4, b"more");
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["Unread", "Unread", "0@4 more"]);
}

#[test]
fn datagrams_that_were_handed_on_at_once_are_read() {
    let mut made = Made::new(0x1301);
    for len in [1200, 1452] {
        // A packet has 33 bytes beyond those of its stream.
        let full = |made: &mut Made, text: &[u8], len: usize| {
            let frames = [&stream(0, 0, text)[..], &vec![0; len - 33 - text.len()]].concat();
            made.ends[0].packet(&frames)
        };
        let alone = full(&mut made, b"abc", len);
        assert_eq!(alone.len(), len);
        let mut datagram = [full(&mut made, b"one", len), full(&mut made, b"two", len)].concat();
        datagram.extend(made.says(3, b"the last"));
        made.feed(TlsRole::Client, &alone);
        made.feed(TlsRole::Client, &datagram);
        assert_eq!(made.take(), ["0@0 abc", "0@0 one", "0@0 two", "0@3 the last"]);
    }
}

#[test]
fn another_connection_between_the_same_addresses_begins_anew() {
    let mut made = Made::new(0x1301);
    let hello = [crypto(0, &client_hello([9; 32])), vec![0; 900]].concat();
    let again = initial(TlsRole::Client, [b"original", CLIENT_ID], 7, &hello);
    // The same id stands for the same keys; its bytes are those of a handshake that is over.
    made.feed(TlsRole::Client, &again);
    assert_eq!(made.take(), Vec::<String>::new());
    let [secret, _] = initial_secrets(QuicVersion::V1, b"another.").unwrap();
    let suite = Suite::of_tls13(0x1301).unwrap();
    let [high, low] = u16::try_from(hello.len() + 18).unwrap().to_be_bytes();
    let header =
        [&[0xC1, 0, 0, 0, 1, 8][..], b"another.", &[0, 0, 0x40 | high, low, 0, 0]].concat();
    let mut packet =
        PayloadKey::new(suite, QuicVersion::V1, &secret).unwrap().seal(&header, 0, &hello);
    let key = HeaderKey::new(suite, QuicVersion::V1, &secret).unwrap();
    key.protect(&mut packet, header.len() - 2);
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["Restart", "NoKey"]);
    assert!(made.session.is_given_up());
}

#[test]
fn what_cannot_be_read_is_said() {
    let first = |suite: u16, log: KeyLog| {
        let hello = [crypto(0, &client_hello(CLIENT)), vec![0; 900]].concat();
        let first = initial(TlsRole::Client, [b"original", CLIENT_ID], 0, &hello);
        let session = QuicSession::begin(&first, &mut Vec::new()).unwrap();
        let of = |byte, to| End::new(Suite::of_tls13(0x1301).unwrap(), byte, to);
        let ends = [of(3, SERVER_ID), of(4, CLIENT_ID)];
        let mut made = Made { session, log, ends, found: Vec::new() };
        made.feed(TlsRole::Client, &first);
        let hello = crypto(0, &server_hello(SERVER, suite, TLS13_EXTENSION));
        made.feed(TlsRole::Server, &initial(TlsRole::Server, [CLIENT_ID, SERVER_ID], 0, &hello));
        made
    };
    let key = |byte| log(&[("CLIENT_TRAFFIC_SECRET_0", CLIENT, vec![byte; 32])]);
    assert_eq!(first(0x1301, KeyLog::default()).take(), ["NoKey"]);
    assert_eq!(first(0x1309, key(3)).take(), ["Found", "Cipher"]);
    let other = log(&[("CLIENT_RANDOM", CLIENT, vec![7; 48])]);
    assert_eq!(first(0x1301, other).take(), ["Found", "WrongKey"]);
    let mut wrong = first(0x1301, key(8));
    for _ in 0..40 {
        let packet = wrong.says(0, b"text");
        wrong.feed(TlsRole::Client, &packet);
    }
    assert_eq!(wrong.take(), ["Found", "WrongKey"]);
    assert!(QuicSession::begin(b"GET / HTTP/1.1\r\n", &mut Vec::new()).is_none());
}

proptest! {
    #[test]
    fn no_datagram_does_harm(
        datagrams in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..300)),
            0..40,
        ),
    ) {
        let mut made = Made::new(0x1301);
        for (is_client, datagram) in datagrams {
            let role = if is_client { TlsRole::Client } else { TlsRole::Server };
            made.feed(role, &datagram);
            QuicSession::begin(&datagram, &mut Vec::new());
        }
        prop_assert!(made.take().iter().all(|found| found == "Unread" || found == "WrongKey"));
        let packet = made.says(0, b"text");
        made.feed(TlsRole::Client, &packet);
        prop_assert_eq!(made.take(), ["0@0 text"]);
    }

    /// Frames are read after they authenticate, but a hostile end has keys, too.
    #[test]
    fn no_frame_does_harm(frames in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut made = Made::new(0x1304);
        let packet = made.ends[0].packet(&frames);
        made.feed(TlsRole::Client, &packet);
        let first = initial(TlsRole::Client, [b"original", CLIENT_ID], 1, &[&frames[..], &[0; 30]].concat());
        made.feed(TlsRole::Client, &first);
    }

    #[test]
    fn a_changed_bit_is_found(at in 0_usize..40, bit in 0_u8..8) {
        let mut made = Made::new(0x1303);
        let mut packet = made.says(0, b"some text that is long enough");
        let at = at % packet.len();
        packet[at] ^= 1 << bit;
        made.feed(TlsRole::Client, &packet);
        // The id of the receiver is not looked at, but authenticated.
        prop_assert!(made.take().iter().all(|found| found == "Unread"));
    }
}
