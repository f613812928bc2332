//! Frames ↔ bytes.

use super::facts::{AgentState, Hello};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::mem;
use std::time::Duration;
use wirelap_events::{Nanos, human};
use wirelap_recording::{RecordBlock, RecordPacker, RecordUnpacker};

/// The line that an agent's stream begins with.
const FIRST_LINE: &[u8] = b"wirelap agent 2\n";

/// Beginning of the line that asks for the program; the architecture of the host follows.
const PUSH: &[u8] = b"wirelap push ";

/// Beginning of the first line of any version.
const ANY_VERSION: &[u8] = b"wirelap agent ";

/// The most bytes before the first line: what a login shell says.
const MAX_GREETING: usize = 64 << 10;

/// The longest frame.
const MAX_FRAME: usize = 16 << 20;

/// Longest time from the start of an agent to its first word.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(20);

/// The most characters of foreign text that are shown.
const SHOWN: usize = 100;

mod kind {
    pub const HELLO: u8 = 1;
    pub const RECORDS: u8 = 2;
    pub const ANSWER: u8 = 3;
    pub const STATE: u8 = 4;
    pub const END: u8 = 5;
}

/// A unit of an agent's stream.
#[derive(Debug)]
pub enum Frame {
    /// Introduction of the agent.
    Hello(Hello),
    /// Observations.
    Records(RecordBlock),
    /// The answer to a ping: its number, and the agent's clock.
    Answer(u64, Nanos),
    /// The agent's account of itself.
    State(AgentState),
    /// Why it ends.
    End(String),
}

/// Why a stream cannot be read.
#[derive(Debug)]
pub enum StreamError {
    /// The stream ended, or could not be read on.
    Ended(io::Error),
    /// Nothing came for [`LONGEST_SILENCE`] after its beginning.
    Silent,
    /// The stream is not that of an agent; the first line that it has.
    Foreign(String),
    /// The agent is of another version.
    OtherVersion(String),
    /// The host asks for a program that is not of its architecture, which this is.
    OtherArchitecture(String),
    /// A frame is not as it must be.
    Malformed(&'static str),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WANTED: &str =
            "the command must run `wirelap agent`, and nothing may write to its stdout afterwards";
        match self {
            StreamError::Ended(error) if error.kind() == ErrorKind::UnexpectedEof => {
                f.write_str("the connection ended")
            }
            StreamError::Ended(error) => write!(f, "the connection ended: {error}"),
            StreamError::Foreign(line) if line.is_empty() => {
                write!(f, "what answers there is not an agent of wirelap, and no text: {WANTED}")
            }
            StreamError::Foreign(line) => {
                write!(
                    f,
                    "what answers there is not an agent of wirelap, but says “{line}”: {WANTED}"
                )
            }
            StreamError::Silent => {
                write!(f, "nothing has answered within {} s: {WANTED}", LONGEST_SILENCE.as_secs())
            }
            StreamError::OtherVersion(version) => write!(
                f,
                "the agent speaks version {version} of the protocol, and this wirelap version 2: install the same version on both \
                 hosts, or use --push"
            ),
            StreamError::OtherArchitecture(its) => write!(
                f,
                "--push cannot help there: the host is {its}, and this program is {}: install wirelap there",
                std::env::consts::ARCH
            ),
            StreamError::Malformed(what) => {
                write!(f, "the agent's stream is damaged ({what})")
            }
        }
    }
}

/// Writes frames.
#[derive(Debug)]
pub struct AgentWriter<W> {
    out: W,
    scratch: Vec<u8>,
}

impl<W: Write> AgentWriter<W> {
    /// Begins the stream: that an agent is there, before it has attached its probes.
    ///
    /// # Errors
    /// Nobody reads it.
    pub fn begin(mut out: W) -> io::Result<AgentWriter<W>> {
        out.write_all(FIRST_LINE)?;
        out.flush()?;
        Ok(AgentWriter { out, scratch: Vec::new() })
    }

