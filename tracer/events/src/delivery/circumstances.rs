//! The facts about a leg in addition to its times.

use crate::{DropCause, Nanos, Recovery, Release, RequestLimits, TaskId, TxState};
use serde::{Deserialize, Serialize};

/// Facts about a leg in addition to its times, from which verdicts are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Circumstances {
    /// The sender's socket when the message was written, and what lay in it before.
    pub socket: SenderSocket,
    /// Bytes that were lost on the way, and what waited for them.
    pub loss: LegLosses,
    /// The network between the ends.
    pub path: LegPath,
    /// The receiver's request that the message answers (Kafka `Fetch`, a NATS pull); nothing if messages are pushed.
    pub request: MessageRequest,
    /// The receiver's coming, and the message's end, at a server that keeps messages.
    pub subscription: ReaderArrival,
    /// The permission to send, as far as the protocol has such.
    pub permission: SendPermission,
    /// From when until when the reader had bytes in its socket that had left the sender's before `sent`, and had not read them; to the end of
    /// time while it had no room for more. Bytes that wait in the sender's socket meanwhile would otherwise wait in the reader's socket.
    pub unread: Option<(Nanos, Nanos)>,
    /// True if it is not observed when the reader sleeps and runs.
    pub reader_unobserved: bool,
    /// True if the message is one of the first of its connection, or was sent within a second after the connection was opened.
    pub start_up: bool,
    /// The position of the leg if its sender sends the message to several readers one after the other. `None` for the first reader, and
    /// if several threads send.
    pub fan_out: Option<FanOut>,
}

/// The socket of a leg's sender when it wrote the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct SenderSocket {
    /// The state of the sender's TCP at the send call that brought the last byte.
    pub tx: Option<TxState>,
    /// The bytes of that send call.
    pub send_len: u32,
    /// True if the last byte left in a full segment, or in several segments.
    pub whole_segment: bool,
    /// Time at which the last acknowledgement of earlier bytes reached the sender, after `sent` and before `queue`; `None` if none did.
    pub acked: Option<Nanos>,
    /// True if the receiver was seen to have no room while the last byte waited in its sender's socket.
    pub no_room: bool,
    /// For how long, while it was being written in several calls, the socket had refused bytes of the message, and the acknowledgements
    /// had not come that made room for them.
    pub awaited_room: Nanos,
    /// True if the socket had refused the last bytes of the message before, and no acknowledgement was seen.
    pub is_room_unseen: bool,
    /// Bytes that the sender had written on the connection before, if they were still in the socket after the sender had read the message.
    pub behind: Option<EarlierBytes>,
    /// Such bytes while the message was on its way to the sender: a forwarder that cannot send may not read either.
    pub held_before: Option<EarlierBytes>,
    /// Such bytes, of the message itself perhaps, while it was being written in several calls.
    pub held_in_write: Option<EarlierBytes>,
}

/// Bytes of a leg's connection that were lost, and what waited for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct LegLosses {
    /// True if some of the message's bytes were lost and sent again: by TCP or, in datagrams, by the protocol.
    pub resent: bool,
    /// True if earlier bytes of the connection were lost, so that the message had to wait for them.
    pub behind: bool,
    /// True if the message overtook earlier bytes of the connection on the way, though nothing was lost, and had to wait for them.
    pub overtook: bool,
    /// Time for which earlier bytes or their acknowledgements were missing while the message was being written.
    pub in_write: Nanos,
    /// Time for which earlier bytes or their acknowledgements were missing while the last byte waited in the sender's socket.
    pub in_socket: Nanos,
    /// The last interval before the send in which lost bytes of either direction of the connection had not arrived yet. The bytes may
    /// be a request or an acknowledgement of the receiver.
    pub missing: Option<(Nanos, Nanos)>,
    /// Sender of those bytes, and the way of their recovery; `None` if they were not TCP's.
    pub missing_by: Option<MissingBytes>,
    /// True if a loss shortly before had reduced the congestion window, which had not recovered yet.
    pub shrunk_window: bool,
    /// Why TCP retransmitted lost bytes; `None` if it did not, or that was not seen.
    pub recovery: Option<Recovery>,
    /// Why the kernel of this host dropped a packet of the message, if it did.
    pub dropped: Option<DropCause>,
}

/// The hosts at the ends of a leg, where events of several hosts are put together, and the error of times between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegHosts {
    /// The number of the host that the leg leaves, from 1 on; 0 if all events are of one host, or none shows it.
    pub from: u8,
    /// The number of the host that the leg comes to.
    pub to: u8,
    /// The largest error of a time from one to the other: 0 on one host, [`LegHosts::UNKNOWN`] if it is not known.
    pub error: Nanos,
}

impl LegHosts {
    /// The error of times of which nothing can be said.
    pub const UNKNOWN: Nanos = Nanos(u64::MAX);

