//! Packets in place of probes: by a user with nothing but the right to capture packets, beside a capture of tcpdump.

use crate::LONG;
use crate::bench::{Bench, Call, Ended};
use serde_json::Value;
use std::fs;

/// Runs wirelap (`"$0" "$@"`) in a network of its own, beside mosquitto and a capture of the same packets. `$RIGHTS` is how it is started,
/// and `$TRAFFIC` what happens once both capture. Nothing waits for longer than 20 s.
/// A socket captures once it is bound (the column `R` of `/proc/net/packet`), which is later than it is there.
/// tcpdump has one slot for each packet, as large as its snap length, and is ended once it has written all that passed.
const STAGE: &str = r#"
until_true() { i=0; until "$@"; do i=$((i + 1)); [ $i -lt 1000 ] || exit 9; sleep 0.02; done; }
capturing() { [ "$(awk 'NR > 1 && $6 == 1' /proc/net/packet | wc -l)" -ge "$1" ]; }
passed() { awk '/lo:/ { print $3 }' /proc/net/dev; }
written() { [ "$(tcpdump -r "$FOLDER/theirs.pcap" 2> /dev/null | wc -l)" -ge "$(passed)" ]; }
listening() { grep -q ' 00000000:0000 0A ' /proc/net/tcp; }
ip link set lo up
mosquitto -p 1883 > /dev/null 2>&1 & broker=$!
until_true listening
tcpdump --immediate-mode -s 2000 -B 16384 -Z root -U -i lo -w "$FOLDER/theirs.pcap" 2> /dev/null & dump=$!
until_true capturing 1
$RIGHTS "$0" "$@" & wirelap=$!
until_true capturing 2
eval "$TRAFFIC"
kill -INT $wirelap; wait $wirelap; status=$?
until_true written
kill $dump; wait $dump
kill $broker; wait $broker
exit $status
"#;

/// Fifty messages to two subscribers.
const MESSAGES: &str = r#"
subscribe() { stdbuf -oL mosquitto_sub -d -p 1883 -q 1 -t 'plant/#' -C 50 > "$FOLDER/sub$1" 2>&1; }
subscribed() { grep -q 'Subscribed' "$FOLDER/sub$1" 2> /dev/null; }
subscribe 1 & one=$!; subscribe 2 & two=$!
until_true subscribed 1; until_true subscribed 2
for i in $(seq 1 50); do echo "message number $i"; done | mosquitto_pub -p 1883 -q 1 -t plant/a -l
wait $one $two
"#;

/// A user with no right but the one to capture packets.
const CAPTURES_ONLY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+net_raw --ambient-caps=-all,+net_raw \
                             --bounding-set=-all,+net_raw";

fn stage(bench: &Bench, rights: &str, traffic: &str, words: &str) -> Call {
    let folder = bench.file("");
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let script = "exec unshare --net --pid --fork --kill-child --mount-proc bash -c \"$STAGE\" \"$0\" \"$@\"";
    let mut call = bench.wirelap_by(script, words);
    call.set("STAGE", STAGE);
    call.set("RIGHTS", rights);
    call.set("TRAFFIC", traffic);
    call.set("FOLDER", folder.to_str().unwrap());
    call
}