    /// Writes who the agent is, before anything else.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn hello(&mut self, hello: &Hello) -> io::Result<()> {
        self.json(kind::HELLO, hello)
    }

    /// Writes records, if there are any, and leaves none.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn records(&mut self, records: &mut RecordPacker) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut packed = mem::take(&mut self.scratch);
        packed.clear();
        records.move_to(&mut packed);
        let written = self.frame(kind::RECORDS, &packed);
        self.scratch = packed;
        written
    }

    /// Answers a ping.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn answer(&mut self, number: u64, at: Nanos) -> io::Result<()> {
        let mut answer = [0; 16];
        answer[..8].copy_from_slice(&number.to_le_bytes());
        answer[8..].copy_from_slice(&at.0.to_le_bytes());
        self.frame(kind::ANSWER, &answer)
    }

    /// Writes what the agent says of itself.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn state(&mut self, state: &AgentState) -> io::Result<()> {
        self.json(kind::STATE, state)
    }

    /// Writes why the agent ends.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn end(&mut self, why: &str) -> io::Result<()> {
        self.frame(kind::END, why.as_bytes())
    }

    fn json(&mut self, kind: u8, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(value)?;
        self.frame(kind, &text)
    }

    fn frame(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let len = u32::try_from(bytes.len()).map_err(|_| ErrorKind::InvalidInput)?;
        let [a, b, c, d] = len.to_le_bytes();
        self.out.write_all(&[kind, a, b, c, d])?;
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

/// Reads frames.
pub struct AgentReader<R> {
    from: R,
    bytes: Vec<u8>,
    unpacker: RecordUnpacker,
    /// Bytes of the stream that were read.
    read: u64,
}

impl<R: BufRead> AgentReader<R> {
    /// Finds the beginning of an agent's stream. `push` is called with the host's architecture if the host asks for the program.
    ///
    /// # Errors
    /// The stream ends before, or is not that of an agent, or `push` fails.
    pub fn begin(
        mut from: R,
        mut push: impl FnMut(&str) -> Result<(), StreamError>,
    ) -> Result<AgentReader<R>, StreamError> {
        let mut line = Vec::new();
        let mut first = String::new();
        let mut greeting = 0_usize;
        loop {
            line.clear();
            let most = u64::try_from(MAX_GREETING).unwrap_or(u64::MAX);
            let count = from
                .by_ref()
                .take(most)
                .read_until(b'\n', &mut line)
                .map_err(StreamError::Ended)?;
            if line == FIRST_LINE {
                return Ok(AgentReader {
                    from,
                    bytes: Vec::new(),
                    unpacker: RecordUnpacker::default(),
                    read: 0,
                });
            }
            if let Some(architecture) = line.strip_prefix(PUSH) {
                push(&shown(architecture))?;
                continue;
            }
            if let Some(version) = line.strip_prefix(ANY_VERSION) {
                return Err(StreamError::OtherVersion(shown(version)));
            }
            if first.is_empty() {
                first = shown(&line);
            }
            greeting = greeting.saturating_add(count);
            if count == 0 && first.is_empty() {
                return Err(StreamError::Ended(ErrorKind::UnexpectedEof.into()));
            }
            if count == 0 || greeting >= MAX_GREETING {
                return Err(StreamError::Foreign(first));
            }
        }
    }

    /// Bytes of the stream that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next frame.
    ///
    /// # Errors
    /// The stream ends, or a frame is not as it must be.
    pub fn next_frame(&mut self) -> Result<Frame, StreamError> {
        loop {
            let mut head = [0; 5];
            self.from.read_exact(&mut head).map_err(StreamError::Ended)?;
            let [kind, len @ ..] = head;
            let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
            if len > MAX_FRAME {
                return Err(StreamError::Malformed("a frame is too long"));
            }
            self.bytes.resize(len, 0);
            self.from.read_exact(&mut self.bytes).map_err(StreamError::Ended)?;
            self.read = self.read.saturating_add(len as u64).saturating_add(5);
            return Ok(match kind {
                kind::HELLO => Frame::Hello(self.json("a greeting")?),
                kind::RECORDS => Frame::Records(self.records()?),
                kind::ANSWER => self.answer()?,
                kind::STATE => Frame::State(self.json("a state")?),
                kind::END => Frame::End(shown(&self.bytes)),
                _ => continue,
            });
        }
    }

    fn answer(&self) -> Result<Frame, StreamError> {
        let (number, at) = self.bytes.split_at_checked(8).unwrap_or_default();
        let both = number.try_into().ok().zip(at.try_into().ok());
        let (number, at) = both.ok_or(StreamError::Malformed("an answer"))?;
        Ok(Frame::Answer(u64::from_le_bytes(number), Nanos(u64::from_le_bytes(at))))
    }

    fn json<T: DeserializeOwned>(&self, what: &'static str) -> Result<T, StreamError> {
        serde_json::from_slice(&self.bytes).map_err(|_| StreamError::Malformed(what))
    }

    fn records(&mut self) -> Result<RecordBlock, StreamError> {
        let damaged = StreamError::Malformed("records that cannot be unpacked");
        self.unpacker.unpack(&self.bytes).ok_or(damaged)
    }
}

/// Foreign text for people: one line, and not a long one.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_text =
        |line: &&str| line.chars().any(char::is_alphanumeric) && !line.contains('\u{FFFD}');
    let line = text.lines().map(str::trim).find(is_text).unwrap_or_default();
    human::clean(&line.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Body, Cpu, Event, ProcessEnd};
    use wirelap_recording::Entry;

    fn stream(greeting: &[u8]) -> Vec<u8> {
        let hello = Hello { version: "1.2".into(), host: "robot".into(), ..Hello::default() };
        let mut writer = AgentWriter::begin(Vec::new()).unwrap();
        writer.hello(&hello).unwrap();
        let mut records = RecordPacker::default();
        for at in 1..1000 {
            let body = Body::Ended(ProcessEnd::default());
            records.event(&Event { at: Nanos(at), cpu: Cpu(1), body }, false);
        }
        writer.records(&mut records).unwrap();
        writer.records(&mut records).unwrap();
        writer.answer(7, Nanos(8)).unwrap();
        writer.state(&AgentState { at: 9, ..AgentState::default() }).unwrap();
        writer.end("the end").unwrap();
        [greeting, &writer.out].concat()
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let bytes = stream(b"Welcome to robot!\n\n");
        let mut reader = AgentReader::begin(bytes.as_slice(), |_| Ok(())).unwrap();
        assert!(
            matches!(reader.next_frame().unwrap(), Frame::Hello(hello) if hello.host == "robot")
        );
        let Frame::Records(block) = reader.next_frame().unwrap() else { panic!() };
        let mut count = 0;
        assert_eq!(block.survey(|_| count += 1).unreadable, 0);
        assert_eq!(count, 999);
        assert!(matches!(block.peek(), Some(Entry::Event(event)) if event.at == Nanos(1)));
        assert!(matches!(reader.next_frame().unwrap(), Frame::Answer(7, Nanos(8))));
        let Frame::State(state) = reader.next_frame().unwrap() else { panic!() };
        assert_eq!(state.at, 9);
        assert!(matches!(reader.next_frame().unwrap(), Frame::End(why) if why == "the end"));
        assert!(matches!(reader.next_frame(), Err(StreamError::Ended(_))));
        assert!(reader.bytes_read() > 0);
    }

    #[test]
    fn what_is_no_stream_of_an_agent_is_said() {
        let text =
            |bytes: &[u8]| AgentReader::begin(bytes, |_| Ok(())).map(drop).unwrap_err().to_string();
        assert!(text(b"").contains("the connection ended"));
        assert!(text(b"hello\n\x1b[2J").contains("says “hello”"));
        assert!(text(&vec![b'x'; MAX_GREETING * 2]).contains("says “xxx"));
        assert!(text(b"wirelap agent 1\n").contains("version 1 of the protocol"));
    }

    #[test]
    fn any_damage_is_an_error_and_no_panic() {
        let whole = stream(b"");
        for at in FIRST_LINE.len()..whole.len() {
            for change in [1, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let mut reader = AgentReader::begin(bytes.as_slice(), |_| Ok(())).unwrap();
                while reader.next_frame().is_ok() {}
                let mut reader = AgentReader::begin(&whole[..at], |_| Ok(())).unwrap();
                while reader.next_frame().is_ok() {}
            }
        }
    }
}
