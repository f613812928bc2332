//! A subscriber behind a slow link, its neighbour that is not, and what their sockets and their own counts say.

use crate::LONG;
use crate::bench::poll;
use crate::hidden::hidden_packets;
use crate::islands::{Islands, read_by};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::process::{ChildStdin, Command};
use std::time::{Duration, Instant};

/// Bytes of a message.
const BYTES: usize = 1_000;

/// Publishes so many messages, 50 a second, after the first `sent`.
fn publish(lines: &mut ChildStdin, sent: u64, messages: u64) -> u64 {
    let mut next = Instant::now();
    let mut number = sent;
    poll("the end of publishing", LONG, || {
        if Instant::now() >= next {
            number += 1;
            next += Duration::from_millis(20);
            let text = format!("message {number} ");
            writeln!(lines, "{text:x<BYTES$}").unwrap();
        }
        (number == sent + messages).then_some(())
    });
    number
}

/// Runs a program in the broker's namespace, and returns what it prints.
fn printed(islands: &Islands, words: &str) -> String {
    let space = &islands.spaces[0];
    let output = Command::new("ip")
        .args(["netns", "exec", space])
        .args(words.split(' '))
        .output()
        .expect("iproute2 is installed");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The bytes in the broker's socket to an address that were not acknowledged: `Send-Q`, the third column of `ss`.
fn send_queue(islands: &Islands, address: &str) -> u64 {
    let sockets = printed(islands, &format!("ss -Htn dst {address}"));
    sockets.split_whitespace().nth(2).and_then(|bytes| bytes.parse().ok()).expect(&sockets)
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {value:#}"))
}

#[test]
fn a_subscriber_behind_a_slow_link_is_held_up_by_the_network() {
    let mut islands = Islands::new();
    let words = format!("live --plain --sample off --ports {} --by client", islands.port);
    let live = islands.bench.wirelap(&words).json().start();
    poll("the first lines of `live`", LONG, || live.has_printed().then_some(()));
    let slow = islands.client(1, "mosquitto_sub", &["-i", "slow"]).2;
    let near = islands.client(2, "mosquitto_sub", &["-i", "near"]).2;
    let (_, mut lines, _) = islands.client(0, "mosquitto_pub", &["-i", "plc", "-l"]);
    let sent = publish(&mut lines, 0, 50);
    poll("the arrival of the first", LONG, || (read_by(&slow) == sent).then_some(()));
    // It can queue 100 seconds, so that nothing is dropped.
    printed(&islands, "tc qdisc add dev s root tbf rate 80kbit burst 4kb limit 1mb");
    let sent = publish(&mut lines, sent, 600);
    let queued = send_queue(&islands, "10.83.1.2");
    let before = read_by(&slow);
    live.signal(Signal::INT);
    let ended = live.end(LONG);
    let after = read_by(&slow);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    poll("the arrival of all", LONG, || (read_by(&near) == sent).then_some(()));

    let report = islands.bench.report();
    let listed = report["slow_subscribers"]["listed"].as_array();
    let Some([one]) = listed.map(Vec::as_slice) else { panic!("{listed:#?} {}", ended.stdout) };
    assert_eq!((&one["client"], &one["topic"]), (&"slow".into(), &"a/b".into()));
    assert_eq!(one["now"]["held_up_by"], "network", "{one:#}");
    let [unsent, network, unread] = ["unsent", "in_network", "unread"]
        .map(|name| number(one, &format!("/now/{name}_messages")));
    let behind = unsent + network + unread;
    // A message is read before it is printed, and a look is half a second old at most.
    assert!(behind <= sent - before + 2 && behind + 10 >= sent - after, "{before} {after} {one:#}");
    assert!(unread <= 2, "{one:#}");
    assert!(queued > behind * BYTES as u64 / 2, "{queued} bytes in the socket: {one:#}");
    assert!(number(one, "/now/oldest_ns") > 5_000_000_000, "{one:#}");

    // What came late was followed all the same.
    let rows = report["breakdown"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["names"][0] == "slow").unwrap();
    let delivered = number(row, "/delivered");
    let result = &report["results"][0];
    let seen = format!(
        "{before} {after} {row} {} {} {}",
        result["messages"], result["trust"], report["notes"]
    );
    // Ten come a second, and a packet has a few.
    let hidden = 10 * hidden_packets(result);
    assert!(number(row, "/matched") + hidden + 1 >= delivered, "{seen}");
    assert!(delivered + hidden + 2 >= before && delivered <= after + 2, "{seen}");
    assert!(number(row, "/one_way_ns/max") > 6_000_000_000, "{row:#}");
    assert!(ended.stdout.contains("network"), "{}", ended.stdout);
}
