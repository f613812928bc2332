//! Waits of the ends of MQTT before they go on: for PUBREC, PUBREL and PUBCOMP, and for a subscriber's
//! acknowledgements.

use crate::brokered::house;
use crate::lost_packets::{TIMEOUT, acknowledge, arrive, sent_again};
use crate::played::Played;
use wirelap_correlate::VerdictKind;
use wirelap_events::{Body, Credit, Nanos, Pid, Recovery, Release};
use wirelap_test_support::compose::mqtt::publish_with;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World};

const PUBREC: &[u8] = b"\x50\x02\x00\x07";
const PUBREL: &[u8] = b"\x62\x02\x00\x07";
const PUBCOMP: &[u8] = b"\x70\x02\x00\x07";

fn qos_2(n: u32) -> Vec<u8> {
    publish_with(0x34, "t", &payload(stamp(n), 64))
}

/// The broker's answer to a keep-alive is lost, and then lost once more. What it sends after that waits in its socket.
fn lose_twice(world: &mut World, publisher: &mut Connection) {
    let (lost, len) = publisher.down.advance(2);
    let (confirm, more) = publisher.down.advance(PUBREC.len());
    let down = publisher.down;
    world.send(&down, lost, len);
    world.xmit(&down, lost, b"\xd0\x00");
    world.send(&down, confirm, more);
    for recovery in [Recovery::Fast, Recovery::Timeout] {
        world.now += TIMEOUT;
        sent_again(world, &down, (lost, len), recovery);
        world.xmit(&down, lost, b"\xd0\x00");
    }
    arrive(world, &down, (lost, len), confirm);
    acknowledge(world, &publisher.up, confirm);
    world.xmit(&down, confirm, PUBREC);
    arrive(world, &down, (confirm, more), down.next);
}

/// The releases of messages of `QoS` 2 of which some have to wait for a receipt that waits behind lost bytes.
fn with_losses(edit: impl FnOnce(&mut World)) -> Played {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..100 {
        world.message(&mut publisher.up, &qos_2(n));
        if n % 10 == 9 {
            lose_twice(&mut world, &mut publisher);
        } else {
            world.message(&mut publisher.down, PUBREC);
        }
        world.message(&mut publisher.up, PUBREL);
        world.message(&mut subscribers[0].down, &qos_2(n));
        world.now += 20_000_000;
    }
    edit(&mut world);
    Played::of(&world)
}

#[test]
fn a_publisher_that_has_no_receipt_owes_no_release() {
    let played = with_losses(|_| {});
    let release = |n: usize| played.deliveries[n].legs[1].circumstances.permission.release;
    let Some(Release { receipt: Some(receipt), sent, .. }) = release(9) else {
        panic!("{:?}", release(9));
    };
    let arrived = receipt.arrived.unwrap();
    assert!(receipt.lost > Nanos(2 * TIMEOUT - 1_000_000), "{receipt:?}");
    assert!(arrived - receipt.sent > Nanos(2 * TIMEOUT) && sent - arrived < Nanos(1_000_000));
    let verdicts = &played.group().why.verdicts;
    let slow: Vec<_> = verdicts.iter().filter(|verdict| verdict.slow_share > 0.5).collect();
    assert!(slow.iter().all(|v| v.kind == VerdictKind::Retransmission), "{verdicts:#?}");
    assert!(!slow.is_empty());
}

/// Only the broker's side is seen.
#[test]
fn a_publisher_that_is_not_seen_is_not_named() {
    let publisher = Pid(20);
    let played = with_losses(|world| {
        let is_its = |body: &Body<'_>| match body {
            Body::Send(send) => send.task.pid == publisher,
            Body::Read(read) => read.task.pid == publisher,
            _ => false,
        };
        world.events.retain(|event| !is_its(&event.event().body));
    });
    let verdicts = &played.group().why.verdicts;
    let named = |pid| verdicts.iter().any(|v| v.process.is_some_and(|(task, _)| task.pid == pid));
    assert!(!named(publisher), "{verdicts:#?}");
}

fn credits(played: &Played) -> Vec<Credit> {
    let credits = played.deliveries.iter().map(|all| all.legs[1].circumstances.permission.credit);
    credits.map(Option::unwrap_or_default).collect()
}

/// A subscriber has as many messages of `QoS` 2 as it may have. Between its PUBREC and its PUBCOMP it waits for the broker.
#[test]
fn a_subscriber_that_waits_for_a_pubrel_is_not_late() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let subscriber = &mut subscribers[0];
    let mut own = Vec::new();
    for n in 0..10 {
        world.message(&mut publisher.up, &publish_with(0x30, "t", &payload(stamp(n), 64)));
        if n > 0 {
            world.now += 10_000_000;
            world.message(&mut subscriber.up, PUBREC);
            world.now += 50_000_000;
            let (_, released) = world.message(&mut subscriber.down, PUBREL);
            world.now += 5_000_000;
            let (completed, _) = world.message(&mut subscriber.up, PUBCOMP);
            own.push((completed, completed - released));
        }
        world.message(&mut subscriber.down, &qos_2(n));
    }
    let played = Played::of(&world);
    for (credit, (completed, last)) in credits(&played).iter().skip(1).zip(own) {
        let expected = Nanos::from_millis(10) + last;
        assert!(credit.own >= expected && credit.own < expected + Nanos::from_millis(2));
        assert!(credit.at >= completed && credit.unknown == Nanos(0), "{credit:?}");
    }
}

/// A subscriber had messages from before the observation began.
#[test]
fn what_a_subscriber_had_before_is_not_known() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish_with(0x32, "t", &payload(stamp(0), 64));
    world.message(&mut publisher.up, &bytes);
    world.now += 1_000_000_000;
    let (acknowledged, had) = world.message(&mut subscribers[0].up, b"\x40\x02\x00\x09");
    world.message(&mut subscribers[0].down, &bytes);
    let [credit] = credits(&Played::of(&world))[..] else { panic!("one message") };
    assert!(acknowledged <= credit.at && credit.at <= had, "{credit:?}");
    assert!(credit.own == Nanos(0) && credit.unknown > Nanos::from_millis(999), "{credit:?}");
}
