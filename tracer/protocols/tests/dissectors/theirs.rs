//! What tshark says of a capture with our dissectors. Of its outputs only PDML keeps the messages of one packet
//! apart.

use crate::{Carried, Message, Messages};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A dissector, and what its fields are called.
pub struct Dissector {
    /// The script and the protocol.
    pub name: &'static str,
    /// Comes last of each message.
    pub message: &'static str,
    pub topic: &'static str,
    pub payload_len: &'static str,
    /// Comes between the last part of a message in parts, which is counted, and the message itself, which is not.
    pub whole: &'static str,
}

/// The folder of the dissectors.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dissectors").canonicalize().unwrap()
}

/// Whether this tshark has a dissector of that name itself. Ours then leaves it alone.
pub fn has_own(name: &str) -> bool {
    let output = Command::new("tshark")
        .args(["-G", "protocols"])
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("tshark");
    is_listed(&String::from_utf8_lossy(&output.stdout), name)
}

/// Whether `tshark -G protocols` lists a protocol: its names, the one for filters last, and in later versions than 4.0 whether it is on.
pub fn is_listed(protocols: &str, name: &str) -> bool {
    protocols.lines().any(|line| line.split('\t').nth(2) == Some(name))
}

/// tshark's output with one of our dissectors.
pub fn tshark(dissector: &str, capture: &Path, args: &[&str]) -> String {
    tshark_with(&[folder().join(dissector).with_extension("lua")], capture, args)
}

/// tshark's output with these scripts. It must have nothing to complain about: that is where errors in Lua show up.
pub fn tshark_with(scripts: &[PathBuf], capture: &Path, args: &[&str]) -> String {
    let scripts = scripts.iter().map(|script| format!("lua_script:{}", script.display()));
    let output = Command::new("tshark")
        .args(scripts.flat_map(|script| ["-X".to_owned(), script]))
        // Some ports of the captures are registered for other protocols.
        .args(["-o", "tcp.try_heuristic_first:TRUE", "-r"])
        .arg(capture)
        .args(args)
        // Not the user's preferences, nor dissectors that are installed.
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("tshark");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> =
        complaints.lines().filter(|line| !line.starts_with("Running as user")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{complaints:#?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Dissector {
    /// The messages of a capture, by direction: as read once, or as Wireshark does, which opens a file without
    /// building a tree and comes back later.
    pub fn read(&self, capture: &Path, passes: usize) -> Messages {
        let args = if passes == 1 { ["-Y", self.name] } else { ["-2", "-n"] };
        let pdml = tshark(self.name, capture, &[&args[..], &["-T", "pdml"]].concat());
        let mut reading = Reading { messages: Messages::new(), ..Reading::default() };
        for line in pdml.lines().map(str::trim) {
            reading.line(self, attribute(line, "name"), || unescape(attribute(line, "show")));
        }
        reading.messages
    }
}

#[derive(Default)]
struct Reading {
    messages: Messages,
    source: u16,
    ports: (u16, u16),
    topic: Option<String>,
    payload_len: Option<u64>,
    whole: bool,
}

impl Reading {
    fn line(&mut self, fields: &Dissector, name: &str, show: impl Fn() -> String) {
        match name {
            "tcp.srcport" | "udp.srcport" => self.source = show().parse().unwrap(),
            "tcp.dstport" | "udp.dstport" => self.ports = (self.source, show().parse().unwrap()),
            name if name == fields.topic => self.topic = Some(show()),
            name if name == fields.payload_len => self.payload_len = show().parse().ok(),
            name if !name.is_empty() && name == fields.whole => self.whole = true,
            name if name == fields.message => self.end(show()),
            _ => {}
        }
    }

    fn end(&mut self, name: String) {
        let of_direction = self.messages.entry(self.ports).or_default();
        let topic = self.topic.take().unwrap_or_default();
        let carried = self.payload_len.take().map(|payload_len| Carried { topic, payload_len });
        if std::mem::take(&mut self.whole) {
            of_direction.last_mut().unwrap().carried = carried;
        } else {
            of_direction.push(Message { name, carried });
        }
    }
}

/// An attribute of the element on a line; empty if it has none.
fn attribute<'l>(line: &'l str, name: &str) -> &'l str {
    let mut parts = line.split('"');
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        if key.trim_end_matches('=').rsplit(' ').next() == Some(name) {
            return value;
        }
    }
    ""
}

fn unescape(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&#x27;", "'").replace("&apos;", "'").replace("&amp;", "&")
}
