//! The ledger against the device: `wirelap run` in a network of its own, whose loopback device has
//! counted nothing but the workloads' packets.

use crate::LONG;
use crate::bench::Bench;
use serde_json::Value;

/// Every middleware, with each of its brokers.
const ALL: [&str; 11] = [
    "tcp",
    "udp",
    "mqtt --broker rumqttd",
    "mqtt --broker mosquitto",
    "zenoh-p2p",
    "zenoh-brokered",
    "dds",
    "kafka",
    "nats",
    "zeromq",
    "opcua",
];

/// The effect of the network on packets.
#[derive(Clone, Copy)]
enum Network {
    Quiet,
    /// Every 25th packet of a connection is lost behind the device.
    Lossy,
    /// A queue in front of the device is too short for a burst, and the device's MTU is Ethernet's.
    Congested,
    /// The device's MTU is Ethernet's.
    Narrow,
}

impl Network {
    /// The commands that make it.
    fn setup(self) -> &'static str {
        match self {
            Network::Quiet => "",
            // Not the packets that open or end a connection: these are waited for longer than a test should.
            Network::Lossy => {
                "nft 'add chain ip wirelap in { type filter hook input priority 0 ; }; \
                 add rule ip wirelap in tcp flags & (syn | fin | rst) == 0 numgen inc mod 25 == 24 drop'"
            }
            Network::Congested => {
                "ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 200mbit burst 20k limit 40k"
            }
            Network::Narrow => "ip link set lo mtu 1500",
        }
    }
}

/// Timers send an acknowledgement or a lost packet while any task runs; what a machine does while a task runs that it keeps all probes
/// out of is not seen. Then it is tried again.
const ATTEMPTS: usize = 4;

/// Packets and bytes that the device carried, or that the ledger has.
#[derive(Debug, PartialEq)]
struct Carried {
    packets: u64,
    bytes: u64,
}

/// The device's sent bytes and packets in a line of /proc/net/dev.
fn device(line: &str) -> Carried {
    let fields: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Carried { packets: fields[9], bytes: fields[8] }
}

/// Runs once. What the device counted, and the only row of the report.
fn run(network: Network, words: &str) -> (Carried, Value) {
    let bench = Bench::new();
    let ended = bench.wirelap_counted(words, network.setup()).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{words}: {}", ended.stderr);
    let counters: Vec<Carried> = ended
        .stdout
        .lines()
        .filter_map(|line| Some(device(line.trim().strip_prefix("lo:")?)))
        .collect();
    let [before, after] = counters.as_slice() else { panic!("{words}: {}", ended.stdout) };
    let report = bench.report();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "{words}: {results:?}");
    let carried =
        Carried { packets: after.packets - before.packets, bytes: after.bytes - before.bytes };
    (carried, results[0].clone())
}

fn ledger(result: &Value) -> Carried {
    let of = |name: &str| result["overhead"][name].as_u64().unwrap();
    Carried { packets: of("packets"), bytes: of("total_bytes") }
}

/// The ledger is the device's, to the byte. The report's row.
fn assert_equal(network: Network, words: &str) -> Value {
    let mut missed = Vec::new();
    for _ in 0..ATTEMPTS {
        let (device, result) = run(network, words);
        let ledger = ledger(&result);
        if device == ledger {
            assert_parts(&result);
            return result;
        }
        missed.push((device, ledger, result["overhead"]["parts_bytes"].to_string()));
    }
    panic!("{words}: the device and the ledger: {missed:#?}");
}

/// Parts and legs add up to the total.
fn assert_parts(result: &Value) {
    let overhead = &result["overhead"];
    let sum = |parts: &Value| -> u64 {
        parts.as_object().unwrap().values().filter_map(Value::as_u64).sum()
    };
    let total = overhead["total_bytes"].as_u64().unwrap();
    assert_eq!(sum(&overhead["parts_bytes"]), total);
    let legs = overhead["legs"].as_array().unwrap().iter();
    assert_eq!(legs.map(|leg| sum(&leg["parts_bytes"])).sum::<u64>(), total);
}

fn part(result: &Value, name: &str) -> u64 {
    result["overhead"]["parts_bytes"][name].as_u64().unwrap()
}

#[test]
fn the_ledger_is_what_the_device_carried() {
    for on in ALL {
        assert_equal(Network::Quiet, &format!("run latency --on {on} --messages 200 --warmup 20"));
    }
}

#[test]
fn the_ledger_is_what_the_device_carried_when_packets_are_lost_behind_it() {
    for on in ALL.into_iter().filter(|on| !["udp", "dds"].contains(on)) {
        let words = "--payload 1000 --rate 1000 --messages 500 --warmup 20";
        let result = assert_equal(Network::Lossy, &format!("run latency --on {on} {words}"));
        assert!(result["overhead"]["retransmissions"].as_u64() > Some(0), "{on}");
        assert!(part(&result, "retransmitted") > 0, "{on}");
    }
}

#[test]
fn the_ledger_is_what_the_device_carried_when_packets_are_lost_before_it() {
    for on in ["tcp", "mqtt --broker rumqttd"] {
        let words = "--payload 1000 --messages 2000 --warmup 20 --sample off";
        let result = assert_equal(Network::Congested, &format!("run throughput --on {on} {words}"));
        assert!(result["overhead"]["retransmissions"].as_u64() > Some(0), "{on}");
    }
}

#[test]
fn fragments_count_to_their_datagram_and_are_read_as_one() {
    for on in ["udp", "dds"] {
        let words = "--payload 5000 --messages 200 --warmup 20";
        let run = || assert_equal(Network::Narrow, &format!("run latency --on {on} {words}"));
        // Pieces that no probe saw leave are told; that is the machine's doing, as with packets that are lost.
        let is_whole = |result: &Value| result["trust"]["uncaptured_bytes"] == 0;
        let result =
            (0..4).map(|_| run()).find(is_whole).expect("every piece seen in one of four runs");
        // Pings and replies, and those of the warm-up.
        assert_eq!(part(&result, "payload"), 5000 * 2 * 220, "{on}");
    }
}
