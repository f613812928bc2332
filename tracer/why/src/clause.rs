//! Clauses: the grounds of a verdict, and the remedies against it, as codes and numbers. The report
//! has the words.

use super::awaited::Awaited;
use super::gone::ServerGone;
use super::kind::VerdictKind;
use super::loss_counts::Departure;
use super::not_got::{MissedBy, MostLeft};
use super::shared_name::SharedName;
use super::stuck::StuckConnection;
use super::whereabouts::Overdue;
use wirelap_events::{
    AckRoundTrip, Comm, DropCause, Holder, Nanos, OffCpuReason, Pid, Quota, Recovery,
    RequestLimits, Segment, SleepCall, ThreadActivity, Tid, TxState,
};
use wirelap_protocols::{PutBack, QueueLimits};

/// A process, and its name as far as it is known.
pub type Named = (Pid, Comm);

/// One number, or fact, that a verdict stands on.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "a variant's documentation speaks of its fields")]
pub enum Clause {
    /// A part of all `messages` lost much: so much each in the mean, and at most.
    Hits { hits: u64, messages: u64, each: Nanos, most: Nanos },
    /// A part of all `messages` lost something: so much each in the median, and at most.
    Often { some: u64, messages: u64, median: Nanos, most: Nanos },
    /// One thread sends to so many subscribers; the one at this position waited.
    InTurn { readers: u32, position: u32, waited: Nanos },
    /// Nagle's algorithm held the message back; whether an acknowledgement set it free.
    Nagle { tx: TxState, was_acked: bool },
    /// `TCP_CORK` or `MSG_MORE` was set.
    Corked,
    /// The receiver had no room.
    ReceiveWindow(TxState),
    /// The congestion window was full when so many bytes were to be sent.
    CongestionWindow { tx: TxState, bytes: u32 },
    /// The round trip when the congestion window was full, if one was seen.
    RoundTrip(Option<AckRoundTrip>),
    /// A round trip took so long at most, and so long at least; so many payload bytes a second came through.
    QueueOnPath { longest: Nanos, least: Nanos, rate: u64 },
    /// A packet was in the qdisc for so long at most; so many payload bytes a second came through.
    QueueInQdisc { longest: Nanos, rate: u64 },
    /// TCP spread so many bytes over time.
    Paced { tx: TxState, bytes: u32 },
    /// The send buffer was full when so many bytes were to be sent.
    SendBuffer { tx: TxState, bytes: u32 },
    /// Nothing was under way any more when the sender came with the rest.
    LateWrite,
    /// TCP sent again what the broker waited for, or what was needed before it.
    AwaitedLost(Awaited),
    /// The network lost bytes, or datagrams, of `own` messages; so many waited `behind` them.
    Lost { datagrams: bool, own: u64, behind: u64, ends: Option<(Named, Named)> },
    /// Packets of `own` messages came late, and so many waited `behind` them: of what TCP sent again, so much arrived `twice`.
    Overtaken { own: u64, behind: u64, resent: u64, twice: u64 },
    /// Bytes do not arrive, though TCP sends them again and again.
    Stuck(Box<StuckConnection>),
    /// What made TCP send again, and how often.
    Recovered([u64; Recovery::ALL.len()]),
    /// Packets that this host threw away, by cause.
    DroppedHere([u64; DropCause::ALL.len()]),
    /// This host threw none of them away.
    NotDroppedHere,
    /// The protocol itself sent again what was lost.
    RepairedByProtocol,
    /// Datagrams of the row that this host threw away, by cause.
    DatagramsDropped([(DropCause, u64); 3]),
    /// Losses on all connections of the row.
    OnAllConnections { resent: u64, twice: u64, dropped: u64 },
    /// Holders of the CPU for parts of the waits: the first ones, and how many more.
    CpuHeld { by: CpuHolders, named: Vec<(Named, f64)>, more: Option<(usize, f64)> },
    /// Threads that are not named, each of which had it for a short time, had the CPU for this part of the waits.
    CpuHeldBySeveral(f64),
    /// Who had the CPU for this part of the waits is not known.
    CpuHolderUnknown(f64),
    /// The quota, and in how many of how many periods it was used up.
    QuotaUsed { quota: Box<Quota>, used: Option<(u32, u32)> },
    /// The longest wait for another thread, of the same process or not.
    LetGo { waited: Nanos, holder: Holder, is_own: bool },
    /// The longest wait for another thread, of the same process or not, which slept meanwhile until a timer ended that.
    HolderSlept { waited: Nanos, holder: Holder, is_own: bool },
    /// The longest wait for another thread, of the same process or not, which was itself stopped or blocked in the kernel.
    HolderBlocked { waited: Nanos, holder: Holder, is_own: bool },
    /// wirelap had the CPU for most of the wait.
    TracerHadCpu,
    /// The CPU was idle.
    CpuIdle,
    /// A packet was left to `ksoftirqd`.
    LeftToKsoftirqd,
    /// A thread was on a CPU for this part of the time.
    Busy { tid: Tid, share: f64 },
    /// A reader asked only after the broker had the messages.
    AskedLate,
    /// The consumer asked only after the broker had the messages.
    ConsumerAskedLate,
    /// The consumer awaited the answers to its earlier requests.
    AnswerAwaited,
    /// A reader was late with the acknowledgement that the broker waits for.
    AcknowledgedLate,
    /// Messages are handed out once their transaction is committed.
    AwaitsCommit,
    /// Messages lay in a queue until their time there was over.
    Expired,
    /// The broker tells nobody of a message before another server of its cluster has copied it, and that one had not asked for it.
    ReplicaAwaited,
    /// A thread of the broker slept until data of another connection came: others had to answer.
    OthersAwaited,
    /// The acknowledgement that the broker waits for was on its way.
    AcknowledgementUnderWay,
    /// The subscriber had not acknowledged, and how long that took itself is not known.
    AcknowledgementUnseen,
    /// The subscriber was late with the acknowledgement that the broker waits for.
    SubscriberAcknowledgedLate,
    /// The broker let a request wait, which may say for how long.
    RequestWaits(Option<RequestLimits>),
    /// The subscriber connected or subscribed only after the broker had the message.
    SubscribedLate,
    /// The broker had been gone, and with it the connection of the subscriber, which came back after it.
    CameBackAfterBroker,
    /// Several clients use one name at the same time, and the server closes the older connection.
    SharedName(Box<SharedName>),
    /// The server went while clients were connected to it.
    ServerGone(Box<ServerGone>),
    /// No member of its group read the partition, until the one that got the message took it over.
    HandedOver,
    /// The broker said that it reads nothing from the publisher, or from the consumer, for some time.
    Throttled {
        /// True if the throttled client is the publisher.
        is_publisher: bool,
    },
    /// The broker's thread waited for data of others, and did not watch this connection.
    LeftUnread,
    /// The publisher had not released the message.
    NotReleased,
    /// The message had not been released, and how long that took the publisher itself is not known.
    ReleaseUnseen,
    /// The confirmation that the publisher has to have before was held back in the broker's socket.
    ReceiptInSocket { waited: Nanos, by: Option<VerdictKind> },
    /// The confirmation was so long on its way.
    ReceiptUnderWay(Nanos),
    /// The publisher's threads waited so long for a CPU before that.
    ReleaseWaitedForCpu(Nanos),
    /// The publisher's release was held back in its own socket, by Nagle's algorithm perhaps.
    ReleaseInSocket { waited: Nanos, nagle: bool },
    /// The publisher's release was so long on its way.
    ReleaseUnderWay(Nanos),
    /// The way in which a thread was off the CPU.
    OffCpu(OffCpuReason, SleepCall),
    /// The same holds for so many processes.
    AlikeAt(usize),
    /// So much time, and nothing that was seen says why, or who had the CPU.
    Unexplained { time: Nanos, segment: Segment, leg: usize, is_cpu: bool },
    /// Packets that found the receiving socket's buffer full.
    BufferFull(u64),
    /// Packets that found a device's queue full.
    QueueFull(u64),
    /// Messages of a publisher that never reached a socket, of so many.
    NeverLeft { missing: u64, whole: u64 },
    /// Deliveries that are due by the workloads' own count and did not take place.
    NotDelivered { missing: u64, due: u64 },
    /// Times that a message was sent to a reader and never read, at least, and messages that were sent.
    NeverRead { unread: u64, sent: u64 },
    /// Datagrams that a packet filter threw away.
    Filtered(u64),
    /// Messages that the broker read and was not seen to pass on; packets of its connections that this host dropped.
    Swallowed { messages: u64, sent: u64, dropped: u64 },
    /// Whoever had got the others left: its process and its name, how it left, and whether its protocol's farewell is missing.
    ReaderLeft { reader: Option<(Pid, Option<Comm>)>, departure: Departure, is_abrupt: bool },
    /// Messages that the broker read after that, which it may keep for who reads next.
    AfterReaderLeft { messages: u64, sent: u64, is_kept: bool },
    /// Messages that the broker keeps in the session of a subscriber that is away, and that subscriber.
    KeptInSession { messages: u64, sent: u64, reader: Option<(Pid, Option<Comm>)> },
    /// Messages that a subscriber had not got when its connection was closed; its name; and how many messages `others` had not, at
    /// how many times.
    LeftBehind { most: MostLeft, name: Option<Comm>, others: (u64, u64) },
    /// Messages that one subscriber did not get; its name; and how many messages `others` did not, at how
    /// many times.
    Missed { most: MissedBy, name: Option<Comm>, others: (u64, u64) },
    /// Messages that the broker read and nobody was seen to get.
    NobodyGot { messages: u64, sent: u64 },
    /// Nobody seems to subscribe.
    NobodySubscribes,
    /// Records of a log that no reader was sent, and who began behind them; whether the reader before is known to be of its group.
    PassedOver { records: u64, of_group: bool, reader: Option<(Pid, Option<Comm>)> },
    /// Messages that a log had no more when their reader came to them, and who that is; whether it had asked for them by their places.
    NotKept { messages: u64, reader: Option<(Pid, Option<Comm>)>, was_asked: bool },
    /// Messages that came while their reader was away, of which so many had expired when it came back to its session.
    MissedAway { messages: u64, expired: u64, reader: Option<(Pid, Option<Comm>)> },
    /// Messages of transactions that were aborted.
    Aborted(u64),
    /// Messages of transactions that were rolled back, or that ended without a commit.
    RolledBack(u64),
    /// Messages that a server gave back to their publishers.
    Returned(u64),
    /// Messages that a server's queues give up once they have waited, and the longest time.
    Expiring { messages: u64, longest: Nanos },
    /// Limits beyond which a server's queues give messages up.
    QueueLimits(QueueLimits),
    /// Why a server of queues did not pass messages on was not seen.
    NoReasonSeen,
    /// Messages that their sender gave up when it had sent a part of them.
    CutShort(u64),
    /// Times that a message was sent or delivered again, and messages that were sent.
    Repeated { repeats: u64, sent: u64 },
    /// Times that a publisher sent a message again whose number the server knows, so that it stores it once.
    StoredOnce(u64),
    /// Times that a server sent a message again to a client, and messages that were sent.
    Redelivered { times: u64, sent: u64 },
    /// Messages that a server had put back into their queues, why, and the client that had got them, the last time; whether there were
    /// others.
    PutBack { messages: u64, why: PutBack, by: Option<(Pid, Option<Comm>)>, has_others: bool },
    /// Times that a message came back to a server that had sent it on, that server, and the one that handed it back.
    Looped { times: u64, between: Option<[(Pid, Option<Comm>); 2]> },
    /// Messages that a server sent again, and that were not seen to be put back.
    PutBackUnseen(u64),
    /// Messages whose payload is in shared memory.
    InSharedMemory(u64),
    /// The sender's library kept messages: in the median and at the 99th percentile, before so long on the way. Perhaps the messages
    /// themselves tell it.
    Kept { median: Nanos, p99: Nanos, under_way: Nanos, is_told_by_messages: bool },
    /// Messages waited in the sender's library until the reply to earlier ones was there: in the median and at the 99th percentile, before so long
    /// on the way.
    AwaitedReply { median: Nanos, p99: Nanos, under_way: Nanos },
    /// Requests that the verdict is about, each of which was followed with its reply, and the mean round trip of the middle fifth of
    /// them.
    OfRequests { requests: u64, middle: Nanos },
    /// Pages in a second that the process had to wait for, because they were read from a disk.
    PageFaults { per_second: f64 },
    /// A process waited for CPU quota for this part of the time.
    WaitedForQuota { share: f64, only_reads: bool },
    /// Messages that ought to have arrived by now.
    Overdue(Overdue),
    /// The activity of the process that has them.
    Activity(ThreadActivity),
    /// The first messages of connections, what they and later ones took in the mean.
    FirstMessages { messages: f64, mean: Nanos, later: Nanos },
    /// The leg, segment and cause on which the first messages spent most of it, and what later ones
    /// spend there.
    FirstMessagesMost {
        time: Nanos,
        segment: Segment,
        leg: usize,
        kind: Option<VerdictKind>,
        later: Nanos,
    },
    /// A reader's process was on a CPU for this part of the time only.
    NotAtWork(f64),
}

