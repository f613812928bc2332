//! Clients of MQTT that use one identifier at the same time, of whose connections the broker closes the older one.

use crate::audience::Watch;
use crate::brokered::BROKER;
use crate::words::words;
use wirelap_correlate::{Severity, Verdict, VerdictKind};
use wirelap_events::{Body, Seq};
use wirelap_test_support::compose::mqtt::{CONNACK, connect, publish, subscribe};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World, process};

/// A process connects with an identifier.
fn join(world: &mut World, pid: u32, port: u16, name: &str) -> Connection {
    let (client, broker) = (process(pid, "app"), process(10, "mosquitto"));
    let isn = Seq(u32::from(port) << 16);
    let from = format!("127.0.0.1:{port}");
    let mut connection = world.connect_at(client, &from, broker, BROKER, isn);
    world.message(&mut connection.up, &connect(name));
    connection
}

/// The processes 30 and 31 connect in turn as `names`, so often, and subscribe; the older connection is closed by the broker, or by its
/// client just before.
fn flapping(
    times: u16,
    names: [&str; 2],
    by_broker: bool,
    subscribes: bool,
) -> (Option<Verdict>, Vec<String>) {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, 40_020, "pub");
    world.message(&mut publisher.down, CONNACK);
    let mut watch = Watch::new(world);
    let mut before: Option<Connection> = None;
    for n in 0..=times {
        let world = &mut watch.world;
        let which = usize::from(n % 2);
        if !by_broker && let Some(before) = &before {
            world.tell(Body::Closed(before.up.from.0), &[]);
        }
        let mut now = join(world, 30 + u32::from(n % 2), 41_000 + n, names[which]);
        if by_broker && let Some(before) = &before {
            world.tell(Body::Closed(before.down.from.0), &[]);
        }
        world.message(&mut now.down, CONNACK);
        if subscribes {
            world.message(&mut now.up, &subscribe("t"));
        }
        for message in 0..3 {
            let bytes = publish("t", &payload(stamp(u32::from(n * 3 + message)), 64));
            world.message(&mut publisher.up, &bytes);
            if subscribes {
                world.message(&mut now.down, &bytes);
            }
        }
        before = Some(now);
        watch.take(1_000);
    }
    let mut groups = watch.correlator.snapshot(wirelap_events::Nanos(watch.world.now)).groups;
    assert_eq!(groups.len(), 1);
    let group = groups.remove(0);
    let notes = group.shared_names.iter().map(|one| one.name.clone()).collect();
    let mut verdicts = group.why.verdicts.into_iter();
    (verdicts.find(|one| one.kind == VerdictKind::SubscriberAway), notes)
}

#[test]
fn who_takes_an_identifier_back_is_told_with_the_other_one() {
    let (said, _) = flapping(6, ["twin", "twin"], true, true);
    let said = said.unwrap();
    assert_eq!(said.severity, Severity::Problem);
    let text = words(&said);
    for part in ["app (pid 30)", "app (pid 31)", "twin", "6 times the broker", "5 times one that"] {
        assert!(text.contains(part), "{text}");
    }
    let (once, _) = flapping(1, ["twin", "twin"], true, true);
    assert_eq!(once.map(|one| one.severity), Some(Severity::Note));
}

#[test]
fn who_leaves_or_has_another_identifier_takes_it_from_nobody() {
    assert_eq!(flapping(6, ["twin", "twin"], false, true), (None, vec![]));
    assert_eq!(flapping(6, ["one", "other"], true, true), (None, vec![]));
}

#[test]
fn publishers_are_told_of_in_a_note() {
    assert_eq!(flapping(6, ["twin", "twin"], true, false), (None, vec!["twin".to_owned()]));
}
