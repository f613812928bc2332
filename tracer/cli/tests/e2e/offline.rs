//! Recordings and captures: what was seen live is found again in the file, and Wireshark agrees.

use crate::bench::{Bench, Running};
use crate::{LONG, experts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wirelap_test_support::committed::{of_protocols, repository};
use wirelap_test_support::tshark;

/// tshark's answer, a line each.
fn tshark(file: &Path, words: &[&str]) -> Vec<String> {
    let output = tshark::output(tshark::command().arg("-r").arg(file).args(words));
    output.lines().map(str::to_owned).collect()
}

/// Wireshark finds nothing to complain about: neither errors nor warnings, nothing malformed.
fn assert_readable(file: &Path) {
    let told = tshark(file, &["-q", "-z", "expert"]).join("\n");
    let complaints = experts::complaints(&told);
    assert!(complaints.is_empty(), "{}: {told}", file.display());
}

/// Returns the part of a report that must be the same live and from a file: everything but how far it can be trusted.
fn comparable(report: &Value) -> Value {
    let mut report = report.clone();
    report["notes"] = Value::Null;
    for result in report["results"].as_array_mut().unwrap() {
        result["trust"] = Value::Null;
        for process in result["processes"].as_array_mut().unwrap() {
            // The last digit of a share may differ once it was written as text.
            let share = process["cpu_share"].as_f64();
            process["cpu_share"] = share.map(|share| format!("{share:.9}")).into();
        }
    }
    report
}

/// The port that MQTT's CONNECTs went to.
fn mqtt_port(file: &Path) -> u16 {
    let opened = "tcp.flags.syn == 1 && tcp.flags.ack == 0";
    let mut ports = tshark(file, &["-Y", opened, "-T", "fields", "-e", "tcp.dstport"]);
    ports.sort();
    ports.dedup();
    let decode: Vec<_> = ports.iter().map(|port| format!("tcp.port=={port},mqtt")).collect();
    let mut words = vec!["-Y", "mqtt.protoname == MQTT", "-T", "fields", "-e", "tcp.dstport"];
    words.extend(decode.iter().flat_map(|decode| ["-d", decode]));
    tshark(file, &words).first().expect("a CONNECT").parse().unwrap()
}

/// PUBLISH packets that tshark counts on a port.
fn published(file: &Path, port: u16) -> u64 {
    let decode = format!("tcp.port=={port},mqtt");
    let only = format!("tcp.port == {port} && mqtt.msgtype == 3");
    let words = ["-d", &decode, "-Y", &only, "-T", "fields", "-e", "mqtt.msgtype"];
    let found = tshark(file, &words);
    found.iter().map(|line| line.split(',').filter(|&kind| kind == "3").count() as u64).sum()
}

/// The packets of a recording as a classic capture with nanoseconds, and nothing else of it.
fn packets_of(recording: &[u8]) -> Vec<u8> {
    const ENHANCED: u32 = 6;
    let words = |numbers: [u32; 4]| numbers.into_iter().flat_map(u32::to_le_bytes);
    let mut out: Vec<u8> = words([0xA1B2_3C4D, 0x0004_0002, 0, 0]).collect();
    out.extend([65_535u32, 101].into_iter().flat_map(u32::to_le_bytes));
    let mut rest = recording;
    while rest.len() >= 12 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        if word(0) == ENHANCED {
            let time = u64::from(word(12)) << 32 | u64::from(word(16));
            let [seconds, part] = [time / 1_000_000_000, time % 1_000_000_000];
            let [seconds, part] = [seconds, part].map(|time| u32::try_from(time).unwrap());
            out.extend(words([seconds, part, word(20), word(24)]));
            out.extend_from_slice(&rest[28..28 + word(20) as usize]);
        }
        rest = &rest[word(4) as usize..];
    }
    out
}

pub fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}"))
}

pub fn analyze(bench: &Bench, files: &[&Path]) -> (Value, String) {
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let ended = bench.wirelap(&format!("analyze {}", files.join(" "))).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    (bench.report(), ended.stdout)
}

