//! Times and counts by which messages are joined, awaited and given up.

use super::{ms, us};
use wirelap_events::Nanos;

/// Age up to which a message is on its way, unless typical ones take long.
pub const LONGEST_USUAL_WAY: Nanos = ms(1_000);

/// Time for which a process that has read something is taken to go on reading.
pub const READER_MEMORY: Nanos = ms(500);

/// Times the age that a typical message gets, up to which one is on its way.
pub const OVERDUE_FACTOR: u64 = 10;

/// Times the age that the quickest tenth of the messages gets up to which the typical age is that of all: where messages wait for longer and
/// longer, as in a queue that grows, it is five times as large.
pub const EVEN_AGE_FACTOR: u64 = 3;

/// Times the age that nearly all messages got, up to which one is on its way where the typical age is not that of all.
pub const OVERDUE_AGAIN_FACTOR: u64 = 2;

/// Quantiles of the ages: the quickest messages, typical ones, and nearly all.
pub const OVERDUE_QUANTILES: [f64; 3] = [0.1, 0.5, 0.99];

/// Messages of a publisher, and how many of a hundred, that have to go on before they are expected to.
pub const GOES_ON: (u64, u64) = (10, 90);

/// Time within which a group gives what a member read to another one: Kafka waits for a member for 45 s (`session.timeout.ms`), and then
/// for all to join again.
pub const LONGEST_REBALANCE: Nanos = ms(60_000);

/// Time for which a reply is waited for: Kafka's clients give up after half of it (`request.timeout.ms`).
pub const LONGEST_WAIT_FOR_REPLY: Nanos = ms(60_000);

/// Time within which a server passes on what it gets by its subscribers' intervals: eight times what open62541 asks for by itself (0.5 s).
pub const LONGEST_SUBSCRIPTION_INTERVAL: Nanos = ms(4_000);

/// Time within which a process that others have subscribed at passes on its first message, if it does that.
pub const LONGEST_FORWARDING: Nanos = ms(1_000);

/// Time for which a connection said nothing after wirelap came, from which on it was at rest.
pub const SILENCE_BEFORE_START_UP: Nanos = ms(200);

/// Time after its opening in which a connection is starting up: slow start, the first delayed acknowledgement, code that is compiled.
pub const LONGEST_START_UP: Nanos = ms(1_000);

/// Messages of a connection that are those of its start-up, however late they come.
pub const MIN_START_UP_MESSAGES: u64 = 3;

/// Messages after which a start-up is over, however soon they come: what is slow then has another reason.
pub const MAX_START_UP_MESSAGES: u64 = 50;

/// Bytes of content from which on it tells messages apart: less is too often the same by chance.
pub const MIN_TELLING_BYTES: u64 = 4;

/// Time after which a reader that has taken nothing while others did is not waited for.
pub const SILENT_READER: Nanos = ms(1_000);

/// Time beyond twice its usual one that a server may take and be as quick as usual: a thread may wait for a CPU for as long.
pub const USUAL_DWELL_SLACK: Nanos = us(500);

/// Holds for which a message whose every leg is delivered is remembered, for copies of it.
pub const HOLDS_REMEMBERED: u64 = 10;

/// Time for which bytes that a sender wrote have not arrived, from which on copies of its messages may wait for the same receiver.
pub const RECEIVER_BEHIND_AFTER: Nanos = ms(50);

/// Time for which a message that lies unread in a socket is waited for.
pub const LONGEST_UNREAD: Nanos = ms(300_000);

/// Messages that a process has handed on to another server before it is a proxy: a bridge shows that it is a broker by then.
pub const MIN_RELAYED_BY_PROXY: u32 = 2;

/// Messages that may seem to be handed on to clients by a proxy: where connections are joined late, what it had from its server may be
/// found too late, or not at all.
pub const MAX_PROXY_MISTAKES: u32 = 3;

/// Messages that a proxy has handed on as proxies do, for each that it seems not to.
pub const RELAYED_FOR_EACH_MISTAKE: u32 = 32;

/// Messages that come out at another address than they went in from which on both are one server's, where messages go in at both.
pub const MIN_CROSSED: u8 = 3;

/// Messages of one topic that come out with another one, each of a content of its own, from which on all do.
pub const MIN_RENAMED: u8 = 3;

/// Messages in a row that were not seen when they came, after which connections are not taken to belong together any more: they may be of
/// several clients that begin with the same bytes.
pub const MAX_UNSEEN_BY_PROXY: u8 = 2;

/// Messages in a row that are the same at one distance on two connections, from which on the one continues the other, though no socket is seen
/// at the end between them.
pub const MIN_LIKE_AT_UNSEEN_PROXY: u8 = 3;

/// Time for which a message is on its way inside a server until it is in its queue, and a request until it is answered, on a busy machine.
pub const LONGEST_WAY_TO_QUEUE: Nanos = ms(100);
