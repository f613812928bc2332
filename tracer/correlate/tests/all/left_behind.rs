//! Subscribers that are gone before they have got everything, or have given a topic to another.

use crate::audience::{Audience, Watch, join};
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{Body, Nanos};
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, heartbeat_of, produce, record};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

/// MQTT's farewell.
const DISCONNECT: &[u8] = b"\xe0\0";

/// The verdict on messages that were never delivered; `None` if there is none.
pub fn never(watch: &mut Watch) -> Option<(Severity, String)> {
    let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
    let [group] = &snapshot.groups[..] else { panic!("{:?}", snapshot.groups) };
    let mut all = group.why.verdicts.iter();
    let found = all.find(|verdict| verdict.kind == VerdictKind::NeverDelivered)?;
    Some((found.severity, words(found)))
}

/// Sixty messages to two subscribers, of which the second gets the first thirty. Then its connection is closed by the broker or by itself,
/// after a farewell: the broker's if that is `Some(true)`, its own if that is `Some(false)`. Ten more messages follow.
fn closed(farewell: Option<bool>, by_broker: bool) -> Audience {
    let mut all = Audience::new();
    all.second_gets_half_of_sixty();
    let (world, gone) = (&mut all.watch.world, &mut all.subscribers[1]);
    match farewell {
        Some(true) => {
            world.message(&mut gone.down, DISCONNECT);
        }
        Some(false) => {
            world.message(&mut gone.up, DISCONNECT);
        }
        None => {}
    }
    let socket = if by_broker { gone.down.from.0 } else { gone.down.to.0 };
    world.tell(Body::Closed(socket), &[]);
    // These messages are published when the connection is gone.
    for n in 60..70 {
        all.publish_number(n);
        all.watch.take(100);
    }
    all
}

#[test]
fn what_a_subscriber_had_not_got_is_said_when_it_is_gone() {
    let cases = [
        (Some(false), false, Severity::Note, "it closed its connection"),
        (Some(false), true, Severity::Note, "it closed its connection"),
        (Some(true), false, Severity::Problem, "the broker closed its connection"),
        (None, false, Severity::Problem, "its connection ended without the protocol's farewell"),
        (None, true, Severity::Problem, "the broker closed its connection"),
    ];
    for (farewell, by_broker, severity, how) in cases {
        let mut watch = closed(farewell, by_broker).watch;
        let (said, evidence) = never(&mut watch).unwrap();
        assert_eq!(said, severity, "{evidence}");
        let expected = format!("30 messages had not been delivered to sub (pid 31) when {how}, ");
        assert!(evidence.starts_with(&expected), "{evidence}");
        assert!(evidence.ends_with("held up by the broker"), "{evidence}");
        assert!(watch.take(3_000).listed[0].now.is_none());
    }
}

#[test]
fn a_session_that_goes_on_has_lost_nothing() {
    // The same client by its name comes back: its session goes on if the thirty-first message is the first that it gets.
    for (first, is_lost) in [(30, false), (65, true)] {
        let mut all = closed(None, false);
        let mut again = join(&mut all.watch.world, 32, "sub");
        for n in 70..80 {
            all.publish_number(n);
            let late = publish("t", &payload(stamp(first + n - 70), 64));
            all.watch.world.message(&mut again.down, &late);
            all.watch.take(100);
        }
        let said = never(&mut all.watch);
        assert_eq!(said.is_some(), is_lost, "{said:?}");
    }
}

/// Sixty records for a consumer group of two members. The first member gets thirty of them; then the second member takes the topic over,
/// or nobody does.
fn group(takes_over: bool) -> Watch {
    let mut world = World::new();
    let mut join = |port: u32, pid, name| {
        let from = format!("127.0.0.1:{port}");
        world.connect(process(pid, name), &from, process(10, "java"), "127.0.0.1:9092")
    };
    let mut producer = join(40_020, 20, "producer");
    let mut members = [(30, "one"), (31, "two")].map(|(pid, name)| join(40_000 + pid, pid, name));
    let coordinators = [(30, "one"), (31, "two")].map(|(pid, name)| join(41_000 + pid, pid, name));
    for mut coordinator in coordinators {
        world.message(&mut coordinator.up, &heartbeat_of("maker", "g", 1));
    }
    let mut watch = Watch::new(world);
    for n in 0..60_u8 {
        let records = batch(1, &record(&[n; 20]));
        watch.world.message(&mut producer.up, &produce(n.into(), "t", &records));
        let member = &mut members[usize::from(n >= 30)];
        if n < 30 || takes_over {
            watch.world.message(&mut member.up, &fetch(n.into()));
            watch.world.message(&mut member.down, &fetched(n.into(), "t", &records));
        }
        watch.take(100);
    }
    watch.take(1_000);
    watch
}

