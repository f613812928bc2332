//! The title of the rows by name, and what is said where there are none.

use crate::app::App;
use crate::text;
use wirelap_correlate::Dimension;
use wirelap_correlate::snapshot::Breakdown;

/// `by topic, client: 256 of 12,345 rows, since start, sorted by messages`.
pub fn title(app: &App, shown: &Breakdown, rows: usize) -> String {
    let query = app.breakdown_query();
    let listed = shown.rows.len() as u64;
    let all = listed.saturating_add(shown.rest_rows);
    let (rows, all) = (text::exact(rows as u64), text::counted(all, "row"));
    let rows = match query.text.as_str() {
        "" if shown.rest_rows == 0 => all,
        "" => format!("{} of {all}", text::exact(listed)),
        filter => {
            // Of the rows that were not listed, none was looked at yet.
            let of = if shown.text == query.text { all } else { text::counted(listed, "row") };
            format!("{rows} of {of} with “{}” (Esc: all)", text::truncate(filter, 20))
        }
    };
    let crowded = if shown.is_crowded { "; the least had to make room" } else { "" };
    format!(
        "by {}: {rows}, {}, sorted by {}{crowded}",
        names(&shown.by),
        since(app, shown),
        query.order.name()
    )
}

fn names(by: &[Dimension]) -> String {
    by.iter().map(|by| by.name()).collect::<Vec<_>>().join(", ")
}

fn since(app: &App, shown: &Breakdown) -> String {
    let start = app.snapshot().since;
    if shown.since <= start {
        return "since start".into();
    }
    format!("since {}", text::clock(shown.since - start))
}

/// Why there are no rows by name, and what to do.
pub fn nothing(app: &App) -> Vec<String> {
    let by = &app.breakdown_query().by;
    if by.is_empty() {
        return vec![
            "g chooses what messages are listed by: topic, client, connection, process, host, protocol or broker, also nested. They are \
             counted from then on; `wirelap live --by topic` counts them from the start."
                .into(),
        ];
    }
    vec![format!("Messages are counted by {} from now on.", names(by))]
}

/// Why no row is shown.
pub fn no_rows(app: &App, shown: &Breakdown) -> String {
    let text = &app.breakdown_query().text;
    if shown.rows.is_empty() && text.is_empty() {
        return format!(
            "No message since {}: rows appear with the first one.",
            text::clock(shown.since - app.snapshot().since)
        );
    }
    format!("No name has “{}”: / changes the text, Esc shows all rows.", text::truncate(text, 30))
}
