//! Times by which a part of a message's time is put down to a cause.

use super::{ms, us};
use wirelap_events::Nanos;

/// Time from which on a cause is looked for: less is what a call, a softirq or a timer's slack takes anyway.
pub const NOTICEABLE_TIME: Nanos = us(50);

/// Sleep of a thread from which on it is stalled: between reading and sending, less is a wait for another thread.
pub const SHORTEST_STALL: Nanos = us(200);

/// Time in the qdisc, and beyond the shortest round trip, from which on there is a queue: in the recorded `qdisc`, 53 ms of a
/// typical message; in `qdisc_wide`, none.
pub const SHORTEST_QUEUEING: Nanos = ms(1);

/// Time that a cork keeps bytes at most: 200 ms (tcp(7), `TCP_CORK`), and the timer may be late.
pub const LONGEST_CORK: Nanos = ms(250);

/// Distance from which on the way between hosts is told apart: time that no rule explains is told from a millisecond on.
pub const SHORTEST_DISTANCE: Nanos = us(500);

/// Time by which a broker's timer is late at most: it hands on to other threads. Kafka's is 1.1 ms late on a quiet machine (recorded:
/// `fetch_timer`).
pub const BROKER_TIMER_LATENESS: Nanos = ms(5);

/// Part of a request's own time by which its answer may be late at most: timers of long waits are coarse.
pub const REQUEST_LATENESS_DIVISOR: u64 = 4;

/// Time by which a broker's timer is early at most: Kafka's counts whole milliseconds.
pub const BROKER_TIMER_EARLINESS: Nanos = ms(2);

/// Sleep of a thread of a broker that is asked for messages up to which others work for it: they write them down, and copy them.
pub const LONGEST_HANDING_ON: Nanos = ms(3);

/// Part of the time for which a message waits at a server, as a divisor: a copy of the log that is late for less of it may be of other messages.
pub const LATE_COPY_DIVISOR: u64 = 4;

/// Time up to which windows and buffers of a new connection may be small: then they have their size.
pub const LONGEST_TUNING: Nanos = ms(200);

/// Time up to which a thread may sleep, or anything else may wait, because a connection starts up.
pub const LONGEST_START_UP_WAIT: Nanos = ms(1_000);
