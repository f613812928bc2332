//! The lines of one message's waterfall: what it went through, from when to when, in which thread, and what was observed about that.

use crate::{people, text};
use wirelap_correlate::snapshot::Snapshot;
use wirelap_events::{
    Delivery, Holder, Hop, Leg, Nanos, OffCpu, OffCpuReason, Segment, SegmentSpan, TaskId,
};
use wirelap_report::trace::thread_of;
use wirelap_report::words;

/// A line of a waterfall.
#[derive(Clone, Debug, PartialEq)]
pub enum WaterfallLine {
    /// An interval.
    Bar(WaterfallBar),
    /// A sentence about the interval above.
    Note(String),
}

/// An interval of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaterfallBar {
    /// The leg, 0 for the first. The dwell counts to the leg after it.
    pub leg: usize,
    /// The step that the message went through.
    pub what: BarActivity,
    /// The beginning.
    pub from: Nanos,
    /// The end, after the beginning.
    pub to: Nanos,
    /// The thread that had the message, or waited for it.
    pub thread: Option<TaskId>,
}

/// A step that a message goes through in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarActivity {
    /// A segment. The segments of a message do not overlap.
    Segment(Segment),
    /// A part of the dwell: a thread of the forwarder was woken and waits for a CPU.
    Waits,
    /// A part of the dwell: a thread of the forwarder runs, until it wakes the next one or sends.
    Runs,
}

impl BarActivity {
    /// The name in the waterfall. A part of the dwell has a dot before it.
    pub fn name(self) -> &'static str {
        match self {
            BarActivity::Segment(segment) => segment.name(),
            BarActivity::Waits => "· waits",
            BarActivity::Runs => "· runs",
        }
    }

    /// The segment whose colour and letter it has.
    pub const fn look(self) -> Segment {
        match self {
            BarActivity::Segment(segment) => segment,
            BarActivity::Waits => Segment::RunQueue,
            BarActivity::Runs => Segment::Handoff,
        }
    }
}

/// The lines of a message, in order of time. Intervals without duration are left out.
pub fn lines(delivery: &Delivery, snapshot: &Snapshot) -> Vec<WaterfallLine> {
    let mut waterfall = Waterfall { lines: Vec::new(), delivery, snapshot };
    for (index, leg) in delivery.legs.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).and_then(|before| delivery.legs.get(before)) {
            waterfall.dwell(index, before, leg);
        }
        waterfall.leg(index, leg);
    }
    waterfall.lines
}

/// The first and the last moment of the intervals; `None` without any.
pub fn extent(lines: &[WaterfallLine]) -> Option<(Nanos, Nanos)> {
    let bars = || lines.iter().filter_map(WaterfallLine::bar);
    Some((bars().map(|bar| bar.from).min()?, bars().map(|bar| bar.to).max()?))
}

impl WaterfallLine {
    /// The interval, if it is one.
    pub fn bar(&self) -> Option<&WaterfallBar> {
        match self {
            WaterfallLine::Bar(bar) => Some(bar),
            WaterfallLine::Note(_) => None,
        }
    }
}

struct Waterfall<'a> {
    lines: Vec<WaterfallLine>,
    delivery: &'a Delivery,
    snapshot: &'a Snapshot,
}

