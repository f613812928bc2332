//! Connections of both versions: whole, cut, with losses, and hostile.

use super::*;
use crate::key::RecordKey;
use crate::key_log::Secret;
use proptest::prelude::*;

const CLIENT: Random = [0xC1; 32];
const SERVER: Random = [0x5E; 32];

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3, high, low][..], body].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind, high, middle, low][..], body].concat()
}

fn client_hello(random: Random) -> Vec<u8> {
    message(1, &[&[3, 3][..], &random, &[0; 90]].concat())
}

fn server_hello(random: Random, suite: u16, is_tls13: bool) -> Vec<u8> {
    let extension: &[u8] = if is_tls13 { &[0, 6, 0, 43, 0, 2, 3, 4] } else { &[0, 0] };
    let [high, low] = suite.to_be_bytes();
    message(2, &[&[3, 3][..], &random, &[0, high, low, 0], extension].concat())
}

fn log(lines: &[(&str, Random, Vec<u8>)]) -> KeyLog {
    let hex = |bytes: &[u8]| -> String {
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
    };
    let line = |(label, random, secret): &(&str, Random, Vec<u8>)| {
        format!("{label} {} {}\n", hex(random), hex(secret))
    };
    let mut log = KeyLog::default();
    log.add(lines.iter().map(line).collect::<String>().as_bytes());
    log
}

/// What comes out of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Text(Vec<u8>),
    Unread(u64),
    Lost(u64),
}

fn text(bytes: &[u8]) -> Out {
    Out::Text(bytes.to_vec())
}

struct Reader {
    session: Session,
    log: KeyLog,
    ends: [u64; 2],
    out: Vec<(Role, Out)>,
}

impl Reader {
    fn new(log: KeyLog, random: Random) -> Reader {
        let session = Session::new(random, log.find(&random).copied().unwrap_or_default());
        Reader { session, log, ends: [0; 2], out: Vec::new() }
    }

    fn feed(&mut self, from: Role, bytes: &[u8]) {
        let (at, out) = (Offset(self.ends[from as usize]), &mut self.out);
        self.ends[from as usize] += bytes.len() as u64;
        self.session.feed(from, at, bytes, (&self.log, &mut Vec::new()), &mut |opened| {
            assert!(!opened.range.is_empty());
            out.push((
                from,
                match opened.content {
                    Content::Text(bytes) => text(bytes),
                    Content::Unread { at_most } => Out::Unread(at_most),
                    Content::Lost => Out::Lost(opened.range.len()),
                },
            ));
        });
    }

    fn gap(&mut self, from: Role, len: usize) {
        let (at, out) = (Offset(self.ends[from as usize]), &mut self.out);
        self.ends[from as usize] += len as u64;
        let rest = (&self.log, &mut Vec::new());
        self.session.gap(from, at, len as u64, rest, &mut |opened| {
            let Content::Unread { at_most } = opened.content else { panic!("{opened:?}") };
            out.push((from, Out::Unread(at_most)));
        });
    }

    /// What was read of one direction.
    fn of(&self, from: Role) -> Vec<Out> {
        self.out.iter().filter(|(role, _)| *role == from).map(|(_, out)| out.clone()).collect()
    }
}

/// A connection whose handshake is over, and the keys of both ends.
struct Made {
    log: KeyLog,
    handshake: [Vec<u8>; 2],
    keys: [RecordKey; 2],
    /// The number of the next record of application data.
    next: u64,
}

fn secret(suite: Suite, byte: u8) -> Secret {
    Secret::new(&vec![byte; suite.hash.len()]).unwrap()
}

fn tls13(number: u16) -> Made {
    let suite = Suite::of_tls13(number).unwrap();
    let secrets = [1, 2, 3, 4].map(|byte| secret(suite, byte));
    let labels = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    let lines = labels.iter().zip(&secrets);
    let lines: Vec<_> =
        lines.map(|(label, secret)| (*label, CLIENT, secret.bytes().to_vec())).collect();
    let keys = secrets.map(|secret| schedule::tls13_key(suite, &secret).unwrap().key().unwrap());
    let [client, server, client_traffic, server_traffic] = keys;
    let finished = message(20, &[9; 32]);
    let change = record(20, &[1]);
    let hello = record(22, &server_hello(SERVER, number, true));
    let handshake = [
        [record(22, &client_hello(CLIENT)), change.clone(), client.seal(0, 22, &finished)].concat(),
        [hello, change, server.seal(0, 22, &message(11, &[5; 900])), server.seal(1, 22, &finished)]
            .concat(),
    ];
    Made { log: log(&lines), handshake, keys: [client_traffic, server_traffic], next: 0 }
}

