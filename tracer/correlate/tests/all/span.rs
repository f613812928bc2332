//! The time that was watched.

use crate::played::Played;
use wirelap_correlate::{Config, Correlator};
use wirelap_events::{
    Body, Comm, Cpu, Event, Nanos, NetNs, Socket, SocketId, SocketOrigin, TaskId, Transport,
};
use wirelap_test_support::compose::{plain, stamp};
use wirelap_test_support::world::{World, process};

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
        is_subflow: false,
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

/// Traffic that is traced whole and traffic that is traced for a twentieth of its time count by how
/// long they lasted.
#[test]
fn rates_are_those_of_the_whole_time_where_its_parts_are_traced_differently() {
    const MILLISECOND: u64 = 1_000_000;
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    let mut at = world.now;
    let mut number = 0;
    let mut messages = |world: &mut World, at: &mut u64, count: u32, each: u64| {
        for _ in 0..count {
            world.now = *at;
            world.message(&mut pair.up, &plain(stamp(number), 100));
            number += 1;
            *at += each;
        }
        world.now = *at;
    };
    // A hundred a second, and then two thousand, of which every tenth is seen.
    messages(&mut world, &mut at, 100, 10 * MILLISECOND);
    for _ in 0..10 {
        messages(&mut world, &mut at, 20, MILLISECOND / 2);
        world.tell(Body::Window(false), &[]);
        at += 90 * MILLISECOND;
        world.now = at;
        world.tell(Body::Window(true), &[]);
    }
    let group = &Played::of(&world).snapshot.groups[0];
    let active = group.rate_active.msg_per_s;
    // The last pause is in no span between deliveries.
    let (count, seconds) = (100.0 + 9.0 * 200.0 + 20.0, 1.0 + 9.0 * 0.1 + 0.01);
    assert!((active / (count / seconds) - 1.0).abs() < 0.02, "{active}");
    let payload = group.rate_active.payload_bit_per_s;
    assert!((payload / active / 800.0 - 1.0).abs() < 0.02, "{payload}");
}
