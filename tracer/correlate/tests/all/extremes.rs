//! Numbers at the ends of what they can be: sums stop there.

use crate::played::Played;
use crate::properties::traffic;
use wirelap_correlate::Config;
use wirelap_events::{Body, Cpu, Event, LossCause, LostEvents, Nanos, Probe, SendKind};
use wirelap_test_support::event::OwnedEvent;

fn lost(count: u64) -> OwnedEvent {
    let body = Body::Lost(LostEvents { probe: Probe::Send, count, cause: LossCause::RingFull });
    OwnedEvent { event: Event { at: Nanos(1_000_000_000), cpu: Cpu(0), body }, payload: Vec::new() }
}

#[test]
fn more_lost_events_than_can_be_counted_are_as_many_as_can() {
    let mut told = traffic(3).events;
    told.extend([lost(u64::MAX), lost(u64::MAX), lost(7)]);
    let trust = Played::new(Config::default(), &told).snapshot.trust;
    assert_eq!((trust.lost(), trust.skipped_runs), (u64::MAX, 0));
}

#[test]
fn runs_that_the_kernel_skipped_are_among_the_lost_events() {
    let skipped = |count| {
        let cause = LossCause::RunSkipped;
        let mut told = lost(count);
        told.event.body = Body::Lost(LostEvents { probe: Probe::Read, count, cause });
        told
    };
    let mut told = traffic(3).events;
    told.extend([skipped(3), lost(4), skipped(2)]);
    let trust = Played::new(Config::default(), &told).snapshot.trust;
    assert_eq!((trust.lost(), trust.skipped_runs), (9, 5));
}

/// The time of an event instead of its own, by its number and its time.
type Way<'a> = &'a dyn Fn(usize, u64) -> u64;

/// Messages that take a quarter of all time each, at the end of time, or from its one end to the other.
#[test]
fn any_time_is_a_time() {
    let told = traffic(30).events;
    let (first, last) = (told[0].event.at.0, told[told.len() - 1].event.at.0);
    let ways: [(&str, Way<'_>); 5] = [
        ("at the end", &|_, at| u64::MAX - (last - at)),
        ("far apart", &|_, at| (at - first).saturating_mul(u64::MAX / (last - first))),
        ("from end to end", &|index, _| if index % 2 == 0 { 0 } else { u64::MAX }),
        ("in quarters", &|index, _| (index as u64 % 5).saturating_mul(u64::MAX / 4)),
        ("all at once", &|_, _| u64::MAX),
    ];
    for (name, way) in ways {
        println!("{name}");
        let told: Vec<OwnedEvent> = told
            .iter()
            .enumerate()
            .map(|(index, told)| {
                let mut told = told.clone();
                told.event.at = Nanos(way(index, told.event.at.0));
                told
            })
            .collect();
        Played::new(Config::default(), &told);
    }
}

#[test]
fn any_length_is_a_length() {
    for len in [0, u32::MAX] {
        let told: Vec<OwnedEvent> = traffic(30)
            .events
            .into_iter()
            .enumerate()
            .map(|(index, mut told)| {
                match &mut told.event.body {
                    Body::Packet(packet) if index % 3 == 0 => {
                        (packet.wire_bytes, packet.payload_len) = (len, len);
                        (packet.ip_header, packet.transport_header) = (u16::MAX, u16::MAX);
                    }
                    Body::Send(send) => {
                        if let SendKind::Stream { len: sent, .. } = &mut send.kind {
                            *sent = len;
                        }
                    }
                    _ => {}
                }
                told
            })
            .collect();
        Played::new(Config::default(), &told);
    }
}
