//! Names and sentences in few columns, and the numbers as [`wirelap_events::human`] writes them.

pub use wirelap_events::human::column::{
    bit_rate, bytes, clock, cpu, number, percent, time, time_within,
};
pub use wirelap_events::human::{NONE, counted, counted_as, exact, moment, share};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wirelap_correlate::snapshot::Rate;
use wirelap_events::human::is_unsafe;
use wirelap_events::{Delivery, Nanos};

/// Messages a second: with `~` where they are known only roughly, because a part of the time was observed, and none where they are not
/// known.
pub fn rate(rate: &Rate) -> String {
    as_known(rate, number(rate.msg_per_s))
}

/// Payload bits a second, in the same way.
pub fn payload_rate(rate: &Rate) -> String {
    as_known(rate, bit_rate(rate.payload_bit_per_s))
}

fn as_known(rate: &Rate, value: String) -> String {
    match value {
        _ if !rate.is_known() => NONE.into(),
        value if rate.is_rough() => format!("~{value}"),
        value => value,
    }
}

/// A duration as a clock shows it, to the millisecond: `00:12:34.567`.
pub fn clock_millis(time: Nanos) -> String {
    format!("{}.{:03}", clock(time), time.0 / 1_000_000 % 1_000)
}

/// A message by the number in its stamp, `#1,234`, or for an answer `re #1,234`; other messages by the number that wirelap gave them:
/// `id 1,234`.
pub fn message_number(delivery: &Delivery) -> String {
    match delivery.stamp {
        Some(stamp) if stamp.reply => format!("re #{}", exact(stamp.seq.into())),
        Some(stamp) => format!("#{}", exact(stamp.seq.into())),
        None => format!("id {}", exact(delivery.message.0)),
    }
}

/// A name that came from outside, safe to show: what could steer the terminal becomes `·`. The characters that only choose how the one before them
/// is drawn are left out, because with them it may be wider than its own width.
pub fn clean(name: &str) -> String {
    let shown = name.chars().filter(|c| !matches!(c, '\u{fe00}'..='\u{fe0f}'));
    shown.map(|c| if is_unsafe(c) { '·' } else { c }).collect()
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
    out.extend(std::iter::repeat_n(' ', columns_left(columns, out.width())));
    out
}

/// [`truncate`]d and filled up with spaces at its start.
pub fn right(text: &str, columns: usize) -> String {
    let text = truncate(text, columns);
    let mut out = " ".repeat(columns_left(columns, text.width()));
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

/// The time of day in UTC of a moment of the events' clock, by the nanoseconds from that clock to the time since 1970.
pub fn time_of_day(at: Nanos, offset: i64) -> String {
    const DAY: u64 = 86_400_000_000_000;
    clock(Nanos(at.0.saturating_add_signed(offset) % DAY))
}

/// A count with all its digits, or with three of them if those take more columns.
pub fn exact_in(count: u64, columns: usize) -> String {
    let all = exact(count);
    if all.width() <= columns { all } else { number(count as f64) }
}

/// A bar of `value` in columns, if the bar of `most` has `columns` of them.
pub fn bar(value: u64, most: u64, columns: usize) -> String {
    let share = value as f64 / most.max(1) as f64;
    wirelap_events::human::bar(share, u32::try_from(columns).unwrap_or(u32::MAX))
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

/// The columns that are left of a width for a text with `taken` columns beside it; none of one that is too narrow.
pub fn columns_left(width: impl Into<usize>, taken: usize) -> usize {
    width.into().saturating_sub(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_by_columns_and_cannot_steer_the_terminal() {
        assert_eq!(truncate("mosquitto", 6), "mosqu…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(left("日本語", 4), "日… ");
        assert_eq!(right("abc", 5), "  abc");
        assert_eq!(truncate("a", 0), "");
        assert_eq!(clean("a\x1b[2Jb\n"), "a·[2Jb·");
        assert_eq!(truncate("2\u{fe0f}xy", 2), "2…");
    }

    #[test]
    fn sentences_wrap_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 5), ["incom…".replace("m…", "…")]);
        assert!(wrap("", 5).is_empty());
        assert_eq!(wrap(&format!("about {}", unbroken("12 µs")), 8), ["about", "12 µs"]);
    }

    #[test]
    fn a_time_of_day_begins_anew_each_day() {
        let hour = 3_600_000_000_000;
        assert_eq!(time_of_day(Nanos(5_000_000_000), 12 * hour), "12:00:05");
        assert_eq!(time_of_day(Nanos(0), 30 * hour), "06:00:00");
        assert_eq!(time_of_day(Nanos(1), -hour), "00:00:00", "no time before 1970 is shown");
    }

    #[test]
    fn a_sparkline_ends_with_the_newest() {
        assert_eq!(sparkline([9, 0, 1, 4, 8].into_iter(), 4), " ▁▄█");
        assert_eq!(sparkline([u64::MAX, 1].into_iter(), 9), "█▁");
        assert_eq!(sparkline([0, 0].into_iter(), 9), "  ");
    }
}
