//! The comparison: marked rows with the first of them, or the selected row with its baseline.
//!
//! Marked rows are compared second by second, because they are seen at the same time. A baseline is what a row delivered before the mark was
//! set; it is kept apart from the history, which forgets seconds after ten minutes.

mod comparing;
mod figure;
mod side;

pub use comparing::{Compared, Comparing};
pub use figure::{ComparedFigure, FigureRow, MARGIN};
pub use side::SidePeriod;

use super::{App, View};
use crate::columns;
use comparing::{ComparisonInputs, LONGEST};
use side::ByteSum;
use wirelap_correlate::snapshot::Group;
use wirelap_events::GroupId;

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
        let key = ComparisonInputs {
            time: self.time_to_compare(),
            rows,
            window: self.figures.window,
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
        let (from, to) = self.history.extent(self.figures.window);
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
        let (from, to) = self.history.extent(self.figures.window);
        let period = (from.max(to - LONGEST), to);
        let grows = self.figures.window.length().is_none_or(|length| to - from < length)
            && to - period.0 < LONGEST;
        let side = |group: &Group| SidePeriod {
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
