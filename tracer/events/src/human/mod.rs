//! Numbers as people read them: the one place for all messages, tables, pages and screens.
//!
//! The functions of this module are for sentences and tables; those of [`column`] are for columns of the screen,
//! where every number has the same three digits. A time in a sentence is the `Display` of [`Nanos`].

mod clean;
pub mod column;

pub use clean::{clean, clean_lines, escape_json, is_unsafe, shortened};
pub use column::time_within_ns;

use crate::{Nanos, Saturate, Total};

/// Text that stands where there is no value.
pub const NONE: &str = "–";

/// The number that people give to the thing at an index: 1 to the first.
pub fn ordinal(index: usize) -> usize {
    index.saturating_add(1)
}

/// A count with its thousands set apart: `1,234,567`.
pub fn exact(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len().saturating_mul(4) / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and its regular noun: `1 message`, `2,000 deliveries`.
pub fn counted(count: u64, noun: &str) -> String {
    counted_as(count, noun, &plural(noun))
}

/// A count and the words for one and for several: `1 packet was`, `2,000 packets were`.
pub fn counted_as(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", exact(count), one_or(count, one, several))
}

/// The words for one or for several.
pub fn one_or<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// A count in SI thousands, with at most three digits: `64`, `1.21 M`.
pub fn count(value: f64) -> String {
    let scale = UnitScale { step: 1000.0, limit: 999.5, units: &["", " k", " M", " G", " T"] };
    scale.show(value, at_most_three_digits)
}

/// Bytes in binary units, with at most three digits: `64 B`, `1.21 MiB`.
pub fn bytes(value: f64) -> String {
    // 1023.5 would be shown as 1024.
    let units = &[" B", " KiB", " MiB", " GiB", " TiB"];
    UnitScale { step: 1024.0, limit: 1023.5, units }.show(value, at_most_three_digits)
}

/// Bytes in decimal units, as traffic is counted: `850 B`, `12.3 MB`.
pub fn traffic_bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        _ => thousands(&[" kB", " MB", " GB"]).show(count as f64 / 1e3, one_decimal),
    }
}

/// Bits a second in decimal units: `850 bit/s`, `12.3 Mbit/s`.
pub fn traffic_rate(bit_per_s: f64) -> String {
    if bit_per_s < 1e3 {
        return format!("{bit_per_s:.0} bit/s");
    }
    thousands(&[" kbit/s", " Mbit/s", " Gbit/s"]).show(bit_per_s / 1e3, one_decimal)
}

/// A mean number of bytes, without its unit: all digits of a whole number, otherwise at most three: `1234`, `64.5`.
pub fn mean_bytes(bytes: f64) -> String {
    if bytes > 0.0 && bytes < 0.005 {
        "<0.01".into()
    } else if bytes >= 99.95 || (bytes - bytes.round()).abs() < 0.005 {
        format!("{bytes:.0}")
    } else if bytes >= 0.95 {
        format!("{bytes:.1}")
    } else {
        format!("{bytes:.2}")
    }
}

/// A time in nanoseconds, if there is one: `13.3 µs`.
pub fn time_ns(ns: Option<u64>) -> String {
    ns.map_or_else(|| NONE.into(), |ns| Nanos(ns).to_string())
}

/// Two times in nanoseconds, with one unit where they share it (`6.1/9.4 µs`), otherwise each with its own.
pub fn time_pair_ns(pair: Option<(u64, u64)>) -> String {
    let Some((a, b)) = pair else { return NONE.into() };
    let (a, b) = (Nanos(a).to_string(), Nanos(b).to_string());
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}/{b}"),
        _ => format!("{a}/{b}"),
    }
}

/// A moment, counted from the beginning of an observation: `14.0 s`.
pub fn moment(since_begin: Nanos) -> String {
    format!("{:.1} s", since_begin.as_secs_f64())
}

/// A share as whole percents: `97 %`; `<1 %` where there is something that rounds to nothing.
pub fn percent(share: f64) -> String {
    match bounded(share) * 100.0 {
        p if p > 0.0 && p < 0.5 => "<1 %".into(),
        p => signed_percent(whole(p.round())),
    }
}

/// Whole percents with a proper minus: `−3 %`.
pub fn signed_percent(percents: i64) -> String {
    let minus = if percents < 0 { "−" } else { "" };
    format!("{minus}{} %", percents.unsigned_abs())
}

/// Shares as whole percents whose sum is that of the shares, rounded: each is rounded down, and what is left over goes
/// to those that lost most by it.
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

