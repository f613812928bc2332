//! Conversations in protocols that are none of ours, composed from their specifications.

// Lengths and counters here are small.
#![allow(clippy::cast_possible_truncation)]

mod databases;
mod datagrams;
mod industrial;
mod nameless;
mod services;
mod streams;
mod texts;

use databases::{cassandra, memcached, memcached_binary, mongodb, mysql, tds, tns};
use datagrams::{answer, datagrams, question};
use industrial::{dicom, dnp3, enip, iec104, modbus, s7};
use nameless::nameless;
use services::{bgp, diameter, ldap, openvpn, rtmp, smb, thrift};
use streams::streams;
use texts::texts;
use wirelap_test_support::random::Random;

/// A conversation: who says what, one message after the other.
pub struct Talk {
    pub name: &'static str,
    /// The protocol's own port.
    pub port: u16,
    pub is_udp: bool,
    /// Messages, and whether the client says them.
    pub said: Vec<(bool, Vec<u8>)>,
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A length of `width` bytes, high byte first, before the body.
fn sized(width: usize, body: &[u8]) -> Vec<u8> {
    join(&[&(body.len() as u64).to_be_bytes()[8 - width..], body])
}

/// The same, low byte first.
fn sized_le(width: usize, body: &[u8]) -> Vec<u8> {
    join(&[&(body.len() as u64).to_le_bytes()[..width], body])
}

fn be16(n: usize) -> [u8; 2] {
    (n as u16).to_be_bytes()
}

fn be32(n: usize) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

fn le16(n: usize) -> [u8; 2] {
    (n as u16).to_le_bytes()
}

fn le32(n: usize) -> [u8; 4] {
    (n as u32).to_le_bytes()
}

/// One exchange: what the client says, and what is answered.
type Turn<'a> = &'a mut dyn FnMut(usize, &mut Random) -> (Vec<u8>, Vec<u8>);

const TURNS: usize = 30;

/// An opening, then turns. What is empty is not said.
fn talk(name: &'static str, port: u16, opening: Vec<(bool, Vec<u8>)>, turn: Turn<'_>) -> Talk {
    let mut random = Random::new(u64::from(port) + 7);
    let mut said = opening;
    for n in 0..TURNS {
        let (up, down) = turn(n, &mut random);
        said.extend([(true, up), (false, down)].into_iter().filter(|(_, bytes)| !bytes.is_empty()));
    }
    Talk { name, port, is_udp: false, said }
}

fn udp(talk: Talk) -> Talk {
    Talk { is_udp: true, ..talk }
}

/// All of them.
pub fn all() -> Vec<Talk> {
    let mut all = vec![
        modbus("Modbus", |n| n, false),
        modbus("Modbus, one transaction", |_| 1, false),
        modbus("Modbus, whose transaction is as long as a request", |_| 10, false),
        modbus("Modbus, whose requests and answers are as long as that", |_| 10, true),
        modbus("Modbus that counts far", |n| n * 257 + 4, true),
        openvpn("OpenVPN over TCP", true, 60),
        openvpn("OpenVPN over TCP, long", true, 900),
        s7(),
        rtmp(),
        talk("DNS over TCP", 53, Vec::new(), &mut |n, _| {
            (sized(2, &question(n)), sized(2, &answer(n)))
        }),
        smb(),
        bgp(),
        ldap(),
        mysql(),
        tds(),
        tns(),
        iec104(),
        dnp3(),
        enip(),
        diameter(),
        cassandra(),
        mongodb(),
        thrift(),
        dicom(),
        memcached(),
        memcached_binary(),
    ];
    all.extend(texts());
    all.extend(nameless());
    all.extend(streams());
    all.extend(datagrams());
    all
}
