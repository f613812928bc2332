//! Runs wirelap on captures, and reads what it says.

use crate::captures::Packet;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder with captures, for wirelap to analyze.
pub struct Bench(pub tempfile::TempDir);

impl Bench {
    pub fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, name: &str, packets: &[Packet]) -> PathBuf {
        let words = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 1];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for packet in packets {
            let [seconds, part] = [packet.at / 1_000_000_000, packet.at % 1_000_000_000];
            let [seconds, part] = [seconds, part].map(|time| u32::try_from(time).unwrap());
            let len = u32::try_from(packet.bytes.len()).unwrap();
            bytes.extend(
                [seconds, part, len, packet.original].into_iter().flat_map(u32::to_le_bytes),
            );
            bytes.extend(&packet.bytes);
        }
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn wirelap(&self, words: &[&str], captures: [&[Packet]; 2]) -> Output {
        let [first, second] = captures;
        let files = [self.write("client.pcap", first), self.write("server.pcap", second)];
        Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).args(files).output().unwrap()
    }

    pub fn analyze(&self, captures: [&[Packet]; 2]) -> Value {
        let output = self.wirelap(&["analyze", "--json", "-"], captures);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// One sentence and status 2.
    pub fn refused(&self, captures: [&[Packet]; 2], why: &str) {
        let output = self.wirelap(&["analyze"], captures);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.starts_with("wirelap: ") && complaint.contains(why), "{complaint}");
    }

    pub fn one(&self, packets: &[Packet]) -> Value {
        let file = self.write("one.pcap", packets);
        let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
        let output = wirelap.args(["analyze", "--json", "-"]).arg(file).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Captures by name.
    pub fn several(&self, words: &[&str], captures: &[(&str, &[Packet])]) -> Output {
        let files: Vec<_> =
            captures.iter().map(|(name, packets)| self.write(name, packets)).collect();
        of(words, &files)
    }

    pub fn report_of(&self, captures: &[(&str, &[Packet])]) -> Value {
        let output = self.several(&["analyze", "--json", "-"], captures);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

pub fn clocks(report: &Value) -> &Value {
    &report["results"][0]["trust"]["clocks"]
}

/// Milliseconds of a segment of a leg: the median.
pub fn segment(report: &Value, leg: u64, name: &str) -> Option<f64> {
    let rows = report["results"][0]["segments"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| row["leg"] == leg && row["segment"] == name);
    Some(found.next()?["p50_ns"].as_f64().unwrap() / 1e6)
}

pub fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

pub fn of(words: &[&str], files: &[PathBuf]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).args(files).output().unwrap()
}