/// A share in 0..=1 as percents, rounded down to a tenth, so that only a whole is `100 %`.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return NONE.into();
    }
    let tenths = (share.clamp(0.0, 1.0) * 1000.0 + 1e-9).floor();
    if tenths >= 1000.0 { "100 %".into() } else { format!("{:.1} %", tenths / 10.0) }
}

/// A bar of at most `columns` columns, in eighths of one.
pub fn bar(share: f64, columns: u32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let filled = whole((bounded(share).clamp(0.0, 1.0) * f64::from(columns) * 8.0).round());
    let filled = usize::try_from(filled).unwrap_or_default();
    format!("{}{}", "█".repeat(filled / 8), EIGHTHS[filled % 8])
}

/// The units of a quantity. Each is `step` times the one before, and is taken from `limit` of that one on.
struct UnitScale {
    step: f64,
    limit: f64,
    units: &'static [&'static str],
}

impl UnitScale {
    fn show(&self, value: f64, digits: fn(f64) -> usize) -> String {
        let mut value = value;
        let mut units = self.units.iter();
        let mut unit = units.next().copied().unwrap_or_default();
        for next in units {
            if value.abs() < self.limit {
                break;
            }
            value /= self.step;
            unit = next;
        }
        format!("{value:.0$}{unit}", digits(value))
    }
}

/// Units 1000 apart, each from 1000 of the one before on.
fn thousands(units: &'static [&'static str]) -> UnitScale {
    UnitScale { step: 1000.0, limit: 1000.0, units }
}

/// Number of decimals that give a value three digits: 9.995 would be shown as 10.00.
fn three_digits(value: f64) -> usize {
    match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    }
}

/// As [`three_digits`], but a whole number has no decimals.
fn at_most_three_digits(value: f64) -> usize {
    if value.fract() == 0.0 { 0 } else { three_digits(value) }
}

fn one_decimal(_: f64) -> usize {
    1
}

/// A share of a damaged file must not overflow.
fn bounded(share: f64) -> f64 {
    if share.is_finite() { share.clamp(-1e6, 1e6) } else { 0.0 }
}

#[expect(clippy::cast_possible_truncation, reason = "bounded shares")]
fn whole(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([12, 123, 1_234_567].map(exact), ["12", "123", "1,234,567"]);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "message"), "1 message");
        assert_eq!(counted(0, "message"), "0 messages");
        assert_eq!(counted(2_000, "delivery"), "2,000 deliveries");
        assert_eq!(counted(2, "day"), "2 days");
        assert_eq!(counted_as(1, "packet was", "packets were"), "1 packet was");
    }

    #[test]
    fn three_digits_matter() {
        let shown: Vec<_> = [0.0, 64.0, 99.97, 999.6, 1000.0, 1234.0, 12_345.0, 4_100_000.0]
            .into_iter()
            .map(count)
            .collect();
        assert_eq!(shown, ["0", "64", "100", "1.00 k", "1 k", "1.23 k", "12.3 k", "4.10 M"]);
        assert_eq!([64.0, 1023.6].map(bytes), ["64 B", "1.00 KiB"]);
        assert_eq!(bytes(34.5 * 1024.0 * 1024.0), "34.5 MiB");
    }

    #[test]
    fn traffic_is_counted_in_decimal_units() {
        let shown = [0, 999, 1_000, 12_340_000, 5_600_000_000_000].map(traffic_bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "12.3 MB", "5600.0 GB"]);
        let shown = [850.4, 12_340.0, 9.99e9].map(traffic_rate);
        assert_eq!(shown, ["850 bit/s", "12.3 kbit/s", "10.0 Gbit/s"]);
    }

    #[test]
    fn means_keep_what_matters() {
        let shown = [0.0, 0.001, 0.25, 1.26, 99.96, 1234.4].map(mean_bytes);
        assert_eq!(shown, ["0", "<0.01", "0.25", "1.3", "100", "1234"]);
    }

    #[test]
    fn a_pair_shares_its_unit() {
        assert_eq!(time_pair_ns(Some((6_100, 9_400))), "6.1/9.4 µs");
        assert_eq!(time_pair_ns(Some((900, 9_400))), "900 ns/9.4 µs");
        assert_eq!(time_pair_ns(None), NONE);
    }

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
    fn shares_round_and_never_vanish() {
        let shown = [0.97, 0.001, 0.0, -0.03].map(percent);
        assert_eq!(shown, ["97 %", "<1 %", "0 %", "−3 %"]);
    }

    #[test]
    fn only_a_whole_is_100_percent() {
        let shown = [1.0, 0.999_999, 0.972, f64::NAN].map(share);
        assert_eq!(shown, ["100 %", "99.9 %", "97.2 %", NONE]);
    }

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(-1.0, 3), "");
        assert_eq!(bar(9.0, 3), "███");
    }
}
