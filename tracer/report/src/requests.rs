//! Round trips of requests to another host, of which this host shows both ends.

use crate::DistributionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::RequestFigures;
use wirelap_events::human::{counted, percent};

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
        if self.unanswered > 0 {
            let requests = counted(self.unanswered, "request");
            lines.push(("", format!("no reply was seen to {requests}")));
        }
        lines
    }
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
