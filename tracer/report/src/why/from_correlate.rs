//! Conversions from the correlator's types for verdicts and slow messages.

use super::life::{
    LegCircumstances, Preemption, ReportedHolder, ReportedHop, ReportedLeg, ReportedWorstMessage,
    SegmentTime, Stages, TcpState,
};
use super::{
    CpuHolder, ReportedCulprit, ReportedOverdue, ReportedSeverity, ReportedTail, ReportedTailRow,
    ReportedTypicalRow, ReportedVerdict, ReportedWhy, Task,
};
use crate::{ReportedProcess, words};
use wirelap_correlate as correlate;
use wirelap_events::{
    Circumstances, Comm, Delivery, Holder as SeenHolder, Hop as SeenHop, Leg, LegOffCpu, Nagle,
    Nanos, OffCpu, OffCpuReason, Pid, Segment, Segments, Stage, StageTimes, TaskId, ThreadActivity,
    TxState,
};

impl From<&correlate::Why> for ReportedWhy {
    fn from(why: &correlate::Why) -> ReportedWhy {
        ReportedWhy {
            examined_messages: why.messages,
            healthy: why.is_healthy(),
            too_few_messages: why.is_too_little(),
            verdicts: why.verdicts.iter().map(|one| verdict(one, why)).collect(),
            typical: why.typical.iter().map(ReportedTypicalRow::from).collect(),
            tails: why.tails.iter().map(ReportedTail::from).collect(),
            open: why.open.iter().map(ReportedOverdue::from).collect(),
            worst: why.worst.iter().map(ReportedWorstMessage::from).collect(),
            cpu_holders: why.holders.iter().map(CpuHolder::from).collect(),
        }
    }
}

impl ReportedWhy {
    /// The analysis of a row, with threads named after their processes; `None` if no message was examined and no verdict
    /// found.
    pub fn of(why: &correlate::Why, processes: &[ReportedProcess]) -> Option<ReportedWhy> {
        let known = why.messages > 0 || !why.verdicts.is_empty() || !why.open.is_empty();
        known.then(|| {
            let mut why = ReportedWhy::from(why);
            why.name_threads(processes);
            why
        })
    }

    /// Names threads that have no name after their processes.
    fn name_threads(&mut self, processes: &[ReportedProcess]) {
        let legs = self.worst.iter_mut().flat_map(|message| &mut message.legs);
        let tasks = legs.flat_map(|leg| {
            let ends = leg.sender.iter_mut().chain(&mut leg.reader);
            ends.chain(leg.chain.iter_mut().chain(&mut leg.before).map(|hop| &mut hop.task))
        });
        let tasks = tasks.chain(self.verdicts.iter_mut().filter_map(|one| one.process.as_mut()));
        for task in tasks.filter(|task| task.name.is_empty()) {
            if let Some(process) = processes.iter().find(|process| task.is_of(process)) {
                task.name.clone_from(&process.name);
            }
        }
    }
}

/// Replaces infinity and NaN by 0, because JSON cannot represent them.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// The number of the process's host; `None` for the first of several hosts, and for the only one.
pub(crate) fn host(pid: Pid) -> Option<u8> {
    Some(pid.host()).filter(|&host| host > 1)
}

fn task(id: TaskId, comm: Comm) -> Task {
    Task {
        pid: id.pid.number(),
        tid: id.tid.number(),
        host: host(id.pid),
        name: comm.as_str().to_owned(),
    }
}

/// A verdict in words, among the others of its row.
fn verdict(verdict: &correlate::Verdict, why: &correlate::Why) -> ReportedVerdict {
    ReportedVerdict {
        kind: verdict.kind.name().to_owned(),
        title: words::heading(verdict).into_owned(),
        severity: match verdict.severity {
            correlate::Severity::Note => ReportedSeverity::Note,
            correlate::Severity::Problem => ReportedSeverity::Problem,
        },
        leg: verdict.leg,
        segment: verdict.segment.map(|segment| segment.name().to_owned()),
        process: verdict.process.map(|(id, comm)| task(id, comm)),
        median_ns: verdict.median.0,
        median_share: finite(verdict.median_share),
        tail_ns: verdict.tail.0,
        tail_share: finite(verdict.tail_share),
        slow_messages: verdict.slow_messages,
        slow_ns: verdict.slow.0,
        slow_share: finite(verdict.slow_share),
        began_ns: verdict.period.map(|period| period.began.0),
        ended_ns: verdict.period.and_then(|period| period.ended).map(|ended| ended.0),
        times: verdict.period.map(|period| period.times),
        open: verdict.open.as_ref().map(ReportedOverdue::from),
        culprits: verdict.culprits.iter().map(ReportedCulprit::from).collect(),
        evidence: verdict.evidence.iter().map(words::clause).collect(),
        remedy: words::remedy(verdict, why),
    }
}

