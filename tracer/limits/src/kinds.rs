//! Costs from which on each kind of cause becomes a verdict: time and share of a typical message, and of a slow one.

use super::{LeastCost, TimeLimits, ms, us};
use wirelap_events::Nanos;

const fn limits(typical: (Nanos, f64), slow: (Nanos, f64)) -> TimeLimits {
    TimeLimits { typical: least(typical), slow: least(slow) }
}

const fn least((time, share): (Nanos, f64)) -> LeastCost {
    LeastCost { time, share }
}

/// A delayed acknowledgement takes 40 ms; on a round trip of less than this, there was none.
pub const NAGLE_DELAYED_ACK: TimeLimits = limits((us(500), 0.15), (ms(2), 0.15));

/// A cork that is pulled with the message costs less.
pub const CORKED: TimeLimits = limits((us(500), 0.15), (ms(2), 0.15));

/// A broker that is polled answers within a millisecond or two where it is set to.
pub const FETCH_WAIT: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// A subscriber that connects and subscribes at once needs some round trips for it.
pub const SUBSCRIBER_AWAY: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// A broker that is started again at once is away for longer.
pub const BROKER_AWAY: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// The shortest rebalance takes some round trips.
pub const GROUP_REBALANCE: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// Brokers throttle by many milliseconds.
pub const CLIENT_THROTTLED: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// A broker that reads one connection after the other leaves each unread for a moment.
pub const BACKPRESSURE: TimeLimits = limits((us(300), 0.25), (ms(2), 0.25));

/// A release takes a round trip more by design: some milliseconds where threads have to be woken for it on a busy machine.
pub const RELEASE_WAIT: TimeLimits = limits((ms(3), 0.3), (ms(10), 0.3));

/// A reader that keeps up empties a full window within a few wakeups.
pub const RECEIVE_WINDOW: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// A window that is full for a fraction of a round trip between hosts of one rack is none.
pub const CONGESTION_WINDOW: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// A burst of a few packets passes a fast link in less.
pub const BOTTLENECK_LINK: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// BBR's gaps between segments on a fast path are shorter.
pub const PACING: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// A buffer that is full for the time of a few wakeups is emptied by a reader that keeps up.
pub const SEND_BUFFER: TimeLimits = limits((us(200), 0.2), (ms(1), 0.25));

/// A sender that is woken when its socket takes more comes back sooner.
pub const LATE_WRITE: TimeLimits = limits((us(500), 0.25), (ms(2), 0.25));

/// Fast retransmit takes a round trip; the shortest timeout of TCP is 200 ms.
pub const RETRANSMISSION: TimeLimits = limits((us(200), 0.1), (ms(1), 0.2));

/// A packet that is not queued passes the qdisc in microseconds.
pub const QDISC_QUEUEING: TimeLimits = limits((us(100), 0.2), (ms(1), 0.25));

/// A thread that is woken on a machine with CPUs to spare runs within tens of microseconds.
pub const RUN_QUEUE_CONTENTION: TimeLimits = limits((us(150), 0.25), (ms(1), 0.3));

/// Deep idle states are left within 200 µs or so; virtual CPUs take longer.
pub const IDLE_WAKEUP: TimeLimits = limits((us(200), 0.5), (ms(5), 0.5));

/// A broker's own work on a message takes tens of microseconds.
pub const BROKER_CPU_BOUND: TimeLimits = limits((us(300), 0.3), (ms(2), 0.4));

/// A broker with several threads hands messages on within 200 µs or so.
pub const BROKER_STALLED: TimeLimits = limits((us(300), 0.25), (ms(2), 0.25));

/// A client that waits for its messages and nothing else is woken at once.
pub const CLIENT_STALLED: TimeLimits = limits((us(300), 0.25), (ms(2), 0.25));

/// Some ten sends of one message take as long.
pub const SERIAL_FANOUT: TimeLimits = limits((us(300), 0.3), (ms(1), 0.4));

/// A callback that only takes a message in is shorter.
pub const READER_BUSY: TimeLimits = limits((us(300), 0.3), (ms(2), 0.3));

/// Whoever used up a quota waits for the rest of its period, which is 100 ms usually.
pub const CPU_THROTTLED: TimeLimits = limits((us(500), 0.1), (ms(2), 0.15));

/// A lock that is held for a few lines of code is free sooner.
pub const LOCK_WAIT: TimeLimits = limits((us(300), 0.25), (ms(2), 0.25));

/// Much of a message has to be without a cause before it is said.
pub const UNEXPLAINED: TimeLimits = limits((ms(1), 0.4), (ms(3), 0.5));

/// Idle CPUs are woken for most messages of a quiet row: from a third of their time on, that is worth a note.
pub const NOTE_OF_IDLE_WAKEUP: LeastCost = least((us(10), 0.3));

/// Each subscriber more costs the later ones as much, whatever else they wait for.
pub const NOTE_OF_SERIAL_FANOUT: LeastCost = least((us(50), 0.05));
