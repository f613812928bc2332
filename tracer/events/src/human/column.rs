//! Numbers in columns of the screen: always three digits, so that a column has one width and its numbers do not jump.

use super::{NONE, UnitScale, signed_percent, three_digits, whole};
use crate::Nanos;

/// A time in at most seven columns up to 999 s: `850 ns`, `12.3 µs`, `1.25 ms`.
pub fn time(time: Nanos) -> String {
    match time.0 {
        ns if ns < 1000 => format!("{ns} ns"),
        ns => scale(1e3, &[" µs", " ms", " s"]).show(ns as f64 / 1e3, three_digits),
    }
}

/// A time with the largest error that it has because it begins and ends on two hosts, in at most fourteen columns: `1.80 ms ± 0.05`, in
/// the unit of the time. `≤ 90.1 µs`, the most that it can be, if it can be none at all.
pub fn time_within(time: Nanos, error: Nanos) -> String {
    if error == Nanos(0) {
        return self::time(time);
    }
    let is_below = time <= error;
    let shown = if is_below { time + error } else { time };
    let (unit, scale) = match shown.0 {
        0..1_000 => ("ns", 1.0),
        1_000..999_500 => ("µs", 1e3),
        999_500..999_500_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let value = shown.0 as f64 / scale;
    let digits = if shown.0 < 1_000 { 0 } else { three_digits(value) };
    let step = [1.0, 10.0, 100.0][digits.min(2)];
    // A limit is never shown too narrow.
    let up = |value: f64| (value * step - 1e-6).ceil() / step;
    if is_below {
        format!("≤ {:.digits$} {unit}", up(value))
    } else {
        format!("{value:.digits$} {unit} ± {:.digits$}", up(error.0 as f64 / scale))
    }
}

/// A time in nanoseconds, if there is one, with its error, as [`time_within`] has it; without one, as [`super::time_ns`].
pub fn time_within_ns(ns: Option<u64>, error: u64) -> String {
    match ns.filter(|_| error > 0) {
        Some(ns) => time_within(Nanos(ns), Nanos(error)),
        None => super::time_ns(ns),
    }
}

/// A count or a rate: `850`, `0.25`, `12.3 k`, `1.25 M`.
pub fn number(value: f64) -> String {
    match value {
        v if !v.is_finite() => NONE.into(),
        v if v <= 0.0 => "0".into(),
        v if v < 1000.0 && v.fract() == 0.0 => format!("{v:.0}"),
        v => scale(1e3, &["", " k", " M", " G", " T"]).show(v, three_digits),
    }
}

/// Bytes in binary units: `850 B`, `12.3 KiB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        b if b < 1000 => format!("{b} B"),
        b => scale(1024.0, &[" KiB", " MiB", " GiB", " TiB"]).show(b as f64 / 1024.0, three_digits),
    }
}

/// Bits a second in decimal units: `12.3 Mbit/s`.
pub fn bit_rate(bits: f64) -> String {
    if !bits.is_finite() || bits < 0.0 {
        return NONE.into();
    }
    let units = &[" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s"];
    scale(1e3, units).show(bits, three_digits)
}

/// A share of a processor, 1.0 for one core, as percents; it may pass 100 %.
pub fn cpu(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { NONE.into() }
}

/// A share as whole percents; one of a damaged file is held within ±1000 %.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.into();
    }
    signed_percent(whole((share.clamp(-10.0, 10.0) * 100.0).round()))
}

/// A duration as a clock shows it: `00:12:34`.
pub fn clock(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Units that change where four digits would be needed.
fn scale(step: f64, units: &'static [&'static str]) -> UnitScale {
    UnitScale { step, limit: 999.5, units }
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
    fn a_time_between_hosts_has_its_error() {
        let shown = |ns, error| time_within(Nanos(ns), Nanos(error));
        assert_eq!(shown(1_800_000, 50_000), "1.80 ms ± 0.05");
        assert_eq!(shown(1_800_000, 50_001), "1.80 ms ± 0.06");
        assert_eq!(shown(1_800_000, 7), "1.80 ms ± 0.01");
        assert_eq!(shown(12_345_678, 4_000_000), "12.3 ms ± 4.0");
        assert_eq!(shown(950, 20), "950 ns ± 20");
        assert_eq!(shown(40_000, 50_010), "≤ 90.1 µs");
        assert_eq!(shown(0, 40_000), "≤ 40.0 µs");
        assert_eq!(shown(3, 4), "≤ 7 ns");
        assert_eq!(shown(13_300, 0), "13.3 µs");
        for ns in [1, 999, 9_994, 99_960, 999_499, 999_500, 99_999_999, 3_500_000_000] {
            assert!(shown(ns, ns).chars().count() <= 14, "{}", shown(ns, ns));
        }
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<_> = [0.0, 0.25, 7.0, 999.0, 1000.0, 18_250.0, 1.5e6, f64::INFINITY]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(shown, ["0", "0.25", "7", "999", "1.00 k", "18.2 k", "1.50 M", NONE]);
        assert_eq!([999, 1000, 48 << 20].map(bytes), ["999 B", "0.98 KiB", "48.0 MiB"]);
        assert_eq!(bit_rate(12_300_000.0), "12.3 Mbit/s");
    }

    #[test]
    fn percents_are_whole_and_bounded() {
        assert_eq!([0.174, -0.03, 1e9, f64::NAN].map(percent), ["17 %", "−3 %", "1000 %", NONE]);
    }
}
