//! What `wirelap` and `wirelap-workload` agree on: the command line, the lines on stdout, the truth
//! file. No middleware library here, so `wirelap` builds without any.
//!
//! The conversation of a workload process with whoever started it:
//!
//! 1. It is started with the arguments of a [`Spec`].
//! 2. It prints `READY {json}` ([`Ready`]) when it can do its work: the broker listens, the
//!    subscriber's subscription is in force, the publisher is connected and (peer to peer) matched.
//! 3. A `pub` or `ping` then waits for the line `GO` on stdin. Others start at once.
//! 4. It prints `DONE {json}` ([`Done`]) and exits 0 when its work is done, or when it gets SIGTERM or SIGINT,
//!    or when its stdin ends: a workload never outlives whoever started it.
//! 5. What goes wrong is one line `wirelap-workload: …` on stderr, and exit status 1.

pub mod about;
pub mod lines;
pub mod spec;
pub mod truth;

pub use about::{About, Availability, Kind, Setting};
pub use lines::{Done, LineError, Ready, RttSummary};
pub use spec::{History, LinkTransport, Reliability, Role, Spec};
pub use truth::{Truth, TruthError, TruthKind, TruthReader, TruthWriter};
pub use wirelap_events::stamp::{STAMP_BYTES, Stamp};
