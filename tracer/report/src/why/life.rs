//! The whole life of one slow message.
//!
//! Times are nanoseconds after the message's first send; below zero is before it.

use super::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the slowest messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstMessage {
    /// Its number in this observation.
    pub message: u64,
    /// The sequence number in our workloads' payload; absent in another's.
    pub seq: Option<u32>,
    /// By that header, the answer to a ping.
    #[serde(default)]
    pub reply: bool,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// First send → last read.
    pub one_way_ns: u64,
    /// Its legs in order.
    pub legs: Vec<MessageLeg>,
}

/// One leg of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageLeg {
    /// The sender's address and port.
    pub from: String,
    /// The receiver's.
    pub to: String,
    /// The thread that sent its first byte.
    pub sender: Option<Task>,
    /// The thread that read its last byte.
    pub reader: Option<Task>,
    /// When it passed each stage that was seen.
    pub stages: Stages,
    /// The time in each segment, in the order of a message's life, the dwell before the leg first. All
    /// legs together add up to `one_way_ns`.
    pub segments: Vec<SegmentTime>,
    /// The threads that were woken for it, the reader last.
    pub chain: Vec<Hop>,
    /// The threads that ran before its send, the sender last.
    pub before: Vec<Hop>,
    /// What else was seen.
    pub circumstances: Surroundings,
}

/// When a leg passed each stage; absent for a stage that was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stages {
    /// The application hands it to the client library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<i64>,
    /// Its first byte enters the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<i64>,
    /// Entry of the send that brings its last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<i64>,
    /// The packet with its last byte leaves for the first time, and is lost; the stages after this one are those of the
    /// copy that arrived. Absent where the first copy did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<i64>,
    /// The packet with its last byte reaches the qdisc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<i64>,
    /// … and is handed to the NIC queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xmit: Option<i64>,
    /// … and is received at the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx: Option<i64>,
    /// The receiving socket has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// The reading thread is woken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup: Option<i64>,
    /// The reading thread runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<i64>,
    /// Exit of the receive call that takes its last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<i64>,
    /// The application's callback runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliver: Option<i64>,
}

/// A segment of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentTime {
    /// The segment's name.
    pub segment: String,
    /// Time in it.
    pub time_ns: u64,
}

/// A thread in a wake chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// The thread.
    #[serde(flatten)]
    pub task: Task,
    /// When it was woken.
    pub woken_ns: i64,
    /// When it ran.
    pub running_ns: i64,
    /// When it had left the CPU before; absent if that was not seen.
    pub left_ns: Option<i64>,
    /// Why it had left it: `asleep`, `blocked`, `stopped` or `preempted`.
    pub rest: String,
    /// An interrupt woke it, not another thread.
    pub from_irq: bool,
    /// It had run on another CPU before.
    pub migrated: bool,
    /// Who had the CPU while it waited for it; absent if nobody is known to.
    pub holder: Option<Holder>,
}

/// Who had the CPU while another waited for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The thread; tid 0 is the idle task: the CPU was asleep.
    #[serde(flatten)]
    pub task: Task,
    /// How much of the wait it had the CPU.
    pub held_ns: u64,
}

/// Time in which a thread could have run, and others did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preemption {
    /// How long, all times together.
    pub time_ns: u64,
    /// How often.
    pub times: u32,
    /// Who had the CPU the longest of the times; absent if nobody is known to.
    pub holder: Option<Holder>,
}

/// What was seen of a leg beside its times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct Surroundings {
    /// The sender's TCP at the send that brought the last byte.
    pub tcp: Option<TcpState>,
    /// Bytes of that send.
    pub send_bytes: u32,
    /// When the last acknowledgement of earlier bytes came between `sent` and `queue`.
    pub acked_ns: Option<i64>,
    /// Some of its bytes were lost, and sent again.
    pub resent: bool,
    /// Earlier bytes of the connection were lost, and it waited for them at its receiver.
    pub behind_loss: bool,
    /// What made TCP send again what was lost: `timeout`, `fast_retransmit`, `tail_loss_probe`, or `retry` of what had not
    /// left its host; absent if nothing was lost, or that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
    /// What this host threw it away for: `packet_filter`, `queue`, `socket_buffer`, `no_socket` or `other`; absent where
    /// the host did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_by: Option<String>,
    /// Its last packet was left to `ksoftirqd`.
    pub deferred: bool,
    /// The reader could have run between `ready` and `read`, and others did; absent if none did.
    pub reader_preempted: Option<Preemption>,
    /// Likewise the sender before its send: of a leg after the first, during the dwell.
    pub sender_preempted: Option<Preemption>,
    /// When the receiver had last asked for messages; absent where they are pushed.
    pub asked_ns: Option<i64>,
    /// A keep-alive or discovery frame was on the same connection meanwhile.
    pub beside_upkeep: bool,
}

/// What the sender's TCP knew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// Sent and not yet acknowledged.
    pub in_flight_bytes: u32,
    /// Handed over and not yet sent.
    pub unsent_bytes: u32,
    /// What the receiver lets be in flight.
    pub window_bytes: u32,
    /// A full segment.
    pub mss_bytes: u32,
    /// Segments that congestion control lets be in flight.
    pub cwnd_segments: u32,
    /// Segments in flight.
    pub segments_out: u32,
    /// `TCP_NODELAY` was set.
    pub nodelay: bool,
    /// `TCP_CORK` or `MSG_MORE` held it back.
    pub corked: bool,
    /// What the socket's buffer holds before a send has to wait, the kernel's book-keeping included; 0 if
    /// that was not recorded.
    pub send_buffer_bytes: u32,
    /// What TCP spreads its segments to; 0 if it does not.
    pub pacing_bytes_per_s: u64,
}
