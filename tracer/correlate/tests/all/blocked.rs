//! A forwarder with one thread for a connection, as socat, that is blocked in its write; and one that is slow itself.

use crate::brokered::BROKER;
use crate::lost_packets::acknowledge;
use crate::played::Played;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{
    Body, Nagle, Nanos, OffCpuReason, PacketHook, SleepCall, TaskId, TcpFields, TxState, Wake,
    tcp_flags,
};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Way, World, process};

/// Between two messages.
const RATE: u64 = 20_000_000;

/// Nothing is in the socket, and there is room for more.
const ROOM: TxState = TxState {
    in_flight: 0,
    unsent: 0,
    window: 65_536,
    mss: 1_448,
    cwnd: 10,
    segments_out: 0,
    nagle: Nagle::Off,
    send_buffer: 87_040,
    pacing: 0,
    min_rtt: 0,
};

/// The reader says that it has no room, or has some.
fn window(world: &mut World, back: &Way, acked: wirelap_events::Seq, window: u16) {
    let mut packet = world.tcp_packet(back, PacketHook::Rx, back.next, 0);
    packet.tcp = Some(TcpFields { seq: back.next, ack: acked, flags: tcp_flags::ACK, window });
    world.tell(Body::Packet(packet), &[]);
}

/// A thread runs again that slept in this call since some time.
fn wakes(world: &mut World, task: TaskId, since: u64, sleep: SleepCall) {
    let wake = Wake {
        task,
        woken: Nanos(world.now + 500),
        from_irq: true,
        left: Some(Nanos(since)),
        reason: OffCpuReason::Asleep,
        sleep,
        ..Wake::default()
    };
    world.tell(Body::Wake(wake), &[]);
}

/// Sixty messages through a broker and a forwarder, which sleeps for 20 ms after each: in its write, as `is_blocked` says, because its
/// client has no room, or by a timer.
fn forwarded(is_blocked: bool) -> Played {
    let mut world = World::new();
    let (broker, forwarder) = (process(10, "mosquitto"), process(15, "socat"));
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:40000", broker, BROKER);
    let mut behind = world.connect_mqtt(forwarder, "127.0.0.1:40002", broker, BROKER);
    let mut client =
        world.connect_mqtt(process(30, "sub"), "127.0.0.1:40003", forwarder, "127.0.0.1:1884");
    let sleep = if is_blocked { SleepCall::Call } else { SleepCall::Timer };
    world.state = Some(ROOM);
    let mut slept = world.now;
    // What the forwarder has written last, and whether it is still in its socket.
    let mut stuck = None;
    for n in 0..60 {
        let bytes = publish("t", &payload(stamp(n), 200));
        let began = world.now;
        world.message(&mut publisher.up, &bytes);
        let (start, len) = behind.down.advance(bytes.len());
        world.send(&behind.down, start, len);
        world.xmit(&behind.down, start, &bytes);
        world.rx(&behind.down, start, len);
        world.ready(&behind.down, behind.down.next);
        acknowledge(&mut world, &behind.up, behind.down.next);
        world.now = began + RATE - 1_000_000;
        if let Some((start, bytes)) = stuck.take() {
            // The client has read, and takes more.
            let bytes: Vec<u8> = bytes;
            window(&mut world, &client.up, start, 500);
            arrives(&mut world, &client.down, start, &bytes);
        }
        wakes(&mut world, forwarder.task, slept, sleep);
        world.read(&behind.down, behind.down.next, len);
        let (start, len) = client.down.advance(bytes.len());
        world.send(&client.down, start, len);
        if is_blocked {
            window(&mut world, &client.up, start, 0);
            stuck = Some((start, bytes));
        } else {
            arrives(&mut world, &client.down, start, &bytes);
        }
        slept = world.now;
        world.now = began + RATE;
    }
    Played::of(&world)
}

fn arrives(world: &mut World, way: &Way, start: wirelap_events::Seq, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap();
    world.xmit(way, start, bytes);
    world.rx(way, start, len);
    world.ready(way, start.plus(len));
    world.wake(way.to.1.task, None);
    world.read(way, start.plus(len), len);
}

/// Problems that are named: kind, leg and process.
fn named(played: &Played) -> Vec<(VerdictKind, Option<u8>, Option<u32>)> {
    let verdicts = played.group().why.verdicts.iter();
    let problems = verdicts.filter(|one| one.severity == Severity::Problem);
    problems.map(|one| (one.kind, one.leg, one.process.map(|(task, _)| task.pid.0))).collect()
}

#[test]
fn a_forwarder_whose_client_has_no_room_is_not_blamed() {
    let named = named(&forwarded(true));
    assert_eq!(named, [(VerdictKind::ReceiveWindow, Some(3), Some(30))]);
}

#[test]
fn a_forwarder_that_sleeps_is_blamed() {
    let named = named(&forwarded(false));
    assert_eq!(named, [(VerdictKind::BrokerStalled, Some(2), Some(15))]);
}
