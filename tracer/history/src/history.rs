//! The updates of a session, put together.

use crate::bins::Bins;
use crate::figures::{RowCounts, put};
use crate::log::EventLog;
use crate::messages::MessageStore;
use crate::muted::MutedRows;
use crate::running::RunningSum;
use crate::slice::{RowSlice, Slice, Update};
use crate::timeline::{BlockTimeline, TimelineBlock};
use crate::united::United;
use crate::window::FigureWindow;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use wirelap_correlate::Snapshot;
use wirelap_events::{GroupId, Nanos, Size, TopicId};

/// Bytes that figures over time and the sums of windows take at most, about.
const BUDGET: usize = 48 << 20;
/// Bytes that single messages take at most, about.
const MESSAGES: usize = 32 << 20;
/// The most topics whose names are kept.
const TOPICS: usize = 65_536;
/// Time for which the counts of all rows are kept: as long as the longest window with a length.
const COUNTS: Nanos = Nanos(61_000_000_000);

/// The counts of all rows at a time.
#[derive(Clone, Debug, Default)]
struct CountsAt {
    at: Nanos,
    /// Time for which observation had paused until then.
    paused: Nanos,
    rows: FxHashMap<GroupId, RowCounts>,
}

impl CountsAt {
    fn of(snapshot: &Snapshot) -> CountsAt {
        let rows = snapshot.groups.iter().map(|group| (group.id, RowCounts::of(group)));
        CountsAt { at: snapshot.at, paused: snapshot.trust.paused, rows: rows.collect() }
    }

    /// A row has turned out to be a part of another one, whose counts have its own from now on.
    fn unite(&mut self, part: GroupId, whole: GroupId) {
        if let Some(part) = self.rows.remove(&part) {
            self.rows.entry(whole).or_default().add(&part);
        }
    }
}

/// An equal part of a time, for a chart over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeColumn {
    /// The column's beginning.
    pub from: Nanos,
    /// The column's end.
    pub to: Nanos,
    /// The one-way latencies of what was delivered in it.
    pub one_way: Bins,
}

/// The past of a session that a screen keeps: the newest snapshot, figures of several windows, distributions over hours in bounded
/// memory, single messages, and a log.
#[derive(Clone, Debug)]
pub struct SessionHistory {
    latest: Arc<Snapshot>,
    /// Bytes that the timeline and the sums of windows may take.
    budget: usize,
    timeline: BlockTimeline,
    united: United,
    /// The running sums of the windows that have a length, the shortest first.
    running: [RunningSum; 3],
    since_start: RunningSum,
    since_mark: Option<(RunningSum, CountsAt)>,
    counts: VecDeque<CountsAt>,
    messages: MessageStore,
    topics: FxHashMap<TopicId, Box<str>>,
    log: EventLog,
    muted: MutedRows,
}

impl Default for SessionHistory {
    fn default() -> SessionHistory {
        SessionHistory::new(BUDGET)
    }
}

impl SessionHistory {
    /// Keeps figures over time in at most about `budget` bytes. The last minute and the sums of windows are kept in any case.
    pub fn new(budget: usize) -> SessionHistory {
        let lengths = [FigureWindow::Second, FigureWindow::TenSeconds, FigureWindow::Minute]
            .map(FigureWindow::length);
        SessionHistory {
            latest: Arc::default(),
            budget,
            timeline: BlockTimeline::default(),
            united: United::default(),
            running: lengths.map(RunningSum::new),
            since_start: RunningSum::new(None),
            since_mark: None,
            counts: VecDeque::new(),
            messages: MessageStore::new(MESSAGES),
            topics: FxHashMap::default(),
            log: EventLog::default(),
            muted: MutedRows::default(),
        }
    }

    /// Adds an update.
    pub fn add(&mut self, update: Update) {
        let Update { snapshot, mut slice } = update;
        for (part, whole) in self.united.update(&snapshot.united) {
            self.unite(part, whole);
        }
        self.log.compare(&self.latest, &snapshot);
        let mut muted = std::mem::take(&mut self.muted);
        muted.update(&snapshot, |window| self.snapshot(window));
        self.muted = muted;
        for (topic, name) in slice.topics.drain(..) {
            if self.topics.len() < TOPICS {
                self.topics.insert(topic, name);
            }
        }
        for message in slice.messages.drain(..) {
            self.messages.add(self.united.root(message.group()), message);
        }
        self.counts.push_back(CountsAt::of(&snapshot));
        while self.counts.front().is_some_and(|old| snapshot.at - old.at > COUNTS) {
            self.counts.pop_front();
        }
        if slice.from == Nanos(0) {
            slice.from = snapshot.since;
        }
        self.add_slice(&slice);
        self.latest = snapshot;
    }