/// Analyzes the capture that tcpdump made.
fn analyzed(bench: &Bench) -> Value {
    let path = bench.file("theirs.pcap");
    let words = format!("analyze {} --json -", path.display());
    let ended = bench.wirelap(&words).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn counts(report: &Value) -> [u64; 3] {
    let messages = &report["results"][0]["messages"];
    ["sent", "delivered", "matched"].map(|name| messages[name].as_u64().unwrap())
}

/// The view is said wherever figures are, and no stage is shown that packets do not show.
fn assert_view(report: &Value) {
    let result = &report["results"][0];
    assert_eq!(
        (&result["trust"]["packets_only"], &result["view"]),
        (&true.into(), &"capture".into())
    );
    let segments = result["segments"].as_array().unwrap().iter();
    let mut names: Vec<&str> = segments.map(|row| row["segment"].as_str().unwrap()).collect();
    // From the first to the last packet of a message, and what a retransmission took.
    names.retain(|name| !["write", "loss"].contains(name));
    assert_eq!(names, ["wire", "broker_dwell", "wire"], "{result:#}");
    assert_eq!(result["processes"], Value::Array(Vec::new()));
    let notes = report["notes"].as_array().unwrap().iter();
    let is_view =
        |note: &&Value| note.as_str().is_some_and(|note| note.starts_with("Packets only:"));
    assert_eq!(notes.filter(is_view).count(), 1, "{report:#}");
    let observed = report["hooks"].as_array().unwrap().iter();
    let observed: Vec<_> = observed.filter(|hook| !hook["hook"].is_null()).collect();
    assert_eq!(observed.len(), 1, "{observed:?}");
}

fn assert_ended(ended: &Ended) {
    assert_eq!(ended.status, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn whoever_may_only_capture_packets_sees_the_messages_that_tcpdump_captured() {
    for (words, said) in [
        ("live --plain --packets-only", None),
        ("live --plain --ports 1883 --packets-only --device lo", None),
        // Nobody asked for packets: the probes cannot be attached, and that is said.
        ("live --plain", Some("The reason: attaching probes needs root")),
    ] {
        let bench = Bench::new();
        let ended = stage(&bench, CAPTURES_ONLY, MESSAGES, words).json().end(LONG);
        assert_ended(&ended);
        let report = bench.report();
        assert_eq!(counts(&report), [50, 100, 100], "{words}");
        assert_eq!(counts(&report), counts(&analyzed(&bench)), "{words}");
        assert_view(&report);
        let result = &report["results"][0];
        assert_eq!((&result["middleware"], crate::lost(result)), (&"mqtt".into(), 0));
        let instead = ended.stderr.contains("packets only, without sockets and scheduler");
        assert_eq!(instead, said.is_some(), "{}", ended.stderr);
        assert!(ended.stderr.contains(said.unwrap_or_default()), "{}", ended.stderr);
        // Each message goes to the broker once and from it twice: as many payload bytes as were sent.
        let theirs = &analyzed(&bench)["results"][0];
        let payload = "/overhead/per_message_bytes/payload";
        assert_eq!(result.pointer(payload), theirs.pointer(payload));
        let dwell = &result["segments"][1];
        assert!(dwell["p50_ns"].as_u64() > Some(0) && dwell["count"] == 100, "{dwell}");
    }
}

#[test]
fn what_only_probes_show_is_not_replaced_by_packets() {
    let bench = Bench::new();
    for words in [
        "live --plain --pid 1",
        "live --plain --by process",
        "live --plain --on tcp",
        "run latency --on tcp",
    ] {
        let script = format!("exec {CAPTURES_ONLY} \"$0\" \"$@\"");
        let ended = bench.wirelap_by(&script, words).end(LONG);
        assert_eq!(ended.status, Some(3), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("attaching probes needs root"), "{words}: {}", ended.stderr);
    }
    for words in [
        "live --packets-only --pid 1",
        "live --packets-only --on tcp",
        "live --device lo",
        "record -o a --packets-only --tls",
    ] {
        let ended = bench.wirelap(words).end(LONG);
        assert_eq!(ended.status, Some(2), "{words}: {}", ended.stderr);
    }
    let ended = bench.wirelap("live --plain --packets-only").by_nobody().end(LONG);
    assert_eq!(ended.status, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("capturing packets needs CAP_NET_RAW"), "{}", ended.stderr);
}

/// A recording of packets is read again with the same result.
#[test]
fn a_recording_of_packets_gives_the_sessions_result() {
    let bench = Bench::new();
    let recording = bench.file("ours.pcapng");
    let words = format!("record --payload --packets-only -o {}", recording.display());
    let ended = stage(&bench, CAPTURES_ONLY, MESSAGES, &words).end(LONG);
    assert_ended(&ended);
    assert!(ended.says("packets only"), "{}", ended.stdout);
    let words = format!("analyze {} --json -", recording.display());
    let ended = bench.wirelap(&words).end(LONG);
    assert_ended(&ended);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(counts(&report), [50, 100, 100]);
    let result = &report["results"][0];
    assert_eq!(
        (&result["trust"]["packets_only"], &result["view"]),
        (&true.into(), &"capture".into())
    );
    assert_eq!(result["trust"]["verdict"], "good", "{result:#}");
}

/// A core NATS subscriber and a publisher, by their text protocol.
const NATS: &str = r#"
nats-server -a 127.0.0.1 -p 4222 > /dev/null 2>&1 & nats=$!
connects() { (exec 3<>/dev/tcp/127.0.0.1/4222) 2> /dev/null; }
until_true connects
exec 3<>/dev/tcp/127.0.0.1/4222
printf 'CONNECT {"verbose":false}\r\nSUB plant.* 1\r\nPING\r\n' >&3
answered() { read -r -t 1 line <&3 && [ "${line%?}" = PONG ]; }
until_true answered
exec 4<>/dev/tcp/127.0.0.1/4222
printf 'CONNECT {"verbose":false}\r\n' >&4
for i in $(seq 100 129); do printf 'PUB plant.a 11\r\nmessage %s\r\n' "$i" >&4; done
for i in $(seq 1 30); do read -r -t 5 header <&3; read -r -t 5 text <&3; done
exec 3>&- 4>&-
kill $nats; wait $nats
"#;

#[test]
fn messages_of_nats_are_counted_exactly() {
    let bench = Bench::new();
    let words = "live --plain --ports 4222 --packets-only";
    let ended = stage(&bench, CAPTURES_ONLY, NATS, words).json().end(LONG);
    assert_ended(&ended);
    let report = bench.report();
    assert_eq!(counts(&report), [30, 30, 30], "{report:#}");
    assert_eq!(report["results"][0]["middleware"], "nats");
    assert_view(&report);
}
