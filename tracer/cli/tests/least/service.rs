//! `wirelap record` as the unit of systemd starts it: with the same words, capabilities and variables.

use crate::nobody::{Place, THREE, end, poll, told, until_tracing_without_rights};
use crate::unit;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command};

/// The socket on which systemd hears of a service.
struct Systemd(UnixDatagram, PathBuf);

impl Systemd {
    fn new(place: &Place) -> Systemd {
        let path = place.own().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Systemd(socket, path)
    }

    fn start(&self, place: &Place) -> Child {
        let words = unit::command(place.own().to_str().unwrap());
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        place.wirelap(THREE, &words).env("NOTIFY_SOCKET", &self.1).spawn().unwrap()
    }

    fn hears(&self) -> String {
        let mut bytes = [0; 4096];
        let length = poll("a word of the service", || self.0.recv(&mut bytes).ok());
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }
}

fn recordings(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.own()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".pcapng")).collect();
    names.sort();
    names
}

#[test]
fn the_service_reports_ends_its_file_and_goes_on_at_the_next_start() {
    let place = Place::new();
    let systemd = Systemd::new(&place);
    for start in 1..=2 {
        let mut child = systemd.start(&place);
        let ready = systemd.hears();
        let state = ready.strip_prefix("READY=1\nSTATUS=recording to ").expect(&ready);
        assert!(state.contains("of which the newest 16 are kept"), "{state}");
        assert!(state.contains("observations are made"), "{state}");
        until_tracing_without_rights(&mut child);
        let output = end(child);
        assert!(output.status.success(), "{}", told(&output));
        let last = systemd.hears();
        assert!(last.starts_with("STOPPING=1\nSTATUS="), "{last}");
        // Each thing that it says is one line.
        let journal = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(journal.lines().count(), 3, "{journal}");
        assert_eq!(recordings(&place).len(), start, "{journal}");
    }
    assert_eq!(recordings(&place), ["record-00001.pcapng", "record-00002.pcapng"]);
    for name in recordings(&place) {
        let mut read = Command::new(place.program());
        let read = read.arg("analyze").arg(place.own().join(name)).output().unwrap();
        assert!(read.status.success(), "{}", told(&read));
        assert!(!String::from_utf8_lossy(&read.stdout).contains("damaged"));
    }
}

#[test]
fn the_oldest_files_of_earlier_starts_go_first_and_those_of_a_failed_start_stay() {
    let place = Place::new();
    let words = |files| {
        ["record", "--output", "ring.pcapng", "--rotate-size", "1G", "--continue", "--files", files]
    };
    for _ in 1..=3 {
        let mut child = place.wirelap(THREE, &words("2")).spawn().unwrap();
        until_tracing_without_rights(&mut child);
        assert!(end(child).status.success());
    }
    assert_eq!(recordings(&place), ["ring-00002.pcapng", "ring-00003.pcapng"]);
    // Nothing can be attached: what was there is still there, and the new file is not.
    let words: Vec<&str> = words("9").into_iter().chain(["--cgroup", "/nowhere"]).collect();
    let output = place.wirelap(THREE, &words).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(recordings(&place), ["ring-00002.pcapng", "ring-00003.pcapng"], "{}", told(&output));
    // Without the option, they are not touched either.
    let words = ["record", "--output", "ring.pcapng", "--rotate-size", "1G"];
    let output = place.wirelap(THREE, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
}
