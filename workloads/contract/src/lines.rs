//! The lines that a workload prints.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `READY {json}`: the process can do its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its process id; for a broker that is a child process, the child's.
    pub pid: u32,
    /// The address that it listens on or is connected to, with the real port; empty for DDS.
    pub endpoint: String,
    /// Versions of the library and of the broker, by name.
    pub versions: BTreeMap<String, String>,
    /// Library settings that bear on the figures, by the library's own names.
    pub settings: BTreeMap<String, String>,
}

/// `DONE {json}`: the process has done its work or was told to stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Messages sent, warm-up not counted; `None` if a foreign program does not tell.
    pub sent: Option<u64>,
    /// Messages received, warm-up not counted; `None` if a foreign program does not tell.
    pub received: Option<u64>,
    /// Messages that came more than once.
    pub duplicates: u64,
    /// `CLOCK_MONOTONIC` of the first counted message, 0 if there was none.
    pub first_ns: u64,
    /// `CLOCK_MONOTONIC` of the last counted message, 0 if there was none.
    pub last_ns: u64,
    /// Round-trip times of a `ping`.
    pub rtt: Option<RttSummary>,
    /// Payload bits a second as a foreign program itself measured them.
    pub payload_bit_per_s: Option<f64>,
}

/// Round-trip times, untrimmed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttSummary {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Median after dropping samples outside the 1st..99th percentile, as published comparisons do.
    pub trimmed_p50_ns: u64,
    /// Times and how often each came, in order, so that several runs can be taken together. The first and the last are
    /// exact, the others within 0.1 %.
    pub times_ns: Vec<(u64, u64)>,
}

/// A line that is not what was expected.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It starts with the right word but its JSON is not right.
    #[error("a workload printed a malformed {word} line: {source}")]
    Malformed {
        /// `READY` or `DONE`.
        word: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Ready {
    /// The first word of the line.
    pub const WORD: &'static str = "READY";

    /// The line, without its end.
    pub fn to_line(&self) -> String {
        to_line(Self::WORD, self)
    }

    /// Reads the line; `None` if it is another kind of line.
    ///
    /// # Errors
    /// If its JSON is not right.
    pub fn from_line(line: &str) -> Result<Option<Ready>, LineError> {
        from_line(Self::WORD, line)
    }
}

impl Done {
    /// The first word of the line.
    pub const WORD: &'static str = "DONE";

    /// The line, without its end.
    pub fn to_line(&self) -> String {
        to_line(Self::WORD, self)
    }

    /// Reads the line; `None` if it is another kind of line.
    ///
    /// # Errors
    /// If its JSON is not right.
    pub fn from_line(line: &str) -> Result<Option<Done>, LineError> {
        from_line(Self::WORD, line)
    }
}

fn to_line(word: &str, value: &impl Serialize) -> String {
    // Maps with string keys and plain fields: serialising them cannot fail.
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
        let ready = Ready {
            pid: 7,
            endpoint: "127.0.0.1:1883".into(),
            versions: [("rumqttd".into(), "0.20.0".into())].into(),
            settings: BTreeMap::new(),
        };
        assert_eq!(Ready::from_line(&ready.to_line()).unwrap(), Some(ready));
        let done = Done { sent: Some(3), rtt: Some(RttSummary::default()), ..Done::default() };
        assert_eq!(Done::from_line(&done.to_line()).unwrap(), Some(done));
    }

    #[test]
    fn other_lines_are_told_apart_from_broken_ones() {
        assert_eq!(Ready::from_line("hello").unwrap(), None);
        assert!(Ready::from_line("READY {").is_err());
    }
}