    /// Adds the newest slice to the timeline and to all windows.
    fn add_slice(&mut self, slice: &Slice) {
        let mut rows: BTreeMap<GroupId, RowSlice> = BTreeMap::new();
        for row in slice.rows.iter().filter(|row| row.matched() > 0) {
            rows.entry(self.united.root(row.group)).or_default().merge(row);
        }
        let (from, to) = (slice.from, slice.to.max(slice.from));
        self.timeline.push(TimelineBlock::pack(
            from,
            to,
            rows.iter().map(|(group, row)| (*group, row)),
        ));
        let marked = self.since_mark.as_mut().map(|(running, _)| running);
        let unending = std::iter::once(&mut self.since_start).chain(marked);
        for running in self.running.iter_mut().chain(unending) {
            for (group, row) in &rows {
                running.add(from, *group, row);
            }
            running.leave(&self.timeline, to, &self.united);
        }
        let starts: Vec<Nanos> = self.running.iter().filter_map(RunningSum::from).collect();
        let room = self.budget.saturating_sub(self.sums());
        self.timeline.age(to, &starts, room, &self.united);
    }

    /// A row has turned out to be a part of another one: what it had belongs to that one.
    fn unite(&mut self, part: GroupId, whole: GroupId) {
        let marked = self.since_mark.as_mut();
        let (marked, at_mark) = marked.map(|(running, counts)| (running, counts)).unzip();
        let unending = std::iter::once(&mut self.since_start).chain(marked);
        self.running.iter_mut().chain(unending).for_each(|running| running.unite(part, whole));
        let counts = self.counts.iter_mut().chain(at_mark);
        counts.for_each(|counts| counts.unite(part, whole));
        self.messages.unite(part, whole);
    }

    /// The memory that the sums of windows take, in bytes.
    fn sums(&self) -> usize {
        let marked = self.since_mark.iter().map(|(running, _)| running);
        let all = self.running.iter().chain([&self.since_start]).chain(marked);
        Size::sum(all.map(RunningSum::memory)).0
    }

    /// The memory that figures over time and the sums of windows take, in bytes.
    pub fn bytes(&self) -> usize {
        (Size(self.timeline.memory()) + self.sums()).0
    }

    /// The newest snapshot; its figures are of all the time since the beginning.
    pub fn latest(&self) -> &Arc<Snapshot> {
        &self.latest
    }

    /// Begins [`Window::SinceMark`] now.
    pub fn mark(&mut self) {
        let mut running = RunningSum::new(None);
        running.begin(self.latest.at);
        self.since_mark = Some((running, CountsAt::of(&self.latest)));
    }

    /// The time at which the mark was set; `None` if it was not.
    pub fn marked(&self) -> Option<Nanos> {
        self.since_mark.as_ref().map(|(_, counts)| counts.at)
    }

    /// From when to when the figures of a window are. A window is never longer than its name says, and shorter in the beginning. Without a
    /// mark, [`Window::SinceMark`] is the time since the beginning.
    pub fn extent(&self, window: FigureWindow) -> (Nanos, Nanos) {
        let to = self.latest.at;
        match self.running(window).filter(|_| window != FigureWindow::SinceStart) {
            Some(running) => (running.from().unwrap_or(to), to),
            None => (self.latest.since, to),
        }
    }

    fn running(&self, window: FigureWindow) -> Option<&RunningSum> {
        match window {
            FigureWindow::Second => self.running.first(),
            FigureWindow::TenSeconds => self.running.get(1),
            FigureWindow::Minute => self.running.get(2),
            FigureWindow::SinceStart => Some(&self.since_start),
            FigureWindow::SinceMark => self.since_mark.as_ref().map(|(running, _)| running),
        }
    }

    /// The counts of the rows when a window began; `None` if none are kept from before.
    fn counts_before(&self, window: FigureWindow) -> Option<&CountsAt> {
        if window == FigureWindow::SinceMark {
            return self.since_mark.as_ref().map(|(_, counts)| counts);
        }
        let (from, _) = self.extent(window);
        self.counts.iter().rev().find(|counts| counts.at <= from)
    }