/// The report of `live` with these words, which records its own workloads alone.
fn recorded_live(bench: &Bench, words: &str, file: &Path) -> Value {
    let own = std::process::id();
    let words = format!(
        "live --plain --sample off {words} --rate 300 --pid {own} --pcapng {}",
        file.display()
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    bench.report()
}

#[test]
fn a_recording_gives_the_same_report_as_live() {
    let bench = Bench::new();
    let file = bench.file("trace.pcapng");
    let live =
        recorded_live(&bench, "--on mqtt,tcp,udp,zenoh-p2p --duration 3s --pcapng-payload", &file);
    let names: Vec<_> = live["results"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 4);
    let (read, _) = analyze(&bench, &[&file]);
    assert_eq!(comparable(&read), comparable(&live));
    for (read, live) in read["results"].as_array().unwrap().iter().zip(names) {
        assert!(number(live, "/messages/matched") > 500, "{live}");
        for pointer in ["/trust/events", "/trust/uncaptured_bytes", "/trust/undecoded_bytes"] {
            assert_eq!(number(read, pointer), number(live, pointer), "{pointer}");
        }
    }
    assert_readable(&file);
    let mqtt = live["results"].as_array().unwrap().iter().find(|r| r["middleware"] == "mqtt");
    let legs = published(&file, mqtt_port(&file));
    // Once to the broker, once from it; those that were under way at the end only to it.
    let sent = number(mqtt.unwrap(), "/messages/sent");
    let delivered = number(mqtt.unwrap(), "/messages/delivered");
    let experts = tshark(&file, &["-q", "-z", "expert", "-z", "conv,tcp"]).join("\n");
    assert!(legs >= sent + delivered && legs <= 2 * sent, "{legs} {sent} {delivered}: {experts}");
    // The bare packets, as tcpdump would have them.
    let bare = bench.file("bare.pcap");
    fs::write(&bare, packets_of(&fs::read(&file).unwrap())).unwrap();
    assert_eq!(tshark(&bare, &["-Y", "ip"]).len(), tshark(&file, &["-Y", "ip"]).len());
    let (packets, _) = analyze(&bench, &[&bare]);
    for (name, sent, delivered) in counts(&packets) {
        // Without the workloads' word for it, a row has its protocol's name: `zenoh`, not `zenoh-p2p`.
        let its = |row: &&Value| row["middleware"].as_str().unwrap().starts_with(&name);
        let row = live["results"].as_array().unwrap().iter().find(its);
        let row = row.unwrap_or_else(|| panic!("{name}: {live}"));
        assert_eq!(sent, number(row, "/messages/sent"), "{name}");
        // Those that were not read before the end have arrived all the same.
        let read = number(row, "/messages/delivered");
        let arrived = read..=read + never_read(row) + 4;
        assert!(arrived.contains(&delivered), "{name}: {delivered} of {arrived:?}");
    }
    bench.assert_clean();
}

#[test]
fn without_payload_no_byte_of_it_is_written_and_the_report_is_the_recorders() {
    let bench = Bench::new();
    let file = bench.file("trace.pcapng");
    let live = recorded_live(&bench, "--on mqtt --duration 2s", &file);
    assert!(number(&live, "/results/0/messages/matched") > 300);
    // The header of our workloads' payloads.
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.windows(3).any(|window| window == [0x57, 0x4C, 0xA9]));
    let lengths = tshark(&file, &["-Y", "tcp.len > 0", "-T", "fields", "-e", "frame.cap_len"]);
    assert!(lengths.len() > 600 && lengths.iter().all(|len| len == "52"), "{lengths:?}");
    assert_readable(&file);
    let (read, text) = analyze(&bench, &[&file]);
    assert_eq!(comparable(&read), comparable(&live));
    assert!(text.contains("The file has no payload"), "{text}");
    // What became of the messages is told all the same, as it was known while recording.
    assert_eq!(delivered(&file), number(&live, "/results/0/messages/matched"));
}

/// Messages in the report whose delivery a packet tells, as our dissector reads it.
fn delivered(file: &Path) -> u64 {
    let script = repository("dissectors/wirelap.lua");
    let script = format!("lua_script:{}", script.display());
    let told = ["-T", "fields", "-e", "wirelap.delivers", "-e", "wirelap.standing"];
    let lines = tshark(file, &[&["-X", &script, "-Y", "wirelap"], &told[..]].concat());
    let count = |line: &String| {
        let (delivers, standing) = line.split_once('\t').unwrap();
        let both = delivers.split(',').zip(standing.split(','));
        both.filter(|both| matches!(both, ("1" | "True", "counted"))).count() as u64
    };
    lines.iter().map(count).sum()
}

/// 4 MB a second through a broker at this port, for longer than a test takes.
fn traffic(bench: &Bench, port: u16) -> Running {
    let words =
        format!("live --plain --on mqtt --rate 4000 --payload 1K --duration 20s --port {port}");
    let traffic = bench.wirelap(&words).start();
    Bench::until_messages_flow(&traffic, LONG);
    traffic
}