const fn activity_name(activity: ThreadActivity) -> &'static str {
    match activity {
        ThreadActivity::Stopped => "stopped",
        ThreadActivity::Asleep => "asleep",
        ThreadActivity::Blocked => "blocked",
        ThreadActivity::Runnable => "runnable",
        ThreadActivity::Running => "running",
    }
}

impl From<&correlate::Overdue> for ReportedOverdue {
    fn from(open: &correlate::Overdue) -> ReportedOverdue {
        ReportedOverdue {
            messages: open.messages,
            oldest_ns: open.oldest.0,
            place: open.place.name().to_owned(),
            process: open.process.map(|(id, comm)| task(id, comm)),
            doing: open.activity.map(|activity| activity_name(activity).to_owned()),
        }
    }
}

impl From<&correlate::Culprit> for ReportedCulprit {
    fn from(culprit: &correlate::Culprit) -> ReportedCulprit {
        ReportedCulprit { task: task(culprit.task, culprit.comm), share: finite(culprit.share) }
    }
}

impl From<&correlate::TypicalRow> for ReportedTypicalRow {
    fn from(row: &correlate::TypicalRow) -> ReportedTypicalRow {
        ReportedTypicalRow {
            leg: row.leg,
            segment: row.segment.name().to_owned(),
            mean_ns: row.mean.0,
        }
    }
}

impl From<&correlate::Tail> for ReportedTail {
    fn from(tail: &correlate::Tail) -> ReportedTail {
        ReportedTail {
            share: finite(tail.share),
            messages: tail.messages,
            least_ns: tail.least.0,
            excess_ns: tail.excess.0,
            rows: tail.rows.iter().map(ReportedTailRow::from).collect(),
        }
    }
}

impl From<&correlate::TailRow> for ReportedTailRow {
    fn from(row: &correlate::TailRow) -> ReportedTailRow {
        ReportedTailRow {
            leg: row.leg,
            segment: row.segment.name().to_owned(),
            cause: row.cause.name().unwrap_or("ordinary").to_owned(),
            excess_ns: row.excess_ns,
            share: finite(row.share),
        }
    }
}

impl From<&correlate::HolderShare> for CpuHolder {
    fn from(holder: &correlate::HolderShare) -> CpuHolder {
        CpuHolder {
            task: task(holder.task, holder.comm),
            held_ns: holder.held.0,
            waits: holder.waits,
        }
    }
}

impl From<&correlate::WorstMessage> for ReportedWorstMessage {
    fn from(worst: &correlate::WorstMessage) -> ReportedWorstMessage {
        let delivery = &worst.delivery;
        let origin = TimeOrigin(first_send(delivery));
        let legs = delivery.legs.iter().zip(delivery.segments());
        ReportedWorstMessage {
            message: delivery.message.0,
            seq: delivery.stamp.map(|stamp| stamp.seq),
            reply: delivery.stamp.is_some_and(|stamp| stamp.reply),
            payload_bytes: delivery.payload_len,
            one_way_ns: worst.one_way.0,
            clock_error_ns: (delivery.clock_error > Nanos(0)).then_some(delivery.clock_error.0),
            legs: legs
                .map(|(leg, (index, segments))| {
                    origin.leg(leg, delivery.off_cpu_of(index), &segments)
                })
                .collect(),
        }
    }
}

/// The moment that [`Delivery::one_way`] begins at.
fn first_send(delivery: &Delivery) -> Nanos {
    delivery.begins().unwrap_or_default()
}

/// The moment that the times of a message are relative to.
#[derive(Clone, Copy)]
struct TimeOrigin(Nanos);

impl TimeOrigin {
    fn at(self, at: Nanos) -> i64 {
        let limited = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        match at.0.checked_sub(self.0.0) {
            Some(after) => limited(after),
            None => limited(self.0.0.saturating_sub(at.0)).saturating_neg(),
        }
    }

