//! The areas of the table's parts, for drawing it and for clicks on it.

use crate::app::App;
use crate::columns::Column;
use crate::layout::{count, split_top, window};
use crate::text;
use ratatui::layout::Rect;
use std::ops::Range;

/// Width of the mark before a row, in columns.
const MARKER: u16 = 2;

/// The areas of the table's parts.
#[derive(Clone, Debug)]
pub struct TableParts {
    /// The line of the title.
    pub title: Rect,
    /// The line of the headings.
    pub headings: Rect,
    /// The lines of the rows.
    pub body: Rect,
    /// The positions of the rows that are shown.
    pub rows: Range<usize>,
    /// The columns that are shown.
    pub columns: Vec<Column>,
    /// The width that the other columns leave for the name.
    pub name_width: usize,
    /// True if times have errors, because messages go from one host to another.
    has_errors: bool,
}

impl TableParts {
    /// The parts of a table that is drawn into an area.
    pub fn of(app: &App, area: Rect) -> TableParts {
        let (title, rest) = split_top(area, 1);
        let (headings, body) = split_top(rest, 1);
        let columns = TableParts::columns_in(app, area.width);
        let has_errors = has_errors(app);
        let width = |column: &Column| column.width_with(has_errors) + 1;
        let fixed: u16 = columns.iter().skip(1).map(width).sum();
        TableParts {
            title,
            headings,
            body,
            rows: window(app.rows().len(), app.position(), usize::from(body.height)),
            columns,
            name_width: text::columns_left(area.width, (fixed + MARKER).into()),
            has_errors,
        }
    }

    /// The columns of a table that is so wide.
    pub fn columns_in(app: &App, width: u16) -> Vec<Column> {
        app.columns().fitting(width.saturating_sub(MARKER), has_errors(app))
    }

    /// The width of a column without the space before it; for the name the least.
    pub fn width(&self, column: Column) -> u16 {
        column.width_with(self.has_errors)
    }

    /// The column at a position across the screen.
    pub fn column_at(&self, x: u16) -> Option<Column> {
        let mut right = self.headings.x + MARKER;
        self.columns.iter().copied().find(|column| {
            right += match column {
                Column::Name => count(self.name_width),
                _ => self.width(*column) + 1,
            };
            x < right
        })
    }

    /// The position of the row in a line of the screen.
    pub fn row_at(&self, y: u16) -> Option<usize> {
        let line = usize::from(y.checked_sub(self.body.y)?);
        Some(self.rows.start + line).filter(|at| self.rows.contains(at))
    }
}

fn has_errors(app: &App) -> bool {
    app.rows().any(|group| group.one_way_error.count > 0)
}
