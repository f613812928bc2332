//! Several hosts, live: an agent on each sends what it observes, and the collector puts all of it in the order of one clock.
//!
//! ```text
//!  host `robot`                                           the collector
//! ┌───────────────────┐  stdout: hello, records, state   ┌──────────────────────────────────┐
//! │ wirelap agent     │ ───────────── ssh ─────────────▶ │ connection: a thread for a host  │
//! │  probes → records │ ◀──────────────────────────────  │ merged: one order, one clock     │──▶ events
//! └───────────────────┘  stdin: pings, questions         └──────────────────────────────────┘
//! ```
//!
//! No port is opened and nothing stays behind: what joins the two is a command such as ssh, and an agent ends with its stdin.
//!
//! | module | what |
//! |---|---|
//! | [`target`] | [`HostTarget`]: how a host is reached |
//! | [`stream`] | what an agent writes to its stdout, and reads from its stdin |
//! | `connection` | the thread of a host: starts its agent, reads what it sends, starts it again |
//! | `fleet` | a fleet of hosts as a whole |
//! | `host` | what is known of a host, and its events that wait for those of others |
//! | `windows`, `always` | windows in which all hosts send; what they send between them, too |
//! | `clock_state` | a host's clock, for the user |
//! | [`merged`] | [`MergedHosts`]: the events of all hosts in the order of this host's clock |

// What comes from another host may be any bytes, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod always;
mod clock_state;
mod connection;
mod fleet;
mod host;
pub mod merged;
pub mod stream;
pub mod target;
mod windows;

pub use connection::{Ending, last_line};
pub use merged::{HostSampling, MergedHosts};
pub use target::{HostTarget, PushedProgram};
