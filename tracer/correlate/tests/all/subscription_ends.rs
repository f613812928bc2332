//! Ends of subscriptions: whoever no longer subscribes to a topic is not behind on it.

use crate::audience::{AMQP, Audience, Dialect, Fate, NATS, Watch, watched};
use wirelap_correlate::SlowSubscribers;
use wirelap_events::Seq;
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, produce, record};
use wirelap_test_support::world::{World, process};

/// UNSUBSCRIBE from `t`.
const UNSUBSCRIBE: &[u8] = &[0xa2, 5, 0, 1, 0, 1, b't'];

#[test]
fn who_unsubscribes_is_not_behind() {
    let mut all = Audience::new();
    for n in 0..60 {
        let bytes = all.publish_number(n);
        if n < 30 {
            all.second_gets(&bytes);
        } else if n == 30 {
            all.watch.world.message(&mut all.subscribers[1].up, UNSUBSCRIBE);
        }
        let slow = all.watch.take(100);
        assert!(slow.listed.is_empty(), "{n}: {slow:?}");
    }
}

/// The end, after thirty messages, of a subscription without the client's saying so then.
struct Ending {
    dialect: Dialect,
    /// The client's bytes when it subscribes.
    subscription: &'static [u8],
    /// The server's bytes when thirty messages have been delivered.
    end: &'static [u8],
}

/// `RabbitMQ` cancels a consumer whose queue is gone: `basic.cancel` with no-wait.
const CANCELLED: Ending = Ending {
    dialect: AMQP,
    subscription: b"\x01\0\x01\0\0\0\x05\0\x14\0\x0a\0\xce",
    end: b"\x01\0\x01\0\0\0\x09\0\x3c\0\x1e\x03tag\x01\xce",
};

/// The client named a maximum of thirty messages when it subscribed, and the server goes on without it.
const AT_MAXIMUM: Ending =
    Ending { dialect: NATS, subscription: b"SUB t 1\r\nUNSUB 1 30\r\n", end: b"PING\r\n" };

#[test]
fn whose_subscription_the_server_ends_is_not_behind() {
    for (which, ending) in [CANCELLED, AT_MAXIMUM].iter().enumerate() {
        let Dialect { published, delivered, .. } = ending.dialect;
        let mut world = World::new();
        let mut clients = [(20, "pub"), (30, "sub"), (31, "sub")]
            .map(|(pid, name)| ending.dialect.join(&mut world, pid, name));
        world.message(&mut clients[2].up, ending.subscription);
        let mut watch = Watch::new(world);
        for n in 0..60 {
            let [publisher, other, ended] = &mut clients;
            watch.world.message(&mut publisher.up, &published(n));
            watch.world.message(&mut other.down, &delivered(n));
            if n < 30 {
                watch.world.message(&mut ended.down, &delivered(n));
            } else if n == 30 {
                watch.world.message(&mut ended.down, ending.end);
            }
            let slow = watch.take(100);
            assert!(slow.listed.is_empty(), "{which} {n}: {slow:?}");
        }
    }
}

/// A subscriber that gets nothing for ten seconds, while another gets all messages and nothing hinders the broker, has unsubscribed.
#[test]
fn who_gets_nothing_for_long_has_unsubscribed() {
    let (mut watch, _) = watched(Fate::Unsent);
    let slow = watch.take(12_000);
    assert_eq!(slow.behind, 0, "{slow:?}");
}

/// So many steps of 100 ms, in each of which a producer sends a record to the topics `t` and `u`. `gets` says in which steps a consumer
/// asks, and which topic's record of which step it gets then. Returns who is behind after each step.
fn asked(
    steps: usize,
    gets: impl Fn(usize) -> Option<(&'static str, usize)>,
) -> Vec<SlowSubscribers> {
    let mut world = World::new();
    let mut client = |pid: u32, name: &str| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let broker = process(10, "java");
        world.connect_at(process(pid, name), &from, broker, "127.0.0.1:9092", Seq(pid << 20))
    };
    let (mut producer, mut consumer) = (client(20, "producer"), client(30, "consumer"));
    let mut watch = Watch::new(world);
    let content = |topic: &str, n: usize| batch(1, &record(format!("{topic}{n:060}").as_bytes()));
    let step = |n: usize| {
        let what = gets(n);
        if what.is_some() {
            watch.world.message(&mut consumer.up, &fetch(n));
        }
        for (id, topic) in [(2 * n, "t"), (2 * n + 1, "u")] {
            let bytes = produce(id, topic, &content(topic, n));
            watch.world.message(&mut producer.up, &bytes);
        }
        if let Some((topic, number)) = what {
            let bytes = fetched(n, topic, &content(topic, number));
            watch.world.message(&mut consumer.down, &bytes);
        }
        watch.take(100)
    };
    (0..steps).map(step).collect()
}

#[test]
fn who_asks_and_no_longer_gets_a_topic_is_not_behind() {
    let seen = asked(150, |n| Some((if n < 30 { "t" } else { "u" }, n)));
    let is_behind = |slow: &SlowSubscribers| {
        slow.listed.iter().any(|one| one.topic.as_deref() == Some("t-0") && one.now.is_some())
    };
    assert!(!is_behind(seen.last().unwrap()));
    assert!(is_behind(&seen[100]), "that takes ten seconds");
}

/// A consumer that asks for nothing for twelve seconds gets messages that are as old afterwards.
#[test]
fn who_gets_old_messages_is_behind() {
    let seen = asked(180, |n| match n {
        0..20 => Some(("t", n)),
        20..140 => None,
        _ => Some(("t", n - 120)),
    });
    assert!(seen[150..].iter().all(|slow| slow.behind == 1), "{:?}", &seen[150..]);
}