    /// By how much a time at the receiver may lie before one at the sender.
    pub fn slack(&self) -> Nanos {
        if self.error == LegHosts::UNKNOWN { Nanos(0) } else { self.error }
    }
}

/// The network between the ends of a leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegPath {
    /// The hosts at its ends.
    pub hosts: LegHosts,
    /// The shortest time in which bytes of the leg's flow came from one end to the other until then; 0 if that was not seen.
    pub distance: Nanos,
    /// Round trip of the connection when the last byte was sent; `None` if none was seen.
    pub round_trip: Option<AckRoundTrip>,
    /// The longest time in which packets of the connection waited in the qdisc of this host, while the message was at its sender or on
    /// its way.
    pub qdisc_queue: Option<LinkQueue>,
    /// The longest time in which bytes of the connection waited in a queue on the path, while the message was at its sender or on its
    /// way.
    pub queue: Option<LinkQueue>,
    /// True if the processing of the last packet was deferred to `ksoftirqd`.
    pub deferred: bool,
    /// Since when `ksoftirqd` had been woken then; 0 if that is not known, or it was not deferred.
    pub deferred_since: Nanos,
    /// The acknowledgement of the last byte, if the reader is not seen on this host: by then the byte had arrived.
    pub heard: Option<Heard>,
}

/// A receiver's last request for messages on a leg's connection that the sender had read before `send`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct MessageRequest {
    /// Time at which the receiver made it; `None` if messages are pushed.
    pub made: Option<Nanos>,
    /// The thread that wrote it; `None` if that was not seen.
    pub by: Option<TaskId>,
    /// Time at which the sender had read it; `None` if that was not seen.
    pub read: Option<Nanos>,
    /// Time at which it was there for the sender; `None` if that was not seen.
    pub there: Option<Nanos>,
    /// From when on the receiver could have made it: it had everything that it got before.
    pub free_since: Option<Nanos>,
    /// For how long, after the sender had the message and before `free_since`, the receiver had the answer to its last request, as far as is
    /// known, and had not made the next one.
    pub between: Nanos,
    /// True if TCP had to retransmit it.
    pub resent: bool,
    /// True if TCP had to retransmit what the receiver got before it, so that the receiver could not make it earlier.
    pub after_loss: bool,
    /// Time and bytes for which it let the sender wait; `None` if it did not tell.
    pub limits: Option<RequestLimits>,
    /// Time at which the sender had read the last of the messages with which it answered; `None` if they were not seen.
    pub filled: Option<Nanos>,
    /// True if the message is part of a transaction and its receiver takes only committed messages.
    pub awaits_commit: bool,
}

/// A receiver's coming to a server that had kept a message for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderArrival {
    /// Time at which the receiver had connected, said who it is and subscribed; `None` unless it did so only after the sender had
    /// read the message.
    pub ready: Option<Nanos>,
    /// True if the receiver did that so late because the sender, a server, had been gone, and the receiver's connection with it.
    pub sender_was_gone: bool,
    /// True if the receiver then took the place of another member of its group, which had no reader of the message in between.
    pub handed_over: bool,
    /// True if the message lay in a queue of the sender, a server, until its time there was over: nobody was to have it before.
    pub has_expired: bool,
}

/// The permission to send a message on a leg, and times in which an end did not read, by its own word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendPermission {
    /// The permission to pass the message on, if the sender had to wait for it after it had read the message.
    pub release: Option<Release>,
    /// The last acknowledgement that may have been needed before the sender could send more to this receiver.
    pub credit: Option<Credit>,
    /// For how long the receiver, a server, did not read the sender, by its own word, while the message was on its way.
    pub throttled: Nanos,
    /// True if the receiver, a server, reads nothing more of the connection until it has answered what it read last.
    pub answers_in_turn: bool,
    /// The last interval in which the sender, a server, did not read the receiver, by its own word, while it had the message.
    pub requests_unread: Option<(Nanos, Nanos)>,
    /// The last interval in which the sender, a server, did not read who had sent it the message, by its own word, while it had the
    /// message.
    pub publisher_unread: Option<(Nanos, Nanos)>,
    /// For how long, while the message was in its reader's socket, the reader had the message before it of the same connection and had not
    /// passed that on.
    pub at_earlier: Nanos,
    /// The server whose copy of the log was awaited while the message lay at its reader, or at its sender.
    pub replica: Option<ReplicaWait>,
}

/// A time in which a server that copies the log of another one had not asked for more: the other one tells nobody that a message is stored, and
/// hands none out, before its copies are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaWait {
    /// Length of the time.
    pub time: Nanos,
    /// The server that copies; `None` if it is on another host.
    pub server: Option<TaskId>,
}

