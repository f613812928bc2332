//! The JSON of one slow message: its stages, segments, threads and circumstances.
//!
//! Times are in nanoseconds after the message's first send; negative times are before it.

use super::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the slowest messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorstMessage")]
pub struct ReportedWorstMessage {
    /// The message's number in this observation.
    pub message: u64,
    /// The sequence number in the payload of wirelap's workloads; absent in messages of other programs.
    pub seq: Option<u32>,
    /// Whether the payload's header marks it as the answer to a ping.
    #[serde(default)]
    pub reply: bool,
    /// Bytes of the message's payload.
    pub payload_bytes: u64,
    /// Time from first send to last read.
    pub one_way_ns: u64,
    /// The largest error of that time, because the message was sent on one host and read on another; absent on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// The message's legs in order.
    pub legs: Vec<ReportedLeg>,
}

/// One leg of a slow message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MessageLeg")]
pub struct ReportedLeg {
    /// The sender's address and port.
    pub from: String,
    /// The receiver's address and port.
    pub to: String,
    /// The thread that sent the message's first byte.
    pub sender: Option<Task>,
    /// The thread that read the message's last byte.
    pub reader: Option<Task>,
    /// When the message passed each stage that was observed.
    pub stages: Stages,
    /// The time in each segment, in the order in which the message passed them; the dwell before the leg is first. The
    /// segments of all legs add up to `one_way_ns`.
    pub segments: Vec<SegmentTime>,
    /// The threads that were woken for the message, the reader last.
    pub chain: Vec<ReportedHop>,
    /// The threads that ran before the send, the sender last.
    pub before: Vec<ReportedHop>,
    /// What else was observed while the message passed this leg.
    pub circumstances: LegCircumstances,
}

/// When the message passed each stage of a leg; absent for a stage that was not observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stages {
    /// The application hands the message to the client library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<i64>,
    /// The message's first byte enters the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<i64>,
    /// Entry of the send call that brings the last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<i64>,
    /// The packet with the last byte leaves for the first time and is lost. The stages after this one are those of the copy
    /// that arrived. Absent if the first copy arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<i64>,
    /// The packet with the last byte reaches the qdisc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<i64>,
    /// The packet with the last byte is handed to the NIC queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xmit: Option<i64>,
    /// The packet with the last byte is received at the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx: Option<i64>,
    /// The receiving socket has all bytes of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// The reading thread is woken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup: Option<i64>,
    /// The reading thread runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<i64>,
    /// Return of the receive call that takes the last byte.
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
    /// The message's time in the segment.
    pub time_ns: u64,
}

/// A thread in a wake chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hop")]
pub struct ReportedHop {
    /// The thread.
    #[serde(flatten)]
    pub task: Task,
    /// When the thread was woken.
    pub woken_ns: i64,
    /// When the thread began to run.
    pub running_ns: i64,
    /// When the thread had left the CPU before that; absent if that was not observed.
    pub left_ns: Option<i64>,
    /// Why the thread had left the CPU: `asleep`, `blocked`, `stopped` or `preempted`.
    pub rest: String,
    /// The CPU that the thread ran on; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u16>,
    /// Whether an interrupt woke the thread, not another thread.
    pub from_irq: bool,
    /// Whether the thread had run on another CPU before.
    pub migrated: bool,
    /// The thread that had the CPU while this one waited for it; absent if none is known.
    pub holder: Option<ReportedHolder>,
}

/// A thread that had the CPU while another one waited for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Holder")]
pub struct ReportedHolder {
    /// The thread; tid 0 is the idle task: the CPU was in an idle state.
    #[serde(flatten)]
    pub task: Task,
    /// How long this thread had the CPU during the wait.
    pub held_ns: u64,
}

/// Time in which a thread was preempted: it could have run, but others had the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preemption {
    /// Total time of all preemptions.
    pub time_ns: u64,
    /// Number of preemptions.
    pub times: u32,
    /// The thread that had the CPU for longest during one of them; absent if none is known.
    pub holder: Option<ReportedHolder>,
}

/// What was observed of a leg apart from its times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Surroundings")]
pub struct LegCircumstances {
    /// The state of the sender's TCP at the send that brought the last byte.
    pub tcp: Option<TcpState>,
    /// Bytes of the send that brought the last byte.
    pub send_bytes: u32,
    /// When the last acknowledgement of earlier bytes arrived between `sent` and `queue`.
    pub acked_ns: Option<i64>,
    /// Whether some of the message's bytes were lost and retransmitted.
    pub resent: bool,
    /// Whether the message waited at its receiver for earlier bytes of the connection that were lost.
    pub behind_loss: bool,
    /// What made TCP retransmit: `timeout`, `fast_retransmit`, `tail_loss_probe`, or `retry` of a packet that had not left
    /// its host; absent if nothing was lost, or if that was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
    /// Why this host dropped a packet of the message: `packet_filter`, `queue`, `socket_buffer`, `no_socket` or `other`;
    /// absent if it dropped none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_by: Option<String>,
    /// Whether the last packet was left to `ksoftirqd`.
    pub deferred: bool,
    /// The preemption of the reader between `ready` and `read`; absent if it was not preempted.
    pub reader_preempted: Option<Preemption>,
    /// The preemption of the sender before its send (on a leg after the first: during the dwell); absent if it was not
    /// preempted.
    pub sender_preempted: Option<Preemption>,
    /// When the receiver had last requested messages; absent if the protocol pushes them.
    pub asked_ns: Option<i64>,
}

/// The state of the sender's TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// Bytes sent and not yet acknowledged.
    pub in_flight_bytes: u32,
    /// Bytes in the socket that are not yet sent.
    pub unsent_bytes: u32,
    /// The receive window: bytes that the receiver allows in flight.
    pub window_bytes: u32,
    /// The maximum segment size.
    pub mss_bytes: u32,
    /// The congestion window: segments that congestion control allows in flight.
    pub cwnd_segments: u32,
    /// Segments in flight.
    pub segments_out: u32,
    /// Whether `TCP_NODELAY` was set.
    pub nodelay: bool,
    /// Whether `TCP_CORK` or `MSG_MORE` held data back.
    pub corked: bool,
    /// The size of the send buffer, including the kernel's overhead; a send waits when it is full. 0 if it was not recorded.
    pub send_buffer_bytes: u32,
    /// The pacing rate of TCP; 0 if TCP does not pace.
    pub pacing_bytes_per_s: u64,
}
