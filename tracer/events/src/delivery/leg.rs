//! A leg, which is one socket-to-socket hop of a message, with its wake chain and its segments.

use super::circumstances::Circumstances;
use crate::{
    Cpu, FlowKey, FlowRange, Holder, Nanos, OffCpuReason, Segment, Segments, SleepCall, SocketId,
    Stage, StageTimes, TaskId,
};
use serde::{Deserialize, Serialize};

/// The most threads in a wake chain; of a longer chain, the last ones are kept.
pub const MAX_HOPS: usize = 4;

/// One thread in a wake chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The thread.
    pub task: TaskId,
    /// Time at which the thread was woken.
    pub woken: Nanos,
    /// Time at which the thread ran.
    pub running: Nanos,
    /// Time at which the thread had left the CPU before; `None` if that was not seen.
    pub left: Option<Nanos>,
    /// Why the thread had left the CPU.
    pub reason: OffCpuReason,
    /// True if an interrupt (for received data, or of a timer) woke the thread, and not another thread.
    pub from_irq: bool,
    /// The CPU that the thread ran on, as [`Cpu::on_host`] numbers it; `None` if it is not known.
    pub cpu: Option<Cpu>,
    /// True if the thread had run on another CPU before.
    pub migrated: bool,
    /// The thread that had the CPU the longest while this one waited for it.
    pub holder: Holder,
    /// System call in which the thread slept; unknown if it did not sleep.
    pub sleep: SleepCall,
}

impl Hop {
    /// True if data that came in from another process or host ended the thread's sleep.
    pub fn is_ended_by_data(&self) -> bool {
        self.reason == OffCpuReason::Asleep && self.sleep.ended_by_data(self.from_irq)
    }

    /// The event that ended the thread's sleep, rather than the one that it slept on: a timer also ends waits for others, as
    /// Java's `Thread.sleep` and waits with a time limit are.
    pub fn sleep_call(&self) -> SleepCall {
        let is_timed = match self.sleep {
            SleepCall::Lock => self.from_irq,
            SleepCall::TimedPoll => true,
            _ => false,
        };
        if is_timed { SleepCall::Timer } else { self.sleep }
    }
}

/// An interval of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpan<'a> {
    /// The segment that the interval belongs to.
    pub segment: Segment,
    /// The beginning.
    pub from: Nanos,
    /// The end; not before the beginning.
    pub to: Nanos,
    /// The thread of the wake chain that waits for a CPU, or that runs until it wakes the next one; `None` outside the chain.
    pub hop: Option<&'a Hop>,
}

/// One socket-to-socket hop of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Leg {
    /// The flow that carried the message.
    pub flow: FlowKey,
    /// The sending socket, if it is on this host.
    pub from: Option<SocketId>,
    /// The receiving socket, if it is on this host.
    pub to: Option<SocketId>,
    /// The thread that sent the first byte.
    pub sender: Option<TaskId>,
    /// The thread that read the last byte.
    pub reader: Option<TaskId>,
    /// Times at which the message passed the stages.
    pub times: StageTimes,
    /// The threads that were woken for the message, the reader last; empty if the reader did not sleep.
    pub chain: Vec<Hop>,
    /// The threads that ran before the send, each woken by the previous one, the sender last. Of a leg after the first, these are
    /// the forwarder's threads during the dwell.
    pub before: Vec<Hop>,
    /// The message's bytes in the flow, from the first byte of its first frame to the last byte of its last.
    pub flow_range: FlowRange,
    /// Further facts about the leg.
    pub circumstances: Circumstances,
}

impl Clone for Leg {
    fn clone(&self) -> Leg {
        Leg { chain: self.chain.clone(), before: self.before.clone(), ..*self }
    }

    /// The room for the threads is used again.
    fn clone_from(&mut self, source: &Leg) {
        let Leg { flow, from, to, sender, reader, times, flow_range, circumstances, chain, before } =
            source;
        (self.flow, self.from, self.to) = (*flow, *from, *to);
        (self.sender, self.reader) = (*sender, *reader);
        (self.times, self.flow_range) = (*times, *flow_range);
        self.chain.clone_from(chain);
        self.before.clone_from(before);
        self.circumstances = *circumstances;
    }
}

