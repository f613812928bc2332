//! Costs from which on each kind of cause becomes a verdict: time and share of a typical message, and of a slow one.
//!
//! A name as `nagle` is a recorded situation in `tests/why`: most limits lie between one that has to be told and one that must not be.

use super::{LeastCost, TimeLimits, ms, us};
use wirelap_events::Nanos;

const fn limits(typical: (Nanos, f64), slow: (Nanos, f64)) -> TimeLimits {
    TimeLimits { typical: least(typical), slow: least(slow) }
}

const fn least((time, share): (Nanos, f64)) -> LeastCost {
    LeastCost { time, share }
}

/// `nagle_broker` keeps a typical message for 8 ms, the sockets of `nagle_off` keep theirs for 1 µs.
pub const NAGLE_DELAYED_ACK: TimeLimits = limits((us(500), 0.15), (ms(2), 0.15));

/// `corked` keeps a typical message for 106 ms, the sockets of `uncorked` keep theirs for 11 µs.
pub const CORKED: TimeLimits = limits((us(500), 0.15), (ms(2), 0.15));

/// `fetch_wait` keeps a typical message for 30 ms. A broker that is asked all the time has one for 1.2 ms (`fetch_asked`, the mock broker) or
/// 0.5 ms (`fetched_before`, Apache Kafka).
pub const FETCH_WAIT: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// The broker keeps messages as it does where nobody asks for them.
pub const SUBSCRIBER_AWAY: TimeLimits = FETCH_WAIT;

/// The broker keeps messages as it does where nobody asks for them.
pub const BROKER_AWAY: TimeLimits = FETCH_WAIT;

/// The broker keeps messages as it does where nobody asks for them.
pub const GROUP_REBALANCE: TimeLimits = FETCH_WAIT;

/// A broker that does not read keeps messages waiting as one does that is not asked.
pub const CLIENT_THROTTLED: TimeLimits = FETCH_WAIT;

/// A broker that may not pass a message on keeps it as it does where nobody asks for it; a release takes a round trip by design.
pub const RELEASE_WAIT: TimeLimits = FETCH_WAIT;

/// `receive_window` keeps a typical message for 240 µs, the sockets of `receive_roomy` keep theirs for 9 µs.
pub const RECEIVE_WINDOW: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// `slow_start` keeps a typical message for 41 ms, the sockets of `few_segments` keep theirs for 71 µs.
pub const CONGESTION_WINDOW: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// `slow_link` keeps a typical message for 74 ms. On loopback (`qdisc_wide`) bytes are on the way for 6 µs.
pub const BOTTLENECK_LINK: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// `paced` keeps a typical message for 5 ms, the sockets of `few_segments` keep theirs for 71 µs.
pub const PACING: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// `send_buffer` keeps a typical message for 89 ms, the sockets of `send_roomy` keep theirs for 97 µs.
pub const SEND_BUFFER: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// `late_write` takes 4 ms of a typical message; the write of `one_write` takes nothing to speak of.
pub const LATE_WRITE: TimeLimits = limits((us(500), 0.25), (ms(2), 0.25));

/// In `lost_in` and `lost_on`, slow messages lose 20 and 11 ms. The shortest timeout of TCP is 200 ms; a fast retransmit takes a round trip.
pub const RETRANSMISSION: TimeLimits = limits((us(200), 0.1), (ms(1), 0.2));

/// `qdisc` keeps a typical message for 53 ms before a device. `qdisc_wide`, whose bucket is as wide as ten of those, keeps none.
pub const QDISC_QUEUEING: TimeLimits = limits((us(100), 0.2), (ms(1), 0.25));

/// Slow messages of `contended` lose 1.2 ms. A thread of a quiet broker waits for 25 to 38 µs (`uncorked`, `receive_roomy`).
pub const RUN_QUEUE_CONTENTION: TimeLimits = limits((us(150), 0.25), (ms(1), 0.3));

/// `idle` takes 20 µs of a typical message, which is a note. On virtual machines it takes more, and is no problem before it is most of the time.
pub const IDLE_WAKEUP: TimeLimits = limits((us(200), 0.5), (ms(5), 0.5));

/// `bound` takes 2.4 ms of a typical message, `unbound` 0.1 ms.
pub const BROKER_CPU_BOUND: TimeLimits = limits((us(300), 0.3), (ms(2), 0.4));

/// Slow messages of `stopped` lose 97 ms; the broker of `steady` has a typical one for 11 µs.
pub const BROKER_STALLED: TimeLimits = limits((us(300), 0.25), (ms(2), 0.25));

/// `asleep` takes 35 ms of a typical message; the subscriber of `brisk` reads one in 11 µs.
pub const CLIENT_STALLED: TimeLimits = BROKER_STALLED;

/// A broker that leaves a connection unread keeps messages as one does whose thread sleeps.
pub const BACKPRESSURE: TimeLimits = BROKER_STALLED;

/// A lock keeps messages as other sleeps do.
pub const LOCK_WAIT: TimeLimits = BROKER_STALLED;

/// Some ten sends of one message take as long.
pub const SERIAL_FANOUT: TimeLimits = limits((us(300), 0.3), (ms(1), 0.4));

/// `busy_reader` takes 38 ms of a typical message; the subscriber of `quick_reader`, which computes for 0.2 ms, none.
pub const READER_BUSY: TimeLimits = limits((us(300), 0.3), (ms(2), 0.3));

/// Whoever used up a quota waits for the rest of its period, which is 100 ms usually.
pub const CPU_THROTTLED: TimeLimits = limits((us(500), 0.1), (ms(2), 0.15));

/// Much of a message has to be without a cause before it is said.
pub const UNEXPLAINED: TimeLimits = limits((ms(1), 0.4), (ms(3), 0.5));

/// Idle CPUs are woken for most messages of a quiet row: in `idle` it is 55 % of their time, in `awake`, where threads share a CPU, nothing.
pub const NOTE_OF_IDLE_WAKEUP: LeastCost = least((us(10), 0.3));

/// Each subscriber more costs the later ones as much, whatever else they wait for.
pub const NOTE_OF_SERIAL_FANOUT: LeastCost = least((us(50), 0.05));