fn tls12(number: u16) -> Made {
    let suite = Suite::of_tls12(number).unwrap();
    let master = Secret::new(&[7; 48]).unwrap();
    let keys = schedule::tls12_keys(suite, &master, &CLIENT, &SERVER);
    let keys = keys.map(|material| material.key().unwrap());
    let finished = message(20, &[9; 12]);
    let change = record(20, &[1]);
    let hello = [server_hello(SERVER, number, false), message(11, &[5; 900]), message(14, &[])];
    let handshake = [
        [record(22, &client_hello(CLIENT)), change.clone(), keys[0].seal(0, 22, &finished)]
            .concat(),
        [record(22, &hello.concat()), change, keys[1].seal(0, 22, &finished)].concat(),
    ];
    let log = log(&[("CLIENT_RANDOM", CLIENT, vec![7; 48])]);
    Made { log, handshake, keys, next: 1 }
}

fn all() -> impl Iterator<Item = Made> {
    let new = [0x1301, 0x1302, 0x1303].into_iter().map(tls13);
    new.chain([0x009C, 0xC02F, 0xC030, 0xC02C, 0xCCA8, 0xD002].into_iter().map(tls12))
}

impl Made {
    /// The handshake in its order: the client's hello, all of the server's, the rest of the client's.
    fn begin(&self) -> Reader {
        let mut reader = Reader::new(self.log.clone(), CLIENT);
        let (hello, rest) = self.handshake[0].split_at(record(22, &client_hello(CLIENT)).len());
        reader.feed(Role::Client, hello);
        reader.feed(Role::Server, &self.handshake[1]);
        reader.feed(Role::Client, rest);
        assert_eq!((reader.out.len(), reader.session.obstacle()), (0, None));
        reader
    }

    /// So many records of application data of the client.
    fn texts(&self, count: u8) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let texts: Vec<_> = (0..count).map(|n| vec![n; 40 + usize::from(n)]).collect();
        let numbers = self.next..;
        let records = numbers.zip(&texts).map(|(number, text)| self.keys[0].seal(number, 23, text));
        (records.collect(), texts)
    }
}

#[test]
fn text_is_read_in_both_directions() {
    for made in all() {
        let mut reader = made.begin();
        reader.feed(Role::Client, &made.keys[0].seal(made.next, 23, b"question"));
        let answer = made.keys[1].seal(made.next, 23, b"answer");
        answer.chunks(3).for_each(|bytes| reader.feed(Role::Server, bytes));
        reader.feed(Role::Client, &made.keys[0].seal(made.next + 1, 23, b""));
        assert_eq!(reader.of(Role::Client), [text(b"question"), text(b"")]);
        assert_eq!(reader.of(Role::Server), [text(b"answer")]);
    }
}

