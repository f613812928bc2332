//! Workloads that are started, changed and stopped on the screen.

use crate::LONG;
use crate::bench::{Bench, children, poll, words_of};
use crate::screen::Screen;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";

fn live(bench: &Bench, words: &str) -> Screen {
    let folder = bench.file("screens");
    fs::create_dir(&folder).unwrap();
    let words = format!("live --save-to {} {words}", folder.display());
    let call = bench.wirelap(words.trim());
    Screen::start(&folder, |slave| call.on_terminal(slave, false))
}

#[test]
fn a_workload_is_started_changed_and_stopped_on_the_screen() {
    let bench = Bench::new();
    let own = std::process::id();
    let mut screen = live(&bench, &format!("--pid {own}"));
    screen.until(&["No middleware traffic seen yet"]);
    screen.press("x");
    screen.until(&["plain TCP"]);
    // The first one is tcp; it is started with what it has.
    screen.press(ENTER);
    screen.press(ENTER);
    screen.until(&["● 1 k msg/s, 64 B", "tcp 127.0.0.1:"]);
    // Twice the payload: the row stays.
    screen.press(&format!("{ENTER}{DOWN}{RIGHT}{ENTER}"));
    let shown = screen.until(&["● 1 k msg/s, 128 B", "tcp 127.0.0.1:"]);
    // It is one row: once in the table and once in the bars.
    let of_row = |line: &&str| line.trim_start_matches(['▶', ' ']).starts_with("tcp 127.0.0.1:");
    assert_eq!(shown.lines().filter(of_row).count(), 2, "{shown}");
    screen.press("x");
    screen.until(&["tcp              plain TCP"]);
    screen.escape();
    screen.until(&["tcp 127.0.0.1:"]);
    screen.press("q");
    let (status, printed) = screen.end();
    assert_eq!(status, Some(0), "{printed}");
    bench.assert_clean();
}

/// While tracing, the packets of the last minute are in memory.
#[test]
fn a_message_is_written_with_its_packets_while_it_is_traced() {
    for (keep, kept) in [("", true), ("--keep 0s", false)] {
        let bench = Bench::new();
        let own = std::process::id();
        let mut screen = live(&bench, &format!("--on mqtt --rate 100 --pid {own} {keep}"));
        screen.until(&["mqtt rumqttd 127.0.0.1:"]);
        screen.press("6");
        // A message is listed, and so chosen.
        screen.until(&["slowest", "publisher → subscriber"]);
        screen.press(ENTER);
        screen.until(&["in short", "(leg "]);
        screen.press("e");
        let packets = |screen: &Screen| {
            let is_packets = |path: &PathBuf| path.extension().is_some_and(|one| one == "pcapng");
            screen.files().into_iter().find(is_packets)
        };
        let written = if kept {
            // The files of the screen share their numbers, so it is not looked at any more.
            Some(poll("the file of the packets", LONG, || packets(&screen)))
        } else {
            screen.until(&["packets are not kept: start wirelap live with --keep 60s"]);
            assert_eq!(packets(&screen), None);
            None
        };
        screen.press("q");
        let (status, printed) = screen.end();
        assert_eq!(status, Some(0), "{printed}");
        if let Some(path) = written {
            let words = format!("analyze {} --json -", path.display());
            let ended = bench.wirelap(&words).end(LONG);
            assert_eq!(ended.status, Some(0), "{}", ended.stderr);
            let report: Value = serde_json::from_str(&ended.stdout).unwrap();
            let messages = &report["results"][0]["messages"];
            assert!(messages["matched"].as_u64().unwrap() > 0, "{report:#}");
        }
        bench.assert_clean();
    }
}

#[test]
fn a_workload_that_cannot_start_is_a_sentence_and_the_screen_goes_on() {
    let bench = Bench::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut screen = live(&bench, &format!("--port {port}"));
    screen.press("x");
    screen.until(&["plain TCP"]);
    screen.press(ENTER);
    screen.press(ENTER);
    screen.until(&["tcp has ended: "]);
    screen.escape();
    let shown = screen.text();
    assert!(!shown.contains("workloads: ⏎"), "{shown}");
    screen.press("q");
    let (status, printed) = screen.end();
    assert_eq!(status, Some(0), "{printed}");
    bench.assert_clean();
}

#[test]
fn who_only_watches_starts_nothing_and_has_no_other_process() {
    let bench = Bench::new();
    let call = bench.wirelap("live --watch-only");
    let folder = bench.file("screens");
    fs::create_dir(&folder).unwrap();
    let mut screen = Screen::start(&folder, |slave| call.on_terminal(slave, false));
    poll("the screen", LONG, || screen.printed().contains("wirelap").then_some(()));
    assert_eq!(children(screen.pid()), [0; 0]);
    // Whatever is pressed, nothing is started and nothing written.
    screen.press("x");
    screen.press(ENTER);
    screen.press(ENTER);
    screen.escape();
    screen.press("sq");
    assert_eq!(screen.end().0, Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    bench.assert_clean();
}

#[test]
fn beside_the_screen_is_one_process_that_keeps_rights() {
    let bench = Bench::new();
    let mut screen = live(&bench, "");
    screen.until(&["wirelap"]);
    let [steward] = children(screen.pid())[..] else { panic!("one child") };
    assert!(words_of(steward).contains(&"--steward".into()));
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
    bench.assert_clean();
}
