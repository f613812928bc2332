//! A row is muted whose connections have the same addresses as those of another one, in another network namespace.

use crate::row_muted::{Live, counts};
use wirelap_correlate::Group;
use wirelap_events::{Body, DropCause, DroppedPacket, NetNs, Seq, TcpFields};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::world::{Connection, process};

const HOUSES: [(u32, &str); 2] = [(501, "mosquitto"), (502, "nanomq")];

/// A publisher, a subscriber and a broker in a namespace of their own, with the same addresses in each. The first numbers of
/// connections with the same addresses are near each other, as the kernel's are.
struct House {
    netns: NetNs,
    name: &'static str,
    clients: [Connection; 2],
}

/// Lets something happen in a namespace.
fn within<T>(live: &mut Live, netns: NetNs, happens: impl FnOnce(&mut Live) -> T) -> T {
    let before = live.world.events.len();
    let result = happens(live);
    for told in &mut live.world.events[before..] {
        match &mut told.event.body {
            Body::Socket(socket) => socket.netns = netns,
            Body::Packet(packet) => packet.netns = netns,
            _ => {}
        }
    }
    result
}

impl House {
    fn new(live: &mut Live, (number, name): (u32, &'static str)) -> House {
        let netns = NetNs(number);
        let clients = within(live, netns, |live| {
            [("10.0.0.2:40000", 1), ("10.0.0.2:40001", 2)].map(|(from, n)| {
                let broker = process(number * 10, name);
                let client = process(number * 10 + n, "client");
                let isn = Seq(0x1000_0000 + n * 0x0100_0000 + number * 100);
                let to = "10.0.0.1:1883";
                let mut connection = live.world.connect_at(client, from, broker, to, isn);
                live.world.message(&mut connection.up, CONNECT);
                live.world.message(&mut connection.down, CONNACK);
                connection
            })
        });
        House { netns, name, clients }
    }

    /// Publishes messages of so many bytes, which the subscriber gets.
    fn publish(&mut self, live: &mut Live, count: u64, bytes: usize) {
        for n in 0..count {
            let [publisher, subscriber] = &mut self.clients;
            within(live, self.netns, |live| {
                let stamp = (live.world.now + n).to_be_bytes();
                let message = publish("t", &[&stamp[..], &vec![0; bytes - 8]].concat());
                live.world.message(&mut publisher.up, &message);
                live.world.message(&mut subscriber.down, &message);
            });
            live.world.now += 1_000_000;
        }
        live.catch_up();
    }

    fn row(&self, live: &Live) -> Group {
        let groups = live.snapshot().groups;
        groups.into_iter().find(|group| group.broker.as_deref() == Some(self.name)).unwrap()
    }
}

#[test]
fn the_other_row_is_counted_exactly() {
    // The one that is older, and the one that is newer.
    for muted in [0, 1] {
        let mut live = Live::new();
        let mut houses = HOUSES.map(|which| House::new(&mut live, which));
        for house in &mut houses {
            house.publish(&mut live, 10, 64);
        }
        let row = houses[muted].row(&live).id;
        assert!(live.mute(row));
        // More than numbers of one flow may be apart in two places.
        for _ in 0..20 {
            houses[muted].publish(&mut live, 4, 50_000);
            houses[1 - muted].publish(&mut live, 2, 64);
        }
        assert_eq!(counts(&houses[muted].row(&live)), [10, 10, 10, 0, 0, 0], "{muted}");
        assert_eq!(counts(&houses[1 - muted].row(&live)), [50, 50, 50, 0, 0, 0], "{muted}");
        live.unmute(row);
        for _ in 0..5 {
            houses[muted].publish(&mut live, 1, 64);
            houses[1 - muted].publish(&mut live, 1, 64);
        }
        live.wait(10);
        assert_eq!(counts(&houses[muted].row(&live)), [15, 15, 15, 0, 0, 0], "{muted}");
        assert_eq!(counts(&houses[1 - muted].row(&live)), [55, 55, 55, 0, 0, 0], "{muted}");
        assert_eq!(live.snapshot().trust.undecoded_bytes, 0, "{muted}");
    }
}

/// The kernel does not say in which namespace it dropped a packet; its numbers tell whose it was.
#[test]
fn a_dropped_packet_is_its_own_conversations() {
    for muted in [None, Some(0), Some(1)] {
        let mut live = Live::new();
        let mut houses = HOUSES.map(|which| House::new(&mut live, which));
        for house in &mut houses {
            house.publish(&mut live, 10, 64);
        }
        // The numbers of the two are far from each other by now.
        houses[0].publish(&mut live, 40, 50_000);
        if let Some(muted) = muted {
            let row = houses[muted].row(&live).id;
            live.mute(row);
        }
        for house in &mut houses {
            // It leaves the socket, and never arrives.
            let (way, pings) = (&mut house.clients[0].up, [0xc0, 0].repeat(50));
            let (seq, len) = way.advance(pings.len());
            within(&mut live, house.netns, |live| {
                live.world.send(way, seq, len);
                live.world.xmit(way, seq, &pings);
            });
            let dropped = DroppedPacket {
                flow: way.key,
                cause: DropCause::Queue,
                reason: 1,
                len,
                outward: true,
                queued: None,
                netns: NetNs(0),
                mtu: 0,
                tcp: Some(TcpFields { seq, ack: Seq(0), flags: 0, window: 0 }),
            };
            live.world.tell(Body::Drop(dropped), &[]);
        }
        live.wait(1);
        let evidence = live.correlator.evidence();
        let dropped = |at: usize| evidence[at].1.losses.segments.dropped.iter().sum::<u64>();
        let expected = [0, 1].map(|house| u64::from(muted != Some(house)));
        assert_eq!([dropped(0), dropped(1)], expected, "{muted:?}");
    }
}