/// RFC 8448 §3. The hello messages have only what is read of them; the server's certificate is left out.
#[test]
fn the_trace_of_the_standard_is_read() {
    let bytes = |digits: &str| -> Vec<u8> {
        let digits: Vec<char> = digits.chars().filter(|char| !char.is_whitespace()).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
            .collect()
    };
    let random = bytes("cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7");
    let random: Random = random.try_into().unwrap();
    let secrets = [
        (
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
        ),
        (
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
        ),
        (
            "CLIENT_TRAFFIC_SECRET_0",
            "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
        ),
        (
            "SERVER_TRAFFIC_SECRET_0",
            "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
        ),
    ];
    let lines: Vec<_> = secrets.map(|(label, secret)| (label, random, bytes(secret))).into();
    let mut reader = Reader::new(log(&lines), random);
    reader.feed(Role::Client, &record(22, &client_hello(random)));
    reader.feed(Role::Server, &record(22, &server_hello(SERVER, 0x1301, true)));
    let finished = "17 03 03 00 35 75 ec 4d c2 38 cc e6 0b 29 80 44 a7 1e 21 9c 56 cc 77 b0 51 7f e9 b9 3c 7a 4b fc
        44 d8 7f 38 f8 03 38 ac 98 fc 46 de b3 84 bd 1c ae ac ab 68 67 d7 26 c4 05 46";
    reader.feed(Role::Client, &bytes(finished));
    let ticket = "17 03 03 00 de 3a 6b 8f 90 41 4a 97 d6 95 9c 34 87 68 0d e5 13 4a 2b 24 0e 6c ff ac 11 6e 95 d4 1d
        6a f8 f6 b5 80 dc f3 d1 1d 63 c7 58 db 28 9a 01 59 40 25 2f 55 71 3e 06 1d c1 3e 07 88 91 a3 8e fb cf 57
        53 ad 8e f1 70 ad 3c 73 53 d1 6d 9d a7 73 b9 ca 7f 2b 9f a1 b6 c0 d4 a3 d0 3f 75 e0 9c 30 ba 1e 62 97 2a
        c4 6f 75 f7 b9 81 be 63 43 9b 29 99 ce 13 06 46 15 13 98 91 d5 e4 c5 b4 06 f1 6e 3f c1 81 a7 7c a4 75 84
        00 25 db 2f 0a 77 f8 1b 5a b0 5b 94 c0 13 46 75 5f 69 23 2c 86 51 9d 86 cb ee ac 87 aa c3 47 d1 43 f9 60
        5d 64 f6 50 db 4d 02 3e 70 e9 52 ca 49 fe 51 37 12 1c 74 bc 26 97 68 7e 24 87 46 d6 df 35 30 05 f3 bc e1
        86 96 12 9c 81 53 55 6b 3b 6c 67 79 b3 7b f1 59 85 68 4f";
    reader.feed(Role::Server, &bytes(ticket));
    let question = "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f 2b
        98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 3a ee bb 21
        69 49 15 e4";
    let answer = "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b 36 e3
        0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 32 54 0d d0 32 e1
        67 c2 95 5d";
    reader.feed(Role::Client, &bytes(question));
    reader.feed(Role::Server, &bytes(answer));
    let alerts = [
        "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3",
        "17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9",
    ];
    reader.feed(Role::Client, &bytes(alerts[0]));
    reader.feed(Role::Server, &bytes(alerts[1]));
    let payload: Vec<u8> = (0..50).collect();
    let all = [Role::Client, Role::Server].map(|role| (role, text(&payload)));
    assert_eq!(reader.out, all, "nothing that is not read, either");
    let opened = |role: Role| reader.session.directions[role as usize].records.opened;
    assert_eq!([opened(Role::Client), opened(Role::Server)], [3, 3]);
}

#[test]
fn keys_are_updated_any_number_of_times() {
    let made = tls13(0x1302);
    let suite = Suite::of_tls13(0x1302).unwrap();
    let mut reader = made.begin();
    let mut secret = secret(suite, 3);
    for round in 0..5_u8 {
        let key = schedule::tls13_key(suite, &secret).unwrap().key().unwrap();
        reader.feed(Role::Client, &key.seal(0, 23, &[round; 8]));
        let update = key.seal(1, 22, &message(24, &[0]));
        // That the key changes need not be seen.
        if round == 2 {
            reader.gap(Role::Client, update.len());
        } else {
            reader.feed(Role::Client, &update);
        }
        secret = schedule::updated(suite, &secret).unwrap();
    }
    let mut texts = reader.of(Role::Client);
    texts.retain(|out| matches!(out, Out::Text(_)));
    assert_eq!(texts, (0..5).map(|round| text(&[round; 8])).collect::<Vec<_>>());
}

#[test]
fn a_second_handshake_has_keys_of_its_own() {
    let mut made = tls12(0xC02F);
    let again: Random = [0xC2; 32];
    let lines = [("CLIENT_RANDOM", CLIENT, vec![7; 48]), ("CLIENT_RANDOM", again, vec![8; 48])];
    made.log = log(&lines);
    let mut reader = made.begin();
    let master = Secret::new(&[8; 48]).unwrap();
    let suite = Suite::of_tls12(0xC030).unwrap();
    let new = schedule::tls12_keys(suite, &master, &again, &[6; 32]);
    let new = new.map(|material| material.key().unwrap());
    let [client, server] = &made.keys;
    reader.feed(Role::Client, &client.seal(1, 22, &client_hello(again)));
    reader.feed(Role::Server, &server.seal(1, 22, &server_hello([6; 32], 0xC030, false)));
    for (role, old, new) in [(Role::Client, client, &new[0]), (Role::Server, server, &new[1])] {
        reader.feed(role, &old.seal(2, 20, &[1]));
        reader.feed(role, &new.seal(0, 22, &message(20, &[9; 12])));
        reader.feed(role, &new.seal(1, 23, b"new"));
        assert_eq!(reader.of(role), [text(b"new")]);
    }
}

