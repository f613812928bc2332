//! Messages that were delivered, made of the times of their stages.

use wirelap_events::{
    Circumstances, Delivery, FlowKey, FlowRange, GroupId, Leg, MessageId, MessageTrace, Nanos,
    NetNs, Stage, StageTimes, Transport,
};

/// Times at which a message passed these stages.
pub fn times(stages: &[(Stage, Nanos)]) -> StageTimes {
    let mut times = StageTimes::default();
    for &(stage, at) in stages {
        times.set(stage, at);
    }
    times
}

/// A flow over TCP between two ports of this host.
pub fn flow(from: u16, to: u16) -> FlowKey {
    let address = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    FlowKey::new(Transport::Tcp, address(from), address(to), NetNs(0))
}

/// A leg over TCP that passed these stages, in nanoseconds. Nothing else is known of it.
pub fn leg(stages: &[(Stage, u64)]) -> Leg {
    let stages: Vec<_> = stages.iter().map(|&(stage, at)| (stage, Nanos(at))).collect();
    Leg {
        flow: flow(1, 1),
        from: None,
        to: None,
        sender: None,
        reader: None,
        times: times(&stages),
        chain: Vec::new(),
        before: Vec::new(),
        flow_range: FlowRange::default(),
        circumstances: Circumstances::default(),
    }
}

/// A message of 64 bytes that went these legs.
pub fn delivery(legs: impl IntoIterator<Item = Leg>) -> Delivery {
    Delivery {
        message: MessageId(1),
        group: GroupId(0),
        stamp: None,
        payload_len: 64,
        topic: None,
        trace: MessageTrace::default(),
        clock_error: Nanos(0),
        legs: legs.into_iter().collect(),
        off_cpu: [].into_iter().collect(),
    }
}
