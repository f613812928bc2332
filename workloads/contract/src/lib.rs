//! The contract between `wirelap` and `wirelap-workload`: the command line, the lines on stdout, and the truth file. This crate uses
//! no middleware library, so that `wirelap` builds without any.
//!
//! The life of a workload process:
//!
//! 1. The process is started with the arguments of a [`Spec`].
//! 2. The process prints `READY {json}` ([`ReadyLine`]) when it can do its work: the broker listens, the
//!    subscriber's subscription is in force, the publisher is connected and (peer to peer) matched.
//! 3. A `pub` or `ping` then waits for the line `GO` on stdin. The other roles start at once.
//! 4. The process prints `DONE {json}` ([`Done`]) and exits with status 0 when its work is done, when it gets SIGTERM or SIGINT, or
//!    when its stdin ends, so that it ends with the process that has started it.
//! 5. Before `DONE`, the truth file is written if one was asked for. Where it is `-`, for a process on another host, it is printed in
//!    lines `TRUTH BASE64` ([`truth_line`]).
//! 6. On an error, the process prints one line `wirelap-workload: …` on stderr and exits with status 1.

pub mod about;
pub mod host;
pub mod lines;
pub mod spec;
pub mod topology;
pub mod truth;

pub use about::{About, Availability, Scaling, WorkloadKind, WorkloadSetting};
pub use host::{HostAddress, WorkloadHost};
pub use lines::{Done, LineError, ReadyLine, RttSummary, truth_line};
pub use spec::{DdsHistory, LinkReliability, LinkTransport, Role, Spec};
pub use topology::{Handles, SubscribedTopics, WorkloadTopology};
pub use truth::{TruthError, TruthKind, TruthReader, TruthRecord, TruthWriter};
pub use wirelap_events::stamp::{STAMP_BYTES, Stamp};
