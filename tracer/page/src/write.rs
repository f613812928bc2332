//! Numbers and lists as the page writes them, in terms of the report's own functions.

pub use wirelap_report::explain::list;

use wirelap_report::human;

/// A number of nanoseconds: `13.3 µs`.
pub fn time(ns: f64) -> String {
    human::time_ns(whole(ns))
}

/// A time on an axis, as short as possible: `20 µs`.
pub fn tick_time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let unit = units.into_iter().find(|(factor, _)| ns >= factor * 0.9999);
    match unit {
        None => format!("{} ns", short(ns)),
        Some((factor, unit)) => format!("{} {unit}", short(ns / factor)),
    }
}

/// A share on an axis, with the decimals that it needs: `20 %`, `0.5 %`.
pub fn tick_percent(share: f64) -> String {
    format!("{} %", without_zeros(&format!("{:.6}", share * 100.0)))
}

/// A number of a few digits without zeros at its end.
fn short(value: f64) -> String {
    without_zeros(&format!("{value:.2}")).to_owned()
}

/// A number with decimals, without the zeros at its end.
fn without_zeros(decimals: &str) -> &str {
    decimals.trim_end_matches('0').trim_end_matches('.')
}

/// A percentile as a tick of `1/(1−q)`: `50 %`, `99.9 %`.
pub fn percentile(one_in: f64) -> String {
    let percent = (1.0 - 1.0 / one_in.max(1.0)) * 100.0;
    format!("{} %", without_zeros(&format!("{percent:.7}")))
}

/// A ratio: `1.2 ×`, `0.31 ×`, `34 ×`.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "–".into();
    }
    match ratio.abs() {
        r if r >= 9.95 => format!("{ratio:.0} ×"),
        r if r >= 0.995 => format!("{ratio:.1} ×"),
        _ => format!("{ratio:.2} ×"),
    }
}

/// Bits per second on an axis: `100 M`.
pub fn tick_count(value: f64) -> String {
    human::count((value * 1e6).round() / 1e6)
}

/// The text's first letter large, and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let mut letters = text.trim().chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    if text.is_empty() || text.ends_with(['.', ':', '!', '?']) { text } else { format!("{text}.") }
}

/// A whole number of nanoseconds; `None` for what is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(ns: f64) -> Option<u64> {
    ns.is_finite().then(|| ns.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        let shown = [0.0, 500.0, 1e3, 2e4, 5e6, 1e9].map(tick_time);
        assert_eq!(shown, ["0 ns", "500 ns", "1 µs", "20 µs", "5 ms", "1 s"]);
        let shown = [1.0, 2.0, 10.0, 100.0, 1e3, 1e6].map(percentile);
        assert_eq!(shown, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.9999 %"]);
        assert_eq!([1.24, 0.305, 33.6, f64::NAN].map(ratio), ["1.2 ×", "0.30 ×", "34 ×", "–"]);
        assert_eq!([1e8, 0.5, 2e6].map(tick_count), ["100 M", "0.50", "2 M"]);
    }

    #[test]
    fn ticks_of_small_shares_differ() {
        let shown = [0.0, 0.005, 0.01, 0.015, 0.02, 0.3, 12.0].map(tick_percent);
        assert_eq!(shown, ["0 %", "0.5 %", "1 %", "1.5 %", "2 %", "30 %", "1200 %"]);
        assert_eq!([0.000_1, 0.000_02].map(tick_percent), ["0.01 %", "0.002 %"]);
    }

    #[test]
    fn sentences_end() {
        assert_eq!([" nothing wrong", "Yes.", ""].map(sentence), ["Nothing wrong.", "Yes.", ""]);
        assert_eq!(time(13_300.4), "13.3 µs");
        assert_eq!((time(f64::NAN), time(-3.0)), ("–".into(), "0 ns".into()));
    }
}
