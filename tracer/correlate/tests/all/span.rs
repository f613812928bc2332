//! The time that was watched.

use wirelap_correlate::{Config, Correlator};
use wirelap_events::{
    Body, Comm, Cpu, Event, Nanos, NetNs, Socket, SocketId, SocketOrigin, TaskId, Transport,
};

fn socket(at: Nanos, origin: SocketOrigin) -> Event<'static> {
    let socket = Socket {
        id: SocketId(at.0),
        netns: NetNs(1),
        transport: Transport::Tcp,
        local: "127.0.0.1:1883".parse().unwrap(),
        remote: None,
        task: TaskId::default(),
        comm: Comm::from_name("broker"),
        origin,
        tx_next: None,
        rx_next: None,
    };
    Event { at, cpu: Cpu(0), body: Body::Socket(socket) }
}

/// Attaching takes half a second, and nothing is reported before it is done.
#[test]
fn sockets_that_come_into_view_while_attaching_begin_no_time() {
    let mut correlator = Correlator::new(Config::default());
    let now = Nanos::from_millis(4_000);
    for (at, origin) in [(1_000, SocketOrigin::Existing), (1_200, SocketOrigin::Connected)] {
        correlator.event(&socket(Nanos::from_millis(at), origin));
        assert_eq!(correlator.snapshot(now).since, now);
    }
    let at = Nanos::from_millis(1_500);
    correlator.event(&Event { at, cpu: Cpu(0), body: Body::Window(true) });
    assert_eq!(correlator.snapshot(now).since, at);
}
