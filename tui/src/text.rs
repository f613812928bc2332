//! Numbers and names in few columns.

pub use wirelap_correlate::trust::exact;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wirelap_events::Nanos;

/// What stands where there is no value.
pub const NONE: &str = "–";

/// A number below 1000 with three digits: `1.23`, `12.3`, `123`.
fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Three digits and the first unit in which they suffice. `units` are 1000 or 1024 apart.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or("");
    for next in units {
        if value < 999.5 {
            break;
        }
        value /= step;
        unit = next;
    }
    format!("{}{unit}", three_digits(value))
}

/// A time in at most seven columns up to 999 s: `850 ns`, `12.3 µs`, `1.25 ms`.
pub fn time(time: Nanos) -> String {
    match time.0 {
        ns if ns < 1000 => format!("{ns} ns"),
        ns => scaled(ns as f64 / 1e3, 1e3, &[" µs", " ms", " s"]),
    }
}

/// A count or a rate: `850`, `0.25`, `12.3 k`, `1.25 M`.
pub fn number(value: f64) -> String {
    match value {
        v if !v.is_finite() => NONE.into(),
        v if v <= 0.0 => "0".into(),
        v if v < 1000.0 && v.fract() == 0.0 => format!("{v:.0}"),
        v => scaled(v, 1e3, &["", " k", " M", " G", " T"]),
    }
}

/// Bytes in binary units: `850 B`, `12.3 KiB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        b if b < 1000 => format!("{b} B"),
        b => scaled(b as f64 / 1024.0, 1024.0, &[" KiB", " MiB", " GiB", " TiB"]),
    }
}

/// Bits a second in decimal units: `12.3 Mbit/s`.
pub fn bit_rate(bits: f64) -> String {
    if !bits.is_finite() || bits < 0.0 {
        return NONE.into();
    }
    scaled(bits, 1e3, &[" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s"])
}

/// A share of 0..=1 as percent, rounded down to a tenth: only a whole is ever called `100 %`.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return NONE.into();
    }
    let tenths = (share.clamp(0.0, 1.0) * 1000.0 + 1e-9).floor();
    if tenths >= 1000.0 { "100 %".into() } else { format!("{:.1} %", tenths / 10.0) }
}

/// A share of a processor, 1.0 = one core; may pass 100 %.
pub fn cpu(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { NONE.into() }
}

/// A duration as a clock shows it: `00:12:34`.
pub fn clock(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A name that came from outside, safe to show: control characters become `·`.
pub fn clean(name: &str) -> String {
    name.chars().map(|c| if c.width().is_none() { '·' } else { c }).collect()
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns`, its end replaced by `…` when it is longer.
pub fn truncate(text: &str, columns: usize) -> String {
    let text = clean(text);
    if text.width() <= columns {
        return text;
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// [`truncate`]d and filled up with spaces at its end.
pub fn left(text: &str, columns: usize) -> String {
    let mut out = truncate(text, columns);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(out.width())));
    out
}

/// [`truncate`]d and filled up with spaces at its start.
pub fn right(text: &str, columns: usize) -> String {
    let text = truncate(text, columns);
    let mut out = " ".repeat(columns.saturating_sub(text.width()));
    out.push_str(&text);
    out
}

/// Breaks a sentence at its spaces into lines of at most `columns`; a longer word is cut. A no-break
/// space holds a figure and its unit together and comes out as a space.
pub fn wrap(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in clean(sentence).split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(truncate(word, columns)),
        }
    }
    lines.into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

const NO_BREAK: char = '\u{a0}';

/// A figure with its unit, or a name with its figure, that [`wrap`] keeps on one line.
pub fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character a value, scaled to the largest; the last `columns` values. Zero is a space.
pub fn sparkline(values: impl DoubleEndedIterator<Item = u64>, columns: usize) -> String {
    let mut last: Vec<u64> = values.rev().take(columns).collect();
    last.reverse();
    let max = last.iter().copied().max().unwrap_or(0);
    last.into_iter().map(|value| level(value, max)).collect()
}

fn level(value: u64, max: u64) -> char {
    if value == 0 || max == 0 {
        return ' ';
    }
    let step = (u128::from(value) * LEVELS.len() as u128).div_ceil(u128::from(max));
    LEVELS[usize::try_from(step).map_or(LEVELS.len(), |s| s.clamp(1, LEVELS.len())) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_at_most_seven_columns() {
        let shown: Vec<_> =
            [0, 999, 1_000, 9_994, 12_345, 99_960, 999_499, 999_500, 22_000_000, 3_500_000_000]
                .into_iter()
                .map(|ns| time(Nanos(ns)))
                .collect();
        let expected = [
            "0 ns", "999 ns", "1.00 µs", "9.99 µs", "12.3 µs", "100 µs", "999 µs", "1.00 ms",
            "22.0 ms", "3.50 s",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_a_whole_is_100_percent() {
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.999_999), "99.9 %");
        assert_eq!(share(0.972), "97.2 %");
        assert_eq!(share(f64::NAN), NONE);
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<_> = [0.0, 0.25, 7.0, 999.0, 1234.0, 18_250.0, 1.5e6, f64::INFINITY]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(shown, ["0", "0.25", "7", "999", "1.23 k", "18.2 k", "1.50 M", NONE]);
        assert_eq!(exact(1_234_567), "1,234,567");
        assert_eq!(exact(12), "12");
        assert_eq!(bytes(48 << 20), "48.0 MiB");
        assert_eq!(bit_rate(12_300_000.0), "12.3 Mbit/s");
    }

    #[test]
    fn names_are_cut_by_columns_and_cannot_steer_the_terminal() {
        assert_eq!(truncate("mosquitto", 6), "mosqu…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(left("日本語", 4), "日… ");
        assert_eq!(right("abc", 5), "  abc");
        assert_eq!(truncate("a", 0), "");
        assert_eq!(clean("a\x1b[2Jb\n"), "a·[2Jb·");
    }

    #[test]
    fn sentences_wrap_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 5), ["incom…".replace("m…", "…")]);
        assert!(wrap("", 5).is_empty());
        assert_eq!(wrap(&format!("about {}", unbroken("12 µs")), 8), ["about", "12 µs"]);
    }

    #[test]
    fn a_sparkline_ends_with_the_newest() {
        assert_eq!(sparkline([9, 0, 1, 4, 8].into_iter(), 4), " ▁▄█");
        assert_eq!(sparkline([u64::MAX, 1].into_iter(), 9), "█▁");
        assert_eq!(sparkline([0, 0].into_iter(), 9), "  ");
    }
}
