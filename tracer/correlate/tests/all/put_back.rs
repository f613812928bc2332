//! Messages that a broker of queues sends again, because a consumer that it had sent them to refused them, or was gone before it had
//! acknowledged them.

use crate::played::Played;
use wirelap_correlate::{Clause, VerdictKind};
use wirelap_events::Body;
use wirelap_protocols::PutBack;
use wirelap_test_support::compose::amqp;
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u64 = 40;
const SECOND: u64 = 1_000_000_000;

/// A publisher and two consumers of a queue.
struct Site {
    world: World,
    publisher: Connection,
    consumers: [Connection; 2],
}

impl Site {
    fn new() -> Site {
        let mut world = World::new();
        let [publisher, mut first, mut second] = [20_u32, 30, 31].map(|pid| {
            let (client, broker) = (process(pid, "client"), process(10, "broker"));
            let from = format!("127.0.0.1:{}", 40_000 + pid);
            let mut client = world.connect(client, &from, broker, "127.0.0.1:5672");
            world.message(&mut client.up, b"AMQP\0\0\x09\x01");
            client
        });
        for consumer in [&mut first, &mut second] {
            world.message(&mut consumer.up, &amqp::consume(1, "q", "tag", true));
        }
        Site { world, publisher, consumers: [first, second] }
    }

    fn publish(&mut self, payload: &str) {
        self.world.message(&mut self.publisher.up, &amqp::publish("", "q", payload.as_bytes()));
    }

    fn deliver(&mut self, to: usize, tag: u64, payload: &str) {
        let bytes = amqp::deliver("", "q", tag, payload.as_bytes());
        self.world.message(&mut self.consumers[to].down, &bytes);
    }

    fn deliver_again(&mut self, to: usize, tag: u64, payload: &str) {
        let bytes = amqp::redeliver("", "q", tag, payload.as_bytes());
        self.world.message(&mut self.consumers[to].down, &bytes);
    }

    /// A message comes to the first consumer, which does not read it.
    fn deliver_unread(&mut self, tag: u64, payload: &str) {
        let bytes = amqp::deliver("", "q", tag, payload.as_bytes());
        let way = &mut self.consumers[0].down;
        let (start, len) = way.advance(bytes.len());
        let way = *way;
        self.world.send(&way, start, len);
        self.world.xmit(&way, start, &bytes);
        self.world.rx(&way, start, len);
        self.world.ready(&way, way.next);
    }

    /// The broker writes a message for the first consumer, whose socket has no room.
    fn deliver_into_full(&mut self, tag: u64, payload: &str) {
        let bytes = amqp::deliver("", "q", tag, payload.as_bytes());
        let (start, len) = self.consumers[0].down.advance(bytes.len());
        let way = self.consumers[0].down;
        self.world.send(&way, start, len);
    }

    fn says(&mut self, bytes: &[u8]) {
        self.world.message(&mut self.consumers[0].up, bytes);
    }

