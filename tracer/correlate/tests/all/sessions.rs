//! Subscribers of MQTT that come back to their sessions, for which the broker has kept some messages and not others.

use crate::audience::Watch;
use crate::brokered::BROKER;
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{Body, Nanos, Seq};
use wirelap_test_support::compose::mqtt::{connect, connect_v5, publish_v5_with, publish_with};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World, process};

/// A process connects with an identifier; the broker goes on with its session, or not.
fn join(world: &mut World, pid: u32, name: &str, has_session: bool) -> Connection {
    let mut connection = open(world, (pid, name), 40_000 + pid);
    world.message(&mut connection.up, &connect(name));
    world.message(&mut connection.down, &[0x20, 2, u8::from(has_session), 0]);
    connection
}

/// A process opens a connection from this port, and says nothing so far.
fn open(world: &mut World, (pid, name): (u32, &str), port: u32) -> Connection {
    let (client, broker) = (process(pid, name), process(10, "mosquitto"));
    world.connect_at(client, &format!("127.0.0.1:{port}"), broker, BROKER, Seq(port << 16))
}

/// Message `n`, with `QoS` 1 or 0.
fn message(n: u32, qos: u8) -> Vec<u8> {
    publish_with(0x30 | qos << 1, "t", &payload(stamp(n), 64))
}

/// A hundred and twenty messages, of which a subscriber gets the first forty. It is away for the next forty, of which the broker keeps ten
/// for it if it has a session and sends them before message `kept_at`, and gets the last forty. Another subscriber gets all.
fn came_back(has_session: bool, qos_while_away: u8, kept_at: u32) -> Option<(Severity, String)> {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub", false);
    let mut other = join(&mut world, 30, "other", false);
    let mut first = join(&mut world, 31, "wanderer", false);
    let mut again = None;
    let mut watch = Watch::new(world);
    for n in 0..120 {
        let world = &mut watch.world;
        let bytes = message(n, if (40..80).contains(&n) { qos_while_away } else { 1 });
        if n == 40 {
            world.tell(Body::Closed(first.up.from.0), &[]);
        }
        if n == 80 {
            again = Some(join(world, 32, "wanderer", has_session));
        }
        if let Some(again) = again.as_mut().filter(|_| n == kept_at) {
            for kept in (40..50).filter(|_| has_session && qos_while_away > 0) {
                world.message(&mut again.down, &message(kept, qos_while_away));
            }
        }
        world.message(&mut publisher.up, &bytes);
        world.message(&mut other.down, &bytes);
        if n < 40 {
            world.message(&mut first.down, &bytes);
        }
        if let Some(again) = &mut again {
            world.message(&mut again.down, &bytes);
        }
        watch.take(100);
    }
    watch.take(3_000);
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    assert_eq!(groups.len(), 1);
    let verdicts = groups.remove(0).why.verdicts;
    let said = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered)?;
    Some((said.severity, words(said)))
}

#[test]
fn what_a_session_did_not_keep_is_counted() {
    // Its broker may send it what is published now before what it kept.
    for kept_at in [80, 81] {
        let (severity, text) = came_back(true, 1, kept_at).unwrap();
        assert_eq!(severity, Severity::Problem);
        let whole = "30 messages came while wanderer (pid 32) was away, and not passed on to it when it came back";
        assert!(text.contains(whole) && text.contains("not visible"), "{text}");
    }
}

#[test]
fn who_has_no_session_or_misses_what_nobody_keeps_has_lost_nothing() {
    assert_eq!(came_back(false, 1, 80), None);
    assert_eq!(came_back(true, 0, 80), None);
}

/// A hundred and twenty messages, of which a subscriber whose name was not seen gets the first forty, and no more until its connection ends
/// at the seventieth. Its process comes back at the seventy-fifth, to its session or not, and gets the rest, or what is published from
/// then on.
fn came_back_unnamed(has_session: bool) -> Option<String> {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub", false);
    let mut other = join(&mut world, 30, "other", false);
    let (client, broker) = (process(31, "wanderer"), process(10, "mosquitto"));
    let mut own = world.existing(client, "127.0.0.1:40031", broker, BROKER);
    let mut watch = Watch::new(world);
    for n in 0..120 {
        let world = &mut watch.world;
        let bytes = message(n, 1);
        if n == 70 {
            world.tell(Body::Closed(own.up.from.0), &[]);
        }
        if n == 75 {
            own = open(world, (31, "wanderer"), 40_131);
            world.message(&mut own.up, &connect("wanderer"));
            world.message(&mut own.down, &[0x20, 2, u8::from(has_session), 0]);
            for kept in (40..75).filter(|_| has_session) {
                world.message(&mut own.down, &message(kept, 1));
            }
        }
        world.message(&mut publisher.up, &bytes);
        world.message(&mut other.down, &bytes);
        if !(40..75).contains(&n) {
            world.message(&mut own.down, &bytes);
        }
        watch.take(100);
    }
    watch.take(3_000);
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    let verdicts = groups.remove(0).why.verdicts;
    verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered).map(words)
}

#[test]
fn a_process_that_comes_back_to_its_session_is_known_without_a_name() {
    assert_eq!(came_back_unnamed(true), None);
    let said = came_back_unnamed(false).unwrap();
    assert!(said.contains("30 messages had not been delivered to wanderer (pid 31)"), "{said}");
}

/// The verdict on twenty messages of this `QoS` that came when the only subscriber, which got forty before, was gone: its session lasts for
/// an hour, or ended with its connection.
fn came_when_it_was_away(has_session: bool, qos: u8) -> (Severity, String) {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub", false);
    let mut own = open(&mut world, (31, "wanderer"), 40_031);
    let hello = if has_session { connect_v5("wanderer") } else { connect("wanderer") };
    let answer: &[u8] = if has_session { &[0x20, 3, 0, 0, 0] } else { &[0x20, 2, 0, 0] };
    world.message(&mut own.up, &hello);
    world.message(&mut own.down, answer);
    let mut watch = Watch::new(world);
    for n in 0..60 {
        let world = &mut watch.world;
        if n == 40 {
            world.tell(Body::Closed(own.up.from.0), &[]);
        }
        let qos = if n < 40 { 1 } else { qos };
        world.message(&mut publisher.up, &message(n, qos));
        if n < 40 {
            let bytes = if has_session {
                publish_v5_with(0x30 | qos << 1, "t", &payload(stamp(n), 64))
            } else {
                message(n, qos)
            };
            world.message(&mut own.down, &bytes);
        }
        watch.take(100);
    }
    watch.take(3_000);
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    let verdicts = groups.remove(0).why.verdicts;
    let said = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered).unwrap();
    (said.severity, words(said))
}

#[test]
fn what_a_broker_keeps_for_who_is_away_is_told_and_not_lost() {
    let (severity, text) = came_when_it_was_away(true, 1);
    let kept = "20 of 60 messages came while wanderer (pid 31) was away: the broker keeps them for its session";
    assert_eq!(severity, Severity::Note, "{text}");
    assert!(text.contains(kept) && !text.contains("passed on to nobody"), "{text}");
    for (has_session, qos) in [(true, 0), (false, 1)] {
        let (severity, text) = came_when_it_was_away(has_session, qos);
        assert_eq!(severity, Severity::Problem, "{text}");
        assert!(text.contains("passed on to nobody") && !text.contains("session"), "{text}");
    }
}
