//! Breakdown of a difference by leg, segment and cause.

use crate::comparison::{DifferenceBreakdown, DifferenceRow};
use std::collections::BTreeMap;
use wirelap_events::{Count, Nanos, Total};
use wirelap_report::{ReportedTimeSpent, ReportedTimeSpentRow};

/// Leg, segment and cause.
type BreakdownKey<'a> = (u8, &'a str, Option<&'a str>);

/// A sentence names rows until this share of the difference is explained.
const MOST: f64 = 0.5;

/// Breakdown of the difference of the mean; `None` if a side has no messages.
pub fn of_mean(a: &[&ReportedTimeSpent], b: &[&ReportedTimeSpent]) -> Option<DifferenceBreakdown> {
    of(a, b, |spent| spent.messages, |row| row.mean_ns)
}

/// Breakdown of the difference of the tail's excess over the middle; `None` if a side has no tail.
pub fn of_tail(a: &[&ReportedTimeSpent], b: &[&ReportedTimeSpent]) -> Option<DifferenceBreakdown> {
    of(a, b, |spent| spent.tail_messages, |row| row.tail_ns - row.middle_ns)
}

fn of(
    a: &[&ReportedTimeSpent],
    b: &[&ReportedTimeSpent],
    weight: fn(&ReportedTimeSpent) -> u64,
    time: fn(&ReportedTimeSpentRow) -> f64,
) -> Option<DifferenceBreakdown> {
    let (a, b) = (weighted(a, weight, time)?, weighted(b, weight, time)?);
    let mut keys: Vec<BreakdownKey> = a.keys().chain(b.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |side: &BTreeMap<BreakdownKey, f64>, key| side.get(key).copied().unwrap_or_default();
    let mut rows: Vec<DifferenceRow> =
        keys.iter().map(|key| row(*key, of(&a, key), of(&b, key))).collect();
    rows.sort_by(|x, y| y.difference_ns.abs().total_cmp(&x.difference_ns.abs()));
    let difference_ns: f64 = rows.iter().map(|row| row.difference_ns).total();
    for row in &mut rows {
        row.share = (difference_ns != 0.0).then(|| row.difference_ns / difference_ns);
    }
    let sentence = sentence(&rows, difference_ns);
    Some(DifferenceBreakdown {
        a_ns: a.values().total(),
        b_ns: b.values().total(),
        difference_ns,
        rows,
        sentence,
    })
}

/// The mean over all repetitions, each with the weight of its messages.
fn weighted<'a>(
    side: &[&'a ReportedTimeSpent],
    weight: fn(&ReportedTimeSpent) -> u64,
    time: fn(&ReportedTimeSpentRow) -> f64,
) -> Option<BTreeMap<BreakdownKey<'a>, f64>> {
    let all = Count::sum(side.iter().map(|spent| weight(spent))).0;
    if all == 0 {
        return None;
    }
    let mut rows: BTreeMap<BreakdownKey, f64> = BTreeMap::new();
    for spent in side {
        let share = weight(spent) as f64 / all as f64;
        for row in &spent.rows {
            let key = (row.leg, row.segment.as_str(), row.cause.as_deref());
            *rows.entry(key).or_default() += share * time(row);
        }
    }
    Some(rows)
}

fn row((leg, segment, cause): BreakdownKey, a_ns: f64, b_ns: f64) -> DifferenceRow {
    DifferenceRow {
        leg,
        segment: segment.to_owned(),
        cause: cause.map(str::to_owned),
        a_ns,
        b_ns,
        difference_ns: b_ns - a_ns,
        share: None,
    }
}

/// `2.broker_dwell, broker_cpu_bound: +40.0 µs of +45.0 µs`; several rows if one is not most of it.
fn sentence(rows: &[DifferenceRow], difference_ns: f64) -> Option<String> {
    if Nanos::from_f64(difference_ns.abs()) == Nanos(0) {
        return None;
    }
    let legs = rows.iter().map(|row| row.leg).max().unwrap_or_default();
    let same_way = rows.iter().filter(|row| row.share.is_some_and(|share| share > 0.0));
    let mut explained: f64 = 0.0;
    let named: Vec<String> = same_way
        .take_while(|row| {
            let more = explained < MOST;
            explained += row.share.unwrap_or_default();
            more
        })
        .map(|row| format!("{}: {}", name(row, legs), signed(row.difference_ns)))
        .collect();
    Some(format!("{} of {}", named.join("; "), signed(difference_ns)))
}

/// `2.broker_dwell, broker_cpu_bound`; without the leg if there is only one.
pub fn name(row: &DifferenceRow, legs: u8) -> String {
    let leg = if legs > 1 { format!("{}.", row.leg) } else { String::new() };
    let cause = row.cause.as_ref().map(|cause| format!(", {cause}")).unwrap_or_default();
    format!("{leg}{}{cause}", row.segment)
}

