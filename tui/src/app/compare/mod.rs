//! The comparison: marked rows with the first of them, or the selected row with its baseline.
//!
//! Marked rows are compared second by second, because they are seen at the same time. A baseline is what a row delivered before the mark was
//! set; it is kept apart from the history, which forgets seconds after ten minutes.

mod figure;
mod side;

pub use figure::{MARGIN, Row, What};
pub use side::Side;

use super::{App, Motion, View};
use crate::columns;
use side::ByteSum;
use std::collections::HashMap;
use wirelap_correlate::snapshot::Group;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{History, Second, Window};

/// The longest time that is compared, up to now or up to the mark: as long as seconds are kept.
const LONGEST: Nanos = Nanos(600_000_000_000);
/// The shortest baseline if there is that much before the mark.
const SHORTEST: Nanos = Nanos(60_000_000_000);
/// The most seconds that the baselines of all rows have together; one takes about 2 KB.
const MOST_SECONDS: usize = 10_000;

/// What all rows delivered before the mark.
#[derive(Clone, Debug, Default)]
struct Baseline {
    period: (Nanos, Nanos),
    rows: HashMap<GroupId, (Vec<Second>, ByteSum)>,
}

/// The state of the view "compare".
#[derive(Clone, Debug, Default)]
pub struct Comparing {
    baseline: Option<Baseline>,
    /// Which of the further marked rows is the first that is drawn.
    first: usize,
    compared: Option<Compared>,
    key: Option<Key>,
}

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Side A.
    pub a: Side,
    /// The other sides, each with its figures.
    pub others: Vec<(Side, Vec<Row>)>,
    /// Whether the sides were seen at the same time.
    pub at_once: bool,
    /// Whether time brings more seconds to compare.
    pub grows: bool,
}

/// What a comparison depends on. It is made again when this changes: every second in the beginning, and less often the longer the time is.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    time: (u64, u64),
    rows: Vec<GroupId>,
    window: Window,
    marked: Option<Nanos>,
}

impl Comparing {
    /// What is compared; `None` if nothing can be.
    pub fn compared(&self) -> Option<&Compared> {
        self.compared.as_ref()
    }

    /// Which of the other sides is the first that is drawn.
    pub fn first(&self) -> usize {
        let others = self.compared.as_ref().map_or(0, |compared| compared.others.len());
        self.first.min(others.saturating_sub(1))
    }

    /// Draws the marked rows from the next one on; after the last one, from the first.
    pub fn next(&mut self) {
        let others = self.compared.as_ref().map_or(0, |compared| compared.others.len());
        self.first = (self.first() + 1) % others.max(1);
    }

    /// Draws the marked rows from the next or the previous one on.
    pub fn go(&mut self, motion: Motion) {
        self.first = match motion {
            Motion::Left => self.first().saturating_sub(1),
            Motion::Right => self.first().saturating_add(1),
            _ => self.first(),
        };
    }

    /// Keeps the figures of the present window as the baseline: of at least a minute, if that much is known, and at most ten.
    pub fn keep(&mut self, history: &History, window: Window) {
        let (from, to) = history.extent(window);
        let latest = history.latest();
        let from = from.min(to - SHORTEST).max(to - LONGEST).max(latest.since);
        let each = MOST_SECONDS / latest.groups.len().max(1);
        let rows = latest.groups.iter().map(|group| {
            let mut seconds = history.seconds(group.id, (from, to));
            seconds.drain(..seconds.len().saturating_sub(each));
            (group.id, (seconds, ByteSum::of(group)))
        });
        self.baseline = Some(Baseline { period: (from, to), rows: rows.collect() });
        self.key = None;
    }
}

impl Baseline {
    /// Side A of a row: before the mark.
    fn before(&self, group: &Group) -> Side {
        let (seconds, bytes) = self.rows.get(&group.id).cloned().unwrap_or_default();
        let period = (seconds.first().map_or(self.period.0, |first| first.from), self.period.1);
        Side { name: columns::name(group), what: "baseline".into(), period, seconds, bytes }
    }

    /// Side B of a row: since the mark.
    fn after(&self, group: &Group, history: &History) -> Side {
        let (_, mark) = self.period;
        let period = (mark.max(history.latest().at - LONGEST), history.latest().at);
        let before = self.rows.get(&group.id).map(|(_, bytes)| *bytes).unwrap_or_default();
        Side {
            name: String::new(),
            what: Window::SinceMark.name().into(),
            period,
            seconds: history.seconds(group.id, period),
            bytes: ByteSum::of(group).since(before),
        }
    }
}

impl App {
    /// The state of the view "compare".
    pub fn comparing(&self) -> &Comparing {
        &self.comparing
    }

    /// Compares again if the view is shown and something has changed.
    pub(super) fn compare(&mut self) {
        if self.view != View::Compare {
            return;
        }
        let marked: Vec<GroupId> = self.marked().map(|group| group.id).collect();
        let selected = self.selected().map(|group| group.id);
        let rows = if marked.len() < 2 { selected.into_iter().collect() } else { marked };
        let key = Key {
            time: self.time_to_compare(),
            rows,
            window: self.window,
            marked: self.history.marked(),
        };
        if self.comparing.key.as_ref() == Some(&key) {
            return;
        }
        self.comparing.compared =
            if key.rows.len() < 2 { self.with_baseline() } else { Some(self.with_each_other()) };
        self.comparing.key = Some(key);
    }

    /// A number that changes with time, and how many seconds that takes: a twentieth of the compared time.
    fn time_to_compare(&self) -> (u64, u64) {
        let (from, to) = self.history.extent(self.window);
        let from = self.history.marked().map_or(from, |marked| marked.max(from));
        let every = ((to - from).0 / 20_000_000_000).clamp(1, 30);
        (to.0 / 1_000_000_000 / every, every)
    }

    /// A row of the newest snapshot, whose sums are since the beginning.
    fn whole(&self, id: GroupId) -> Option<&Group> {
        self.history.latest().groups.iter().find(|group| group.id == id)
    }

    fn with_baseline(&self) -> Option<Compared> {
        let baseline = self.comparing.baseline.as_ref()?;
        let group = self.whole(self.selected()?.id)?;
        let (a, b) = (baseline.before(group), baseline.after(group, &self.history));
        let rows = figure::rows(&a, &b, false);
        let grows = b.period.1 - b.period.0 < LONGEST;
        Some(Compared { a, others: vec![(b, rows)], at_once: false, grows })
    }

    fn with_each_other(&self) -> Compared {
        let (from, to) = self.history.extent(self.window);
        let period = (from.max(to - LONGEST), to);
        let grows =
            self.window.length().is_none_or(|length| to - from < length) && to - period.0 < LONGEST;
        let side = |group: &Group| Side {
            name: columns::name(group),
            what: String::new(),
            period,
            seconds: self.history.seconds(group.id, period),
            bytes: self.whole(group.id).map(ByteSum::of).unwrap_or_default(),
        };
        let mut sides = self.marked().map(side);
        let a = sides.next().unwrap_or_default();
        let others = sides.map(|b| {
            let rows = figure::rows(&a, &b, true);
            (b, rows)
        });
        let others = others.collect();
        Compared { a, others, at_once: true, grows }
    }
}
