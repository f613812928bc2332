//! Processes that had read nothing for some time when the observation began, and read nothing in it.

use crate::brokered::BROKER;
use wirelap_correlate::{Config, Correlator, Snapshot, SnapshotNote};
use wirelap_events::{Body, Nanos, Pid};
use wirelap_test_support::world::{Way, World, addr, process};

/// Bytes that the broker had written to its subscriber when wirelap came.
const WRITTEN: u32 = 5_000;

/// The notes after so many seconds of a connection on which so much lay unread, of which the subscriber reads a part or nothing.
fn notes(written: u32, seconds: u64, reads: bool) -> Vec<SnapshotNote> {
    let mut world = World::new();
    let mut connection =
        world.existing(process(31, "sub"), "127.0.0.1:40031", process(10, "mosquitto"), BROKER);
    let began = connection.down.next;
    // What the broker's socket says was written lies before what the subscriber's says is read next.
    let written = began.plus(written);
    for told in &mut world.events {
        if let Body::Socket(socket) = &mut told.event.body
            && socket.local == addr(BROKER)
        {
            socket.tx_next = Some(written);
        }
    }
    connection.down.next = written;
    if reads {
        world.read(&Way { next: began, ..connection.down }, began.plus(100), 100);
    }
    let mut correlator = Correlator::new(Config::default());
    for told in &world.events {
        correlator.event(&told.event());
    }
    let now = Nanos(world.now) + Nanos::from_millis(seconds * 1_000);
    correlator.tick(now, &mut |_: &wirelap_events::Delivery| {});
    let Snapshot { notes, .. } = correlator.snapshot(now);
    notes
}

#[test]
fn who_reads_nothing_of_what_lay_there_before_is_named() {
    let found = notes(WRITTEN, 6, false);
    let [SnapshotNote::UnreadBefore { reader, connections: 1, peer, bytes }] = found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((reader.0, reader.1.as_str()), (Pid(31), "sub"));
    assert_eq!((peer, bytes), (addr(BROKER), u64::from(WRITTEN)));
}

#[test]
fn who_reads_or_has_little_to_read_is_not() {
    assert_eq!(notes(WRITTEN, 6, true), []);
    assert_eq!(notes(WRITTEN, 1, false), []);
    assert_eq!(notes(400, 6, false), []);
    assert_eq!(notes(0, 6, false), []);
}
