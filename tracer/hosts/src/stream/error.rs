//! Why a stream cannot be read.

use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;
use wirelap_events::human;

/// Version of the streams, which their first lines tell.
pub const STREAM_VERSION: u32 = 2;

/// Longest time from the start of an agent to its first word.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(20);

/// The most characters of foreign text that are shown.
const SHOWN: usize = 100;

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
                "the agent speaks version {version} of the protocol, and this wirelap version {STREAM_VERSION}: install the same version on both \
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

impl StreamError {
    /// The stream is over.
    pub(crate) fn over() -> StreamError {
        StreamError::Ended(ErrorKind::UnexpectedEof.into())
    }
}

/// Foreign text for people: one line, and not a long one.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_text =
        |line: &&str| line.chars().any(char::is_alphanumeric) && !line.contains('\u{FFFD}');
    let line = text.lines().map(str::trim).find(is_text).unwrap_or_default();
    human::clean(&line.chars().take(SHOWN).collect::<String>())
}