impl Leg {
    /// The leg's segments. They telescope: their sum is last stage − first stage to the nanosecond. Between two hosts, the leg may come to
    /// the receiver before it leaves, as far as their clocks tell; then the segment in between is 0, and the sum as much larger.
    ///
    /// A stage that was not seen merges its two segments into the one that ends at the next seen
    /// stage. With a wake chain, wakeup → running is split into the run-queue waits of all its
    /// threads and the hand-offs between them. A reader that did not sleep has `busy` in place of
    /// wakeup, run queue and read; where it is not observed whether it sleeps, it has `in_kernel`.
    pub fn segments(&self) -> Segments {
        let mut segments = Segments::default();
        self.each_span(&mut |span| segments.add(span.segment, span.to - span.from));
        segments
    }

    /// Calls `out` with each interval in order. Each begins where the previous one ended.
    pub fn each_span<'a>(&'a self, out: &mut (impl FnMut(SegmentSpan<'a>) + ?Sized)) {
        let mut previous: Option<(Stage, Nanos)> = None;
        for (stage, at) in self.times.seen() {
            if let Some(before) = previous {
                self.between(before, (stage, at.max(before.1)), out);
            }
            previous = Some((stage, at));
        }
    }

    /// The segment in which the leg goes from one host to another whose clocks may differ, and the least and the most time that it can have
    /// taken; `None` on one host.
    pub fn crossing(&self) -> Option<(Segment, [Nanos; 2])> {
        let error = self.circumstances.path.hosts.error;
        if error == Nanos(0) {
            return None;
        }
        let (before, from) =
            self.times.seen().take_while(|&(stage, _)| stage < Stage::Rx).last()?;
        let (after, to) = self.times.seen().find(|&(stage, _)| stage >= Stage::Rx)?;
        let mut segment = None;
        self.between((before, from), (after, to.max(from)), &mut |span: SegmentSpan<'_>| {
            segment = segment.or(Some(span.segment));
        });
        Some((segment?, to.range_since(from, error)))
    }

    fn between<'a>(
        &'a self,
        (before, from): (Stage, Nanos),
        (stage, to): (Stage, Nanos),
        out: &mut (impl FnMut(SegmentSpan<'a>) + ?Sized),
    ) {
        let segment = match stage {
            Stage::Publish => return,
            // The transmission of the copy that arrived was not seen.
            _ if before == Stage::Lost => Segment::Loss,
            Stage::Send => Segment::ClientTx,
            Stage::Sent => Segment::Write,
            Stage::Lost | Stage::Queue => Segment::SocketTx,
            Stage::Xmit => Segment::Qdisc,
            Stage::Rx => Segment::Wire,
            Stage::Ready => Segment::StackRx,
            Stage::Wakeup => Segment::Wakeup,
            Stage::Running => return self.chain_spans(from, to, out),
            Stage::Read if before == Stage::Running => Segment::Read,
            Stage::Read if self.circumstances.reader_unobserved => Segment::InKernel,
            Stage::Read => Segment::Busy,
            Stage::Deliver => Segment::ClientRx,
        };
        out(SegmentSpan { segment, from, to, hop: None });
    }

    /// Times for which each thread of the chain waited for a CPU after [`Stage::Wakeup`]. The sum is the segment [`Segment::RunQueue`].
    pub fn run_queue_waits(&self) -> impl Iterator<Item = (&Hop, Nanos)> + '_ {
        let mut at = self.times.get(Stage::Wakeup).unwrap_or_default();
        let to = self.times.get(Stage::Running).unwrap_or_default().max(at);
        self.chain.iter().enumerate().map(move |(index, hop)| {
            if index > 0 {
                at = hop.woken.clamp(at, to);
            }
            let running = hop.running.clamp(at, to);
            (hop, running - std::mem::replace(&mut at, running))
        })
    }

    /// Splits the interval `from..to` at the wakeups and switches of the chain.
    fn chain_spans<'a>(
        &'a self,
        from: Nanos,
        to: Nanos,
        out: &mut (impl FnMut(SegmentSpan<'a>) + ?Sized),
    ) {
        let mut at = from;
        let mut advance = |segment, until: Nanos, hop| {
            let until = until.clamp(at, to);
            let from = std::mem::replace(&mut at, until);
            out(SegmentSpan { segment, from, to: until, hop });
        };
        let mut last = None;
        for hop in &self.chain {
            if last.is_some() {
                advance(Segment::Handoff, hop.woken, last);
            }
            advance(Segment::RunQueue, hop.running, Some(hop));
            last = Some(hop);
        }
        advance(Segment::RunQueue, to, None);
    }
}
