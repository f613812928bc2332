//! Settings of the caller.

use std::net::IpAddr;
use wirelap_events::{Nanos, NetNs, Pid, TraceDetail};
use wirelap_figures::BreakdownQuery;
use wirelap_tls::TlsKeys;

/// Settings for joining messages, and bounds of the memory that it takes.
#[derive(Clone, Debug)]
pub struct Config {
    /// After a message was read, slower layers get this long to report.
    pub hold: Nanos,
    /// A message that is not complete after this time is given up.
    pub patience: Nanos,
    /// Protocols by port, whatever the content says: `--decode PORT=PROTO`.
    pub decode: Vec<(u16, String)>,
    /// TCP ports that programs on this host listen on, as far as that is known: of a conversation that was open before, they
    /// tell which end serves.
    pub listening: Vec<u16>,
    /// The events are packets alone, of a capture that others made: no calls are in them. A message has
    /// then arrived with its last packet, whose time stands for that of the read.
    pub packets_only: bool,
    /// The detail in which messages are observed. With [`TraceDetail::Ends`], the bytes of TCP come from its senders
    /// and not from packets ([`Body::Written`](wirelap_events::Body::Written)): that no packet of them was seen says
    /// nothing.
    pub detail: TraceDetail,
    /// From the events' clock to the wall clock of the hosts that they are from, in nanoseconds; `None` if that is not
    /// known, or they are from several.
    pub wall: Option<i64>,
    /// Hosts whose addresses are known: a server there is the same at each of them, and at the loopback address.
    pub hosts: Vec<UnobservedHost>,
    /// Deliveries tell their topic, and `Correlator::topic` its name.
    pub topics: bool,
    /// Deliveries tell the trace that their message names.
    pub trace_contexts: bool,
    /// The rows of `Snapshot::breakdown`.
    pub breakdown: BreakdownQuery,
    /// Rows that the caller names.
    pub labels: Vec<Label>,
    /// Keys that TLS connections are read with.
    pub tls_keys: TlsKeys,
    /// Conversations kept at once; beyond, the longest idle ones are given up.
    pub max_flows: usize,
    /// Bytes of memory that conversations may hold on to together; beyond, the longest idle ones are given up.
    pub max_bytes: usize,
    /// Messages kept at once; beyond, the oldest are given up.
    pub max_messages: usize,
    /// Threads whose wakeups are remembered.
    pub max_threads: usize,
    /// Observations of one kind kept of one direction of a flow; of calls that send, four times as many.
    pub max_marks: usize,
    /// Bytes and pieces that one direction of a flow may park behind a hole.
    pub max_flow_bytes: ParkingLimits,
}

impl Config {
    /// True if packets of TCP are observed.
    pub fn sees_packets(&self) -> bool {
        self.packets_only || self.detail > TraceDetail::Ends
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            hold: Nanos::from_millis(50),
            patience: Nanos::from_millis(5_000),
            decode: Vec::new(),
            listening: Vec::new(),
            packets_only: false,
            detail: TraceDetail::Full,
            wall: None,
            hosts: Vec::new(),
            topics: false,
            trace_contexts: false,
            breakdown: BreakdownQuery::default(),
            labels: Vec::new(),
            tls_keys: TlsKeys::default(),
            max_flows: 65_536,
            max_bytes: 256 << 20,
            max_messages: 65_536,
            max_threads: 16_384,
            max_marks: 65_536,
            max_flow_bytes: ParkingLimits::default(),
        }
    }
}

/// A host whose processes cannot be observed, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnobservedHost {
    /// The namespace that its packets are in.
    pub netns: NetNs,
    /// Addresses of the host.
    pub addresses: Vec<IpAddr>,
}

/// Names a row: traffic of these processes, or on these ports, belongs to it. Labels of one name name the same row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The middleware's name in the row.
    pub name: String,
    /// The broker's name, if the caller knows it.
    pub broker: Option<String>,
    /// Ports of either end.
    pub ports: Vec<u16>,
    /// Processes of either end.
    pub pids: Vec<Pid>,
}

/// Bounds of what may be parked behind a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParkingLimits {
    /// Captured bytes.
    pub bytes: usize,
    /// Packets.
    pub packets: usize,
}

impl Default for ParkingLimits {
    fn default() -> ParkingLimits {
        ParkingLimits { bytes: 1 << 20, packets: 1024 }
    }
}
