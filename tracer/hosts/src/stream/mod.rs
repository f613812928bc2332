//! The streams of an agent: its stdout and its stdin.
//!
//! ```text
//! agent → collector   "wirelap agent 2\n", then frames
//!
//! frame       kind (1 byte) | length of what follows (4 bytes, little endian) | by kind:
//!   1 hello     JSON: [`Hello`]
//!   2 records   a block of a [`RecordPacker`](wirelap_recording::RecordPacker), which begins with its number of events (4 bytes, little
//!               endian), and which only who has read those before can read
//!   3 answer    number of the ping (8 bytes, little endian) | the agent's monotonic clock in nanoseconds (8 bytes)
//!   4 state     JSON: [`AgentState`]
//!   5 end       UTF-8: why the agent ends
//!   6 lost      number of events that were left out on the way (8 bytes, little endian)
//!
//! collector → agent   lines: "ping N", "place PID", "states PID", "rest true|false", "again", "carrier ADDRESS ADDRESS", "open TIME",
//!                     "close TIME"; the end of the stream ends the agent
//!
//! wirelap-fleet collect → collector   "wirelap fleet 2\n", then number of the host (2 bytes, little endian) | frame, of agents or:
//!  32 joined    UTF-8: the name of the host that has this number from now on
//!  33 left      UTF-8: why nothing comes from it any more
//!  34 trouble   UTF-8: what is wrong with the fleet as a whole; nothing once that is over
//!  35 carrier   UTF-8: two addresses, between which a connection carries what agents send
//!  36 answered  number of a ping, the host's clock, when the ping was sent and when the answer came by the collector's (8 bytes each)
//!
//! collector → wirelap-fleet collect   lines: a host's name, a blank, and a line for its agent
//! ```
//! Text before the first line is what a login shell says, and is left out. Kinds that are not known are left out.
//!
//! | file | what |
//! |---|---|
//! | `frame` | frames ↔ bytes |
//! | `error` | [`StreamError`]: why a stream cannot be read |
//! | `raw` | [`RawFrame`]: frames that are passed on, and what is in them |
//! | `fleet` | frames of several agents in one stream |
//! | `facts` | [`Hello`] and [`AgentState`] |
//! | `question` | [`Question`]: the lines that an agent reads |

mod error;
mod facts;
mod fleet;
mod frame;
mod question;
mod raw;

pub use error::{LONGEST_SILENCE, STREAM_VERSION, StreamError, shown};
pub use facts::{AgentState, Hello, ProbeCount, ProcessUse};
pub use fleet::{FleetFrame, FleetReader, FleetWriter, PingAnswer};
pub use frame::{AgentReader, AgentWriter, Frame};
pub use question::Question;
pub use raw::{RawFrame, answer_bytes};
