//! Frames ↔ bytes.

use super::error::{StreamError, shown};
use super::facts::{AgentState, Hello};
use super::raw::{RawFrame, answer_bytes, kind, read_raw};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, Read, Write};
use std::mem;
use wirelap_events::Nanos;
use wirelap_recording::{RecordBlock, RecordPacker, RecordUnpacker, Unpacked};

/// The line that an agent's stream begins with.
const FIRST_LINE: &[u8] = b"wirelap agent 2\n";

/// Beginning of the line that asks for the program; the architecture of the host follows.
const PUSH: &[u8] = b"wirelap push ";

/// Beginning of the first line of any version.
const ANY_VERSION: &[u8] = b"wirelap agent ";

/// The most bytes before the first line: what a login shell says.
const MAX_GREETING: usize = 64 << 10;

/// A unit of an agent's stream.
#[derive(Debug)]
pub enum Frame {
    /// Introduction of the agent.
    Hello(Hello),
    /// Observations.
    Records(RecordBlock),
    /// The answer to a ping: its number, the agent's clock, and the nanoseconds by which the oscillator's clock is ahead of it.
    Answer(u64, Nanos, i64),
    /// The agent's account of itself.
    State(AgentState),
    /// Why it ends.
    End(String),
    /// So many events were left out on the way, because the connection was too slow.
    Lost(u64),
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
    pub fn answer(&mut self, number: u64, at: Nanos, ahead: i64) -> io::Result<()> {
        self.frame(kind::ANSWER, &answer_bytes(number, at, ahead))
    }

    /// Writes what the agent says of itself.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn state(&mut self, state: &AgentState) -> io::Result<()> {
        self.json(kind::STATE, state)
    }

    /// Writes that so many events were left out on the way.
    ///
    /// # Errors
    /// Nobody reads the stream.
    pub fn lost(&mut self, count: u64) -> io::Result<()> {
        self.frame(kind::LOST, &count.to_le_bytes())
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
        RawFrame { kind, bytes }.write_to(&mut self.out)?;
        self.out.flush()
    }
}

/// Reads frames.
pub struct AgentReader<R> {
    from: R,
    bytes: Vec<u8>,
    unpacker: Unpacker,
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
                    unpacker: Unpacker::default(),
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
                return Err(StreamError::over());
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
            self.read = self.read.saturating_add(5);
            let kind = read_raw(&mut self.from, &mut self.bytes)?;
            self.read = self.read.saturating_add(self.bytes.len() as u64);
            if let Some(frame) = self.unpacker.frame(RawFrame { kind, bytes: &self.bytes })? {
                return Ok(frame);
            }
        }
    }

    /// The next frame as it is, for those who pass it on.
    ///
    /// # Errors
    /// The stream ends, or a frame is too long.
    pub fn next_raw(&mut self) -> Result<RawFrame<'_>, StreamError> {
        let kind = read_raw(&mut self.from, &mut self.bytes)?;
        Ok(RawFrame { kind, bytes: &self.bytes })
    }
}

/// Unpacks the frames of one agent.
#[derive(Debug, Default)]
pub(super) struct Unpacker(RecordUnpacker);

impl Unpacker {
    /// The content of a frame; `None` if its kind is not known.
    pub(super) fn frame(&mut self, raw: RawFrame<'_>) -> Result<Option<Frame>, StreamError> {
        Ok(Some(match raw.kind {
            kind::HELLO => Frame::Hello(json(raw.bytes, "a greeting")?),
            kind::RECORDS => self.records(raw.bytes)?,
            kind::ANSWER => {
                let (number, at, ahead) =
                    raw.answer().ok_or(StreamError::Malformed("an answer"))?;
                Frame::Answer(number, at, ahead)
            }
            kind::STATE => Frame::State(json(raw.bytes, "a state")?),
            kind::END => Frame::End(shown(raw.bytes)),
            kind::LOST => {
                let count = raw.bytes.try_into().map_err(|_| StreamError::Malformed("a count"))?;
                Frame::Lost(u64::from_le_bytes(count))
            }
            _ => return Ok(None),
        }))
    }

    /// The records of a frame. Those of a block that cannot be read without one that was left out are lost.
    fn records(&mut self, bytes: &[u8]) -> Result<Frame, StreamError> {
        let damaged = StreamError::Malformed("records that cannot be unpacked");
        Ok(match self.0.unpack(bytes).ok_or(damaged)? {
            Unpacked::Records(block) => Frame::Records(block),
            Unpacked::Unreadable { events } => Frame::Lost(events),
        })
    }
}

fn json<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T, StreamError> {
    serde_json::from_slice(bytes).map_err(|_| StreamError::Malformed(what))
}

#[cfg(test)]
mod tests {
    use super::super::error::STREAM_VERSION;
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
            records.event(&Event { at: Nanos(at), cpu: Cpu(1), body });
        }
        writer.records(&mut records).unwrap();
        writer.records(&mut records).unwrap();
        writer.answer(7, Nanos(8), -9).unwrap();
        writer.lost(5).unwrap();
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
        assert!(matches!(reader.next_frame().unwrap(), Frame::Answer(7, Nanos(8), -9)));
        assert!(matches!(reader.next_frame().unwrap(), Frame::Lost(5)));
        let Frame::State(state) = reader.next_frame().unwrap() else { panic!() };
        assert_eq!(state.at, 9);
        assert!(matches!(reader.next_frame().unwrap(), Frame::End(why) if why == "the end"));
        assert!(matches!(reader.next_frame(), Err(StreamError::Ended(_))));
        assert!(reader.bytes_read() > 0);
    }

    #[test]
    fn a_frame_that_is_passed_on_stays_as_it_is_and_tells_how_many_events_it_has() {
        let bytes = stream(b"");
        let first_line = format!("wirelap agent {STREAM_VERSION}\n");
        assert_eq!(first_line.as_bytes(), FIRST_LINE);
        let mut reader = AgentReader::begin(bytes.as_slice(), |_| Ok(())).unwrap();
        let (mut passed_on, mut events, mut answers) =
            (FIRST_LINE.to_vec(), Vec::new(), Vec::new());
        while let Ok(raw) = reader.next_raw() {
            let mut tagged = Vec::new();
            raw.tagged(&mut tagged);
            assert_eq!(RawFrame::of_tagged(&tagged), Some(raw));
            events.push(raw.events());
            answers.extend(raw.answer());
            raw.write_to(&mut passed_on).unwrap();
        }
        assert_eq!(passed_on, bytes);
        assert_eq!((events, answers), (vec![0, 999, 0, 0, 0, 0], vec![(7, Nanos(8), -9)]));
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
