//! Round trips of requests: to another host, and with both ends on this host.

use crate::{DistributionSummary, SegmentRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::{LocalRequestFigures, RequestFigures};
use wirelap_events::Segment;
use wirelap_events::human::{counted, exact, percent};

/// Requests that processes on this host sent to another one, and whose replies they read: messages with their acknowledgement by
/// the protocol (PUBACK, PUBREC, the response to Produce, `JetStream`'s ack), and queries with the first reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Requests")]
pub struct ReportedRequests {
    /// From the send of a request to the read of its reply.
    pub round_trip_ns: DistributionSummary,
    /// Of that, the time on this host: from the send until the request was handed to the device, and from the reception of the
    /// reply by the device until its read.
    pub here_ns: DistributionSummary,
    /// The rest: the way there and back, and what the other host did.
    pub away_ns: DistributionSummary,
    /// The time on this host as a part of the whole, 0..=1; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here_share: Option<f64>,
    /// Requests to which no reply was seen.
    pub unanswered: u64,
}

impl ReportedRequests {
    /// These requests; `None` if there were none.
    pub fn of(figures: &RequestFigures) -> Option<ReportedRequests> {
        (!figures.is_empty()).then(|| ReportedRequests {
            round_trip_ns: figures.round_trip.into(),
            here_ns: figures.here.into(),
            away_ns: figures.away.into(),
            here_share: figures.here_share,
            unanswered: figures.unanswered,
        })
    }

    /// The figures with their names, one a line.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.round_trip_ns.count > 0 {
            let share =
                self.here_share.map(|share| format!("; {} of that on this host", percent(share)));
            let times = self.round_trip_ns.in_words();
            lines
                .push(("reply", format!("{times}, request to reply{}", share.unwrap_or_default())));
        }
        if self.away_ns.count > 0 {
            let times = self.away_ns.in_words();
            lines.push(("away", format!("{times}, both ways and the other host")));
        }
        lines.extend(unanswered_line(self.unanswered));
        lines
    }
}

/// Requests whose both ends are on this host, and whose replies were read. A request that is a message, or whose reply is one, is also in
/// the figures of the messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LocalRequests")]
pub struct ReportedLocalRequests {
    /// From the send of a request to the read of its reply.
    pub round_trip_ns: DistributionSummary,
    /// Requests that were followed from end to end: one in 10 ms of each connection.
    pub followed: u64,
    /// Of these, where the time went. Leg 1 is the request, leg 2 the reply; `broker_dwell` is the time from the read of the request to the
    /// send of the reply. The shares add up to 1.
    pub segments: Vec<SegmentRow>,
    /// Requests to which no reply was seen.
    pub unanswered: u64,
}

impl ReportedLocalRequests {
    /// These requests; `None` if there were none.
    pub fn of(figures: &LocalRequestFigures) -> Option<ReportedLocalRequests> {
        (!figures.is_empty()).then(|| ReportedLocalRequests {
            round_trip_ns: figures.round_trip.into(),
            followed: figures.followed,
            segments: figures.segments.iter().map(SegmentRow::from).collect(),
            unanswered: figures.unanswered,
        })
    }

    /// The figures with their names, one a line.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.round_trip_ns.count > 0 {
            let count = exact(self.round_trip_ns.count);
            let times = self.round_trip_ns.in_words();
            let share = match self.answer_share() {
                Some(share) => format!("; {} of that at who answers", percent(share)),
                None => String::new(),
            };
            lines.push(("requests", format!("{count}, {times}, request to reply{share}")));
        }
        lines.extend(unanswered_line(self.unanswered));
        lines
    }

    /// The part of the time from the read of a request to the send of its reply, 0..=1; `None` if none was followed.
    fn answer_share(&self) -> Option<f64> {
        let answer = |row: &&SegmentRow| row.segment == Segment::BrokerDwell.name();
        self.segments.iter().find(answer).map(|row| row.share)
    }
}

fn unanswered_line(unanswered: u64) -> Option<(&'static str, String)> {
    (unanswered > 0)
        .then(|| ("", format!("no reply was seen to {}", counted(unanswered, "request"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(ReportedRequests::of(&RequestFigures::default()), None);
        let unanswered = RequestFigures { unanswered: 1, ..RequestFigures::default() };
        let lines = ReportedRequests::of(&unanswered).map(|requests| requests.lines());
        assert_eq!(lines, Some(vec![("", "no reply was seen to 1 request".to_owned())]));
    }

    #[test]
    fn the_share_of_who_answers_is_said() {
        let times = DistributionSummary {
            count: 2,
            p50: 1_000,
            p99: 2_000,
            max: 3_000,
            ..Default::default()
        };
        let answer = SegmentRow {
            leg: 2,
            segment: Segment::BrokerDwell.name().to_owned(),
            share: 0.75,
            ..SegmentRow::default()
        };
        let mut requests = ReportedLocalRequests {
            round_trip_ns: times,
            unanswered: 1,
            ..ReportedLocalRequests::default()
        };
        let alone = "2, p50 1.0 µs, p99 2.0 µs, max 3.0 µs, request to reply";
        assert_eq!(requests.lines()[0], ("requests", alone.to_owned()));
        assert_eq!(requests.lines()[1].1, "no reply was seen to 1 request");
        requests.segments.push(answer);
        assert_eq!(requests.lines()[0].1, format!("{alone}; 75 % of that at who answers"));
        assert_eq!(ReportedLocalRequests::of(&LocalRequestFigures::default()), None);
    }

    #[test]
    fn the_share_of_this_host_is_said() {
        let times = DistributionSummary {
            count: 2,
            p50: 1_000,
            p99: 2_000,
            max: 3_000,
            ..DistributionSummary::default()
        };
        let requests = ReportedRequests {
            round_trip_ns: times,
            away_ns: times,
            here_share: Some(0.123),
            ..ReportedRequests::default()
        };
        let lines = requests.lines();
        assert_eq!(
            lines[0].1,
            "p50 1.0 µs, p99 2.0 µs, max 3.0 µs, request to reply; 12 % of that on this host"
        );
        assert_eq!(lines[1].0, "away");
    }
}
