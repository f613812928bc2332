//! The state of the comparison, and the baseline that it keeps.

use super::super::command::{Motion, last_place, step_to};
use super::figure::FigureRow;
use super::side::{ByteSum, SidePeriod};
use crate::columns;
use std::collections::HashMap;
use wirelap_correlate::snapshot::Group;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{FigureWindow, Second, SessionHistory};

/// The longest time that is compared, up to now or up to the mark: as long as seconds are kept.
pub(super) const LONGEST: Nanos = Nanos(600_000_000_000);
/// The shortest baseline if there is that much before the mark.
const SHORTEST: Nanos = Nanos(60_000_000_000);
/// The most seconds that the baselines of all rows have together; one takes about 2 KB.
const MOST_SECONDS: usize = 10_000;

/// The deliveries of all rows before the mark.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    period: (Nanos, Nanos),
    rows: HashMap<GroupId, (Vec<Second>, ByteSum)>,
}

/// The state of the view "compare".
#[derive(Clone, Debug, Default)]
pub struct Comparing {
    pub(super) baseline: Option<Baseline>,
    /// Index among the further marked rows of the first one that is drawn.
    first: usize,
    pub(super) compared: Option<Compared>,
    pub(super) key: Option<ComparisonInputs>,
}

/// The sides of a comparison, and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Side A.
    pub a: SidePeriod,
    /// The other sides, each with its figures.
    pub others: Vec<(SidePeriod, Vec<FigureRow>)>,
    /// True if the sides were seen at the same time.
    pub at_once: bool,
    /// True if later seconds are added to the comparison.
    pub grows: bool,
}

/// The inputs of a comparison. It is made again when they change: every second in the beginning, and less often the longer the time is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ComparisonInputs {
    pub(super) time: (u64, u64),
    pub(super) rows: Vec<GroupId>,
    pub(super) window: FigureWindow,
    pub(super) marked: Option<Nanos>,
}

impl Comparing {
    /// The present comparison; `None` if nothing can be compared.
    pub fn compared(&self) -> Option<&Compared> {
        self.compared.as_ref()
    }

    /// Index among the other sides of the first one that is drawn.
    pub fn first(&self) -> usize {
        let others = self.compared.as_ref().map_or(0, |compared| compared.others.len());
        self.first.min(last_place(others))
    }

    /// Draws the marked rows from the next one on; after the last one, from the first.
    pub fn next(&mut self) {
        let others = self.compared.as_ref().map_or(0, |compared| compared.others.len());
        self.first = (self.first() + 1) % others.max(1);
    }

    /// Draws the marked rows from the next or the previous one on.
    pub fn go(&mut self, motion: Motion) {
        self.first = match motion {
            Motion::Left => step_to(self.first(), -1, usize::MAX),
            Motion::Right => self.first() + 1,
            _ => self.first(),
        };
    }

    /// Keeps the figures of the present window as the baseline: of at least a minute, if that much is known, and at most ten.
    pub fn keep(&mut self, history: &SessionHistory, window: FigureWindow) {
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
    pub(super) fn before(&self, group: &Group) -> SidePeriod {
        let (seconds, bytes) = self.rows.get(&group.id).cloned().unwrap_or_default();
        let period = (seconds.first().map_or(self.period.0, |first| first.from), self.period.1);
        SidePeriod { name: columns::name(group), what: "baseline".into(), period, seconds, bytes }
    }

    /// Side B of a row: since the mark.
    pub(super) fn after(&self, group: &Group, history: &SessionHistory) -> SidePeriod {
        let (_, mark) = self.period;
        let period = (mark.max(history.latest().at - LONGEST), history.latest().at);
        let before = self.rows.get(&group.id).map(|(_, bytes)| *bytes).unwrap_or_default();
        SidePeriod {
            name: String::new(),
            what: FigureWindow::SinceMark.name().into(),
            period,
            seconds: history.seconds(group.id, period),
            bytes: ByteSum::of(group).since(before),
        }
    }
}