#[test]
fn a_ring_of_files_keeps_the_newest_and_each_can_be_read() {
    let bench = Bench::new();
    let port = crate::free_port();
    let traffic = traffic(&bench, port);
    let ring = bench.file("ring.pcapng");
    let words = format!(
        "record -o {} --payload --duration 6s --ports {port} --rotate-size 2M --files 3",
        ring.display()
    );
    let ended = bench.wirelap(&words).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    traffic.signal(rustix::process::Signal::INT);
    traffic.end(LONG);
    let mut files: Vec<PathBuf> = fs::read_dir(ring.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcapng"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    assert_ne!(files[0].file_name().unwrap(), "ring-00001.pcapng");
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() < 4 << 20);
        assert!(!tshark(file, &["-c", "1"]).is_empty());
        let (one, _) = analyze(&bench, &[file]);
        assert_eq!(one["results"][0]["middleware"], "mqtt", "{}", file.display());
        // The last one may just have begun.
        if Some(file) != files.last() {
            assert!(number(&one, "/results/0/messages/matched") > 100);
        }
    }
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let (all, _) = analyze(&bench, &paths);
    let legs: u64 = paths.iter().map(|file| published(file, port)).sum();
    let (sent, delivered) =
        (number(&all, "/results/0/messages/sent"), number(&all, "/results/0/messages/delivered"));
    // A PUBLISH that two files share is one for neither tshark; no more than one a direction and file.
    // What the subscriber had not read yet when the recording ended, tshark counts all the same.
    assert!(legs + 8 >= sent + delivered, "{sent} + {delivered}, tshark {legs}");
    // What was delivered first may have been published before the oldest file.
    assert!(legs <= 2 * sent.max(delivered) + 8, "{sent} {delivered}, tshark {legs}");
    let unread = never_read(&all["results"][0]);
    assert!(sent.abs_diff(delivered) < 400 + unread, "{sent} {delivered}, tshark {legs}");
}

#[test]
fn a_full_disk_ends_the_recording_and_leaves_what_was_written() {
    let bench = Bench::new();
    let port = crate::free_port();
    let traffic = traffic(&bench, port);
    let folder = bench.file("small");
    fs::create_dir(&folder).unwrap();
    let words =
        format!("record -o {}/x.pcapng --payload --ports {port} --duration 15s", folder.display());
    let ended = bench.wirelap_in_tmpfs(&words, &folder, "2m").end(LONG);
    traffic.signal(rustix::process::Signal::INT);
    traffic.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let told = ended.stderr.lines().last().unwrap();
    assert!(told.contains("No space left on device") && told.contains("is readable"), "{told}");
    let kept = bench.file("kept.pcapng");
    assert!(fs::metadata(&kept).unwrap().len() > 1 << 20);
    let (read, text) = analyze(&bench, &[&kept]);
    assert!(number(&read, "/results/0/messages/matched") > 100);
    // It ends with a whole block: nothing is missing in it.
    assert!(!text.contains("the file ends in the middle"), "{text}");
    assert_readable(&kept);
}

/// Counts of `analyze`: middleware, messages sent, deliveries.
/// Messages of a row that were not seen to be read.
fn never_read(row: &Value) -> u64 {
    row["messages"]["never_read"].as_u64().unwrap_or_default()
}

fn counts(report: &Value) -> Vec<(String, u64, u64)> {
    let results = report["results"].as_array().unwrap().iter();
    let counts = results.map(|result| {
        let name = result["middleware"].as_str().unwrap().to_owned();
        (name, number(result, "/messages/sent"), number(result, "/messages/delivered"))
    });
    counts.filter(|(_, sent, _)| *sent > 0).collect()
}

/// Sessions that were recorded with tcpdump, without wirelap.
#[test]
fn captures_of_others_have_as_many_messages_as_others_count() {
    let bench = Bench::new();
    for name in ["kcat", "perf", "python"] {
        let told = fs::read_to_string(of_protocols(&format!("kafka/captures/{name}.tsv"))).unwrap();
        // By Kafka's own tools: `record`, port, direction.
        let records = |way| {
            let records = told.lines().filter(|line| line.starts_with("record"));
            records.filter(|line| line.split('\t').nth(2) == Some(way)).count() as u64
        };
        let capture = of_protocols(&format!("kafka/captures/{name}.pcap"));
        let (report, text) = analyze(&bench, &[&capture]);
        let expected = ("kafka".to_owned(), records(">"), records("<"));
        assert_eq!(counts(&report), [expected], "{name}");
        assert!(
            text.contains(
                "Stages that are not in the files, and so in no figure: send, xmit, ready"
            ),
            "{text}"
        );
    }
    let capture = of_protocols("rtps/captures/small.pcap");
    // Samples of writers that applications made: RTPS 2.5 §9.3.1.2, kinds 02 and 03.
    let words = ["-Y", "rtps.sm.id==0x15", "-T", "fields", "-e", "rtps.sm.wrEntityId.entityKind"];
    let is_user = |line: &&String| line.split(',').any(|kind| ["0x02", "0x03"].contains(&kind));
    // Each in a packet of its own.
    let samples = tshark(&capture, &words).iter().filter(is_user).count() as u64;
    assert!(samples > 10);
    let (report, _) = analyze(&bench, &[&capture]);
    assert_eq!(counts(&report), [("dds".to_owned(), samples, samples)]);
}