    fn leg(self, leg: &Leg, rests: &LegOffCpu, segments: &Segments) -> ReportedLeg {
        let unnamed = |id: Option<TaskId>| id.map(|id| task(id, Comm::default()));
        // The dwell counts to the leg after it, so it comes before that leg's own segments.
        let (dwell, own): (Vec<_>, Vec<_>) =
            segments.iter().partition(|&(segment, _)| segment == Segment::BrokerDwell);
        let time = |(segment, time): (Segment, Nanos)| SegmentTime {
            segment: segment.name().to_owned(),
            time_ns: time.0,
        };
        ReportedLeg {
            from: leg.flow.src.to_string(),
            to: leg.flow.dst.to_string(),
            sender: unnamed(leg.sender),
            reader: unnamed(leg.reader),
            stages: self.stages(&leg.times),
            segments: dwell.into_iter().chain(own).map(time).collect(),
            chain: leg.chain.iter().map(|hop| self.hop(hop)).collect(),
            before: leg.before.iter().map(|hop| self.hop(hop)).collect(),
            circumstances: self.circumstances(&leg.circumstances, rests),
        }
    }

    fn stages(self, times: &StageTimes) -> Stages {
        let at = |stage| times.get(stage).map(|at| self.at(at));
        Stages {
            publish: at(Stage::Publish),
            send: at(Stage::Send),
            sent: at(Stage::Sent),
            lost: at(Stage::Lost),
            queue: at(Stage::Queue),
            xmit: at(Stage::Xmit),
            rx: at(Stage::Rx),
            ready: at(Stage::Ready),
            wakeup: at(Stage::Wakeup),
            running: at(Stage::Running),
            read: at(Stage::Read),
            deliver: at(Stage::Deliver),
        }
    }

    fn hop(self, hop: &SeenHop) -> ReportedHop {
        let rest = match hop.reason {
            OffCpuReason::Asleep => "asleep",
            OffCpuReason::Blocked => "blocked",
            OffCpuReason::Stopped => "stopped",
            OffCpuReason::Preempted => "preempted",
        };
        ReportedHop {
            task: task(hop.task, Comm::default()),
            woken_ns: self.at(hop.woken),
            running_ns: self.at(hop.running),
            left_ns: hop.left.map(|left| self.at(left)),
            rest: rest.to_owned(),
            cpu: hop.cpu.map(|cpu| cpu.on_host(hop.task.pid.host()).0),
            from_irq: hop.from_irq,
            migrated: hop.migrated,
            holder: holder(&hop.holder),
        }
    }

    fn circumstances(self, seen: &Circumstances, rests: &LegOffCpu) -> LegCircumstances {
        LegCircumstances {
            tcp: seen.socket.tx.map(TcpState::from),
            send_bytes: seen.socket.send_len,
            acked_ns: seen.socket.acked.map(|at| self.at(at)),
            resent: seen.loss.resent,
            behind_loss: seen.loss.behind,
            recovery: seen.loss.recovery.map(|recovery| recovery.name().to_owned()),
            dropped_by: seen.loss.dropped.map(|cause| cause.name().to_owned()),
            deferred: seen.path.deferred,
            reader_preempted: preemption(
                &(rests.before_wakeup.unwrap_or_default() + rests.reader.unwrap_or_default()),
            ),
            sender_preempted: preemption(
                &(rests.dwell.unwrap_or_default() + rests.sender.unwrap_or_default()),
            ),
            asked_ns: seen.request.made.map(|at| self.at(at)),
        }
    }
}

fn holder(seen: &SeenHolder) -> Option<ReportedHolder> {
    (seen.held > Nanos(0))
        .then(|| ReportedHolder { task: task(seen.task, seen.comm), held_ns: seen.held.0 })
}

fn preemption(seen: &OffCpu) -> Option<Preemption> {
    (seen.waited > Nanos(0)).then(|| Preemption {
        time_ns: seen.waited.0,
        times: seen.preemptions,
        holder: holder(&seen.holder),
    })
}

impl From<TxState> for TcpState {
    fn from(state: TxState) -> TcpState {
        TcpState {
            in_flight_bytes: state.in_flight,
            unsent_bytes: state.unsent,
            window_bytes: state.window,
            mss_bytes: state.mss,
            cwnd_segments: state.cwnd,
            segments_out: state.segments_out,
            nodelay: state.nagle == Nagle::Off,
            corked: state.nagle == Nagle::Corked,
            send_buffer_bytes: state.send_buffer,
            pacing_bytes_per_s: state.pacing,
        }
    }
}
