//! Real traffic of Micro XRCE-DDS, recorded by `captures/record.sh`.

use std::collections::BTreeMap;
use wirelap_events::Transport;
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::{Side, by_name};
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::pcap::packets;
use wirelap_test_support::player::{Chunk, Player};

const AGENT: u16 = 8888;

/// Topic and length of the samples of one way.
type Samples = Vec<(String, u64)>;

fn capture(name: &str) -> Vec<Vec<Chunk>> {
    let folder = of_protocols("xrce/captures");
    let pcap = std::fs::read(folder.join(name).with_extension("pcap")).unwrap();
    // The packets with bytes between each client's port and the agent's, in order. Side A is the client.
    let mut conversations: BTreeMap<u16, Vec<Chunk>> = BTreeMap::new();
    for packet in packets(&pcap).iter().filter(|packet| packet.payload_len > 0) {
        assert_eq!(packet.payload.len(), packet.payload_len, "captured whole");
        let side = if packet.is_to(AGENT) { Side::A } else { Side::B };
        let chunk = Chunk::whole(side, &packet.payload);
        conversations.entry(packet.client(AGENT)).or_default().push(chunk);
    }
    conversations.into_values().collect()
}

/// The samples that clients sent, and that they received.
fn samples(name: &str, transport: Transport) -> (Samples, Samples) {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for chunks in capture(name) {
        let player = Player::new(by_name("xrce").unwrap(), transport, false).play(&chunks);
        assert!(player.is_complete());
        let mut payload = 0;
        for found in &player.found {
            assert!(!found.text.contains("opaque"), "{}", found.text);
            let word = |key: &str| found.text.split(' ').find_map(|word| word.strip_prefix(key));
            let bytes = word("payload=").map_or(0, |n| n.parse::<u64>().unwrap());
            payload += bytes;
            let Some(topic) = word("topic=") else { continue };
            assert!(!found.text.ends_with(" dup"));
            let len = word("message=").map_or(bytes, |n| n.parse().unwrap());
            let way = if found.side == Side::A { &mut sent } else { &mut received };
            way.push((topic.to_owned(), len));
            assert_eq!(std::mem::take(&mut payload), len, "the parts of a sample");
        }
        assert_eq!(payload, 0, "bytes of no sample");
    }
    (sent, received)
}

/// `HelloWorld` has a number and a string of 16 characters with its length and its end.
fn hello(count: usize) -> Samples {
    vec![("HelloWorldTopic".to_owned(), 4 + 4 + 17); count]
}

#[test]
fn samples_of_reliable_streams() {
    assert_eq!(samples("reliable", Transport::Udp), (hello(5), hello(5)));
}

#[test]
fn samples_of_best_effort_streams() {
    assert_eq!(samples("best-effort", Transport::Udp), (hello(5), hello(5)));
}

#[test]
fn samples_over_tcp() {
    assert_eq!(samples("tcp", Transport::Tcp), (hello(5), hello(5)));
}

#[test]
fn a_sample_in_fragments() {
    let (sent, received) = samples("fragments", Transport::Udp);
    // A number and a string of 50 000 characters.
    assert_eq!(sent, received);
    assert_eq!(sent.len(), 1);
    assert!((50_000..50_020).contains(&sent[0].1), "{sent:?}");
}

#[test]
fn every_datagram_is_recognised_at_the_usual_port() {
    for name in ["reliable", "best-effort", "fragments"] {
        for chunk in capture(name).iter().flatten() {
            let choice = choose(Transport::Udp, &chunk.bytes, false, [40_000, AGENT]);
            let ProtocolChoice::Protocol(protocol) = choice else {
                panic!("{choice:?} {}", chunk.bytes.escape_ascii())
            };
            assert_eq!(protocol.name(), "xrce");
        }
    }
}

#[test]
fn a_session_is_recognised_at_any_port() {
    for (name, transport) in [("reliable", Transport::Udp), ("tcp", Transport::Tcp)] {
        for chunks in capture(name) {
            let bytes: Vec<u8> =
                chunks.iter().take(2).flat_map(|chunk| chunk.bytes.clone()).collect();
            let head = if transport == Transport::Udp { &chunks[0].bytes } else { &bytes };
            let choice = choose(transport, head, true, [1, 2]);
            assert!(
                matches!(choice, ProtocolChoice::Protocol(p) if p.name() == "xrce"),
                "{choice:?}"
            );
        }
    }
}
