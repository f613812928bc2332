//! Where things go: pure arithmetic over the screen's size.

use crate::app::View;
use ratatui::layout::Rect;
use std::ops::Range;

/// The smallest screen that is drawn; a smaller one gets a sentence.
pub const MIN_WIDTH: u16 = 40;
/// See [`MIN_WIDTH`].
pub const MIN_HEIGHT: u16 = 10;

/// From this width on, the details stand at the right of the comparison.
const SIDE_BY_SIDE: u16 = 161;
/// Least width of the details beside the comparison.
const DETAILS_WIDTH: u16 = 80;
/// Fewer lines than this are not worth a details pane below the bars.
const DETAILS_LINES: u16 = 4;
/// From this many lines on, the details share their place with the reasons.
const DETAILS_AND_WHY: u16 = 40;
/// Lines of the bars' legend.
pub const LEGEND_LINES: u16 = 2;

/// The panels' places. An absent panel has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Name, elapsed time, trust.
    pub header: Rect,
    /// Reasons for care.
    pub warnings: Rect,
    /// The comparison.
    pub table: Option<Rect>,
    /// The stacked bars.
    pub stages: Option<Rect>,
    /// The selected row.
    pub details: Option<Rect>,
    /// Why its messages took so long.
    pub why: Option<Rect>,
    /// The keys.
    pub footer: Rect,
}

/// What the plan depends on beside the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Rows of the comparison.
    pub rows: usize,
    /// Lines that all warnings take.
    pub warnings: usize,
    /// What fills the body.
    pub view: View,
}

/// Whether the screen is large enough to draw anything.
pub fn fits(area: Rect) -> bool {
    area.width >= MIN_WIDTH && area.height >= MIN_HEIGHT
}

/// Places every panel. The panels never overlap and never leave `area`.
pub fn plan(area: Rect, content: Content) -> Plan {
    let (header, rest) = split_top(area, if area.height >= 14 { 2 } else { 1 });
    let room = match area.height {
        0..14 => 1,
        14..30 => 2,
        _ => 4,
    };
    let (warnings, rest) = split_top(rest, count(content.warnings).min(room));
    let (body, footer) = split_top(rest, rest.height.saturating_sub(1));
    let plan = Plan { header, warnings, footer, ..Plan::default() };
    match content.view {
        View::Details => beside_why(body, plan),
        View::Why => Plan { why: Some(body), ..plan },
        View::Compare if area.width >= SIDE_BY_SIDE => {
            let width = DETAILS_WIDTH.max(body.width * 2 / 5);
            let left = Rect { width: body.width - width - 1, ..body };
            let details = Rect { x: body.right() - width, width, ..body };
            stack(left, content.rows, beside_why(details, plan))
        }
        View::Compare => stack(body, content.rows, plan),
    }
}

/// The details, and the reasons below them where there is room.
fn beside_why(area: Rect, plan: Plan) -> Plan {
    if area.height < DETAILS_AND_WHY {
        return Plan { details: Some(area), ..plan };
    }
    let (details, why) = split_top(area, area.height * 3 / 5);
    Plan { details: Some(details), why: Some(why), ..plan }
}

/// Table above bars above, where there is room and it has no place yet, details.
fn stack(body: Rect, rows: usize, plan: Plan) -> Plan {
    let rows = count(rows.max(1));
    let table_wants = rows.saturating_add(2);
    let bars_want = rows.saturating_add(1 + LEGEND_LINES);
    if body.height < 10 {
        return Plan { table: Some(body), ..plan };
    }
    let wants = table_wants.saturating_add(bars_want);
    if wants > body.height {
        let (table, stages) = split_top(body, (body.height - LEGEND_LINES + 1).div_ceil(2));
        return Plan { table: Some(table), stages: Some(stages), ..plan };
    }
    let (table, rest) = split_top(body, table_wants);
    let (stages, rest) = split_top(rest, bars_want);
    let details = match plan.details {
        None if rest.height >= DETAILS_LINES => Some(rest),
        placed => placed,
    };
    Plan { table: Some(table), stages: Some(stages), details, ..plan }
}

/// The first `height` lines of `area`, and the rest.
pub fn split_top(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    (top, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The part of `rows` that a panel of `height` lines shows so that the selected one is among them,
/// in the middle where possible.
pub fn window(rows: usize, selected: usize, height: usize) -> Range<usize> {
    let height = height.min(rows);
    let first = selected.saturating_sub(height / 2).min(rows - height);
    first..first + height
}

/// A count as lines of a screen.
pub fn count(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_rows_and_their_bars_fit_80_by_24_whole() {
        let content = Content { rows: 5, warnings: 0, view: View::Compare };
        let plan = plan(Rect::new(0, 0, 80, 24), content);
        assert_eq!(plan.table, Some(Rect::new(0, 2, 80, 7)));
        assert_eq!(plan.stages, Some(Rect::new(0, 9, 80, 8)));
        assert_eq!(plan.details, Some(Rect::new(0, 17, 80, 6)));
        assert_eq!(plan.footer, Rect::new(0, 23, 80, 1));
    }

    #[test]
    fn the_selected_row_is_always_in_the_window() {
        assert_eq!(window(10, 0, 4), 0..4);
        assert_eq!(window(10, 5, 4), 3..7);
        assert_eq!(window(10, 9, 4), 6..10);
        assert_eq!(window(3, 2, 9), 0..3);
        assert_eq!(window(0, 0, 9), 0..0);
        assert!(window(5, 3, 0).is_empty());
    }

    proptest! {
        #[test]
        fn panels_stay_inside_and_apart(
            width in 0u16..=250, height in 0u16..=80, rows in 0usize..300, warnings in 0usize..9,
            view in prop::sample::select(vec![View::Compare, View::Details, View::Why]),
        ) {
            let area = Rect::new(0, 0, width, height);
            let plan = plan(area, Content { rows, warnings, view });
            let placed: Vec<Rect> = [Some(plan.header), Some(plan.warnings), plan.table, plan.stages, plan.details, plan.why, Some(plan.footer)]
                .into_iter().flatten().filter(|rect| !rect.is_empty()).collect();
            for (index, panel) in placed.iter().enumerate() {
                prop_assert_eq!(panel.intersection(area), *panel);
                for other in &placed[index + 1..] {
                    prop_assert!(!panel.intersects(*other), "{:?} {:?}", panel, other);
                }
            }
        }
    }
}
