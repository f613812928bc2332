//! Subscribers whose connections end for the broker, while their own sockets are open.

use crate::audience::{Audience, Fate, pass};
use crate::left_behind::never;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{Body, Nanos, PacketHook, Seq, TcpFields, tcp_flags};
use wirelap_test_support::world::{Way, World};

/// The reset of a connection comes to the end that sends `down`.
fn reset(world: &mut World, up: &Way) {
    for hook in [PacketHook::Xmit, PacketHook::Rx] {
        let mut packet = world.tcp_packet(up, hook, up.next, 0);
        packet.socket = None;
        packet.tcp = packet.tcp.map(|tcp| TcpFields { flags: tcp_flags::RST, ack: Seq(0), ..tcp });
        world.tell(Body::Packet(packet), &[]);
    }
}

#[test]
fn who_is_cut_off_by_somebody_between_is_named_with_what_it_does_not_get() {
    // A subscriber that ends the connection itself has closed its socket.
    for closes_itself in [false, true] {
        let mut all = Audience::new();
        for n in 0..60 {
            let bytes = all.publish_number(n);
            if n < 30 {
                all.second_gets(&bytes);
            } else if n == 30 {
                let (world, gone) = (&mut all.watch.world, &mut all.subscribers[1]);
                pass(world, &mut gone.down, &bytes, Fate::OnTheWay);
                reset(world, &gone.up);
                world.tell(Body::Closed(gone.down.from.0), &[]);
                if closes_itself {
                    world.tell(Body::Closed(gone.down.to.0), &[]);
                }
            }
            all.watch.take(100);
        }
        all.watch.take(9_000);
        let said = never(&mut all.watch);
        if closes_itself {
            assert_eq!(said, None);
            continue;
        }
        let (severity, words) = said.unwrap();
        assert_eq!(severity, Severity::Problem);
        assert!(words.starts_with("29 messages were published, the first "), "{words}");
        let how = "since the connection of sub (pid 31) was reset for the broker (RST)";
        assert!(words.contains(how), "{words}");
        // What was on the way then is not under way any more, though its socket is long forgotten.
        let snapshot = all.watch.correlator.snapshot(Nanos(all.watch.world.now));
        let mut verdicts = snapshot.groups.iter().flat_map(|group| &group.why.verdicts);
        assert!(!verdicts.any(|one| one.kind == VerdictKind::Retransmission));
        let slow = all.watch.take(10);
        assert!(slow.listed.iter().all(|one| one.now.is_none()), "{slow:?}");
    }
}

#[test]
fn what_is_read_after_the_broker_has_closed_the_connection_was_got() {
    let mut all = Audience::new();
    for n in 0..60 {
        let bytes = all.publish_number(n);
        let fate = if n < 30 { Fate::Read } else { Fate::Unread };
        pass(&mut all.watch.world, &mut all.subscribers[1].down, &bytes, fate);
        all.watch.take(100);
    }
    let (world, gone) = (&mut all.watch.world, &all.subscribers[1]);
    world.tell(Body::Closed(gone.down.from.0), &[]);
    all.watch.take(20);
    // All but the last ten messages.
    let len = u32::try_from(all.publish_number(60).len()).unwrap();
    let (world, gone) = (&mut all.watch.world, &all.subscribers[1]);
    let end = Seq(gone.down.next.0.wrapping_sub(10 * len));
    world.read(&gone.down, end, 20 * len);
    world.tell(Body::Closed(gone.down.to.0), &[]);
    all.watch.take(1_000);
    let (_, words) = never(&mut all.watch).unwrap();
    assert!(words.starts_with("10 messages had not been delivered to sub (pid 31)"), "{words}");
}
