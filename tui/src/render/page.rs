//! The lines of a view that is read from top to bottom: sentences, headings and tables, wrapped into its width.
//!
//! ```text
//! ─ title (PgUp PgDn: more) ───────────────────────────────────────────────────
//!  HEADING   VALUE   …
//!  name        1.2   █████
//!  a sentence that is wrapped
//!  into the width
//! ```

use super::panel;
use crate::layout::split_top;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns between two pages that are beside each other.
const GAP: u16 = 2;

/// Lines so far, and the width into which they are wrapped.
pub struct Page {
    /// The lines.
    pub lines: Vec<Line<'static>>,
    /// The width in columns.
    pub width: usize,
    /// The styles.
    pub theme: Theme,
}

impl Page {
    /// An empty page.
    pub fn new(width: u16, theme: Theme) -> Page {
        Page { lines: Vec::new(), width: usize::from(width), theme }
    }

    /// Adds a text after a lead; its further lines are indented as far as its first.
    pub fn say(&mut self, lead: &str, what: &str, style: Style) {
        let at = text::width(lead);
        for (index, line) in
            text::wrap(what, text::columns_left(self.width, at + 1)).iter().enumerate()
        {
            let lead = if index == 0 { lead.to_owned() } else { " ".repeat(at) };
            self.lines.push(Line::styled(format!("{lead}{line}"), style));
        }
    }

    /// Adds a sentence.
    pub fn sentence(&mut self, what: &str) {
        self.say(" ", what, Style::new());
    }

    /// Adds a sentence to which the user should pay attention.
    pub fn warning(&mut self, what: &str) {
        self.say(" ! ", what, self.theme.warning());
    }

    /// Adds the heading of a table or a part, with a blank line before it unless it is the first.
    pub fn heading(&mut self, what: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.say(" ", what, self.theme.heading());
    }

    /// Adds the names of a table's columns.
    pub fn columns(&mut self, names: &str) {
        self.lines.push(Line::styled(names.to_owned(), self.theme.dim()));
    }

    /// Adds a line of a table, and after it a bar or a sparkline.
    pub fn row(&mut self, cells: String, bar: String) {
        self.lines.push(Line::from(vec![Span::raw(cells), Span::styled(bar, self.theme.spark())]));
    }

    /// Columns that are left after the first `used` ones, with a margin, at most `most`.
    pub fn room(&self, used: usize, most: usize) -> usize {
        text::columns_left(self.width, used + 2).min(most)
    }
}

/// Draws one page below its title.
pub fn one(frame: &mut Frame<'_>, area: Rect, title: &str, page: Page, scroll: u16) {
    let (head, body) = split_top(area, 1);
    panel::rule(frame, head, &panel::scroll_title(title, page.lines.len(), body), page.theme);
    panel::lines(frame, body, page.lines, scroll);
}

/// Draws two pages below their title, the second to the right of the first.
pub fn beside(frame: &mut Frame<'_>, area: Rect, title: &str, pages: [Page; 2], scroll: u16) {
    let (head, body) = split_top(area, 1);
    let [left, right] = pages;
    let longest = left.lines.len().max(right.lines.len());
    panel::rule(frame, head, &panel::scroll_title(title, longest, body), left.theme);
    let width = crate::layout::count(left.width).min(body.width);
    let x = (body.x + width + GAP).min(body.right());
    panel::lines(frame, Rect { width, ..body }, left.lines, scroll);
    panel::lines(frame, Rect { x, width: body.right() - x, ..body }, right.lines, scroll);
}

/// The widths of two pages beside each other in an area, the left one so wide; `None` if the right one would be narrower than
/// `least`.
pub fn widths(area: Rect, left: u16, least: u16) -> Option<[u16; 2]> {
    let right = area.width.checked_sub(left + GAP)?;
    (right >= least).then_some([left, right])
}
