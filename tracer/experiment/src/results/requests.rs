//! Round trips of requests whose both ends are on this host.

use super::merged::merged;
use crate::tally::SegmentTimes;
use wirelap_correlate::{Histogram, LocalRequestTimes};
use wirelap_events::{Count, Segment};
use wirelap_report::{Repetition, ReportedLocalRequests, Samples, SegmentHistogram};

/// The figures of a trial's requests; `None` if there were none.
pub fn of(rows: &[LocalRequestTimes]) -> Option<ReportedLocalRequests> {
    let round_trips = round_trips(rows);
    let unanswered = Count::sum(rows.iter().map(|row| row.unanswered)).0;
    (round_trips.count() > 0 || unanswered > 0).then(|| ReportedLocalRequests {
        round_trip_ns: round_trips.summary().into(),
        followed: Count::sum(rows.iter().map(|row| row.followed)).0,
        segments: segment_times(&segments(rows)).rows(),
        unanswered,
    })
}

/// The round trips of a trial's requests.
pub fn round_trips(rows: &[LocalRequestTimes]) -> Histogram {
    let mut sum = Histogram::new(3);
    for row in rows {
        sum.merge(&row.round_trip);
    }
    sum
}

/// The times of a trial's requests in each segment.
pub fn segments(rows: &[LocalRequestTimes]) -> Vec<SegmentHistogram> {
    let all = rows.iter().flat_map(|row| &row.segments);
    let encoded = all.filter_map(|(leg, segment, times)| {
        let summary = times.summary();
        Some(SegmentHistogram {
            leg: *leg,
            segment: segment.name().to_owned(),
            total_ns: u64::try_from(times.sum()).unwrap_or(u64::MAX),
            min_ns: summary.min.0,
            max_ns: summary.max.0,
            histogram: times.encode()?,
            clock_error_ns: None,
        })
    });
    encoded.collect()
}

/// The figures of the requests of all repetitions; `None` if there were none.
pub fn pooled(all: &[&Repetition]) -> Option<ReportedLocalRequests> {
    let known = || all.iter().filter_map(|one| one.requests.as_ref());
    let segments = all.iter().flat_map(|one| &one.histograms.request_segments);
    known().next().map(|_| ReportedLocalRequests {
        round_trip_ns: merged(
            all,
            |one| Some(one.requests.as_ref()?.round_trip_ns),
            |of| of.round_trip_ns.as_ref(),
        ),
        followed: Count::sum(known().map(|one| one.followed)).0,
        segments: segment_times(segments).rows(),
        unanswered: Count::sum(known().map(|one| one.unanswered)).0,
    })
}

/// The times of all of these histograms, by segment.
pub fn segment_times<'a>(all: impl IntoIterator<Item = &'a SegmentHistogram>) -> SegmentTimes {
    let mut sum = SegmentTimes::default();
    for one in all {
        let segment = Segment::ALL.into_iter().find(|segment| segment.name() == one.segment);
        let extremes = (one.min_ns, one.max_ns);
        let samples = Samples::decode(&one.histogram, extremes, one.total_ns);
        if let (Some(segment), Some(samples)) = (segment, samples) {
            sum.add_all(usize::from(one.leg.saturating_sub(1)), segment, &samples);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::Histograms;

    fn times(values: &[u64]) -> Histogram {
        let mut times = Histogram::new(3);
        for value in values {
            times.add(*value);
        }
        times
    }

    fn repetition(values: &[u64], unanswered: u64) -> Repetition {
        let dwell = values.iter().map(|value| value / 2).collect::<Vec<_>>();
        let rows = [LocalRequestTimes {
            round_trip: times(values),
            segments: vec![
                (2, Segment::BrokerDwell, times(&dwell)),
                (1, Segment::Wire, times(&dwell)),
            ],
            followed: values.len() as u64,
            unanswered,
        }];
        Repetition {
            requests: of(&rows),
            histograms: Histograms {
                round_trip_ns: round_trips(&rows).encode(),
                request_segments: segments(&rows),
                ..Histograms::default()
            },
            ..Repetition::default()
        }
    }

    #[test]
    fn repetitions_are_taken_together() {
        let quick = repetition(&[1_000; 30], 1);
        let slow = repetition(&[1_800; 10], 0);
        let [one, all] = [pooled(&[&quick]), pooled(&[&quick, &slow])].map(Option::unwrap);
        assert_eq!(Some(&one), quick.requests.as_ref());
        assert_eq!((one.round_trip_ns.count, one.followed, one.unanswered), (30, 30, 1));
        assert_eq!((all.round_trip_ns.count, all.followed, all.unanswered), (40, 40, 1));
        let whole = all.round_trip_ns;
        assert_eq!((whole.min, whole.p50, whole.max), (1_000, 1_000, 1_800));
        let rows = all.segments.iter().map(|row| (row.leg, &*row.segment, row.count, row.share));
        let expected = [(1, "wire", 40, 0.5), (2, "broker_dwell", 40, 0.5)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(all.segments[0].total_ns, Some(24_000));
    }

    #[test]
    fn a_result_without_requests_has_none() {
        let none = repetition(&[], 0);
        assert_eq!((none.requests.as_ref(), pooled(&[&none, &none])), (None, None));
        assert_eq!(pooled(&[&none, &repetition(&[], 3)]).map(|all| all.unanswered), Some(3));
    }
}