    /// The newest snapshot with the figures of a window: of each row the one-way latency, the scheduling gap, the segments, the rates,
    /// the counts of messages and the coverage. Bytes, verdicts, tails, processes and trust are of all the time since the beginning.
    pub fn snapshot(&self, window: FigureWindow) -> Arc<Snapshot> {
        let Some(running) = self.running(window).filter(|_| window != FigureWindow::SinceStart)
        else {
            return Arc::clone(&self.latest);
        };
        let (from, to) = self.extent(window);
        let before = self.counts_before(window);
        let paused = self.latest.trust.paused - before.map_or(Nanos(0), |counts| counts.paused);
        let traced = (to - from) - paused;
        let mut snapshot = Snapshot::clone(&self.latest);
        let nothing = RowSlice::default();
        for group in &mut snapshot.groups {
            if self.muted.put(group, window) {
                continue;
            }
            let row = running.row(group.id).unwrap_or(&nothing);
            let earlier = before.and_then(|counts| counts.rows.get(&group.id)).copied();
            let earlier = earlier.unwrap_or_default();
            let muted = group.muted.map_or(Nanos(0), |muted| muted.time) - earlier.muted;
            put(group, row, &earlier, (traced - muted, paused > Nanos(0)));
        }
        Arc::new(snapshot)
    }

    /// The deliveries of a row in a window; `None` if there are none.
    pub fn row(&self, group: GroupId, window: FigureWindow) -> Option<&RowSlice> {
        self.running(window).or(Some(&self.since_start))?.row(group)
    }

    /// The one-way latencies of a row in a window.
    pub fn one_way(&self, group: GroupId, window: FigureWindow) -> Bins {
        self.row(group, window).map(|row| row.one_way.clone()).unwrap_or_default()
    }

    /// A row over time: `from..to` in so many equal columns, the oldest first. What was kept only for a longer time than a column's is in the
    /// column of its middle.
    pub fn over_time(
        &self,
        group: GroupId,
        (from, to): (Nanos, Nanos),
        columns: usize,
    ) -> Vec<TimeColumn> {
        let span = u128::from((to - from).0);
        let edge = |at: usize| {
            let part = span.saturating_mul(at as u128).checked_div(columns.max(1) as u128);
            from + Nanos(u64::try_from(part.unwrap_or(0)).unwrap_or(u64::MAX))
        };
        let mut all: Vec<TimeColumn> = (0..columns)
            .map(|at| TimeColumn {
                from: edge(at),
                to: edge(at.saturating_add(1)),
                one_way: Bins::default(),
            })
            .collect();
        for block in self.timeline.blocks() {
            let middle = Nanos(block.from.0.midpoint(block.to.0));
            let at = all.partition_point(|column| column.to <= middle);
            let Some(column) = all.get_mut(at).filter(|column| column.from <= middle) else {
                continue;
            };
            for row in self.of_row(block, group) {
                column.one_way.merge(&row.one_way);
            }
        }
        all
    }