#[test]
fn who_has_handed_its_topic_over_is_not_behind() {
    let slow = group(true).take(0);
    assert!(slow.listed.is_empty(), "{slow:?}");
    // A member that only pauses, and has handed nothing over, is behind.
    let slow = group(false).take(0);
    let [one] = &slow.listed[..] else { panic!("{slow:?}") };
    assert_eq!(one.most.unsent, 30, "{slow:?}");
}

/// UNSUBSCRIBE from `t`.
const UNSUBSCRIBE: &[u8] = &[0xa2, 5, 0, 1, 0, 1, b't'];

/// SUBSCRIBE to `t` in the group `g`.
const SUBSCRIBE_IN_GROUP: &[u8] = b"\x82\x0f\0\x01\0\x0a$share/g/t\0";

/// Why a subscriber gets only every third of messages 40 to 160.
#[derive(Clone, Copy, PartialEq)]
enum Thinned {
    /// The subscriber's broker drops the others.
    Dropped,
    /// The subscriber's broker drops the others, and there is no other subscriber.
    Only,
    /// The subscriber unsubscribes before each of the others.
    Unsubscribed,
    /// The subscriber publishes messages itself.
    Publishes,
    /// Another member of its group gets the others.
    Shared,
}

/// The verdict on two hundred messages, of which a subscriber does not get eighty.
fn thinned(what: Thinned) -> Option<(Severity, String)> {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub");
    let [mut other, mut thinned, mut third] = [30, 31, 32].map(|pid| join(&mut world, pid, "sub"));
    if what == Thinned::Shared {
        for member in [&mut thinned, &mut third] {
            world.message(&mut member.up, SUBSCRIBE_IN_GROUP);
        }
    }
    let mut watch = Watch::new(world);
    for n in 0..200 {
        let bytes = publish("t", &payload(stamp(n), 64));
        let is_thinned = (40..160).contains(&n);
        if what == Thinned::Unsubscribed && is_thinned && n % 3 == 1 {
            watch.world.message(&mut thinned.up, UNSUBSCRIBE);
        }
        if what == Thinned::Publishes && n == 30 {
            let own = publish("u", &payload(stamp(1_000), 64));
            watch.world.message(&mut thinned.up, &own);
        }
        watch.world.message(&mut publisher.up, &bytes);
        if what != Thinned::Only {
            watch.world.message(&mut other.down, &bytes);
        }
        if !is_thinned || n % 3 == 0 {
            watch.world.message(&mut thinned.down, &bytes);
        } else if what == Thinned::Shared {
            watch.world.message(&mut third.down, &bytes);
        }
        watch.take(50);
    }
    watch.take(20_000);
    never(&mut watch)
}

#[test]
fn what_one_subscriber_does_not_get_is_said() {
    let (severity, said) = thinned(Thinned::Dropped).unwrap();
    assert_eq!(severity, Severity::Problem);
    let counts = "80 of 170 messages of t were not passed on to sub (pid 31), which got those before and after";
    assert!(said.starts_with(counts) && said.ends_with("; others got them"), "{said}");
    let (_, said) = thinned(Thinned::Only).unwrap();
    assert!(said.contains("80 of 200 messages were read by the broker and passed"), "{said}");
    assert!(said.contains(counts) && !said.contains("others got them"), "{said}");
    for silent in [Thinned::Unsubscribed, Thinned::Publishes, Thinned::Shared] {
        assert_eq!(thinned(silent), None);
    }
}