impl Waterfall<'_> {
    fn bar(&mut self, bar: WaterfallBar) {
        if bar.from < bar.to {
            self.lines.push(WaterfallLine::Bar(bar));
        }
    }

    fn note(&mut self, note: Option<String>) {
        self.lines.extend(note.map(WaterfallLine::Note));
    }

    /// The time between two legs, and the threads that ran in it.
    fn dwell(&mut self, index: usize, before: &Leg, leg: &Leg) {
        let (Some((_, from)), Some((_, to))) =
            (before.times.seen().next_back(), leg.times.seen().next())
        else {
            return;
        };
        if from >= to {
            return;
        }
        let segment = Segment::BrokerDwell;
        let thread = thread_of(&SegmentSpan { segment, from, to, hop: None }, leg);
        self.bar(WaterfallBar {
            leg: index,
            what: BarActivity::Segment(segment),
            from,
            to,
            thread,
        });
        let off = self.delivery.off_cpu_of(index);
        let threads = [
            ("the thread that read it", off.dwell.unwrap_or_default()),
            ("the thread that sends it", off.sender.unwrap_or_default()),
            ("the threads between", off.before + off.handoff_before),
        ];
        for (who, off) in threads {
            self.note(off_cpu(&off, self.snapshot).map(|words| format!("{who} {words}")));
        }
        for (at, hop) in leg.before.iter().enumerate() {
            let until = leg.before.get(at.saturating_add(1)).map_or(to, |next| next.woken);
            let within = |at: Nanos| at.clamp(from, to);
            let (woken, running) = (within(hop.woken), within(hop.running));
            let part = |what, from, to| WaterfallBar {
                leg: index,
                what,
                from,
                to,
                thread: known(hop.task),
            };
            self.bar(part(BarActivity::Waits, woken, running));
            if woken < running {
                self.note(waited(hop, self.snapshot));
            }
            self.bar(part(BarActivity::Runs, running, within(until).max(running)));
        }
    }

    fn leg(&mut self, index: usize, leg: &Leg) {
        let mut spans = Vec::new();
        leg.each_span(&mut |span| spans.push(span));
        spans.retain(|span| span.from < span.to);
        for (at, span) in spans.iter().enumerate() {
            let SegmentSpan { segment, from, to, hop } = *span;
            let thread = thread_of(span, leg);
            self.bar(WaterfallBar {
                leg: index,
                what: BarActivity::Segment(segment),
                from,
                to,
                thread,
            });
            if segment == Segment::RunQueue
                && let Some(hop) = hop
            {
                self.note(waited(hop, self.snapshot));
            }
            // What is known of a segment is said once, below its last interval.
            let is_last =
                spans.iter().skip(at.saturating_add(1)).all(|later| later.segment != segment);
            if is_last {
                self.note(self.about(index, segment));
            }
        }
    }

    /// The activity of the threads that had the message in a segment, or kept it there.
    fn about(&self, index: usize, segment: Segment) -> Option<String> {
        let off = self.delivery.off_cpu_of(index);
        let (who, seen) = match segment {
            Segment::Write => ("what the rest had to wait for", off.writing),
            Segment::SocketTx => ("the reader", off.unread),
            // That the thread sleeps until it is woken is what the segment is.
            Segment::Wakeup => ("its thread", off.before_wakeup.filter(is_more_than_sleep)?),
            Segment::Handoff => ("its threads", off.handoff),
            Segment::Busy | Segment::Read => ("the reader", off.reader?),
            _ => return None,
        };
        off_cpu(&seen, self.snapshot).map(|words| format!("{who} {words}"))
    }
}

/// True if a thread was kept off the CPU by more than a sleep that data can end.
fn is_more_than_sleep(off: &OffCpu) -> bool {
    [off.waited, off.locked, off.deaf].iter().any(|time| *time > Nanos(0)) || off.preemptions > 0
}

fn known(task: TaskId) -> Option<TaskId> {
    Some(task).filter(|task| task.pid.0 != 0)
}

/// The wait of a thread after it was woken; `None` if nothing is known of that.
fn waited(hop: &Hop, snapshot: &Snapshot) -> Option<String> {
    (hop.migrated || hop.holder.held > Nanos(0)).then(|| wakeup(hop, snapshot))
}

/// The thread or interrupt that woke a thread, the CPU that it ran on, and who had that before.
pub fn wakeup(hop: &Hop, snapshot: &Snapshot) -> String {
    let by = if hop.from_irq { "woken by an interrupt" } else { "woken by a thread" };
    let mut parts = vec![by.to_owned()];
    let cpu = hop.cpu.map(|cpu| cpu.on_host(hop.task.pid.host()).0);
    match (hop.migrated, cpu) {
        (true, Some(cpu)) => parts.push(format!("moved to CPU {cpu}")),
        (true, None) => parts.push("moved to another CPU".into()),
        (false, Some(cpu)) => parts.push(format!("ran on CPU {cpu}")),
        (false, None) => {}
    }
    if hop.holder.held > Nanos(0) {
        parts.push(had_the_cpu(&hop.holder, snapshot));
    }
    parts.join(", ")
}

/// The reason why a thread was off the CPU before it was woken, and for how long; `None` if it was not seen to leave.
pub fn left(hop: &Hop) -> Option<String> {
    let off = hop.woken.since(hop.left?)?;
    let time = text::unbroken(&text::time(off));
    Some(format!("off the CPU for {time} before: {}", words::off_cpu(hop.reason, hop.sleep)))
        .filter(|_| hop.reason != OffCpuReason::Preempted || off > Nanos(0))
}

