//! The streams of an agent: its stdout and its stdin.
//!
//! ```text
//! agent → collector   "wirelap agent 1\n", then frames
//!
//! frame       kind (1 byte) | length of what follows (4 bytes, little endian) | by kind:
//!   1 hello     JSON: [`Hello`]
//!   2 records   a Zstandard frame (RFC 8878) of records as recordings have them, after the time before the first
//!   3 answer    number of the ping (8 bytes, little endian) | the agent's monotonic clock in nanoseconds (8 bytes)
//!   4 state     JSON: [`AgentState`]
//!   5 end       UTF-8: why the agent ends
//!
//! collector → agent   lines: "ping N", "place PID", "states PID", "rest true|false", "open TIME",
//!                     "close TIME"; the end of the stream ends the agent
//! ```
//! Text before the first line is what a login shell says, and is left out. Kinds that are not known are left out.
//!
//! | file | what |
//! |---|---|
//! | `frame` | frames ↔ bytes |
//! | `facts` | [`Hello`] and [`AgentState`] |
//! | `question` | [`Question`]: the lines that an agent reads |

mod facts;
mod frame;
mod question;

pub use facts::{AgentState, Hello, ProbeCount, ProcessUse};
pub(crate) use frame::shown;
pub use frame::{AgentReader, AgentWriter, Frame, LONGEST_SILENCE, StreamError};
pub use question::Question;
