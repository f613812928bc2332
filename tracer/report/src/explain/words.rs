//! Counts, shares and names in ordinary words.

use crate::words;
pub use wirelap_correlate::trust::exact;
use wirelap_events::{Saturate, Total};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wirelap_correlate::VerdictKind;

/// A count and what is counted: `1 message`, `2,000 messages`.
pub fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{} {}", exact(count), plural(what)),
    }
}

fn plural(what: &str) -> String {
    match what.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{what}s"),
    }
}

/// Shares as whole percents whose sum is that of the shares, rounded: each is rounded down, and what
/// is left over goes to those that lost most by it.
pub fn percents(shares: &[f64]) -> Vec<i64> {
    let exact: Vec<f64> = shares.iter().map(|share| bounded(*share) * 100.0).collect();
    let mut percents: Vec<i64> = exact.iter().map(|value| whole(value.floor())).collect();
    let sum: i64 = percents.iter().total();
    let missing = usize::try_from(whole(exact.iter().total::<f64>().round()).saturating_sub(sum))
        .unwrap_or(0);
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|&a, &b| (exact[b] - exact[b].floor()).total_cmp(&(exact[a] - exact[a].floor())));
    for &index in order.iter().take(missing) {
        percents[index].grow(1);
    }
    percents
}

/// Shares of a damaged file must not overflow.
fn bounded(share: f64) -> f64 {
    if share.is_finite() { share.clamp(-1e6, 1e6) } else { 0.0 }
}

#[expect(clippy::cast_possible_truncation, reason = "bounded shares")]
fn whole(value: f64) -> i64 {
    value as i64
}

/// `97 %`; `<1 %` where there is something that rounds to nothing.
pub fn percent(share: f64) -> String {
    match bounded(share) * 100.0 {
        p if p > 0.0 && p < 0.5 => "<1 %".into(),
        p => signed(whole(p.round())),
    }
}

/// Whole percents with a proper minus: `−3 %`.
pub fn signed(percents: i64) -> String {
    let minus = if percents < 0 { "−" } else { "" };
    format!("{minus}{} %", percents.unsigned_abs())
}

/// A bar of at most `columns` columns, in eighths of one.
pub fn bar(share: f64, columns: u32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let filled = whole((bounded(share).clamp(0.0, 1.0) * f64::from(columns) * 8.0).round());
    let filled = usize::try_from(filled).unwrap_or_default();
    format!("{}{}", "█".repeat(filled / 8), EIGHTHS[filled % 8])
}

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

/// Text from a file, safe to print: whatever could steer a terminal becomes `·`.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.width().is_none() { '·' } else { c }).collect()
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
    fn percents_add_up() {
        assert_eq!(percents(&[1.0 / 3.0; 3]), [34, 33, 33]);
        assert_eq!(percents(&[0.994, 0.006]), [99, 1]);
        assert_eq!(percents(&[1.2, -0.15, -0.05]).iter().sum::<i64>(), 100);
        assert_eq!(percents(&[f64::NAN, f64::INFINITY]), [0, 0]);
        for parts in 1..40_u32 {
            let shares: Vec<f64> = (0..parts).map(|_| 1.0 / f64::from(parts)).collect();
            assert_eq!(percents(&shares).iter().sum::<i64>(), 100);
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "message"), "1 message");
        assert_eq!(counted(0, "message"), "0 messages");
        assert_eq!(counted(2_000, "delivery"), "2,000 deliveries");
        assert_eq!(counted(2, "day"), "2 days");
    }

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(-1.0, 3), "");
        assert_eq!(bar(9.0, 3), "███");
    }

    #[test]
    fn shares_round_and_never_vanish() {
        let shown = [0.97, 0.001, 0.0, -0.03].map(percent);
        assert_eq!(shown, ["97 %", "<1 %", "0 %", "−3 %"]);
    }

    #[test]
    fn what_comes_from_a_file_cannot_steer_a_terminal() {
        assert_eq!(clean("a\x1b[2J\n"), "a·[2J·");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(sentence("the broker"), "The broker");
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!((list(&parts), list(&parts[..1])), ("a, b and c".into(), "a".into()));
    }
}