/// `stress-ng (991) had the CPU for 3.10 µs`.
pub fn had_the_cpu(holder: &Holder, snapshot: &Snapshot) -> String {
    let time = text::unbroken(&text::time(holder.held));
    match holder.task.tid.0 {
        0 => format!("the CPU was idle and took {time} to run it"),
        _ => format!("{} had the CPU for {time}", people::holder(holder, snapshot)),
    }
}

/// The times for which a thread was off the CPU: `slept 3.10 ms, waited 1.20 µs for a CPU, preempted twice; …`; `None` without any.
pub fn off_cpu(off: &OffCpu, snapshot: &Snapshot) -> Option<String> {
    let time = |time: Nanos| text::unbroken(&text::time(time));
    let mut parts = Vec::new();
    if off.asleep > Nanos(0) {
        parts.push(format!("slept {}", time(off.asleep)));
    }
    if off.locked > Nanos(0) {
        let by = Some(off.waker).filter(|waker| waker.task.tid.0 != 0);
        let by = by.map(|waker| format!(", {}", people::holder(&waker, snapshot)));
        let by = by.unwrap_or_default();
        parts.push(format!("of that {} until another thread let go{by}", time(off.locked)));
    }
    if off.deaf > Nanos(0) {
        parts.push(format!("of that {} in which no data could wake it", time(off.deaf)));
    }
    if off.waited > Nanos(0) {
        parts.push(format!("waited {} for a CPU", time(off.waited)));
    }
    if off.throttled > Nanos(0) {
        parts.push(format!("of that {} with its CPU quota used up", time(off.throttled)));
    }
    if off.preemptions > 0 {
        parts.push(text::unbroken(&format!("preempted {}×", off.preemptions)));
    }
    parts.extend(off.holders().map(|holder| had_the_cpu(holder, snapshot)));
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Cpu;
    use wirelap_test_pipeline::deliveries;

    #[test]
    fn segments_follow_each_other_and_add_up() {
        for message in deliveries::all() {
            let delivery = &message.delivery;
            let lines = lines(delivery, &Snapshot::default());
            let bars = lines.iter().filter_map(WaterfallLine::bar);
            let segments: Vec<&WaterfallBar> =
                bars.filter(|bar| matches!(bar.what, BarActivity::Segment(_))).collect();
            assert!(segments.windows(2).all(|pair| pair[0].to <= pair[1].from), "{segments:?}");
            let sum: Nanos = segments.iter().map(|bar| bar.to - bar.from).sum();
            let expected: Nanos = delivery.segments().map(|(_, segments)| segments.sum()).sum();
            assert_eq!(sum, expected, "{:?}", delivery.message);
        }
    }

    #[test]
    fn the_cpu_has_its_number_on_its_own_host() {
        let chain = |delivery: &Delivery| delivery.legs[0].chain.first().copied();
        let mut hop = chain(&deliveries::contended(1)).unwrap();
        hop.holder = Holder::default();
        let said = |hop: &Hop| wakeup(hop, &Snapshot::default());
        let (before, cpu) = (said(&Hop { cpu: None, migrated: false, ..hop }), Cpu(3));
        hop.cpu = Some(cpu.on_host(2));
        hop.task.pid = hop.task.pid.on_host(2);
        hop.migrated = false;
        assert_eq!(said(&hop), format!("{before}, ran on CPU 3"));
        hop.migrated = true;
        assert_eq!(said(&hop), format!("{before}, moved to CPU 3"));
    }

    #[test]
    fn parts_of_the_dwell_are_inside_of_it() {
        let delivery = deliveries::contended(1);
        let lines = lines(&delivery, &Snapshot::default());
        let bars: Vec<&WaterfallBar> = lines.iter().filter_map(WaterfallLine::bar).collect();
        let dwell =
            bars.iter().find(|bar| bar.what == BarActivity::Segment(Segment::BrokerDwell)).unwrap();
        let parts: Vec<_> =
            bars.iter().filter(|bar| !matches!(bar.what, BarActivity::Segment(_))).collect();
        assert!(!parts.is_empty());
        assert!(parts.iter().all(|part| dwell.from <= part.from && part.to <= dwell.to));
    }
}
