//! Captures that others made: nothing of them is changed, and their packets tell of messages as those of recordings do.

use crate::told::{compare, tshark};
use crate::{annotate, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// By tcpdump, of µs and ns, on Ethernet; the messages that packets tell of there, at least.
const CAPTURES: [(&str, usize); 8] = [
    ("tracer/protocols/tests/kafka/captures/kcat.pcap", 10),
    ("tracer/protocols/tests/opcua/captures/plain.pcap", 10),
    ("tracer/protocols/tests/rtps/captures/small.pcap", 10),
    ("tracer/protocols/tests/xrce/captures/reliable.pcap", 4),
    ("tracer/protocols/tests/captured/captures/nats.pcap", 100),
    ("tracer/protocols/tests/captured/captures/zmtp.pcap", 100),
    ("tracer/protocols/tests/dissectors/captures/zenoh-tcp.pcap", 40),
    ("tracer/cli/tests/hosts/client.pcap.gz", 100),
];

fn capture(name: &str) -> PathBuf {
    root().join(name)
}

/// Reads of each packet the fields that no copy may change.
fn packets(file: &Path) -> String {
    let fields = ["number", "time_epoch", "len", "cap_len", "encap_type", "md5_hash"]
        .map(|name| format!("frame.{name}"));
    let mut words = vec!["-o", "frame.generate_md5_hash:TRUE", "-T", "fields"];
    words.extend(fields.iter().flat_map(|field| ["-e", field]));
    tshark(file, &words)
}

/// Reads with capinfos the times and the number of packets of a file.
fn infos(file: &Path) -> Vec<String> {
    let words = ["-T", "-r", "-t", "-c", "-u", "-a", "-e", "-o", "-E", "-S"];
    let output = Command::new("capinfos").args(words).arg(file).output().expect("capinfos");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // Its name and its kind differ.
    text.trim_end().split('\t').skip(2).map(str::to_owned).collect()
}

/// Returns the complaints of tshark, but for what packets tell, and comments, which it lists too.
fn complaints(file: &Path) -> String {
    let all = tshark(file, &["-q", "-z", "expert"]);
    let all = all.split("\nComments (").next().unwrap();
    let lines = all.lines().filter(|line| line.starts_with(' ') && !line.contains(" wirelap "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn packets_of_others_tell_of_their_messages_and_are_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    for (name, least) in CAPTURES {
        let file = capture(name);
        let copy = folder.path().join("copy.pcapng");
        annotate(&file, &copy);
        assert_eq!(packets(&copy), packets(&file), "{name}");
        assert_eq!(infos(&copy), infos(&file), "{name}");
        assert_eq!(complaints(&copy), complaints(&file), "{name}");
        let wrong = "wirelap.unreadable || _ws.lua.error || (wirelap && _ws.malformed)";
        assert_eq!(tshark(&copy, &["-2", "-Y", wrong]), "", "{name}");
        let told = compare(&copy);
        assert!(told >= least, "{name}: {told}");
    }
}

fn wireshark(program: &str, words: &[&str], files: &[&Path]) {
    let output = Command::new(program).args(words).args(files).output().expect(program);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Two interfaces of µs and ns, of two kinds of link, comments: written by Wireshark's own programs, and read by them from the
/// copy.
#[test]
fn what_wireshark_wrote_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (ethernet, raw, merged) =
        (path("ethernet.pcapng"), path("raw.pcap"), path("merged.pcapng"));
    let comments = ["-a", "3:somebody's comment", "-a", "20:message in a bottle"];
    let about = ["--capture-comment", "of the file"];
    wireshark(
        "editcap",
        &[comments, [about[0], about[1], "-F", "pcapng"]].concat(),
        &[&capture(CAPTURES[0].0), &ethernet],
    );
    let without_link = ["-F", "nsecpcap", "-T", "rawip", "-C", "14"];
    wireshark("editcap", &without_link, &[&capture(CAPTURES[4].0), &raw]);
    wireshark("mergecap", &["-a", "-w"], &[&merged, &ethernet, &raw]);
    let copy = path("copy.pcapng");
    annotate(&merged, &copy);
    assert_eq!(packets(&copy), packets(&merged));
    assert_eq!(infos(&copy), infos(&merged));
    let interfaces = |file: &Path| {
        tshark(
            file,
            &["-T", "fields", "-e", "frame.interface_id", "-e", "frame.interface_description"],
        )
    };
    assert_eq!(interfaces(&copy), interfaces(&merged));
    assert!(compare(&copy) > 100);
    let comments = |file: &Path| tshark(file, &["-T", "fields", "-e", "frame.comment"]);
    let told = comments(&copy);
    let told: Vec<&str> = told.lines().collect();
    assert!(
        told[2].starts_with("somebody's comment") && told[19].starts_with("message in a bottle")
    );
    // What Wireshark's programs write of the copy is told anew, once.
    let (saved, again) = (path("saved.pcapng"), path("again.pcapng"));
    wireshark("editcap", &[], &[&copy, &saved]);
    annotate(&saved, &again);
    assert_eq!(comments(&again), comments(&copy));
}

#[test]
fn of_a_file_that_is_cut_what_can_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("cut.pcap"), folder.path().join("copy.pcapng"));
    let whole = fs::read(capture(CAPTURES[4].0)).unwrap();
    fs::write(&file, &whole[..whole.len() * 3 / 4]).unwrap();
    annotate(&file, &copy);
    let before = packets(&capture(CAPTURES[4].0));
    let after = packets(&copy);
    assert!(before.starts_with(&after));
    assert!(after.len() * 5 > before.len(), "{} of {}", after.len(), before.len());
    assert!(compare(&copy) > 50);
}
