//! Servers that went while clients were connected to them.

use std::net::SocketAddr;
use wirelap_events::{Comm, Nanos, Pid, ProcessEnd};

/// Signals by which a process is asked to end: SIGHUP, SIGINT and SIGTERM.
const ENDING_SIGNALS: [u32; 3] = [1, 2, 15];

/// A program that ends because of a signal may say so by its exit code: the signal and this much.
const EXIT_CODE_OF_SIGNAL: u32 = 128;

/// Servers of a row that are told of, the last ones.
pub(super) const MAX_SERVERS_TOLD: usize = 4;

/// A server that went while clients were connected to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerGone {
    /// Address of the server.
    pub address: SocketAddr,
    /// Process of the server and its name, as far as they are known.
    pub process: Option<(Pid, Option<Comm>)>,
    /// End of that process; `None` if that was not seen.
    pub end: Option<ProcessEnd>,
    /// Time from the observation's beginning until it went.
    pub after: Nanos,
    /// The connections that ended with it.
    pub connections: u64,
    /// The clients of the first of these, each once.
    pub clients: Vec<(Pid, Comm)>,
    /// Others depend on it: it is a broker, or passes messages on.
    pub is_broker: bool,
    /// A client lives on.
    pub is_outlived: bool,
    /// Attempts to connect since that were refused.
    pub refused: u64,
    /// Time from then until another process accepted a connection there, and which.
    pub again: Option<(Nanos, (Pid, Comm))>,
}

impl ServerGone {
    /// True if it ended as a process does that is asked to, or of its own accord.
    pub(super) fn meant_to_end(&self) -> bool {
        self.end.is_some_and(|end| {
            let asked = |signal: u32| ENDING_SIGNALS.contains(&signal);
            let by_code = end.code().and_then(|code| code.checked_sub(EXIT_CODE_OF_SIGNAL));
            end.signal().is_some_and(asked) || by_code.is_some_and(asked) || end.code() == Some(0)
        })
    }
}
