//! The stream of `wirelap-fleet collect`: those of all agents of a fleet in one.

use super::error::{StreamError, shown};
use super::frame::{Frame, Unpacker};
use super::raw::{self, RawFrame, read_raw};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;
use wirelap_events::{Nanos, human};

/// The line that the stream begins with.
const FIRST_LINE: &[u8] = b"wirelap fleet 2\n";

/// Beginning of the first line of any version.
const ANY_VERSION: &[u8] = b"wirelap fleet ";

/// The most characters of a sentence.
const MAX_SENTENCE: usize = 400;

/// The longest first line.
const MAX_LINE: u64 = 1_024;

mod kind {
    pub const JOINED: u8 = 32;
    pub const LEFT: u8 = 33;
    pub const TROUBLE: u8 = 34;
    pub const CARRIER: u8 = 35;
    pub const ANSWERED: u8 = 36;
}

/// A unit of a fleet's stream, of the host of a number.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the largest kind, and none is kept"
)]
pub enum FleetFrame {
    /// An agent waits on a host of this name, which has the number from now on.
    Joined(String),
    /// The host's agent sends this.
    Agent(Frame),
    /// Nothing comes from the host any more; why.
    Left(String),
    /// Trouble of the fleet as a whole, whatever the number; empty if there is none any more.
    Trouble(String),
    /// The connection between these addresses carries what agents send, whatever the number.
    Carrier(SocketAddr, SocketAddr),
    /// The answer to a ping.
    Answered(PingAnswer),
}

/// The answer to a ping, which was sent and came at times of the collector's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingAnswer {
    /// The ping's number.
    pub number: u64,
    /// The clock of the host.
    pub there: Nanos,
    /// When the ping left this host.
    pub sent: Nanos,
    /// When the answer was back.
    pub back: Nanos,
}

/// Writes the stream of a fleet.
#[derive(Debug)]
pub struct FleetWriter<W>(W);

impl<W: Write> FleetWriter<W> {
    /// Begins the stream.
    ///
    /// # Errors
    /// Nobody reads it.
    pub fn begin(mut out: W) -> io::Result<FleetWriter<W>> {
        out.write_all(FIRST_LINE)?;
        out.flush()?;
        Ok(FleetWriter(out))
    }

    /// Writes that a host has this number from now on.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn joined(&mut self, host: u16, name: &str) -> io::Result<()> {
        self.frame(host, RawFrame { kind: kind::JOINED, bytes: name.as_bytes() })
    }

    /// Writes that nothing comes from a host any more.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn left(&mut self, host: u16, why: &str) -> io::Result<()> {
        self.frame(host, RawFrame { kind: kind::LEFT, bytes: why.as_bytes() })
    }

    /// Writes what is wrong with the fleet as a whole; nothing if that is over.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn trouble(&mut self, what: &str) -> io::Result<()> {
        self.frame(0, RawFrame { kind: kind::TROUBLE, bytes: what.as_bytes() })
    }

    /// Writes that a connection carries what agents send.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn carrier(&mut self, one: SocketAddr, other: SocketAddr) -> io::Result<()> {
        let bytes = format!("{one} {other}");
        self.frame(0, RawFrame { kind: kind::CARRIER, bytes: bytes.as_bytes() })
    }

    /// Writes the answer of a host to a ping.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn answered(&mut self, host: u16, answer: PingAnswer) -> io::Result<()> {
        let PingAnswer { number, there, sent, back } = answer;
        let bytes = [number, there.0, sent.0, back.0].map(u64::to_le_bytes);
        self.frame(host, RawFrame { kind: kind::ANSWERED, bytes: bytes.as_flattened() })
    }

    /// Writes that so many events of a host were left out on the way.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn lost(&mut self, host: u16, count: u64) -> io::Result<()> {
        let bytes = &count.to_le_bytes();
        self.frame(host, RawFrame { kind: raw::kind::LOST, bytes })
    }

    /// Writes a frame of a host's agent.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn frame(&mut self, host: u16, frame: RawFrame<'_>) -> io::Result<()> {
        self.0.write_all(&host.to_le_bytes())?;
        frame.write_to(&mut self.0)?;
        self.0.flush()
    }
}

/// Reads the stream of a fleet.
pub struct FleetReader<R> {
    from: R,
    bytes: Vec<u8>,
    /// By the numbers of the hosts.
    unpackers: BTreeMap<u16, Unpacker>,
}

impl<R: BufRead> FleetReader<R> {
    /// Reads the beginning.
    ///
    /// # Errors
    /// The stream is not that of a fleet, or ends.
    pub fn begin(mut from: R) -> Result<FleetReader<R>, StreamError> {
        let mut line = Vec::new();
        let count = from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if count.map_err(StreamError::Ended)? == 0 {
            return Err(StreamError::over());
        }
        if line == FIRST_LINE {
            return Ok(FleetReader { from, bytes: Vec::new(), unpackers: BTreeMap::new() });
        }
        Err(match line.strip_prefix(ANY_VERSION) {
            Some(version) => StreamError::OtherVersion(shown(version)),
            None => StreamError::Foreign(shown(&line)),
        })
    }