/// The same file through gzip and zstd, cut off, and what is no capture.
#[test]
fn files_are_read_as_they_lie_about() {
    let bench = Bench::new();
    let capture = of_protocols("kafka/captures/kcat.pcap");
    let (whole, _) = analyze(&bench, &[&capture]);
    for (program, ending) in [("gzip", "gz"), ("zstd", "zst")] {
        let packed = bench.file(&format!("packed.pcap.{ending}"));
        let output = Command::new(program).arg("-c").arg(&capture).output().expect(program);
        fs::write(&packed, output.stdout).unwrap();
        assert_eq!(counts(&analyze(&bench, &[&packed]).0), counts(&whole));
    }
    let bytes = fs::read(&capture).unwrap();
    let cut = bench.file("cut.pcap");
    fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let (report, text) = analyze(&bench, &[&cut]);
    assert_eq!(report["partial"], true);
    assert!(text.contains("the file ends in the middle of a packet"), "{text}");
    let none = bench.file("none");
    fs::write(&none, "no capture").unwrap();
    let ended = bench.wirelap(&format!("analyze {}", none.display())).end(LONG);
    assert_eq!(ended.status, Some(2));
    assert!(ended.stderr.contains("is neither pcapng nor pcap"), "{}", ended.stderr);
}

/// Wireshark's own programs copy a recording, and the copy says the same.
#[test]
fn programs_of_wireshark_copy_a_recording() {
    let bench = Bench::new();
    let file = bench.file("trace.pcapng");
    recorded_live(&bench, "--on mqtt --duration 2s --pcapng-payload", &file);
    let (read, _) = analyze(&bench, &[&file]);
    let (edited, merged) = (bench.file("edited.pcapng"), bench.file("merged.pcapng"));
    let copies = [
        ("editcap", [file.as_os_str(), edited.as_os_str()].to_vec(), &edited),
        ("mergecap", ["-w".as_ref(), merged.as_os_str(), file.as_os_str()].to_vec(), &merged),
    ];
    for (program, arguments, copy) in copies {
        let output = Command::new(program).args(arguments).output().expect(program);
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        let (again, _) = analyze(&bench, &[copy]);
        let count = |of: &Value, name: &str| of["results"][0]["messages"][name].as_u64();
        assert!(count(&read, "sent") > Some(100), "{program}");
        assert_eq!(count(&again, "sent"), count(&read, "sent"), "{program}");
        // Both leave the names behind, and with them what wirelap alone tells: on a busy machine, that the last messages were read.
        let arrived = |of: &Value| {
            let never_read = count(of, "never_read").unwrap_or_default();
            count(of, "delivered").map(|delivered| delivered + never_read)
        };
        assert_eq!(arrived(&again), arrived(&read), "{program}");
        assert!(count(&again, "delivered") > Some(100), "{program}");
    }
}

/// Bytes that a snap length took away are told; headers, and so bytes and connections, are there.
#[test]
fn captures_that_were_cut_say_so() {
    let bench = Bench::new();
    // The names that Kafka's brokers give themselves as clients are longer than what 96 bytes leave of a request.
    let captures = [
        ("kafka/captures/python", "128"),
        ("opcua/captures/plain", "96"),
        ("rtps/captures/small", "96"),
    ];
    for (name, snap) in captures {
        let whole = of_protocols(&format!("{name}.pcap"));
        let cut = bench.file("cut.pcap");
        let editcap =
            Command::new("editcap").args(["-F", "pcap", "-s", snap]).args([&whole, &cut]).status();
        assert!(editcap.expect("editcap").success());
        let (read, text) = analyze(&bench, &[&cut]);
        let told = "packets were captured only in part: messages in the missing bytes";
        assert!(text.replace("\n      ", " ").contains(told), "{name}: {text}");
        assert!(number(&read, "/results/0/trust/uncaptured_bytes") > 10_000, "{name}");
        let (before, text) = analyze(&bench, &[&whole]);
        assert!(!text.contains("captured only in part"), "{name}: {text}");
        let bytes = "/results/0/overhead/total_bytes";
        assert_eq!(number(&read, bytes), number(&before, bytes), "{name}");
    }
}
