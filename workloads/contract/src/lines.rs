//! The lines `READY`, `DONE` and `TRUTH` that a workload prints on stdout.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `READY {json}`: the process can do its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyLine {
    /// The process id; that of the child if the broker runs as a child process.
    pub pid: u32,
    /// The address that the process listens on or is connected to, with the real port; empty for DDS.
    pub endpoint: String,
    /// Versions of the library and of the broker, by name.
    pub versions: BTreeMap<String, String>,
    /// The settings that affect the figures, by their names in the library.
    pub settings: BTreeMap<String, String>,
}

/// `DONE {json}`: the process has done its work, or was asked to stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Messages sent, without the warm-up; `None` if a program of another project does not report it.
    pub sent: Option<u64>,
    /// Messages received, without the warm-up; `None` if a program of another project does not report it.
    pub received: Option<u64>,
    /// Messages that were received more than once.
    pub duplicates: u64,
    /// The time of the first counted message in nanoseconds (`CLOCK_MONOTONIC`); 0 if there was none.
    pub first_ns: u64,
    /// The time of the last counted message in nanoseconds (`CLOCK_MONOTONIC`); 0 if there was none.
    pub last_ns: u64,
    /// Round-trip times of a `ping`, or how long the connections of a `connect` took to open.
    pub rtt: Option<RttSummary>,
    /// Payload bits a second that a program of another project has measured itself.
    pub payload_bit_per_s: Option<f64>,
}

/// The distribution of round-trip times, or of other times that a workload measures itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttSummary {
    /// The number of times.
    pub count: u64,
    /// The smallest time.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The largest time.
    pub max_ns: u64,
    /// The median without the times outside the 1st to 99th percentile, as published comparisons report it.
    pub trimmed_p50_ns: u64,
    /// The times and how often each occurred, in ascending order, so that several runs can be pooled. The first and the last are exact,
    /// the others within 0.1 %.
    pub times_ns: Vec<(u64, u64)>,
}

/// A line that cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line starts with the right word, but its JSON is not valid.
    #[error("a workload printed a malformed {word} line: {source}")]
    Malformed {
        /// `READY` or `DONE`.
        word: &'static str,
        /// The error of the JSON.
        source: serde_json::Error,
    },
}

impl ReadyLine {
    /// The first word of the line.
    pub const WORD: &'static str = "READY";

    /// The line without its line break.
    pub fn to_line(&self) -> String {
        to_line(Self::WORD, self)
    }

    /// Parses a line; `None` if the line starts with another word.
    ///
    /// # Errors
    /// The JSON of the line is not valid.
    pub fn from_line(line: &str) -> Result<Option<ReadyLine>, LineError> {
        from_line(Self::WORD, line)
    }
}

impl Done {
    /// The first word of the line.
    pub const WORD: &'static str = "DONE";

    /// The line without its line break.
    pub fn to_line(&self) -> String {
        to_line(Self::WORD, self)
    }

    /// Parses a line; `None` if the line starts with another word.
    ///
    /// # Errors
    /// The JSON of the line is not valid.
    pub fn from_line(line: &str) -> Result<Option<Done>, LineError> {
        from_line(Self::WORD, line)
    }
}

/// `TRUTH BASE64`: a part of the truth file of a workload on another host, which can share no file with whoever started it.
pub mod truth_line {
    use super::{BASE64_STANDARD_NO_PAD, Engine};

    /// The first word of the line.
    const WORD: &str = "TRUTH ";

    /// The most bytes of the file in a line.
    pub const MAX_BYTES: usize = 48 << 10;

    /// The line without its line break.
    pub fn to_line(bytes: &[u8]) -> String {
        let mut line = WORD.to_owned();
        BASE64_STANDARD_NO_PAD.encode_string(bytes, &mut line);
        line
    }

    /// The bytes of a line; `None` if it is another line.
    pub fn from_line(line: &str) -> Option<Vec<u8>> {
        BASE64_STANDARD_NO_PAD.decode(line.trim_end().strip_prefix(WORD)?).ok()
    }
}

fn to_line(word: &str, value: &impl Serialize) -> String {
    // The values have maps with string keys and plain fields only, so serialising them cannot fail.
    format!("{word} {}", serde_json::to_string(value).unwrap_or_default())
}

fn from_line<T: for<'de> Deserialize<'de>>(
    word: &'static str,
    line: &str,
) -> Result<Option<T>, LineError> {
    let Some(json) = line.trim_end().strip_prefix(word).and_then(|rest| rest.strip_prefix(' '))
    else {
        return Ok(None);
    };
    serde_json::from_str(json).map(Some).map_err(|source| LineError::Malformed { word, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let ready = ReadyLine {
            pid: 7,
            endpoint: "127.0.0.1:1883".into(),
            versions: [("rumqttd".into(), "0.20.0".into())].into(),
            settings: BTreeMap::new(),
        };
        assert_eq!(ReadyLine::from_line(&ready.to_line()).unwrap(), Some(ready));
        let done = Done { sent: Some(3), rtt: Some(RttSummary::default()), ..Done::default() };
        assert_eq!(Done::from_line(&done.to_line()).unwrap(), Some(done));
    }

    #[test]
    fn bytes_of_a_truth_file_pass_as_text() {
        let bytes: Vec<u8> = (0..=255).cycle().take(truth_line::MAX_BYTES + 1).collect();
        assert_eq!(truth_line::from_line(&truth_line::to_line(&bytes)), Some(bytes));
        for other in ["TRUTH", "TRUTH ?", "DONE {}"] {
            assert_eq!(truth_line::from_line(other), None, "{other}");
        }
    }

    #[test]
    fn other_lines_are_told_apart_from_broken_ones() {
        assert_eq!(ReadyLine::from_line("hello").unwrap(), None);
        assert!(ReadyLine::from_line("READY {").is_err());
    }
}
