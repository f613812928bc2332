//! Messages of AMQP 0-9-1.

/// The largest payload of a frame: brokers and clients agree on 128 KiB with the frame's own eight bytes.
const LARGEST: usize = (128 << 10) - 8;

/// A frame.
pub fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap();
    [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes(), payload, &[0xCE]].concat()
}

/// A message that a client publishes on channel 1, in as many frames as it takes.
pub fn publish(exchange: &str, key: &str, payload: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 60, 0, 40, 0, 0][..], &short(exchange), &short(key), &[0]].concat();
    with_content(1, &arguments, payload)
}

/// A message that a broker delivers on channel 1, in as many frames as it takes.
pub fn deliver(exchange: &str, key: &str, tag: u64, payload: &[u8]) -> Vec<u8> {
    deliver_on(1, [exchange, key], tag, payload)
}

/// A message of an exchange and a key that a broker delivers on a channel, in as many frames as it takes.
pub fn deliver_on(channel: u16, of: [&str; 2], tag: u64, payload: &[u8]) -> Vec<u8> {
    deliver_marked(channel, of, tag, false, payload)
}

/// A message that a broker delivers again on channel 1.
pub fn redeliver(exchange: &str, key: &str, tag: u64, payload: &[u8]) -> Vec<u8> {
    deliver_marked(1, [exchange, key], tag, true, payload)
}

fn deliver_marked(
    channel: u16,
    of: [&str; 2],
    tag: u64,
    redelivered: bool,
    payload: &[u8],
) -> Vec<u8> {
    let (tag, [exchange, key]) = (tag.to_be_bytes(), of.map(short));
    let redelivered = [u8::from(redelivered)];
    let arguments =
        [&[0, 60, 0, 60][..], &short("tag"), &tag, &redelivered, &exchange, &key].concat();
    with_content(channel, &arguments, payload)
}

/// A message that a client has asked for on channel 1 (`basic.get-ok`), of which no more are left.
pub fn got(key: &str, tag: u64, payload: &[u8]) -> Vec<u8> {
    let tag = tag.to_be_bytes();
    let arguments = [&[0, 60, 0, 71][..], &tag, &[0], &short(""), &short(key), &[0; 4]].concat();
    with_content(1, &arguments, payload)
}

/// A `basic.get` on channel 1.
pub fn get(queue: &str) -> Vec<u8> {
    frame(1, 1, &[&[0, 60, 0, 70, 0, 0][..], &short(queue), &[0]].concat())
}

/// A `basic.consume` on a channel. With an empty tag the server chooses one.
pub fn consume(channel: u16, queue: &str, tag: &str, no_wait: bool) -> Vec<u8> {
    let flags = u8::from(no_wait) << 3;
    let arguments = [&short(queue)[..], &short(tag), &[flags], &[0; 4]].concat();
    frame(1, channel, &[&[0, 60, 0, 20, 0, 0][..], &arguments].concat())
}

/// A `queue.declare` on a channel of a queue that no other connection has.
pub fn declare(channel: u16, queue: &str) -> Vec<u8> {
    frame(1, channel, &[&[0, 50, 0, 10, 0, 0][..], &short(queue), &[4], &[0; 4]].concat())
}

/// A `queue.declare-ok` on a channel of a queue with so many messages and no consumer.
pub fn declare_ok(channel: u16, queue: &str, messages: u32) -> Vec<u8> {
    let counts = [messages.to_be_bytes(), [0; 4]].concat();
    frame(1, channel, &[&[0, 50, 0, 11][..], &short(queue), &counts].concat())
}

/// A `queue.bind` on a channel to an exchange.
pub fn bind(channel: u16, queue: &str, exchange: &str) -> Vec<u8> {
    let names = [short(queue), short(exchange), short("")].concat();
    frame(1, channel, &[&[0, 50, 0, 20, 0, 0][..], &names, &[0], &[0; 4]].concat())
}

/// A `queue.bind-ok` on a channel.
pub fn bind_ok(channel: u16) -> Vec<u8> {
    frame(1, channel, &[0, 50, 0, 21])
}

/// A `basic.consume-ok` on a channel.
pub fn consume_ok(channel: u16, tag: &str) -> Vec<u8> {
    frame(1, channel, &[&[0, 60, 0, 21][..], &short(tag)].concat())
}

/// A `basic.cancel` on a channel.
pub fn cancel(channel: u16, tag: &str) -> Vec<u8> {
    frame(1, channel, &[&[0, 60, 0, 30][..], &short(tag), &[0]].concat())
}

/// A `basic.ack` on a channel, of one message or of `all` up to it.
pub fn ack(channel: u16, tag: u64, all: bool) -> Vec<u8> {
    frame(1, channel, &[&[0, 60, 0, 80][..], &tag.to_be_bytes(), &[u8::from(all)]].concat())
}

/// A `basic.nack` on channel 1 of one message, which is to be sent again.
pub fn nack(tag: u64) -> Vec<u8> {
    frame(1, 1, &[&[0, 60, 0, 120][..], &tag.to_be_bytes(), &[2]].concat())
}

