//! PDUs that are longer than anything that is kept: their records are handed out as they come, and what is
//! missing in them costs no more than itself.

use wirelap_events::Transport;
use wirelap_protocols::Side;
use wirelap_protocols::connection::KEPT_BYTES;
use wirelap_protocols::kafka::PROTOCOL;
use wirelap_test_support::compose::kafka::{
    batch, fetch, fetched, heartbeat, produce, record, uniform,
};
use wirelap_test_support::exercise::check_everywhere;
use wirelap_test_support::player::{Chunk, Player};

/// Bytes of a record of 64 B, and of all before the first one of a request to `t`.
const RECORD: usize = 73;
const HEAD: usize = 99;

fn player() -> Player {
    Player::new(&PROTOCOL, Transport::Tcp, false)
}

/// As loopback sends it.
fn packets(side: Side, bytes: &[u8]) -> Vec<Chunk> {
    bytes.chunks(65_483).map(|packet| Chunk::whole(side, packet)).collect()
}

fn records(player: &Player) -> usize {
    player.found.iter().filter(|found| found.text.starts_with("Record data")).count()
}

#[test]
fn every_record_of_a_full_batch_is_found() {
    let request = produce(1, "t", &uniform(5600, 64));
    assert!(request.len() > KEPT_BYTES);
    let player = player().play(&packets(Side::A, &request));
    assert_eq!((records(&player), player.is_complete()), (5600, true));
    assert_eq!(player.texts().last(), Some(&"PartitionData data 3"));
}

#[test]
fn a_response_of_50_mb_is_not_kept() {
    let response = fetched(1, "t", &uniform(700, 1400).repeat(54));
    assert!(response.len() > 50 << 20);
    let request = Chunk::whole(Side::A, &fetch(1));
    let mut player = player();
    player.feed(&request);
    let mut fed = 0;
    for packet in packets(Side::B, &response) {
        player.feed(&packet);
        fed += packet.bytes.len();
        assert!(player.pending() < 1500, "{} bytes wait", player.pending());
        assert!(records(&player) + 50 > fed / 1407, "records wait for what comes after them");
        if fed > 2 << 20 {
            break;
        }
    }
    let chunks = [vec![request], packets(Side::B, &response)].concat();
    let player = self::player().play(&chunks);
    assert_eq!((records(&player), player.is_complete()), (700 * 54, true));
}

#[test]
fn a_value_of_1_mb_is_one_message() {
    let value = vec![b'v'; 1 << 20];
    let request = produce(1, "t", &batch(2, &[record(&value), record(b"next")].concat()));
    let player = player().play(&packets(Side::A, &request));
    assert_eq!(
        player.texts()[1..3],
        [
            "Record data 1048589 payload=1048576 topic=t-0 captured=262132",
            "Record data 11 payload=4 topic=t-0"
        ]
    );
    assert!(player.is_complete());
}

#[test]
fn packets_do_not_matter() {
    let request = produce(1, "t", &[uniform(300, 500), uniform(20, 6000)].concat());
    let mut broken = request.clone();
    broken[100_000..100_200].fill(0xFF);
    for bytes in [request, broken] {
        let chunks = [Chunk::whole(Side::A, &bytes), Chunk::whole(Side::A, &heartbeat(2))];
        for len in [1447, 3, 65_000] {
            check_everywhere(&PROTOCOL, Transport::Tcp, &chunks, || len);
        }
    }
}

/// The texts of the frames, records left out.
fn others(player: &Player) -> Vec<&str> {
    player.texts().into_iter().filter(|text| !text.starts_with("Record ")).collect()
}

#[test]
fn after_a_gap_the_rest_is_opaque_and_the_next_request_is_not() {
    let request = produce(1, "t", &uniform(5600, 64));
    let mut chunks = packets(Side::A, &request);
    chunks[2].missing = chunks[2].bytes.len() as u64;
    chunks[2].bytes.clear();
    chunks.push(Chunk::whole(Side::A, &heartbeat(2)));
    let player = player().play(&chunks);
    // Two packets of records.
    let found = records(&player);
    assert!((65_483 * 2 - HEAD).div_ceil(RECORD) == found, "{found}");
    let rest = format!("PartitionData opaque {}", request.len() - HEAD - found * RECORD);
    let others = others(&player);
    assert_eq!(others, ["ProduceRequest data 99", &rest, "HeartbeatRequest keepalive 30"]);
    assert!(player.is_complete());
}

#[test]
fn a_snap_length_shows_the_first_records() {
    let request = produce(1, "t", &uniform(5600, 64));
    let mut chunks = packets(Side::A, &request);
    for chunk in &mut chunks {
        chunk.missing = chunk.bytes.len() as u64 - 1000;
        chunk.bytes.truncate(1000);
    }
    chunks.push(Chunk::whole(Side::A, &heartbeat(2)));
    let player = player().play(&chunks);
    // The last one is known by its length.
    assert_eq!(records(&player), (1000 - HEAD).div_ceil(RECORD));
    assert_eq!(player.texts().last(), Some(&"HeartbeatRequest keepalive 30"));
    assert!(player.is_complete());
}

#[test]
fn a_flow_joined_inside_a_request_is_read_from_the_next_one_on() {
    let first = produce(1, "t", &uniform(5600, 64));
    let next = produce(2, "t", &uniform(5600, 64));
    let mut chunks = packets(Side::A, &first[200_000..]);
    chunks.extend(packets(Side::A, &next));
    let player = Player::new(&PROTOCOL, Transport::Tcp, true).play(&chunks);
    assert_eq!(player.undecoded(), first.len() as u64 - 200_000);
    assert_eq!(records(&player), 5600);
    // A saturated sender's packets start anywhere.
    let stream = [&first[200_000..], &next, &heartbeat(3), &heartbeat(4)].concat();
    let player = Player::new(&PROTOCOL, Transport::Tcp, true).play(&packets(Side::A, &stream));
    assert_eq!(records(&player), 5600);
    assert_eq!(player.texts().last(), Some(&"HeartbeatRequest keepalive 30"));
}
