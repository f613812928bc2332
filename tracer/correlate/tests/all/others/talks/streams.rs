//! `RabbitMQ`'s stream protocol (`PROTOCOL.adoc` of the plugin `rabbitmq_stream`).
//!
//! ```text
//! | u32 size | u16 command | u16 version 1 | [u32 correlation id |] fields      strings have a length of 2 bytes, arrays one of 4
//! ```

use super::{Talk, be16, be32, join, sized, talk};
use wirelap_test_support::random::Random;

const PORT: u16 = 5552;

/// A command without correlation id.
fn command(key: usize, fields: &[&[u8]]) -> Vec<u8> {
    sized(4, &join(&[&be16(key), &be16(1), &join(fields)]))
}

fn request(key: usize, id: usize, fields: &[&[u8]]) -> Vec<u8> {
    command(key, &[&be32(id), &join(fields)])
}

fn response(key: usize, id: usize, fields: &[&[u8]]) -> Vec<u8> {
    command(key | 0x8000, &[&be32(id), &be16(1), &join(fields)])
}

fn text(text: &str) -> Vec<u8> {
    sized(2, text.as_bytes())
}

fn properties(all: &[(&str, &str)]) -> Vec<u8> {
    let entries = all.iter().flat_map(|(key, value)| join(&[&text(key), &text(value)]));
    join(&[&be32(all.len()), &entries.collect::<Vec<u8>>()])
}

/// Properties, SASL, limits and the virtual host.
fn opening() -> Vec<(bool, Vec<u8>)> {
    let client = properties(&[
        ("product", "RabbitMQ Stream"),
        ("copyright", "Copyright (c) VMware, Inc. or its affiliates."),
        ("version", "1.2.0"),
        ("platform", "Java"),
        ("connection_name", "rabbitmq-stream-producer-1"),
    ]);
    let server = properties(&[("cluster_name", "rabbit@host"), ("product", "RabbitMQ")]);
    let mechanisms = join(&[&be32(2), &text("PLAIN"), &text("AMQPLAIN")]);
    let limits = join(&[&be32(1 << 20), &be32(60)]);
    let host = properties(&[("advertised_host", "127.0.0.1"), ("advertised_port", "5552")]);
    vec![
        (true, request(17, 0, &[&client])),
        (false, response(17, 0, &[&server])),
        (true, request(18, 1, &[])),
        (false, response(18, 1, &[&mechanisms])),
        (true, request(19, 2, &[&text("PLAIN"), &sized(4, b"\0guest\0guest")])),
        (false, response(19, 2, &[])),
        (false, command(20, &[&limits])),
        (true, command(20, &[&limits])),
        (true, request(21, 3, &[&text("production")])),
        (false, response(21, 3, &[&host])),
    ]
}

/// Entries of a publishing number and a message.
fn publish(n: usize, random: &mut Random) -> Vec<u8> {
    let messages: Vec<u8> = (0..10)
        .flat_map(|m| join(&[&be32(0), &be32(10 * n + m), &sized(4, &random.bytes(100))]))
        .collect();
    command(2, &[&[1], &be32(10), &messages])
}

/// A subscription and a chunk of a stream: magic and version, kind, entries, records, time, epoch, offset, CRC, lengths.
fn deliver(n: usize, random: &mut Random) -> Vec<u8> {
    let entries: Vec<u8> = (0..10).flat_map(|_| sized(4, &random.bytes(100))).collect();
    let counts = join(&[&[1, 0x50, 0], &be16(10), &be32(10)]);
    let place =
        join(&[&be32(0x19a), &random.bytes(4), &be32(0), &be32(1), &be32(0), &be32(10 * n)]);
    let tail = join(&[&random.bytes(4), &be32(entries.len()), &be32(0), &be32(0)]);
    command(8, &[&counts, &place, &tail, &entries])
}

pub fn streams() -> Vec<Talk> {
    let mut produces = opening();
    produces.push((true, request(1, 4, &[&[1], &text("producer-1"), &text("orders")])));
    produces.push((false, response(1, 4, &[])));
    let mut consumes = opening();
    let first = join(&[&[1], &text("orders"), &be16(1), &be16(10), &be32(0)]);
    consumes.push((true, request(7, 4, &[&first])));
    consumes.push((false, response(7, 4, &[])));
    vec![
        talk("RabbitMQ streams, a producer", PORT, produces, &mut |n, random| {
            let stored: Vec<u8> =
                (0..10).flat_map(|m| join(&[&be32(0), &be32(10 * n + m)])).collect();
            (publish(n, random), command(3, &[&[1], &be32(10), &stored]))
        }),
        talk("RabbitMQ streams, a consumer", PORT, consumes, &mut |n, random| {
            let offset = join(&[&text("reader-1"), &text("orders"), &be32(0), &be32(10 * n)]);
            let credit = command(9, &[&[1], &be16(1)]);
            (join(&[&credit, &command(10, &[&offset])]), deliver(n, random))
        }),
        talk("RabbitMQ streams, administration", PORT, opening(), &mut |n, _| {
            let (id, name) = (n + 4, text(&format!("stream-number-{n}")));
            let arguments = properties(&[("max-age", "6h"), ("queue-leader-locator", "balanced")]);
            match n % 6 {
                0 => (request(13, id, &[&name, &arguments]), response(13, id, &[])),
                1 => (request(11, id, &[&text("reader-1"), &name]), response(11, id, &[&[0; 8]])),
                2 => (request(28, id, &[&name]), response(28, id, &[&be32(0)])),
                3 => (request(5, id, &[&text("producer-1"), &name]), response(5, id, &[&[0; 8]])),
                4 => (request(25, id, &[&name]), response(25, id, &[&be32(0)])),
                _ => (request(14, id, &[&name]), response(14, id, &[])),
            }
        }),
        talk("RabbitMQ streams, idle", PORT, opening(), &mut |_, _| {
            (command(23, &[]), command(23, &[]))
        }),
    ]
}