#[test]
fn a_loss_costs_what_was_lost() {
    for made in all() {
        let (records, texts) = made.texts(12);
        let flow = records.concat();
        let starts: Vec<usize> = (0..=records.len()).map(|n| records[..n].concat().len()).collect();
        for (from, to) in [(2, 3), (2, 7), (1, 11)] {
            // A part of a record, then as much as a whole one, then several.
            for (cut, next) in [(starts[from] + 9, starts[to]), (starts[from], starts[to] - 5)] {
                let mut reader = made.begin();
                reader.feed(Role::Client, &flow[..cut]);
                reader.gap(Role::Client, next - cut);
                reader.feed(Role::Client, &flow[next..]);
                let mut read = reader.of(Role::Client);
                read.retain(|out| matches!(out, Out::Text(_)));
                let expected = texts[..from].iter().chain(&texts[to..]);
                assert_eq!(read, expected.map(|bytes| text(bytes)).collect::<Vec<_>>());
                assert_ne!(read.len(), reader.of(Role::Client).len(), "and the loss is told");
            }
        }
    }
}

#[test]
fn a_record_that_does_not_authenticate_is_not_read() {
    for made in all() {
        let (mut records, texts) = made.texts(3);
        *records[1].last_mut().unwrap() ^= 1;
        let mut reader = made.begin();
        reader.feed(Role::Client, &records.concat());
        let [first, unread, last] = &reader.of(Role::Client)[..] else { panic!() };
        assert_eq!((first, last), (&text(&texts[0]), &text(&texts[2])));
        let at_most = texts[1].len() as u64;
        let Out::Unread(len) = *unread else { panic!("{unread:?}") };
        assert!((at_most..at_most + 3).contains(&len), "{len}: the padding may be text");
    }
}

#[test]
fn a_handshake_that_was_lost_is_found_out() {
    for made in all() {
        // Only the hello messages are seen.
        let mut reader = Reader::new(made.log.clone(), CLIENT);
        reader.feed(Role::Client, &record(22, &client_hello(CLIENT)));
        let hello_end = 105;
        reader.feed(Role::Server, &made.handshake[1][..hello_end]);
        reader.session.gap(
            Role::Server,
            Offset(hello_end as u64),
            (made.handshake[1].len() - hello_end) as u64,
            (&made.log, &mut Vec::new()),
            &mut |_| {},
        );
        reader.ends[1] = made.handshake[1].len() as u64;
        let rest = made.handshake[0].len() - record(22, &client_hello(CLIENT)).len();
        reader.session.gap(
            Role::Client,
            Offset(reader.ends[0]),
            rest as u64,
            (&made.log, &mut Vec::new()),
            &mut |_| {},
        );
        reader.ends[0] += rest as u64;
        let is_tls13 = made.next == 0;
        reader.feed(Role::Client, &made.keys[0].seal(made.next + 1, 23, b"question"));
        // Of TLS 1.2, the server's hello is in a record that was not seen to its end.
        let expected = if is_tls13 { vec![text(b"question")] } else { vec![] };
        let mut read = reader.of(Role::Client);
        read.retain(|out| matches!(out, Out::Text(_)));
        assert_eq!(read, expected);
    }
}

