//! Plays events to a correlator, and checks what holds of the results whatever they are.

use wirelap_correlate::{Config, Correlator, Group, Overhead, Part, Snapshot, Summary};
use wirelap_events::{Body, Delivery, Nanos, PacketHook, Stage};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::World;

/// The results of events that were played.
pub struct Played {
    pub deliveries: Vec<Delivery>,
    pub snapshot: Snapshot,
    /// After the last event, before anything was given up.
    pub early: Snapshot,
}

impl Played {
    /// Plays everything that happened in a world.
    pub fn of(world: &World) -> Played {
        Played::new(Config::default(), &world.events)
    }

    pub fn new(config: Config, events: &[OwnedEvent]) -> Played {
        let mut deliveries = Vec::new();
        let mut correlator = Correlator::new(config);
        let mut ticked = 0;
        let mut now = Nanos(0);
        for event in events {
            let event = event.event();
            correlator.event(&event);
            now = now.max(event.at);
            if now.0.saturating_sub(ticked) > 5_000_000 {
                ticked = now.0;
                correlator.tick(now, &mut |d: &Delivery| deliveries.push(d.clone()));
            }
        }
        let mut collect = |d: &Delivery| deliveries.push(d.clone());
        correlator.tick(now + Nanos::from_millis(60), &mut collect);
        let early = correlator.snapshot(now + Nanos::from_millis(60));
        correlator.tick(now + Nanos::from_millis(6_000), &mut collect);
        correlator.tick(now + Nanos::from_millis(12_000), &mut collect);
        correlator.finish(&mut collect);
        let snapshot = correlator.snapshot(now + Nanos::from_millis(12_000));
        let played = Played { deliveries, snapshot, early };
        played.check();
        played
    }

    /// Checks what holds whatever happened.
    fn check(&self) {
        for delivery in &self.deliveries {
            let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
            assert_eq!(Some(sum), delivery.one_way(), "segments do not telescope: {delivery:#?}");
            assert!(delivery.legs.iter().all(|leg| leg.times.is_monotonic()), "{delivery:#?}");
        }
        let counts = |of: fn(&Group) -> u64| self.snapshot.groups.iter().map(of).sum::<u64>();
        assert_eq!(counts(|g| g.messages.matched), self.deliveries.len() as u64);
        for group in self.snapshot.groups.iter().chain(&self.early.groups) {
            check_ledger(&group.overhead);
        }
        for group in &self.snapshot.groups {
            let counts = group.messages;
            assert!(counts.delivered >= counts.matched, "{counts:?}");
            let shares: f64 = group.segments.iter().map(|s| s.share).sum();
            assert!(shares.abs() < 1e-9 || (shares - 1.0).abs() < 1e-9, "{shares}");
        }
    }

    /// The only row.
    pub fn group(&self) -> &Group {
        let [group] = self.snapshot.groups.as_slice() else {
            panic!("not one row: {:#?}", self.snapshot.groups)
        };
        group
    }

    /// sent, delivered, matched, uncovered.
    pub fn counts(&self) -> [u64; 4] {
        let counts = self.group().messages;
        [counts.sent, counts.delivered, counts.matched, counts.uncovered]
    }
}

/// Asserts that all times of a distribution, which has three digits of each, are this one.
pub fn assert_all(summary: Summary, time: Nanos) {
    let is_it = |one: Nanos| one.0.abs_diff(time.0) <= time.0 / 1000;
    assert!(is_it(summary.min) && is_it(summary.max), "not all are {time}: {summary:?}");
}

/// Bytes of the packets on the device where their flow is counted: the one that sends.
pub fn sent_bytes(events: &[OwnedEvent]) -> u64 {
    let bytes = events.iter().filter_map(|event| match &event.event.body {
        Body::Packet(packet) if packet.hook == PacketHook::Xmit => {
            Some(u64::from(packet.wire_bytes))
        }
        _ => None,
    });
    bytes.sum()
}

/// The stages of a leg that were seen, and when.
pub fn seen(delivery: &Delivery, leg: usize) -> Vec<(Stage, u64)> {
    delivery.legs[leg].times.seen().map(|(stage, at)| (stage, at.0)).collect()
}

/// The fine rows of a ledger are the coarse ones.
fn check_ledger(overhead: &Overhead) {
    let parts = overhead.detail.parts();
    assert_eq!(parts.total(), overhead.total());
    let inside = [parts.payload(), parts[Part::Header], parts.control(), parts[Part::Opaque]];
    assert_eq!(inside, [overhead.payload, overhead.protocol, overhead.control, overhead.opaque]);
    let bare = parts[Part::PureAck] + parts[Part::Connection];
    let headers = parts[Part::Transport] + parts[Part::Network] + parts[Part::Link];
    assert_eq!(bare + headers, overhead.transport + overhead.network + overhead.link);
    assert_eq!(parts[Part::Retransmitted], overhead.retransmitted);
    assert!(overhead.detail.framed.frames >= overhead.packets);
}