/// A `tx.select`, `tx.commit` or `tx.rollback` on channel 1.
pub fn tx(what: &str) -> Vec<u8> {
    let id = match what {
        "select" => 10,
        "commit" => 20,
        _ => 30,
    };
    frame(1, 1, &[0, 90, 0, id])
}

/// A `channel.close` of a channel.
pub fn close_channel(channel: u16) -> Vec<u8> {
    frame(1, channel, &[&[0, 20, 0, 40][..], &200_u16.to_be_bytes(), &short(""), &[0; 4]].concat())
}

/// A `connection.start-ok` of a client that names its connection.
pub fn start_ok(name: &str) -> Vec<u8> {
    let len = |text: &[u8]| u32::try_from(text.len()).unwrap().to_be_bytes();
    let value = [&len(name.as_bytes())[..], name.as_bytes()].concat();
    let table = [&short("product")[..], b"S\0\0\0\x01x", &short("connection_name"), b"S", &value];
    let table = table.concat();
    let rest = [&short("PLAIN")[..], b"\0\0\0\0", &short("en_US")].concat();
    frame(1, 0, &[&[0, 10, 0, 11][..], &len(&table), &table, &rest].concat())
}

/// A message that a broker delivers on channel 1, with these headers.
pub fn deliver_with(
    [exchange, key]: [&str; 2],
    tag: u64,
    headers: &[(&str, &str)],
    payload: &[u8],
) -> Vec<u8> {
    let len = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let field = |(name, value): &(&str, &str)| {
        [&short(name)[..], b"S", &len(value.as_bytes()), value.as_bytes()].concat()
    };
    let fields: Vec<u8> = headers.iter().flat_map(field).collect();
    let properties = [&[0x20, 0][..], &len(&fields), &fields].concat();
    let names = [short(exchange), short(key)].concat();
    let arguments = [&[0, 60, 0, 60][..], &short("tag"), &tag.to_be_bytes(), &[0], &names].concat();
    with_properties(1, &arguments, &properties, payload)
}

/// A dead letter that a broker delivers on channel 1 with this key, and that was published first at `exchange` with `key`.
pub fn deliver_dead_letter(first: [&str; 2], by: &str, tag: u64, payload: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 60, 0, 60][..], &short("tag"), &tag.to_be_bytes(), &[0, 0], &short(by)];
    with_properties(1, &arguments.concat(), &dead_letter(first), payload)
}

/// A copy of a dead letter, with its headers, that a client publishes on channel 1 to the queue `to`.
pub fn publish_dead_letter(first: [&str; 2], to: &str, payload: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 60, 0, 40, 0, 0, 0][..], &short(to), &[0]];
    with_properties(1, &arguments.concat(), &dead_letter(first), payload)
}

/// Properties of a dead letter.
fn dead_letter([exchange, key]: [&str; 2]) -> Vec<u8> {
    let long = |kind: u8, bytes: &[u8]| {
        let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[kind][..], &len, bytes].concat()
    };
    let keys = long(b'A', &long(b'S', key.as_bytes()));
    let death = [
        &short("queue")[..],
        &long(b'S', b"delay"),
        &short("reason"),
        &long(b'S', b"expired"),
        &short("exchange"),
        &long(b'S', exchange.as_bytes()),
        &short("routing-keys"),
        &keys,
    ];
    let deaths = long(b'A', &long(b'F', &death.concat()));
    let headers = long(b'F', &[&short("x-death")[..], &deaths].concat());
    [&[0x20, 0][..], &headers[1..]].concat()
}

/// A message that a client publishes on channel 1, for an exchange that keeps it for so many milliseconds.
pub fn publish_delayed(exchange: &str, key: &str, delay: i32, payload: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 60, 0, 40, 0, 0][..], &short(exchange), &short(key), &[0]].concat();
    with_properties(1, &arguments, &with_delay(delay), payload)
}

/// A message that a broker delivers on channel 1, which an exchange has kept for so many milliseconds.
pub fn deliver_delayed(
    [exchange, key]: [&str; 2],
    tag: u64,
    delay: i32,
    payload: &[u8],
) -> Vec<u8> {
    let tag = tag.to_be_bytes();
    let names = [short(exchange), short(key)].concat();
    let arguments = [&[0, 60, 0, 60][..], &short("tag"), &tag, &[0], &names].concat();
    with_properties(1, &arguments, &with_delay(-delay), payload)
}

fn with_delay(milliseconds: i32) -> Vec<u8> {
    let field = [&short("x-delay")[..], b"I", &milliseconds.to_be_bytes()].concat();
    let len = u32::try_from(field.len()).unwrap().to_be_bytes();
    [&[0x20, 0][..], &len, &field].concat()
}

fn with_content(channel: u16, method: &[u8], payload: &[u8]) -> Vec<u8> {
    with_properties(channel, method, &[0, 0], payload)
}

fn with_properties(channel: u16, method: &[u8], properties: &[u8], payload: &[u8]) -> Vec<u8> {
    let size = (payload.len() as u64).to_be_bytes();
    let header = [&[0, 60, 0, 0][..], &size, properties].concat();
    let mut bytes = [frame(1, channel, method), frame(2, channel, &header)].concat();
    for part in payload.chunks(LARGEST) {
        bytes.extend(frame(3, channel, part));
    }
    bytes
}

fn short(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}
