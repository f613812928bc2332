//! Counts, shares and names in ordinary words.

pub use wirelap_events::human::{bar, clean, counted, exact, percent, percents, signed_percent};

use crate::words;
use wirelap_events::Saturate;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wirelap_correlate::VerdictKind;

/// The heading of a verdict, or of a tail row's cause, by its name in JSON.
pub fn title(kind: &str) -> String {
    let known = VerdictKind::ALL.into_iter().find(|known| known.name() == kind);
    known.map_or_else(|| kind.replace('_', " "), |kind| words::title(kind).to_owned())
}

/// A list as it is spoken: `a, b and c`.
pub fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The first letter large.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A line in at most `columns` columns, its end replaced by `…` where it is longer.
pub fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used.grow(c.width().unwrap_or_default());
        used <= columns
    };
    let mut out: String = line.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// A text at the left of a column.
pub fn left(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let space = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_their_columns() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(sentence("the broker"), "The broker");
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!((list(&parts), list(&parts[..1])), ("a, b and c".into(), "a".into()));
    }
}
