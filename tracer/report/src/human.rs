//! The report's own phrases around numbers, and the numbers as [`wirelap_events::human`] writes them.

pub use wirelap_events::human::{
    NONE, bytes, count, one_or, time_ns, time_pair_ns, time_within_ns,
};

use crate::{CorrectedTime, CostUnknown, Latency, ReportedTracerCost, Slowdown};
use wirelap_events::Nanos;

/// The cost of tracing for the traced: `tracing cost 2.1 µs a message (+17 %, 95 % interval +12 to +21 %)`. Where the interval does
/// not lie above zero, no cost was measured, and where it lies below, the turns differed in something else: both are said.
pub fn slowdown(slowdown: &Slowdown) -> String {
    let (low, high) = (change(slowdown.ratio_low), change(slowdown.ratio_high));
    let interval = format!("95 % interval {low} to {high} %");
    if slowdown.is_contradictory() {
        return format!(
            "the cost of tracing is not known, as messages were faster with probes ({interval})"
        );
    }
    if slowdown.ratio_low <= 1.0 {
        return match Nanos::from_f64(slowdown.added().high_ns) {
            Nanos(0) => format!("no measurable cost of tracing ({interval})"),
            most => format!("no measurable cost of tracing: at most {most} a message ({interval})"),
        };
    }
    // From the ratio: of medians taken apart the sign can be another.
    let by = Nanos::from_f64((slowdown.ratio - 1.0).max(0.0) * slowdown.untraced_p50_ns as f64);
    let parts = parts(slowdown).unwrap_or_default();
    format!("tracing cost {by} a message ({} %, {interval}{parts})", change(slowdown.ratio))
}

/// CPU and memory of wirelap itself: `0.61 cores, 318 MiB with a ring buffer of 64 MiB`.
pub fn own_use(tracer: &ReportedTracerCost) -> String {
    let ring = tracer.ring_bytes.filter(|_| tracer.rss_bytes > 0);
    let ring = ring.map(|ring| format!(" with a ring buffer of {}", bytes(ring as f64)));
    format!(
        "{:.2} cores, {}{}",
        tracer.cpu_share,
        bytes(tracer.rss_bytes as f64),
        ring.unwrap_or_default()
    )
}

/// The medians less what tracing added: `one-way p50 78.1 µs (77.0 µs to 79.4 µs), publish to deliver 85.2 µs (…)`. `None` if that was not
/// measured.
pub fn without_tracing(latency: &Latency) -> Option<String> {
    let corrected = latency.without_tracing?;
    let told = |time: CorrectedTime| {
        let [p50, low, high] = [time.ns, time.low_ns, time.high_ns].map(Nanos::from_f64);
        format!("{p50} ({low} to {high})")
    };
    let whole = corrected.publish_to_deliver_p50.map(told);
    let whole = whole.map(|time| format!(", publish to deliver {time}")).unwrap_or_default();
    Some(format!("one-way p50 {}{whole}, with 95 % intervals", told(corrected.one_way_p50)))
}

/// Why the cost of tracing is not known: `the cost of tracing is not known: a message takes milliseconds`.
pub fn cost_unknown(why: CostUnknown) -> String {
    let why = match why {
        CostUnknown::SlowMessages => "a message takes milliseconds",
        CostUnknown::FewTurns => "too few turns, with and without probes, had messages enough",
        CostUnknown::Stopped => "its measurement stopped",
    };
    format!("the cost of tracing is not known: {why}")
}

/// The time that each part of the probes adds: `; sends and reads 0.6 µs, packets 0.9 µs, sockets and scheduler 0.6 µs`. `None` if
/// that was not measured: an interval does not lie above zero, or more probes seem to add less.
fn parts(slowdown: &Slowdown) -> Option<String> {
    let (ends, path, all) = (slowdown.ends?, slowdown.path?, slowdown.added());
    let is_above_zero = ends.low_ns > 0.0 && path.low_ns > 0.0;
    if !is_above_zero || ends.added_ns > path.added_ns || path.added_ns > all.added_ns {
        return None;
    }
    let [ends, packets, rest] =
        [ends.added_ns, path.added_ns - ends.added_ns, all.added_ns - path.added_ns]
            .map(Nanos::from_f64);
    Some(format!("; sends and reads {ends}, packets {packets}, sockets and scheduler {rest}"))
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

    /// With a ratio between the ends of its interval.
    fn cost(untraced_p50_ns: u64, [ratio_low, ratio, ratio_high]: [f64; 3]) -> Slowdown {
        Slowdown { untraced_p50_ns, ratio, ratio_low, ratio_high, ..Slowdown::default() }
    }

    #[test]
    fn the_ring_buffer_is_told_where_there_is_one() {
        let mut own = ReportedTracerCost {
            cpu_share: 0.61,
            rss_bytes: 318 << 20,
            ..ReportedTracerCost::default()
        };
        assert_eq!(own_use(&own), "0.61 cores, 318 MiB");
        own.ring_bytes = Some(64 << 20);
        assert_eq!(own_use(&own), "0.61 cores, 318 MiB with a ring buffer of 64 MiB");
    }

    #[test]
    fn the_medians_without_tracing_have_their_intervals() {
        let mut latency = Latency::default();
        assert_eq!(without_tracing(&latency), None);
        (latency.one_way_ns.count, latency.one_way_ns.p50) = (5, 14_500);
        latency.correct(&cost(10_000, [1.1, 1.2, 1.3]));
        let told = "one-way p50 12.5 µs (11.5 µs to 13.5 µs), with 95 % intervals";
        assert_eq!(without_tracing(&latency).as_deref(), Some(told));
        // What made messages faster is not known, so neither is how long they take without probes.
        latency.correct(&cost(10_000, [0.67, 0.68, 0.69]));
        assert_eq!(without_tracing(&latency), None);
    }

    #[test]
    fn a_cost_that_may_be_none_is_not_told_as_one() {
        let mut cost = cost(12_500, [1.12, 1.168, 1.21]);
        cost.traced_p50_ns = 14_600;
        let told = "tracing cost 2.1 µs a message (+17 %, 95 % interval +12 to +21 %)";
        assert_eq!(slowdown(&cost), told);
        // The medians of all turns say −0.1 µs, the pairs of neighbours +3 %: neither is a measured cost.
        (cost.traced_p50_ns, cost.ratio, cost.ratio_low) = (12_400, 1.03, 0.997);
        cost.ratio_high = 1.07;
        let told =
            "no measurable cost of tracing: at most 875 ns a message (95 % interval 0 to +7 %)";
        assert_eq!(slowdown(&cost), told);
        (cost.ratio, cost.ratio_low, cost.ratio_high) = (0.96, 0.93, 0.99);
        let told = "the cost of tracing is not known, as messages were faster with probes (95 % interval −7 to −1 %)";
        assert_eq!(slowdown(&cost), told);
        // Neither more nor less.
        cost.ratio_high = 1.0;
        assert_eq!(slowdown(&cost), "no measurable cost of tracing (95 % interval −7 to 0 %)");
    }
}