    /// The first consumer is gone.
    fn kill(&mut self) {
        for socket in [self.consumers[0].up.from.0, self.consumers[0].down.from.0] {
            self.world.tell(Body::Closed(socket), &[]);
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.world.now += seconds * SECOND;
    }

    /// Messages sent, delivered, followed and uncovered; duplicates, and what was never read.
    fn counts(&self) -> ([u64; 4], [u64; 2]) {
        let played = Played::of(&self.world);
        let messages = played.group().messages;
        (played.counts(), [messages.duplicates, messages.never_read])
    }

    /// The reasons that are told for what came twice.
    fn reasons(&self) -> Vec<Clause> {
        let played = Played::of(&self.world);
        let verdicts = &played.group().why.verdicts;
        let duplicates = verdicts.iter().find(|one| one.kind == VerdictKind::Duplicates);
        duplicates.map(|one| one.evidence.clone()).unwrap_or_default()
    }
}

fn payload(n: u64) -> String {
    format!("reading {n:04}")
}

fn put_back(messages: u64, why: PutBack) -> Clause {
    let by = Some((process(30, "client").task.pid, Some(process(30, "client").comm)));
    Clause::PutBack { messages, why, by, has_others: false }
}

#[test]
fn what_a_consumer_refuses_comes_again_and_was_delivered_once() {
    let mut site = Site::new();
    for n in 0..MESSAGES {
        site.publish(&payload(n));
        site.deliver(0, 2 * n + 1, &payload(n));
        site.says(&amqp::nack(2 * n + 1));
        site.deliver_again(usize::from(n % 2 != 0), 2 * n + 2, &payload(n));
    }
    let all = MESSAGES;
    assert_eq!(site.counts(), ([all, all, all, 0], [all, 0]));
    let redelivered = Clause::Redelivered { times: all, sent: all };
    assert_eq!(site.reasons(), [redelivered, put_back(all, PutBack::Refused)]);
}

#[test]
fn what_was_read_and_not_acknowledged_comes_again() {
    for (end, why) in
        [("channel", PutBack::ChannelClosed), ("connection", PutBack::ConnectionEnded)]
    {
        let mut site = Site::new();
        for n in 0..MESSAGES {
            site.publish(&payload(n));
            site.deliver(0, n + 1, &payload(n));
        }
        site.says(&amqp::ack(1, MESSAGES / 2, true));
        match end {
            "channel" => site.says(&amqp::close_channel(1)),
            _ => site.kill(),
        }
        for n in MESSAGES / 2..MESSAGES {
            site.deliver_again(1, n, &payload(n));
        }
        let (all, half) = (MESSAGES, MESSAGES / 2);
        assert_eq!(site.counts(), ([all, all, all, 0], [half, 0]));
        let redelivered = Clause::Redelivered { times: half, sent: all };
        assert_eq!(site.reasons(), [redelivered, put_back(half, why)]);
    }
}

/// The broker marks what it had sent to a consumer that was gone before it read it.
#[test]
fn what_nobody_read_is_delivered_for_the_first_time() {
    for away in [0, 60] {
        let mut site = Site::new();
        for n in 0..MESSAGES {
            site.publish(&payload(n));
            site.deliver_unread(n + 1, &payload(n));
        }
        site.wait(1);
        site.kill();
        site.wait(away);
        for n in 0..MESSAGES {
            site.deliver_again(1, n + 1, &payload(n));
        }
        let all = MESSAGES;
        assert_eq!(site.counts(), ([all, all, all, 0], [0, all]), "{away}");
        assert_eq!(site.reasons(), []);
    }
}

/// The broker also marks what it had chosen for that consumer and not written yet, because the socket was full.
#[test]
fn what_was_never_sent_is_delivered_for_the_first_time() {
    let mut site = Site::new();
    (0..MESSAGES).for_each(|n| site.publish(&payload(n)));
    site.kill();
    (0..MESSAGES).for_each(|n| site.deliver_again(1, n + 1, &payload(n)));
    assert_eq!(site.counts(), ([MESSAGES, MESSAGES, MESSAGES, 0], [0, 0]));
}

#[test]
fn of_equal_messages_each_counts_once() {
    for pause in [0, 20] {
        let mut site = Site::new();
        for n in 0..MESSAGES {
            site.publish("on");
            site.deliver(0, n + 1, "on");
        }
        site.wait(pause);
        // More wait in the queue when the consumer is gone.
        (0..MESSAGES).for_each(|_| site.publish("on"));
        site.kill();
        (0..MESSAGES).for_each(|n| site.deliver_again(1, n + 1, "on"));
        (0..MESSAGES).for_each(|n| site.deliver(1, MESSAGES + n + 1, "on"));
        let all = 2 * MESSAGES;
        assert_eq!(site.counts(), ([all, all, all, 0], [MESSAGES, 0]), "{pause}");
    }
}

#[test]
fn what_waits_in_the_brokers_socket_for_one_of_two_consumers_was_not_thrown_away() {
    for is_full in [true, false] {
        let mut site = Site::new();
        for n in 0..2 * MESSAGES {
            site.publish(&payload(n));
            match (n % 2, n < MESSAGES) {
                (0, true) => site.deliver(0, n / 2 + 1, &payload(n)),
                (0, false) if is_full => site.deliver_into_full(n / 2 + 1, &payload(n)),
                (0, false) => {}
                _ => site.deliver(1, n / 2 + 1, &payload(n)),
            }
            site.world.now += SECOND / 4;
        }
        site.wait(20);
        let played = Played::of(&site.world);
        let verdicts = &played.group().why.verdicts;
        let is_lost = verdicts.iter().any(|one| one.kind == VerdictKind::NeverDelivered);
        assert_eq!(is_lost, !is_full);
    }
}
