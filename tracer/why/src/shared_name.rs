//! Names that several clients use at the same time, of whose connections a server keeps only the newest.

use std::net::IpAddr;
use wirelap_events::{Comm, Nanos, Pid};
use wirelap_limits::rules::MIN_TAKEN_BACK_ELSEWHERE;

/// Names of a row that are told of, those that were taken over most often.
pub(super) const MAX_NAMES_TOLD: usize = 4;

/// A client that uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameUser {
    /// A process of an observed host, and its name if it is known.
    Process(Pid, Option<Comm>),
    /// A host whose processes are not seen.
    Host(IpAddr),
}

/// A name that several clients use at the same time: the server closes the older connection each time.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedName {
    /// The name.
    pub name: String,
    /// The first of these clients, each once. One alone has several connections.
    pub clients: Vec<NameUser>,
    /// Number of connections that were closed.
    pub times: u64,
    /// Number of times that a client which had lost the name took it back.
    pub taken_back: u64,
    /// True if a client of the name subscribes.
    pub subscribes: bool,
    /// Time from the observation's beginning until the first connection was closed.
    pub first: Nanos,
    /// Time from the observation's beginning until the last connection was closed.
    pub last: Nanos,
}

impl SharedName {
    /// True if the clients take the name from each other. A client on another host may only have come back before its server noticed that
    /// its connection was gone.
    pub(super) fn is_contested(&self) -> bool {
        let is_here = |user: &NameUser| matches!(user, NameUser::Process(..));
        if self.clients.iter().all(is_here) {
            return self.taken_back > 0;
        }
        self.clients.len() > 1 && self.taken_back >= MIN_TAKEN_BACK_ELSEWHERE
    }
}
