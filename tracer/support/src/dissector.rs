//! Decoding of a capture by tshark with our dissectors in Lua. Of its outputs only PDML keeps the messages of one packet apart.

use crate::committed::repository;
use crate::messages::{Carried, Message, Messages};
use crate::tshark::{self, attribute};
use std::path::{Path, PathBuf};

/// A dissector, and what its fields are called.
pub struct Dissector {
    /// The script and the protocol.
    pub name: &'static str,
    /// Comes last of each message.
    pub message: &'static str,
    /// Topic or key expression.
    pub topic: &'static str,
    /// Bytes of the payload.
    pub payload_len: &'static str,
    /// Comes between the last part of a message in parts, which is counted, and the message itself, which is not.
    pub whole: &'static str,
}

/// The dissector for Zenoh.
pub const ZENOH: Dissector = Dissector {
    name: "zenoh",
    message: "zenoh.message",
    topic: "zenoh.keyexpr",
    payload_len: "zenoh.payload_len",
    whole: "zenoh.fragment.count",
};

/// The dissector for NATS.
pub const NATS: Dissector = Dissector {
    name: "nats",
    message: "nats.message",
    topic: "nats.subject",
    payload_len: "nats.payload_len",
    whole: "",
};

/// The dissector for ZMTP.
pub const ZMTP: Dissector = Dissector {
    name: "zmtp",
    message: "zmtp.message",
    topic: "zmtp.topic",
    payload_len: "zmtp.payload_len",
    whole: "",
};

/// The dissector for DDS-XRCE.
pub const XRCE: Dissector = Dissector {
    name: "xrce",
    message: "xrce.message",
    topic: "xrce.topic",
    payload_len: "xrce.payload_len",
    whole: "xrce.fragment.count",
};

/// The folder of the dissectors.
pub fn folder() -> PathBuf {
    repository("dissectors").canonicalize().expect("the folder of the dissectors")
}

/// True if this tshark has a dissector of that name itself. Ours then leaves it alone.
pub fn has_own(name: &str) -> bool {
    is_listed(&tshark::output(tshark::command().args(["-G", "protocols"])), name)
}

/// True if `tshark -G protocols` lists a protocol: its names, the one for filters last, and in later versions than 4.0 whether it is on.
pub fn is_listed(protocols: &str, name: &str) -> bool {
    protocols.lines().any(|line| line.split('\t').nth(2) == Some(name))
}

/// tshark's output with one of our dissectors.
pub fn read_with(dissector: &str, capture: &Path, args: &[&str]) -> String {
    read_with_scripts(&[folder().join(dissector).with_extension("lua")], capture, args)
}

/// tshark's output with these scripts, which must give it nothing to complain about.
pub fn read_with_scripts(scripts: &[PathBuf], capture: &Path, args: &[&str]) -> String {
    let scripts = scripts.iter().map(|script| format!("lua_script:{}", script.display()));
    let mut command = tshark::command();
    command
        .args(scripts.flat_map(|script| ["-X".to_owned(), script]))
        // Some ports of the captures are registered for other protocols.
        .args(["-o", "tcp.try_heuristic_first:TRUE", "-r"])
        .arg(capture)
        .args(args);
    tshark::quiet_output(&mut command)
}

impl Dissector {
    /// The messages of a capture, by direction: as read once, or as Wireshark does, which opens a file without
    /// building a tree and comes back later.
    pub fn read(&self, capture: &Path, passes: usize) -> Messages {
        let args = if passes == 1 { ["-Y", self.name] } else { ["-2", "-n"] };
        let pdml = read_with(self.name, capture, &[&args[..], &["-T", "pdml"]].concat());
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

fn unescape(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&#x27;", "'").replace("&apos;", "'").replace("&amp;", "&")
}
