//! `wirelap live --replay`: files on the screen, and as lines. Needs no root.

#[allow(dead_code, reason = "the end-to-end tests use more of it")]
#[path = "e2e/screen.rs"]
mod screen;

use screen::Screen;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A capture of NATS messages.
const CAPTURE: &str = "../protocols/tests/captured/captures/nats.pcap";
/// Two captures of the same connections, on two hosts.
const HOSTS: [&str; 2] = ["tests/hosts/client.pcap.gz", "tests/hosts/server.pcap.gz"];

fn replay(folder: &Path, files: &[&str]) -> Screen {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelap"));
    command.args(["live", "--save-to"]).arg(folder).arg("--replay").args(files);
    Screen::start(folder, |slave| {
        let stream = || slave.try_clone().unwrap();
        command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap()
    })
}

fn lines(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).output().unwrap()
}

#[test]
fn a_capture_is_shown_whole_then_played_from_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let mut screen = replay(folder.path(), &[CAPTURE]);
    let whole = screen.until(&["at the end: space plays", "nats"]);
    assert!(whole.contains("‖ 1×"), "{whole}");
    screen.press("{");
    screen.until(&["‖ 1×", " 0 ns of"]);
    assert!(!screen.text().contains("at the end"));
    screen.press("++++++++");
    screen.press(" ");
    screen.until(&["256×", "at the end: space plays", "nats"]);
    screen.press("q");
    let (status, printed) = screen.end();
    assert_eq!(status, Some(0), "{printed}");
    let files = fs::read_dir(folder.path()).unwrap().flatten();
    let pictures: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|it| it == "svg"))
        .collect();
    for path in &pictures {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        let picture = fs::read_to_string(path).unwrap();
        assert!(roxmltree::Document::parse(&picture).is_ok() && picture.contains("wirelap"));
    }
    assert!(!pictures.is_empty());
}

#[test]
fn the_worst_message_is_a_key_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut screen = replay(folder.path(), &[CAPTURE]);
    screen.until(&["at the end: space plays"]);
    screen.press("{!");
    screen.until(&["the slowest message took"]);
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn captures_of_several_hosts_are_one_replay() {
    let folder = tempfile::tempdir().unwrap();
    let mut screen = replay(folder.path(), &HOSTS);
    screen.until(&["at the end: space plays", "mqtt"]);
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
}

/// The sentence is that of `analyze`, and no screen is shown.
#[test]
fn a_file_that_cannot_be_read_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, text) = (folder.path().join("empty"), folder.path().join("text"));
    fs::write(&empty, "").unwrap();
    fs::write(&text, "this is no capture").unwrap();
    let (empty, text) = (empty.to_str().unwrap(), text.to_str().unwrap());
    for file in [empty, text, "/nonexistent/trace.pcapng"] {
        let analyzed = lines(&["analyze", file]);
        let plain = lines(&["live", "--replay", file]);
        assert_eq!(plain.status.code(), analyzed.status.code());
        assert_eq!(plain.stderr, analyzed.stderr);
        let other = tempfile::tempdir().unwrap();
        let (status, printed) = replay(other.path(), &[file]).end();
        assert_eq!(status, analyzed.status.code(), "{printed}");
        let sentence = String::from_utf8_lossy(&analyzed.stderr);
        assert!(printed.replace("\r\n", "\n").contains(&*sentence), "{printed}");
        assert!(!printed.contains("\x1b[?1049h"), "{printed}");
    }
}

#[test]
fn of_a_damaged_file_what_can_be_read_is_shown_with_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(CAPTURE).unwrap();
    let cut = folder.path().join("cut.pcap");
    fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let screens = folder.path().join("screens");
    fs::create_dir(&screens).unwrap();
    let mut screen = replay(&screens, &[cut.to_str().unwrap()]);
    screen.until(&["at the end: space plays", "nats", "cut.pcap, "]);
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn without_a_terminal_it_is_one_block_of_lines() {
    let output = lines(&["live", "--replay", CAPTURE]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("MIDDLEWARE") && text.contains("nats"), "{text}");
    assert!(text.contains("note: Only packets were captured"), "{text}");
    assert_eq!(text.matches("MIDDLEWARE").count(), 1);
}

#[test]
fn what_makes_no_sense_beside_a_replay_is_refused() {
    for words in ["--on tcp", "--pid 1", "--json -", "--duration 1s", "--pcapng a", "--rate 5"] {
        let mut all = vec!["live", "--replay", CAPTURE];
        all.extend(words.split(' '));
        let output = lines(&all);
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}
