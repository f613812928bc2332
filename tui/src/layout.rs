//! The area of each panel: pure arithmetic over the screen's size.

use crate::app::View;
use ratatui::layout::Rect;
use std::ops::Range;

/// The least width, in columns, of a screen that is drawn; a smaller one shows only a sentence that says so.
pub const MIN_WIDTH: u16 = 40;
/// The least height, in lines, of a screen that is drawn.
pub const MIN_HEIGHT: u16 = 10;

/// From this width on, the details are to the right of the comparison.
const SIDE_BY_SIDE: u16 = 161;
/// Least width of the details beside the comparison.
const DETAILS_WIDTH: u16 = 80;
/// The least height of the details below the bars.
const DETAILS_LINES: u16 = 4;
/// From this height on, the details share their area with the panel "why".
const DETAILS_AND_WHY: u16 = 40;
/// From this height on, the names of the views have a line.
const TABS_FROM: u16 = 20;
/// Lines of the bars' legend.
pub const LEGEND_LINES: u16 = 2;

/// The area of each panel; `None` for a panel that is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PanelAreas {
    /// Name, elapsed time, trust.
    pub header: Rect,
    /// The names of the views; empty on a low screen.
    pub tabs: Rect,
    /// Warnings about the figures.
    pub warnings: Rect,
    /// The comparison's table.
    pub table: Option<Rect>,
    /// The stacked bars of the segments.
    pub stages: Option<Rect>,
    /// The details of the selected row.
    pub details: Option<Rect>,
    /// Why the selected row's messages took so long.
    pub why: Option<Rect>,
    /// A view that fills the body alone.
    pub whole: Option<Rect>,
    /// The keys.
    pub footer: Rect,
}

/// The inputs of the layout, apart from the screen's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenContent {
    /// Rows of the comparison.
    pub rows: usize,
    /// Lines of all warnings together.
    pub warnings: usize,
    /// The view that fills the body.
    pub view: View,
}

/// True if the screen is large enough to draw anything.
pub fn fits(area: Rect) -> bool {
    area.width >= MIN_WIDTH && area.height >= MIN_HEIGHT
}

/// The area of every panel. Areas do not overlap and are inside `area`.
pub fn panel_areas(area: Rect, content: ScreenContent) -> PanelAreas {
    let (header, rest) = split_top(area, if area.height >= 14 { 2 } else { 1 });
    let room = match area.height {
        0..14 => 1,
        14..30 => 2,
        _ => 4,
    };
    let (warnings, rest) = split_top(rest, count(content.warnings).min(room));
    let (tabs, rest) = split_top(rest, u16::from(area.height >= TABS_FROM));
    let (body, footer) = split_bottom(rest, 1);
    let areas = PanelAreas { header, tabs, warnings, footer, ..PanelAreas::default() };
    match content.view {
        View::Details => beside_why(body, areas),
        View::Why => PanelAreas { why: Some(body), ..areas },
        View::Overview if area.width >= SIDE_BY_SIDE => {
            let width = DETAILS_WIDTH.max(body.width * 2 / 5);
            let left = Rect { width: body.width - width - 1, ..body };
            let details = Rect { x: body.right() - width, width, ..body };
            stack(left, content.rows, beside_why(details, areas))
        }
        View::Overview => stack(body, content.rows, areas),
        _ => PanelAreas { whole: Some(body), ..areas },
    }
}

/// Adds the details, and below them the panel "why" if there is room for both.
fn beside_why(area: Rect, areas: PanelAreas) -> PanelAreas {
    if area.height < DETAILS_AND_WHY {
        return PanelAreas { details: Some(area), ..areas };
    }
    let (details, why) = split_top(area, area.height * 3 / 5);
    PanelAreas { details: Some(details), why: Some(why), ..areas }
}

/// Adds the table, the bars below it, and the details below those if there is room and they are not shown yet.
fn stack(body: Rect, rows: usize, areas: PanelAreas) -> PanelAreas {
    if body.height < 10 {
        return PanelAreas { table: Some(body), ..areas };
    }
    let rows = count(rows.clamp(1, body.height.into()));
    let (table_wants, bars_want) = (rows + 2, rows + 1 + LEGEND_LINES);
    if table_wants + bars_want > body.height {
        let (table, stages) = split_top(body, (body.height - LEGEND_LINES + 1).div_ceil(2));
        return PanelAreas { table: Some(table), stages: Some(stages), ..areas };
    }
    let (table, rest) = split_top(body, table_wants);
    let (stages, rest) = split_top(rest, bars_want);
    let details = match areas.details {
        None if rest.height >= DETAILS_LINES => Some(rest),
        placed => placed,
    };
    PanelAreas { table: Some(table), stages: Some(stages), details, ..areas }
}

/// The first `height` lines of `area`, and the lines below them.
pub fn split_top(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    (top, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The last `height` lines of `area`, after the lines above them.
pub fn split_bottom(area: Rect, height: u16) -> (Rect, Rect) {
    split_top(area, area.height.saturating_sub(height))
}

/// The rows that a panel of `height` lines shows: the selected one is among them, in the middle where possible.
pub fn window(rows: usize, selected: usize, height: usize) -> Range<usize> {
    let height = height.min(rows);
    let first = selected.saturating_sub(height / 2).min(rows - height);
    first..first + height
}

/// A count as a number of lines or columns, limited to what a `u16` holds.
pub fn count(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_rows_and_their_bars_fit_80_by_24_whole() {
        let content = ScreenContent { rows: 5, warnings: 0, view: View::Overview };
        let areas = panel_areas(Rect::new(0, 0, 80, 24), content);
        assert_eq!(areas.tabs, Rect::new(0, 2, 80, 1));
        assert_eq!(areas.table, Some(Rect::new(0, 3, 80, 7)));
        assert_eq!(areas.stages, Some(Rect::new(0, 10, 80, 8)));
        assert_eq!(areas.details, Some(Rect::new(0, 18, 80, 5)));
        assert_eq!(areas.footer, Rect::new(0, 23, 80, 1));
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
            view in prop::sample::select(View::ALL.to_vec()),
        ) {
            let area = Rect::new(0, 0, width, height);
            let areas = panel_areas(area, ScreenContent { rows, warnings, view });
            let placed: Vec<Rect> = [Some(areas.header), Some(areas.warnings), Some(areas.tabs), areas.table, areas.stages, areas.details, areas.why, areas.whole, Some(areas.footer)]
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
