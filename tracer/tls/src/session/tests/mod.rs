//! Connections of both versions: whole, cut, with losses, and hostile.

mod damaged;
mod whole;

use super::*;
use crate::cbc::MacOrder;
use crate::key::KeyMaterial;
use crate::key_log::Secret;
use proptest::prelude::*;

pub(crate) const CLIENT: Random = [0xC1; 32];
pub(crate) const SERVER: Random = [0x5E; 32];

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3, high, low][..], body].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind, high, middle, low][..], body].concat()
}

pub(crate) fn client_hello(random: Random) -> Vec<u8> {
    message(1, &[&[3, 3][..], &random, &[0; 90]].concat())
}

pub(crate) const TLS13_EXTENSION: &[u8] = &[0, 6, 0, 43, 0, 2, 3, 4];
const NO_EXTENSION: &[u8] = &[0, 0];
const ENCRYPT_THEN_MAC: &[u8] = &[0, 4, 0, 22, 0, 0];

pub(crate) fn server_hello(random: Random, suite: u16, extension: &[u8]) -> Vec<u8> {
    let [high, low] = suite.to_be_bytes();
    message(2, &[&[3, 3][..], &random, &[0, high, low, 0], extension].concat())
}

pub(crate) fn log(lines: &[(&str, Random, Vec<u8>)]) -> KeyLog {
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

/// Content that comes out of one direction.
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
    session: TlsSession,
    log: KeyLog,
    ends: [u64; 2],
    out: Vec<(TlsRole, Out)>,
}

impl Reader {
    fn new(log: KeyLog, random: Random) -> Reader {
        let session = TlsSession::new(random, log.find(&random).copied().unwrap_or_default());
        Reader { session, log, ends: [0; 2], out: Vec::new() }
    }

    fn feed(&mut self, from: TlsRole, bytes: &[u8]) {
        let (at, out) = (Offset(self.ends[from as usize]), &mut self.out);
        self.ends[from as usize] += bytes.len() as u64;
        self.session.feed(from, at, bytes, (&self.log, &mut Vec::new()), &mut |opened| {
            assert!(!opened.range.is_empty());
            out.push((
                from,
                match opened.content {
                    OpenedContent::Text(bytes) => text(bytes),
                    OpenedContent::Unread { at_most } => Out::Unread(at_most),
                    OpenedContent::Lost => Out::Lost(opened.range.len()),
                },
            ));
        });
    }

    fn gap(&mut self, from: TlsRole, len: usize) {
        let (at, out) = (Offset(self.ends[from as usize]), &mut self.out);
        self.ends[from as usize] += len as u64;
        let rest = (&self.log, &mut Vec::new());
        self.session.gap(from, at, len as u64, rest, &mut |opened| {
            let OpenedContent::Unread { at_most } = opened.content else { panic!("{opened:?}") };
            out.push((from, Out::Unread(at_most)));
        });
    }

    /// Content that was read of one direction.
    fn of(&self, from: TlsRole) -> Vec<Out> {
        self.out.iter().filter(|(role, _)| *role == from).map(|(_, out)| out.clone()).collect()
    }
}

/// A connection whose handshake is over, and the keys of both ends.
struct Made {
    log: KeyLog,
    handshake: [Vec<u8>; 2],
    keys: [KeyMaterial; 2],
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
    let keys = secrets.map(|secret| schedule::tls13_key(suite, &secret).unwrap());
    let [client, server, client_traffic, server_traffic] = keys;
    let finished = message(20, &[9; 32]);
    let change = record(20, &[1]);
    let hello = record(22, &server_hello(SERVER, number, TLS13_EXTENSION));
    let handshake = [
        [record(22, &client_hello(CLIENT)), change.clone(), client.seal(0, 22, &finished)].concat(),
        [hello, change, server.seal(0, 22, &message(11, &[5; 900])), server.seal(1, 22, &finished)]
            .concat(),
    ];
    Made { log: log(&lines), handshake, keys: [client_traffic, server_traffic], next: 0 }
}

fn tls12(number: u16, order: MacOrder) -> Made {
    let suite = Suite::of_tls12(number).unwrap();
    let master = Secret::new(&[7; 48]).unwrap();
    let keys = schedule::tls12_keys(suite, order, &master, &CLIENT, &SERVER);
    let extension = match order {
        MacOrder::MacThenEncrypt => NO_EXTENSION,
        MacOrder::EncryptThenMac => ENCRYPT_THEN_MAC,
    };
    let finished = message(20, &[9; 12]);
    let change = record(20, &[1]);
    let hello = [server_hello(SERVER, number, extension), message(11, &[5; 900]), message(14, &[])];
    let handshake = [
        [record(22, &client_hello(CLIENT)), change.clone(), keys[0].seal(0, 22, &finished)]
            .concat(),
        [record(22, &hello.concat()), change, keys[1].seal(0, 22, &finished)].concat(),
    ];
    let log = log(&[("CLIENT_RANDOM", CLIENT, vec![7; 48])]);
    Made { log, handshake, keys, next: 1 }
}

fn all() -> impl Iterator<Item = Made> {
    let new = [0x1301, 0x1302, 0x1303, 0x1304, 0x1305].into_iter().map(tls13);
    let aead = [0x009C, 0xC02F, 0xC030, 0xC02C, 0xCCA8, 0xD002, 0xC0AC, 0xC0AF].into_iter();
    let cbc = [0x002F, 0xC014, 0xC027, 0x003D, 0xC028].into_iter();
    let both = cbc.flat_map(|number| {
        [MacOrder::MacThenEncrypt, MacOrder::EncryptThenMac].map(|order| (number, order))
    });
    let old = aead.map(|number| (number, MacOrder::MacThenEncrypt)).chain(both);
    new.chain(old.map(|(number, order)| tls12(number, order)))
}

impl Made {
    /// The handshake in its order: the client's hello, all of the server's, the rest of the client's.
    fn begin(&self) -> Reader {
        let mut reader = Reader::new(self.log.clone(), CLIENT);
        let (hello, rest) = self.handshake[0].split_at(record(22, &client_hello(CLIENT)).len());
        reader.feed(TlsRole::Client, hello);
        reader.feed(TlsRole::Server, &self.handshake[1]);
        reader.feed(TlsRole::Client, rest);
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
