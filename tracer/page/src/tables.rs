//! Tables of the page: with a caption, scopes, and a container of their own in which a wide table scrolls.

use maud::{Markup, html};

/// A table. The first cell of each row is its heading.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The table's caption: what it shows.
    pub caption: String,
    /// The headings of the columns.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Number of columns from the left that are text; the others are numbers.
    pub text_columns: usize,
}

impl Table {
    /// A table whose first column is text and whose other columns are numbers.
    pub fn of_numbers(
        caption: impl Into<String>,
        headings: &[&str],
        rows: Vec<Vec<String>>,
    ) -> Table {
        Table {
            caption: caption.into(),
            headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
            rows,
            text_columns: 1,
        }
    }

    /// A table of which the first `text_columns` are text.
    pub fn of_text(
        caption: impl Into<String>,
        headings: &[&str],
        rows: Vec<Vec<String>>,
        text_columns: usize,
    ) -> Table {
        Table { text_columns, ..Table::of_numbers(caption, headings, rows) }
    }

    /// As HTML. The container takes the focus, so that it can be scrolled with the keyboard.
    pub fn render(&self) -> Markup {
        let class = |column: usize| if column < self.text_columns { "t" } else { "n" };
        html! {
            div class="scroll" role="region" tabindex="0" aria-label=(self.caption) {
                table {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for (column, heading) in self.headings.iter().enumerate() {
                                th scope="col" class=(class(column)) { (heading) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in row.iter().enumerate() {
                                    @if column == 0 { th scope="row" { (cell) } }
                                    @else { td class=(class(column)) { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
