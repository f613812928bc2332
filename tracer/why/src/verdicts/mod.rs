//! The registry of verdicts: each has a line here and a module of its name, which says what it means, how it is found, and what it is not.
//!
//! ```text
//! NAME.rs, or NAME/     `DEFINITION`: limits, whose it is, when it is a note, what it stands on, its remedy; its test
//! NAME/blame.rs         finds the time of single messages that is put down to it, where this serves it alone
//! tracer/limits         every time and share in one place: `kinds` has a line for each
//! words/verdicts/NAME   in the crate `report`: title, meaning, remedy, and its row in docs/verdicts.md
//! ```

/// Hands the list of all verdicts to a macro: kind, name (of its module, and in JSON), and meaning. The order is the order of verdicts that
/// weigh the same.
#[macro_export]
macro_rules! for_each_verdict {
    ($with:ident) => {
        $with! {
            NagleDelayedAck = nagle_delayed_ack, "Nagle's algorithm at the sender waits for an acknowledgement that the receiver delays.";
            Corked = corked, "`TCP_CORK` or `MSG_MORE` holds back what the sender has written.";
            SenderBatching = sender_batching, "The client library keeps the message before it sends it: batching, linger.";
            FetchWait = fetch_wait, "The broker has the message and nobody has asked for it, or it waits for more.";
            SubscriberAway = subscriber_away, "The subscriber was not connected, or had not subscribed, when the broker had the message.";
            BrokerAway = broker_away, "The broker was gone, and with it the connection of the subscriber, which came back after it.";
            GroupRebalance = group_rebalance, "No member of the subscriber's group read what the message is part of: it went from one member to another.";
            ClientThrottled = client_throttled, "The broker did not read a client for a time, as it said itself: a quota, or an alarm for memory or disk.";
            Backpressure = backpressure, "The broker left a connection unread while it waited for others: flow control, or a request at a time.";
            ReleaseWait = release_wait, "The publisher has not released the message yet, and the broker may not pass it on (MQTT `QoS` 2).";
            ReceiveWindow = receive_window, "The receiver's window is full.";
            CongestionWindow = congestion_window, "The congestion window is full.";
            BottleneckLink = bottleneck_link, "Bytes wait in a queue on the path: a link is slower than their sender.";
            Pacing = pacing, "Congestion control spreads the segments over time.";
            SendBuffer = send_buffer, "The sender's socket buffer is full.";
            LateWrite = late_write, "The sender wrote a part of the message, and came back for the rest long after there was room for it.";
            Retransmission = retransmission, "Packets were lost, and sent again.";
            QueueOverflow = queue_overflow, "Messages were thrown away because a queue was full: socket buffer, high-water mark.";
            QdiscQueueing = qdisc_queueing, "Packets waited in the qdisc.";
            RunQueueContention = run_queue_contention, "A thread was woken, or `ksoftirqd` was, and another had the CPU.";
            IdleWakeup = idle_wakeup, "A CPU had to be woken first.";
            BrokerCpuBound = broker_cpu_bound, "The broker's threads are busy all the time.";
            BrokerStalled = broker_stalled, "The broker's thread slept, or was stopped, while it had the message.";
            ClientStalled = client_stalled, "A client's thread slept, or was stopped, while data was there for it.";
            SerialFanOut = serial_fanout, "One thread sends a message to one subscriber after the other.";
            ReaderBusy = reader_busy, "The reader was at work on something else when the data came.";
            CpuThrottled = cpu_throttled, "A thread could have run, and its cgroup's CPU quota was used up.";
            LockWait = lock_wait, "A thread slept until another thread let go of a lock, or another process woke it.";
            NeverDelivered = never_delivered, "Messages were sent and never delivered.";
            Duplicates = duplicates, "Messages were delivered, or sent, more than once.";
            SharedMemory = shared_memory, "The payload is in shared memory: the network has nothing to show.";
            StartUp = start_up, "The first messages of a connection take longer than the later ones.";
            Unexplained = unexplained, "Much time is lost, and no rule says why.";
        }
    };
}

use super::definition::Definition;
use super::kind::VerdictKind;

macro_rules! definitions {
    ($($kind:ident = $name:ident, $meaning:literal;)*) => {
        $(pub mod $name;)*

        impl VerdictKind {
            /// The rules of the kind.
            pub(crate) fn definition(self) -> &'static Definition {
                match self {
                    $(VerdictKind::$kind => &$name::DEFINITION,)*
                }
            }
        }
    };
}

for_each_verdict!(definitions);
