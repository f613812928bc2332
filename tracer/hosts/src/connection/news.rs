//! News from the thread of a host.

use crate::stream::{AgentState, Hello};
use std::net::SocketAddr;
use wirelap_events::Nanos;
use wirelap_recording::RecordBlock;

/// News from the connection to a host.
#[derive(Debug)]
pub enum News {
    /// Its agent has begun.
    Hello(Hello),
    /// Observations of the agent. So many bytes of the stream were read up to here.
    Records(Box<RecordBlock>, u64),
    /// Answer to a ping: the ping's number, the agent's clock, by how much the oscillator's is ahead of that, if the host says that, and the
    /// time here. Whoever passes it on may know better when it was sent.
    Answer { number: u64, there: Nanos, ahead: Option<i64>, back: Nanos, sent: Option<Nanos> },
    /// The agent's account of itself.
    State(AgentState),
    /// The agent has ended. `is_final`: it is not started again.
    Ended { why: String, is_final: bool },
    /// So many of its events were left out on the way.
    Lost(u64),
    /// An agent waits on a host of a fleet, which has this name.
    Joined(String),
    /// The connection between these addresses carries what agents of a fleet send.
    Carrier(SocketAddr, SocketAddr),
    /// A fault of the fleet as a whole; `None` if there is none.
    Fleet(Option<String>),
}