/// A time with its sign: `+40.0 µs`.
pub fn signed(ns: f64) -> String {
    let size = Nanos::from_f64(ns.abs());
    let sign = match ns {
        _ if size == Nanos(0) => "",
        ns if ns < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spent(messages: u64, rows: &[(u8, &str, Option<&str>, f64)]) -> ReportedTimeSpent {
        let rows = rows.iter().map(|&(leg, segment, cause, mean_ns)| ReportedTimeSpentRow {
            leg,
            segment: segment.into(),
            cause: cause.map(str::to_owned),
            mean_ns,
            middle_ns: mean_ns / 2.0,
            tail_ns: mean_ns * 10.0,
        });
        ReportedTimeSpent { messages, tail_messages: messages / 100, rows: rows.collect() }
    }

    #[test]
    fn the_sentence_names_where_most_of_it_went() {
        let a = spent(1000, &[(1, "wire", None, 5e3), (2, "broker_dwell", None, 20e3)]);
        let b = spent(
            1000,
            &[
                (1, "wire", None, 10e3),
                (2, "broker_dwell", None, 20e3),
                (2, "broker_dwell", Some("broker_cpu_bound"), 40e3),
            ],
        );
        let forth = of_mean(&[&a], &[&b]).unwrap();
        assert_eq!(
            forth.sentence.as_deref(),
            Some("2.broker_dwell, broker_cpu_bound: +40.0 µs of +45.0 µs")
        );
        assert_eq!(forth.rows[0].cause.as_deref(), Some("broker_cpu_bound"));
        let back = of_mean(&[&b], &[&a]).unwrap().sentence.unwrap();
        assert_eq!(back, "2.broker_dwell, broker_cpu_bound: −40.0 µs of −45.0 µs");
        assert_eq!(of_mean(&[&a], &[&a]).unwrap().sentence, None);
        assert_eq!(of_mean(&[&a], &[&ReportedTimeSpent::default()]), None);
    }

    #[test]
    fn several_rows_are_named_if_none_is_most_of_it() {
        let a = spent(1, &[]);
        let b =
            spent(1, &[(1, "read", None, 4e3), (1, "wire", None, 4e3), (1, "write", None, 3e3)]);
        let sentence = of_mean(&[&a], &[&b]).unwrap().sentence.unwrap();
        assert_eq!(sentence, "read: +4.0 µs; wire: +4.0 µs of +11.0 µs");
    }

    #[test]
    fn repetitions_count_by_their_messages() {
        let (few, many) =
            (spent(100, &[(1, "wire", None, 10.0)]), spent(300, &[(1, "wire", None, 2.0)]));
        let none = spent(1000, &[]);
        let mean = of_mean(&[&none], &[&few, &many]).unwrap();
        assert!((mean.difference_ns - 4.0).abs() < 1e-9, "{}", mean.difference_ns);
        // The tail's excess is 9.5 times the mean.
        let tail = of_tail(&[&none], &[&few, &many]).unwrap();
        assert!((tail.difference_ns - 38.0).abs() < 1e-9, "{}", tail.difference_ns);
    }

    fn any_spent() -> impl Strategy<Value = ReportedTimeSpent> {
        let segment = prop_oneof![Just("wire"), Just("read"), Just("broker_dwell")];
        let cause = prop_oneof![Just(None), Just(Some("pacing")), Just(Some("corked"))];
        let rows = prop::collection::vec((1..3_u8, segment, cause, 0.0..1e7_f64), 0..8);
        (1000..100_000_u64, rows).prop_map(|(messages, rows)| spent(messages, &rows))
    }

    proptest! {
        #[test]
        fn rows_add_up_to_the_whole_difference(
            a in prop::collection::vec(any_spent(), 1..4),
            b in prop::collection::vec(any_spent(), 1..4),
        ) {
            let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
            for found in [of_mean(&a, &b).unwrap(), of_tail(&a, &b).unwrap()] {
                let sum: f64 = found.rows.iter().map(|row| row.difference_ns).total();
                prop_assert_eq!(sum.to_bits(), found.difference_ns.to_bits());
                let whole = found.b_ns - found.a_ns;
                prop_assert!((whole - sum).abs() <= 1e-9 * (found.a_ns.abs() + found.b_ns.abs()));
                if found.difference_ns != 0.0 && whole.abs() > 1e-3 {
                    let shares: f64 = found.rows.iter().filter_map(|row| row.share).total();
                    prop_assert!((shares - 1.0).abs() < 1e-6, "{}", shares);
                }
                let sizes = found.rows.iter().map(|row| row.difference_ns.abs());
                prop_assert!(sizes.is_sorted_by(|x, y| x >= y));
            }
        }
    }
}
