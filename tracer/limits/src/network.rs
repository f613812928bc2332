//! Times and counts that tell what became of bytes between two sockets.

use super::{ms, us};
use wirelap_events::Nanos;

/// Part of the shortest round trip, as a divisor, by which another one has to take longer before there is a queue: without one, a round trip
/// varies by a quarter (`AckRoundTrip::is_about`).
pub const LONGER_ROUND_TRIP_DIVISOR: u64 = 2;

/// Acknowledgements within one round trip, or packets one after the other, from which on a link delivers all the time.
pub const MIN_STEADY_ARRIVALS: usize = 3;

/// Gap between packets from the queue of a link that is slow: 1,500 B at 240 Mbit/s. Those that were kept back together come at once.
pub const SLOW_LINK_GAP: Nanos = us(50);

/// Time by which TCP tells late that it has sent something again: what takes the packet in may run before that.
pub const RETRANSMIT_REPORT_DELAY: Nanos = ms(2);

/// Times that bytes are sent again without an acknowledgement from which on they are stuck: a single copy that is lost as well is not yet a
/// hole.
pub const MIN_RESENDS_OF_STUCK: u32 = 2;

/// Time from which on an acknowledgement was delayed on purpose: Linux delays by 40 ms at least (`TCP_DELACK_MIN`), others by more, and at
/// most 500 ms are allowed (RFC 9293 §3.8.6.3).
pub const DELAYED_ACK: Nanos = ms(30);

/// Time without a send after which a connection has rested, and TCP begins anew with a small window: the shortest retransmission timeout
/// (`TCP_RTO_MIN`, `tcp_cwnd_restart()` in `net/ipv4/tcp_output.c`), beside the round trip.
pub const RESTED_CONNECTION: Nanos = ms(200);

/// Gap between two sends that find the window full up to which they are told together: a sender of small messages finds it so many times.
pub const FULL_WINDOW_GAP: Nanos = ms(1);

/// Time that a datagram is on its way through this host at most: after that, the same memory has another one.
pub const LONGEST_DATAGRAM_PATH: Nanos = ms(1_000);

/// Time for which bytes are sent again and again from which on they do not arrive: after less, they may, after a timeout or two.
pub const LEAST_STUCK: Nanos = ms(1_000);

/// Bytes of messages for which sends are kept, as far as there is memory for them.
pub const LONGEST_MESSAGE: u64 = 64 << 20;

/// Distance of the moments at which it is kept to which byte the reader had come.
pub const READ_MARK_GAP: Nanos = us(200);

/// Time for which a receiver has to have room before it is not as slow as before.
pub const WINDOW_REOPENED: Nanos = ms(200);

/// Time that a router may take for a packet at most.
pub const LONGEST_ROUTING: Nanos = ms(1_000);

/// Time within which a kernel closes the sockets of a process that has ended.
pub const CLOSES_WITH_PROCESS: Nanos = ms(1_000);

/// Time within which a server closes the older one of two connections of one name: after it has written its log, or another server of its
/// cluster has told it.
pub const CLOSES_NAMESAKE: Nanos = ms(1_000);

/// Time within which clients come back: the longest pause of their libraries between two attempts (librdkafka's
/// `reconnect.backoff.max.ms`). After a long outage it may take as long as that lasted, as the pauses grow with it.
pub const LONGEST_RECONNECT_PAUSE: Nanos = ms(10_000);

/// Time after which events of different CPUs are in order.
pub const CPU_EVENT_DISORDER: Nanos = ms(2);

/// Time after which it stays unknown what a read took: less than messages wait for their events.
pub const LONGEST_WAIT_FOR_DATAGRAM: Nanos = ms(40);

/// Time after its coming in within which a datagram is in its socket's queue.
pub const LONGEST_WAY_TO_QUEUE: Nanos = ms(1);

/// Distance of two arrivals from which on the earlier datagram was in its socket's queue before the later one came, or never will be.
pub const SURELY_QUEUED: Nanos = ms(1_000);

/// Time within which whoever stops a server with all its clients has ended them.
pub const ENDED_TOGETHER: Nanos = ms(1_500);

/// Bytes of a connection from which on it is told that its protocol is not known: fewer may be keep-alives, which alone do not tell a
/// protocol.
pub const MIN_UNRECOGNISED_BYTES: u64 = 1024;

/// Bytes, sent before the observation began and never read, from which on it is told: fewer may be what a protocol says besides, to a
/// program that only writes (the tickets of TLS).
pub const MIN_UNREAD_BEFORE: u64 = 1024;

/// Time of observation after which who has read nothing of that is told.
pub const LEAST_UNREAD_BEFORE: Nanos = ms(5_000);