    /// The deliveries of a row in a block: its own, and those of rows that have turned out to be a part of it.
    pub(crate) fn of_row<'a>(
        &'a self,
        block: &'a TimelineBlock,
        group: GroupId,
    ) -> impl Iterator<Item = RowSlice> + 'a {
        self.united.parts(group).filter_map(|part| block.row(part))
    }

    /// The blocks of deliveries from a time on, the oldest first.
    pub(crate) fn blocks_from(&self, from: Nanos) -> impl Iterator<Item = &TimelineBlock> + '_ {
        self.timeline.blocks_from(from)
    }

    /// Length of the past for which distributions over time are kept now.
    pub fn reaches_back(&self) -> Nanos {
        let oldest = self.timeline.blocks().next().map_or(self.latest.at, |block| block.from);
        self.latest.at - oldest
    }

    /// Single messages.
    pub fn messages(&self) -> &MessageStore {
        &self.messages
    }

    /// The name of a topic, if it is known.
    pub fn topic(&self, topic: TopicId) -> Option<&str> {
        self.topics.get(&topic).map(AsRef::as_ref)
    }

    /// Adds a sentence to the log, at the time of the newest snapshot.
    pub fn note(&mut self, sentence: String) {
        self.log.note(self.latest.at, sentence);
    }

    /// The log of what has happened.
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// The medians of the one-way latency of a row in successive slices of at least a second, the oldest first, since a time.
    pub fn medians(&self, group: GroupId, (from, to): (Nanos, Nanos)) -> Vec<Nanos> {
        let seconds = usize::try_from((to - from).0 / 1_000_000_000).unwrap_or(0).min(3_600);
        let columns = self.over_time(group, (from, to), seconds);
        columns
            .iter()
            .filter(|one| one.one_way.count() > 0)
            .map(|one| one.one_way.quantile(0.5))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wirelap_correlate::Group;

    const QUARTER: u64 = 250_000_000;

    /// An update a quarter of a second after the one before, with so many deliveries of one row.
    fn update(number: u64, delivered: u64, latencies: &[u64]) -> Update {
        let mut group = Group { id: GroupId(1), middleware: "mqtt".into(), ..Group::default() };
        group.messages.delivered = delivered;
        group.messages.matched = delivered;
        let mut row = RowSlice::new(GroupId(1));
        row.one_way = latencies.iter().copied().collect();
        let (from, to) = (Nanos(number * QUARTER), Nanos((number + 1) * QUARTER));
        let snapshot =
            Snapshot { at: to, since: Nanos(0), groups: vec![group], ..Snapshot::default() };
        Update {
            snapshot: Arc::new(snapshot),
            slice: Slice { from, to, rows: vec![row], ..Slice::default() },
        }
    }

    fn filled(latencies: &[Vec<u64>]) -> SessionHistory {
        let mut history = SessionHistory::default();
        let mut delivered = 0;
        for (number, latencies) in (0..).zip(latencies) {
            delivered += latencies.len() as u64;
            history.add(update(number, delivered, latencies));
        }
        history
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn a_window_has_what_was_delivered_in_it(
            latencies in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 0..4), 1..400),
        ) {
            let history = filled(&latencies);
            for window in FigureWindow::ALL {
                let (from, to) = history.extent(window);
                prop_assert!(window.length().is_none_or(|length| to - from <= length));
                let first = usize::try_from(from.0 / QUARTER).unwrap();
                let expected: Bins = latencies[first..].iter().flatten().copied().collect();
                prop_assert_eq!(&history.one_way(GroupId(1), window), &expected);
                let snapshot = history.snapshot(window);
                prop_assert_eq!(snapshot.groups[0].messages.delivered, expected.count());
            }
        }

        #[test]
        fn columns_have_everything_once(
            latencies in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 0..4), 1..400), columns in 1usize..90,
        ) {
            let history = filled(&latencies);
            let (from, to) = history.extent(FigureWindow::SinceStart);
            let all = history.over_time(GroupId(1), (from, to), columns);
            prop_assert_eq!(all.len(), columns);
            let counted: u64 = all.iter().map(|column| column.one_way.count()).sum();
            prop_assert_eq!(counted, latencies.iter().flatten().count() as u64);
        }
    }

    #[test]
    fn what_came_before_the_mark_is_not_since_the_mark() {
        let mut history = filled(&[vec![10; 4], vec![10; 4]]);
        history.mark();
        assert_eq!(history.marked(), Some(Nanos(2 * QUARTER)));
        assert_eq!(history.one_way(GroupId(1), FigureWindow::SinceMark).count(), 0);
        history.add(update(2, 9, &[70]));
        let snapshot = history.snapshot(FigureWindow::SinceMark);
        assert_eq!(
            (snapshot.groups[0].messages.delivered, snapshot.groups[0].one_way.p50),
            (1, Nanos(70))
        );
        assert_eq!(
            history.extent(FigureWindow::SinceMark),
            (Nanos(2 * QUARTER), Nanos(3 * QUARTER))
        );
        assert_eq!(history.snapshot(FigureWindow::SinceStart).groups[0].messages.delivered, 9);
    }

    #[test]
    fn a_small_budget_costs_the_past_and_no_figure_of_now() {
        let mut history = SessionHistory::new(20_000);
        for number in 0..400 {
            history.add(update(number, (number + 1) * 2, &[number, 1_000 * number]));
        }
        let (from, to) = history.extent(FigureWindow::Minute);
        assert!(history.reaches_back() >= to - from);
        let second = history.one_way(GroupId(1), FigureWindow::Second);
        assert_eq!(second.count(), 8);
    }
}
