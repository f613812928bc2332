//! Compressed `WebSockets`: amqtt with a context that goes on, nats-server without one.

use crate::decode::connections;
use wirelap_events::{Frame, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::MaybeWebSocket;
use wirelap_protocols::{Connection, Side, by_name};

/// Messages from and to the clients of the server at this port, of which the first `skip` packets are missing; and whether a
/// connection lacks context.
fn messages(protocol: &str, port: u16, skip: usize) -> ([u64; 2], bool) {
    let (mut all, mut lacks) = ([0; 2], false);
    let is_server = |port: u16| [9083, 9222].contains(&port);
    for ((_, server), packets) in connections(include_bytes!("captures/websocket.pcap"), is_server)
    {
        if server != port {
            continue;
        }
        let protocol = by_name(protocol).unwrap();
        let [plain, carried] = [(); 2].map(|()| protocol.connection(Transport::Tcp));
        let mut decoder = MaybeWebSocket::new(protocol, plain, carried);
        let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, skip > 0));
        let mut at = [Offset::START; 2];
        for (from_client, bytes) in packets.iter().skip(skip) {
            let side = usize::from(!from_client);
            streams[side].feed(at[side], bytes, 0, &mut decoder, &mut |frame: &Frame<'_>| {
                let Some(data) = &frame.data else { return };
                assert_eq!(
                    data.topic,
                    if protocol.name() == "mqtt" { b"sensors/room" } else { b"sensors.room" }
                );
                all[side] += 1;
            });
            at[side] = at[side].plus(bytes.len() as u64);
        }
        if skip == 0 {
            let left = streams.map(|stream| stream.undecoded_bytes() + stream.pending_bytes());
            assert_eq!(left, [0, 0], "bytes in no frame");
        }
        lacks |= decoder.lacks_context();
    }
    (all, lacks)
}

#[test]
fn messages_are_those_that_were_sent() {
    for (line, port) in include_str!("captures/websocket.tsv").lines().skip(1).zip([9083, 9222]) {
        let [protocol, sent, got] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let expected = [sent, got].map(|count| count.parse().unwrap());
        assert_eq!(messages(protocol, port, 0), (expected, false), "{protocol}");
    }
}

#[test]
fn joined_late_what_refers_to_nothing_is_read() {
    // The handshake, and what the clients say first: six packets of each connection.
    let ([sent, got], lacks) = messages("nats", 9222, 6);
    assert!(!lacks && sent >= 27 && got >= 27, "{sent} {got}");
    // Messages that are not compressed are still read.
    let ([sent, got], lacks) = messages("mqtt", 9083, 20);
    assert!(lacks && sent < 30 && got < 30, "{sent} {got}");
}