#[test]
fn a_server_may_ask_for_another_hello() {
    let retry = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8,
        0x91, 0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8,
        0x33, 0x9C,
    ];
    let made = tls13(0x1303);
    let mut reader = Reader::new(made.log.clone(), CLIENT);
    let hello = record(22, &client_hello(CLIENT));
    reader.feed(Role::Client, &hello);
    reader.feed(Role::Server, &record(22, &server_hello(retry, 0x1303, true)));
    reader.feed(Role::Server, &record(20, &[1]));
    reader.feed(Role::Client, &[&record(20, &[1])[..], &hello].concat());
    reader.feed(Role::Server, &made.handshake[1]);
    reader.feed(Role::Client, &made.handshake[0][hello.len()..]);
    reader.feed(Role::Client, &made.keys[0].seal(0, 23, b"question"));
    assert_eq!(reader.out, [(Role::Client, text(b"question"))]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut reader = Reader::new(tls13(0x1301).log, CLIENT);
    reader.feed(Role::Server, &record(22, &server_hello(SERVER, 0x1304, true)));
    assert_eq!(reader.session.obstacle(), Some(Obstacle::Cipher));
    let mut reader = Reader::new(tls12(0xC02F).log, CLIENT);
    reader.feed(Role::Server, &record(22, &server_hello(SERVER, 0xC013, false)));
    assert_eq!(reader.session.obstacle(), Some(Obstacle::Cipher));
    let mut reader = Reader::new(tls12(0xC02F).log, CLIENT);
    reader.feed(Role::Server, &record(22, &server_hello(SERVER, 0x1301, true)));
    assert_eq!(reader.session.obstacle(), Some(Obstacle::Keys), "secrets of another version");

    let mut other = tls12(0xC02F);
    let mut reader = Reader::new(other.log.clone(), CLIENT);
    other = tls12(0xC030);
    reader.feed(Role::Server, &record(22, &server_hello(SERVER, 0xC02F, false)));
    (0..70).for_each(|number| reader.feed(Role::Server, &other.keys[1].seal(number, 23, b"x")));
    assert_eq!((reader.session.obstacle(), reader.out.len()), (Some(Obstacle::Keys), 0));

    let mut reader = Reader::new(other.log, CLIENT);
    (0..70).for_each(|number| reader.feed(Role::Server, &other.keys[1].seal(number, 23, b"x")));
    assert_eq!(reader.session.obstacle(), Some(Obstacle::Handshake));
}

#[test]
fn searching_for_numbers_is_bounded() {
    let made = tls13(0x1301);
    let mut reader = made.begin();
    let (records, _) = made.texts(1);
    reader.feed(Role::Client, &records[0]);
    reader.gap(Role::Client, 1 << 30);
    // None of these is one of the connection.
    let alien = tls13(0x1302);
    let bytes = alien.keys[0].seal(0, 23, &[0; 16_000]);
    let began = std::time::Instant::now();
    (0..200).for_each(|_| reader.feed(Role::Client, &bytes));
    assert!(began.elapsed().as_secs() < 10);
    assert!(reader.session.held_bytes() < 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_do_any_harm(pieces in proptest::collection::vec(
        (any::<bool>(), 0_usize..600, proptest::collection::vec(any::<u8>(), 0..300)), 0..30)
    ) {
        let mut reader = tls12(0xC02F).begin();
        for (is_server, gap, bytes) in pieces {
            let from = if is_server { Role::Server } else { Role::Client };
            let at = Offset(reader.ends[from as usize] + gap as u64);
            reader.ends[from as usize] = at.0 + bytes.len() as u64;
            reader.session.feed(from, at, &bytes, (&reader.log, &mut Vec::new()), &mut |opened| {
                assert!(!matches!(opened.content, Content::Text(_)));
            });
        }
    }

    #[test]
    fn what_is_read_was_said(
        changes in proptest::collection::vec((0_usize..2500, any::<u8>()), 0..4),
        gaps in proptest::collection::vec((0_usize..2500, 1_usize..400), 0..3),
        cut in 1_usize..400,
        which in 0_usize..9,
    ) {
        let made = all().nth(which).unwrap();
        let (records, texts) = made.texts(20);
        let mut flow = records.concat();
        for (at, byte) in changes {
            let at = at % flow.len();
            flow[at] ^= byte;
        }
        let mut is_there = vec![true; flow.len()];
        for (at, len) in gaps {
            is_there.iter_mut().skip(at).take(len).for_each(|there| *there = false);
        }
        let mut reader = made.begin();
        let base = reader.ends[0];
        let mut at = 0;
        while at < flow.len() {
            let same = is_there[at..].iter().take_while(|there| **there == is_there[at]).count();
            let len = if is_there[at] { same.min(cut) } else { same };
            if is_there[at] {
                reader.ends[0] = base + at as u64;
                reader.feed(Role::Client, &flow[at..at + len]);
            }
            at += len;
        }
        let mut all = texts.iter();
        for out in reader.of(Role::Client) {
            if let Out::Text(bytes) = out {
                prop_assert!(all.any(|said| *said == bytes), "in order, and said");
            }
        }
    }
}