    /// The next frame, with the number of its host and its length.
    ///
    /// # Errors
    /// The stream ends, or a frame is not as it must be.
    pub fn next_frame(&mut self) -> Result<(u16, FleetFrame, u64), StreamError> {
        loop {
            let mut host = [0; 2];
            self.from.read_exact(&mut host).map_err(StreamError::Ended)?;
            let host = u16::from_le_bytes(host);
            let kind = read_raw(&mut self.from, &mut self.bytes)?;
            let bytes = self.bytes.as_slice();
            let frame = match kind {
                kind::JOINED => FleetFrame::Joined(shown(bytes)),
                kind::LEFT => {
                    self.unpackers.remove(&host);
                    FleetFrame::Left(sentence(bytes))
                }
                kind::TROUBLE => FleetFrame::Trouble(sentence(bytes)),
                kind::CARRIER => {
                    let (one, other) =
                        carrier(bytes).ok_or(StreamError::Malformed("a connection"))?;
                    FleetFrame::Carrier(one, other)
                }
                kind::ANSWERED => {
                    let answer = answer(bytes).ok_or(StreamError::Malformed("an answer"))?;
                    FleetFrame::Answered(answer)
                }
                _ => {
                    match self.unpackers.entry(host).or_default().frame(RawFrame { kind, bytes })? {
                        Some(frame) => FleetFrame::Agent(frame),
                        None => continue,
                    }
                }
            };
            return Ok((host, frame, bytes.len() as u64));
        }
    }
}

/// A sentence for the user.
fn sentence(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    human::clean(&text.chars().take(MAX_SENTENCE).collect::<String>())
}

fn answer(bytes: &[u8]) -> Option<PingAnswer> {
    let mut words = bytes.chunks(8).map(|word| word.try_into().map(u64::from_le_bytes).ok());
    let mut next = || words.next().flatten();
    let (number, there, sent, back) = (next()?, Nanos(next()?), Nanos(next()?), Nanos(next()?));
    Some(PingAnswer { number, there, sent, back })
}

/// The two addresses of a connection.
fn carrier(bytes: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let (one, other) = std::str::from_utf8(bytes).ok()?.split_once(' ')?;
    one.parse().ok().zip(other.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::super::error::STREAM_VERSION;
    use super::*;

    fn stream() -> Vec<u8> {
        let mut writer = FleetWriter::begin(Vec::new()).unwrap();
        writer.trouble("nobody there").unwrap();
        writer.carrier(([10, 0, 0, 1], 7).into(), "[::1]:8".parse().unwrap()).unwrap();
        writer.joined(7, "robot").unwrap();
        writer.lost(7, 3).unwrap();
        let (there, sent, back) = (Nanos(2), Nanos(3), Nanos(4));
        writer.answered(7, PingAnswer { number: 1, there, sent, back }).unwrap();
        let end = [&[5], b"the kernel ended it".as_slice()].concat();
        writer.frame(7, RawFrame::of_tagged(&end).unwrap()).unwrap();
        writer.left(7, "its agent has ended").unwrap();
        writer.0
    }

    #[test]
    fn frames_of_a_fleet_are_read_as_they_were_written() {
        let bytes = stream();
        assert!(bytes.starts_with(format!("wirelap fleet {STREAM_VERSION}\n").as_bytes()));
        let mut reader = FleetReader::begin(bytes.as_slice()).unwrap();
        let mut next = || {
            let (host, frame, _) = reader.next_frame().unwrap();
            format!("{host} {frame:?}")
        };
        let read: Vec<String> = (0..7).map(|_| next()).collect();
        let wanted = [
            "0 Trouble(\"nobody there\")",
            "0 Carrier(10.0.0.1:7, [::1]:8)",
            "7 Joined(\"robot\")",
            "7 Agent(Lost(3))",
            "7 Answered(PingAnswer { number: 1, there: Nanos(2), sent: Nanos(3), back: Nanos(4) })",
            "7 Agent(End(\"the kernel ended it\"))",
            "7 Left(\"its agent has ended\")",
        ];
        assert_eq!(read, wanted);
        assert!(matches!(reader.next_frame(), Err(StreamError::Ended(_))));
    }

    #[test]
    fn other_programs_and_versions_are_told_apart() {
        let text = |bytes: &[u8]| FleetReader::begin(bytes).map(drop).unwrap_err().to_string();
        assert!(text(b"wirelap fleet 9\n").contains("version 9 of the protocol"));
        assert!(text(b"hello\n").contains("says “hello”"));
        assert!(text(b"").contains("the connection ended"));
    }

    #[test]
    fn any_damage_is_an_error_and_no_panic() {
        let whole = stream();
        for at in FIRST_LINE.len()..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xFF;
            for bytes in [&bytes, &whole[..at]] {
                let mut reader = FleetReader::begin(bytes).unwrap();
                while reader.next_frame().is_ok() {}
            }
        }
    }
}