/// The holders of a CPU that a thread of a row waited for, as seen from the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuHolders {
    /// Programs that have nothing to do with the row.
    Foreign,
    /// Other processes of the row.
    Members,
    /// Other threads of the process that waited.
    Own,
}

/// The remedy that usually helps.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Remedy {
    /// Nothing is known to.
    #[default]
    None,
    /// The usual remedy against the verdict's kind, under these circumstances.
    Usual(Circumstance),
    /// To raise the CPU limit: that of this quota, where it is known.
    CpuLimit(Option<Box<Quota>>),
    /// To commit transactions sooner.
    Commit,
    /// To have more requests under way.
    MoreRequests,
    /// To give each client a name of its own.
    OwnNames,
    /// To look at what the process waits for outside its receive call.
    OutsideReceive,
    /// To let wirelap watch less.
    TraceLess,
}

/// The circumstances on which a remedy depends beside the kind of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstance {
    /// The segment in which most of the verdict's time is.
    pub segment: Segment,
    /// True if it is the broker's doing or loss, not a client's.
    pub at_broker: bool,
    /// The reason for which the thread was off the CPU, where one was.
    pub rest: Option<OffCpuReason>,
    /// The cause for which the host threw packets away, where it did.
    pub dropped: Option<DropCause>,
}

impl Circumstance {
    /// Nothing more is known than the segment.
    pub fn in_segment(segment: Segment) -> Circumstance {
        Circumstance { segment, at_broker: false, rest: None, dropped: None }
    }
}
