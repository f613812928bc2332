//! Figures of messages that this host shows in part, because whoever sent or read them is elsewhere.

use crate::{DistributionSummary, ReportedRequests, SegmentRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::{Group, PartialFigures};
use wirelap_events::human::exact;

/// From where the messages of a result were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "View")]
#[serde(rename_all = "snake_case")]
pub enum SeenFrom {
    /// From the first send to the last read: `latency` is of these messages.
    BothEnds,
    /// From the broker that passed them on: publisher and subscriber are elsewhere.
    Broker,
    /// From their sender: who read them is elsewhere.
    Sender,
    /// From their reader: who sent them is elsewhere.
    Receiver,
    /// By their packets in a capture: all times are those at which packets were captured.
    Capture,
}

impl SeenFrom {
    /// The view of a row; `None` if no message was seen.
    pub fn of(group: &Group) -> Option<SeenFrom> {
        use wirelap_correlate::PartialView;
        if group.messages.matched > 0 {
            return Some(SeenFrom::BothEnds);
        }
        group.partial_view().map(|view| match view {
            PartialView::Broker => SeenFrom::Broker,
            PartialView::Sender => SeenFrom::Sender,
            PartialView::Receiver => SeenFrom::Receiver,
        })
    }

    /// The view in words: `seen from the broker alone`.
    pub fn in_words(self) -> &'static str {
        match self {
            SeenFrom::BothEnds => "seen from both ends",
            SeenFrom::Broker => "seen from the broker alone",
            SeenFrom::Sender => "seen from the sender alone",
            SeenFrom::Receiver => "seen from the receiver alone",
            SeenFrom::Capture => "seen by their packets where they were captured",
        }
    }

    /// Why there is no one-way latency; `None` if there is.
    pub fn why_no_latency(self) -> Option<&'static str> {
        match self {
            SeenFrom::BothEnds | SeenFrom::Capture => None,
            SeenFrom::Broker => Some("publisher and subscriber are not seen on this host"),
            SeenFrom::Sender => Some("the reader is not seen on this host"),
            SeenFrom::Receiver => Some("the sender is not seen on this host"),
        }
    }
}

/// Figures of messages that this host shows in part. They are in no other figure of the result: nothing is known of the rest
/// of their way, and nothing is assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Partial")]
pub struct ReportedPartial {
    /// Deliveries seen from the broker alone; a message to a hundred subscribers counts a hundred times.
    pub by_broker: u64,
    /// Messages seen from the sender alone.
    pub by_sender: u64,
    /// Deliveries seen from the receiver alone.
    pub by_receiver: u64,
    /// From the reception of a message's last byte by the device until its read, of messages from a sender elsewhere.
    pub ingress_ns: DistributionSummary,
    /// From the broker's read to its send to a reader elsewhere, for each reader.
    pub dwell_ns: DistributionSummary,
    /// From the send until the last byte is handed to the device, of messages to a reader elsewhere.
    pub egress_ns: DistributionSummary,
    /// A bound, and no latency: from the send until TCP's acknowledgement of the last byte came back. The message arrived at
    /// the other host within this time. Without delayed acknowledgements.
    pub acknowledged_ns: DistributionSummary,
    /// The same, of acknowledgements that the other host delayed: the bound is valid, and far from the arrival.
    pub acknowledged_late_ns: DistributionSummary,
    /// Messages over TCP whose acknowledgement was not seen.
    pub unacknowledged: u64,
    /// Round trips of requests to another host; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ReportedRequests>,
    /// From a message's first stage on this host to its last.
    pub here_ns: DistributionSummary,
    /// Where that time went. The shares add up to 1.
    pub segments: Vec<SegmentRow>,
    /// The scheduling gap in that time.
    pub sched_gap_ns: DistributionSummary,
}

impl From<&PartialFigures> for ReportedPartial {
    fn from(of: &PartialFigures) -> ReportedPartial {
        ReportedPartial {
            by_broker: of.by_broker,
            by_sender: of.by_sender,
            by_receiver: of.by_receiver,
            ingress_ns: of.ingress.into(),
            dwell_ns: of.dwell.into(),
            egress_ns: of.egress.into(),
            acknowledged_ns: of.acknowledged.into(),
            acknowledged_late_ns: of.delayed.into(),
            unacknowledged: of.unacknowledged,
            requests: ReportedRequests::of(&of.requests),
            here_ns: of.here.into(),
            segments: of.segments.iter().map(SegmentRow::from).collect(),
            sched_gap_ns: of.sched_gap.into(),
        }
    }
}

impl ReportedPartial {
    /// Deliveries that are seen in part.
    pub fn deliveries(&self) -> u64 {
        [self.by_broker, self.by_sender, self.by_receiver].into_iter().fold(0, u64::saturating_add)
    }

    /// Numbers of messages by the place from which they were seen, in words.
    pub fn counts(&self) -> String {
        let views = [
            (self.by_broker, "passed on to readers elsewhere"),
            (self.by_sender, "sent to readers elsewhere"),
            (self.by_receiver, "read from senders elsewhere"),
        ];
        let shown = views.into_iter().filter(|(count, _)| *count > 0);
        shown
            .map(|(count, words)| format!("{} {words}", exact(count)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The figures with their names, one a line; those without messages are left out, and all without a delivery.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        if self.deliveries() == 0 {
            return Vec::new();
        }
        let acknowledged = match (self.acknowledged_ns.count, self.unacknowledged) {
            (0, 0) => None,
            (0, _) => Some("– (no acknowledgement was seen)".to_owned()),
            _ => Some(format!(
                "at most {}, send to TCP's acknowledgement",
                self.acknowledged_ns.in_words()
            )),
        };
        let all = [
            ("here", timed(&self.here_ns, "first to last stage on this host")),
            ("ingress", timed(&self.ingress_ns, "device to read")),
            ("dwell", timed(&self.dwell_ns, "read to send")),
            ("egress", timed(&self.egress_ns, "send to device")),
            ("arrival", acknowledged),
            (
                "",
                timed(
                    &self.acknowledged_late_ns,
                    "bound by acknowledgements that the other host delayed",
                ),
            ),
        ];
        let mut lines: Vec<_> =
            all.into_iter().filter_map(|(name, line)| Some((name, line?))).collect();
        if self.acknowledged_ns.count > 0 && self.unacknowledged > 0 {
            lines.push(("", format!("{} not acknowledged yet", exact(self.unacknowledged))));
        }
        lines.extend(self.requests.iter().flat_map(ReportedRequests::lines));
        lines
    }
}

fn timed(of: &DistributionSummary, words: &str) -> Option<String> {
    (of.count > 0).then(|| format!("{}, {words}", of.in_words()))
}