impl Circumstances {
    /// True if all earlier bytes had left the socket and were acknowledged when the sender wrote the rest of the message. How long before
    /// there was room must be known.
    pub fn is_late_write(&self) -> bool {
        !self.socket.is_room_unseen
            && self.socket.tx.is_some_and(|tx| tx.in_flight == 0 && tx.unsent == 0)
    }

    /// True if all earlier bytes had left the socket when the sender wrote the rest of the message, and the receiver had room for it: nothing
    /// but the sender itself kept it from writing that before.
    pub fn writes_at_own_pace(&self) -> bool {
        let has_room =
            |tx: TxState| tx.unsent == 0 && tx.in_flight.saturating_add(tx.mss) <= tx.window;
        !self.socket.is_room_unseen
            && self.socket.awaited_room == Nanos(0)
            && self.socket.tx.is_some_and(has_room)
    }

    /// Time at which the receiver allowed its sender to send, by a request or an acknowledgement; `None` if it did neither.
    pub fn allowed(&self) -> Option<Nanos> {
        self.request.made.or(self.permission.credit.map(|credit| credit.at))
    }

    /// The acknowledgement that the sender may have waited for. A receiver that asks for messages gets no more for one.
    pub fn awaited_credit(&self) -> Option<Credit> {
        self.permission.credit.filter(|_| self.request.made.is_none())
    }
}

/// Earlier bytes of a connection that were in their sender's socket while the sender had a message for the same connection: whenever
/// it wrote the message, that left after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierBytes {
    /// Since when, at the earliest when the sender read the message.
    pub since: Nanos,
    /// Time for which the bytes were there, at most until the sender sent the message. The longest time, if there were several.
    pub time: Nanos,
    /// The state of the sender's TCP at the send of those of them that were there longest.
    pub tx: TxState,
    /// The bytes of that send call.
    pub send_len: u32,
    /// True if the receiver was seen to have no room meanwhile: it said so, or a send found its window full.
    pub no_room: bool,
}

/// A time in which bytes of a connection waited in a queue after they had left their socket: the link behind it is slower than their
/// sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkQueue {
    /// From when on.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// The longest time that some of the bytes took: in the qdisc, or for a round trip.
    pub longest: Nanos,
    /// The shortest round trip of the connection until then; 0 for a qdisc.
    pub least: Nanos,
    /// Payload bytes of the connection that came through in a second.
    pub rate: u64,
}

/// Time of TCP's acknowledgements, from when bytes leave their host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckRoundTrip {
    /// The last one.
    pub time: Nanos,
    /// The shortest one of the connection.
    pub least: Nanos,
    /// True if about as short a round trip was of bytes that left when no others were under way, and so had none before them in a queue.
    pub is_without_queue: bool,
}

impl AckRoundTrip {
    /// True if `time` is no longer than the shortest round trip, apart from the usual variation: a quarter, and at least 200 µs.
    pub fn is_about(time: Nanos, least: Nanos) -> bool {
        time <= least + Nanos(least.0 / 4).max(Nanos::from_micros(200))
    }

    /// True if the last round trip is about as short as one without a queue on the path.
    pub fn is_short(self) -> bool {
        self.is_without_queue && AckRoundTrip::is_about(self.time, self.least)
    }
}

impl LinkQueue {
    /// Part of the time between two moments in which the bytes waited in the queue.
    pub fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        self.to.min(to) - self.from.max(from).min(to)
    }
}

/// The acknowledgement of a message's last byte by TCP at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Time at which the acknowledgement reached the sender's host: the byte had arrived at the other end by then, and may have
    /// long before.
    pub at: Nanos,
    /// True if the other end delayed the acknowledgement: it carried no data, and others on the connection came much sooner.
    pub delayed: bool,
}

/// An acknowledgement by a receiver that had as many unacknowledged messages as ever, so that its sender may send one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credit {
    /// Time at which the acknowledgement was seen.
    pub at: Nanos,
    /// For how long, from when the sender had the message until then, as many messages as ever were not acknowledged, or that is
    /// not known.
    pub full: Nanos,
    /// For how long, from when the sender had the message until then, the receiver had messages that it had not acknowledged.
    pub own: Nanos,
    /// For how much of the rest it is not known whether it had some.
    pub unknown: Nanos,
    /// The thread that wrote the last acknowledgement; `None` if that was not seen.
    pub by: Option<TaskId>,
}

/// Lost bytes of a leg's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingBytes {
    /// True if the receiver of the leg had sent the bytes.
    pub by_receiver: bool,
    /// Why TCP retransmitted them; `None` if that was not seen.
    pub recovery: Option<Recovery>,
}

/// The position of a leg among those on which one thread sends one message, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOut {
    /// The position, 1 for the first.
    pub position: u32,
    /// The number of readers that were seen.
    pub readers: u32,
    /// Time at which the thread sent the message to the first reader.
    pub first_sent: Nanos,
}
