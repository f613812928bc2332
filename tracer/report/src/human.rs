//! Numbers for people: three digits that matter, and the unit.

use crate::Slowdown;
use wirelap_events::Nanos;

/// A time: `13.3 µs`; `–` for an absent one.
pub fn time_ns(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".into(), |ns| Nanos(ns).to_string())
}

/// Two times with one unit where they share it: `6.1/9.4 µs`; otherwise each with its own.
pub fn time_pair_ns(pair: Option<(u64, u64)>) -> String {
    let Some((a, b)) = pair else { return "–".into() };
    let (a, b) = (Nanos(a).to_string(), Nanos(b).to_string());
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}/{b}"),
        _ => format!("{a}/{b}"),
    }
}

/// A moment, counted from the beginning of an observation: `14.0 s`.
pub fn moment_ns(ns: u64) -> String {
    format!("{:.1} s", Nanos(ns).as_secs_f64())
}

/// A count in SI thousands: `1.21 M`.
pub fn count(value: f64) -> String {
    scaled(value, 1000.0, &["", " k", " M", " G", " T"])
}

/// Bytes in binary thousands: `1.21 MiB`.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// What tracing cost the traced: `tracing cost 2.1 µs a message (+17 %, 95 % interval +12 to +21 %)`. Where the interval does
/// not lie above zero, no cost was measured, and that is said.
pub fn slowdown(slowdown: &Slowdown) -> String {
    let (low, high) = (change(slowdown.ratio_low), change(slowdown.ratio_high));
    let interval = format!("95 % interval {low} to {high} %");
    if slowdown.ratio_low <= 1.0 {
        let most = (slowdown.ratio_high - 1.0).max(0.0) * slowdown.untraced_p50_ns as f64;
        return match Nanos::from_f64(most) {
            Nanos(0) => format!("no measurable cost of tracing ({interval})"),
            most => format!("no measurable cost of tracing: at most {most} a message ({interval})"),
        };
    }
    // From the ratio: of medians taken apart the sign can be another.
    let by = Nanos::from_f64((slowdown.ratio - 1.0).max(0.0) * slowdown.untraced_p50_ns as f64);
    format!("tracing cost {by} a message ({} %, {interval})", change(slowdown.ratio))
}

/// A ratio as the change in whole percents: `+17`, `−3`, `0`.
fn change(ratio: f64) -> String {
    match ((ratio - 1.0) * 100.0).round() {
        p if p > 0.0 => format!("+{p:.0}"),
        p if p < 0.0 => format!("−{:.0}", -p),
        _ => "0".into(),
    }
}

/// One of several hosts, 1 for the first: `second host`.
pub fn host(number: u8) -> String {
    match number {
        1 => "first host".into(),
        2 => "second host".into(),
        3 => "third host".into(),
        number => format!("host {number}"),
    }
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        // 999.5 would be shown as 1000.
        if value.abs() < base - 0.5 {
            break;
        }
        value /= base;
        unit = next;
    }
    let digits = match value.abs() {
        v if v.fract() == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{unit}")
}

/// `rate not reached (9 %)`.
pub fn rate_not_reached(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        ..1.0 => format!("rate not reached ({percent:.2} %)"),
        _ => format!("rate not reached ({percent:.0} %)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_matter() {
        let shown: Vec<_> = [0.0, 64.0, 99.97, 999.6, 1234.0, 12_345.0, 4_100_000.0]
            .into_iter()
            .map(count)
            .collect();
        assert_eq!(shown, ["0", "64", "100", "1.00 k", "1.23 k", "12.3 k", "4.10 M"]);
        assert_eq!(bytes(64.0), "64 B");
        assert_eq!(bytes(34.5 * 1024.0 * 1024.0), "34.5 MiB");
    }

    #[test]
    fn a_cost_that_may_be_none_is_not_told_as_one() {
        let mut cost = Slowdown {
            traced_p50_ns: 14_600,
            untraced_p50_ns: 12_500,
            ratio: 1.168,
            ratio_low: 1.12,
            ratio_high: 1.21,
            ..Slowdown::default()
        };
        let told = "tracing cost 2.1 µs a message (+17 %, 95 % interval +12 to +21 %)";
        assert_eq!(slowdown(&cost), told);
        // The medians of all turns say −0.1 µs, the pairs of neighbours +3 %: neither is a measured cost.
        (cost.traced_p50_ns, cost.ratio, cost.ratio_low) = (12_400, 1.03, 0.997);
        cost.ratio_high = 1.07;
        let told =
            "no measurable cost of tracing: at most 875 ns a message (95 % interval 0 to +7 %)";
        assert_eq!(slowdown(&cost), told);
        (cost.ratio, cost.ratio_low, cost.ratio_high) = (0.96, 0.93, 0.99);
        let told = "no measurable cost of tracing (95 % interval −7 to −1 %)";
        assert_eq!(slowdown(&cost), told);
    }

    #[test]
    fn a_pair_shares_its_unit() {
        assert_eq!(time_pair_ns(Some((6_100, 9_400))), "6.1/9.4 µs");
        assert_eq!(time_pair_ns(Some((900, 9_400))), "900 ns/9.4 µs");
        assert_eq!(time_pair_ns(None), "–");
    }
}
