//! Conversations in text files.
//!
//! ```text
//! # MQTT 5.0 §3.12                 a comment
//! transport: udp                   if it is not the protocol's first
//! joined: mid-stream               if not from the start
//! unrecognised                     nothing tells that this is the protocol
//! A c0 00                          side A sends a packet: hex bytes and "text"
//!   "more of the same packet"
//! B d0 00 ~100                     … of which 100 more bytes were not captured
//! = PINGREQ keepalive 2            the frames that must be found, in this order
//! = PINGRESP keepalive 102
//! undecoded: 0                     bytes that must be in no frame, if not 0
//! ```
//!
//! With nothing expected, and as fuzzing finds them: a `.bin` file is a [`packed`]
//! conversation, a `.fuzz` file has one on each line in hex.

use crate::committed::repository;
use crate::packed;
use crate::player::Chunk;
use std::path::{Path, PathBuf};
use wirelap_events::Transport;
use wirelap_protocols::{Protocol, Side};

/// A conversation and what must be found in it.
pub struct Transcript {
    /// Path of the transcript's file.
    pub path: PathBuf,
    /// Transport that the conversation was sent over.
    pub transport: Transport,
    /// True if the conversation was joined when it had begun.
    pub mid_stream: bool,
    /// The first packet tells that it is this protocol, whatever the ports.
    pub recognised: bool,
    /// Packets of the conversation.
    pub chunks: Vec<Chunk>,
    /// The frames that must be found in it; `None`: anything goes.
    pub frames: Option<Vec<String>>,
    /// Bytes that must be in no frame.
    pub undecoded: u64,
}

/// Every transcript of a protocol, in the order of their names.
pub fn of(protocol: &dyn Protocol) -> Vec<Transcript> {
    let folder = repository("tracer/protocols/corpus").join(protocol.name());
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(protocol, path)).collect()
}

fn read(protocol: &dyn Protocol, path: &Path) -> Vec<Transcript> {
    let bytes = std::fs::read(path).unwrap();
    match path.extension().and_then(|e| e.to_str()) {
        Some("bin") => vec![found(path, &bytes)],
        Some("fuzz") => hex_lines(&bytes).iter().map(|packed| found(path, packed)).collect(),
        Some("hex") => vec![written(protocol, path, &bytes)],
        _ => panic!("{}: neither .hex nor .bin nor .fuzz", path.display()),
    }
}

/// A packed conversation that a fuzzer made up.
fn found(path: &Path, packed: &[u8]) -> Transcript {
    let (transport, chunks) = packed::unpack(packed);
    Transcript {
        path: path.to_owned(),
        transport,
        mid_stream: false,
        recognised: false,
        chunks,
        frames: None,
        undecoded: 0,
    }
}

/// A transcript in words.
fn written(protocol: &dyn Protocol, path: &Path, bytes: &[u8]) -> Transcript {
    let mut transcript = Transcript {
        path: path.to_owned(),
        transport: protocol.transports()[0],
        mid_stream: false,
        recognised: true,
        chunks: Vec::new(),
        frames: Some(Vec::new()),
        undecoded: 0,
    };
    for (number, line) in std::str::from_utf8(bytes).unwrap().lines().enumerate() {
        transcript
            .line(line)
            .unwrap_or_else(|| panic!("{}:{}: {line}", path.display(), number + 1));
    }
    transcript
}

/// A file of byte strings in hex, one a line, with comments.
pub fn hex_lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| hex(line).unwrap()).collect()
}

impl Transcript {
    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.trim()) {
            ("", "") | ("#", _) => return Some(()),
            ("transport:", "tcp") => self.transport = Transport::Tcp,
            ("transport:", "udp") => self.transport = Transport::Udp,
            ("joined:", "mid-stream") => self.mid_stream = true,
            ("unrecognised", "") => self.recognised = false,
            ("undecoded:", count) => self.undecoded = count.parse().ok()?,
            ("=", frame) => self.frames.as_mut()?.push(frame.to_owned()),
            ("A", bytes) => return self.packet(Side::A, bytes),
            ("B", bytes) => return self.packet(Side::B, bytes),
            ("", bytes) => return self.chunks.last_mut().and_then(|chunk| append(chunk, bytes)),
            _ => return None,
        }
        Some(())
    }

    fn packet(&mut self, side: Side, bytes: &str) -> Option<()> {
        self.chunks.push(Chunk { side, bytes: Vec::new(), missing: 0 });
        append(self.chunks.last_mut()?, bytes)
    }
}

/// Adds hex bytes, `"text"` and `~missing` to a packet.
fn append(chunk: &mut Chunk, mut rest: &str) -> Option<()> {
    while let Some(first) = rest.chars().next() {
        rest = match first {
            ' ' => &rest[1..],
            '"' => {
                let (text, rest) = rest[1..].split_once('"')?;
                chunk.bytes.extend(text.as_bytes());
                rest
            }
            _ => {
                let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                match word.strip_prefix('~') {
                    Some(count) => chunk.missing += count.parse::<u64>().ok()?,
                    None => chunk.bytes.extend(hex(word)?),
                }
                rest
            }
        };
    }
    Some(())
}

fn hex(word: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        word.chars().map(|c| c.to_digit(16).map(|d| u8::try_from(d).unwrap_or(0))).collect();
    let digits = digits?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
}
