//! Messages that this host shows in part: their figures are never mixed with one-way latencies.

use super::distribution::Distribution;
use super::figures::{SegmentStat, Summary};
use super::requests::{RequestFigures, Requests};
use super::row::{RowStats, ended_at};
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_events::{Delivery, Leg, Nanos, Saturate, Segment, Stage, Total};

/// From where a message was seen, if not from both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "snake_case")]
pub enum PartialView {
    /// From the broker that passed it on: publisher and subscriber are elsewhere.
    Broker,
    /// From its sender: who read it is elsewhere.
    Sender,
    /// From its reader: who sent it is elsewhere.
    Receiver,
}

impl PartialView {
    /// All views.
    pub const ALL: [PartialView; PartialView::VARIANTS.len()] = all_variants();

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Sums of the messages of a row that this host shows in part.
#[derive(Debug)]
pub struct Partial {
    /// Deliveries by view.
    counts: [u64; PartialView::ALL.len()],
    ingress: Distribution,
    dwell: Distribution,
    egress: Distribution,
    acknowledged: Distribution,
    delayed: Distribution,
    unacknowledged: u64,
    /// Requests to another host, which replies.
    pub requests: Requests,
    /// Their rates, their time on this host and its segments.
    pub here: RowStats,
}

/// Figures that are shown of the messages of a row that this host shows in part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartialFigures {
    /// Seen from the broker: a message to a hundred subscribers counts a hundred times.
    pub by_broker: u64,
    /// Seen from the sender alone.
    pub by_sender: u64,
    /// Seen from the reader alone.
    pub by_receiver: u64,
    /// From the reception of the last byte by the device to the read, of messages from a sender elsewhere.
    pub ingress: Summary,
    /// From the broker's read to its send to a reader elsewhere.
    pub dwell: Summary,
    /// From the send to the moment when the last byte is handed to the device, to a reader elsewhere.
    pub egress: Summary,
    /// From the send to the acknowledgement of the last byte: at most this long until it arrived at the other end.
    pub acknowledged: Summary,
    /// The same, of acknowledgements that the other end delayed.
    pub delayed: Summary,
    /// Sent messages whose acknowledgement was not seen.
    pub unacknowledged: u64,
    /// Requests of processes on this host to another one, which replies.
    pub requests: RequestFigures,
    /// From the first stage on this host to the last.
    pub here: Summary,
    /// The segments of that time.
    pub segments: Vec<SegmentStat>,
    /// The scheduling gap in it.
    pub sched_gap: Summary,
}

impl Default for Partial {
    fn default() -> Partial {
        Partial {
            counts: [0; PartialView::ALL.len()],
            ingress: Distribution::new(3),
            dwell: Distribution::new(3),
            egress: Distribution::new(3),
            acknowledged: Distribution::new(3),
            delayed: Distribution::new(3),
            unacknowledged: 0,
            requests: Requests::default(),
            here: RowStats::default(),
        }
    }
}

impl Partial {
    /// Adds what another row has, which has turned out to be the same.
    pub fn merge(&mut self, other: Partial) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| sum.grow(count));
        for (mine, theirs) in [
            (&mut self.ingress, &other.ingress),
            (&mut self.dwell, &other.dwell),
            (&mut self.egress, &other.egress),
            (&mut self.acknowledged, &other.acknowledged),
            (&mut self.delayed, &other.delayed),
        ] {
            mine.merge(theirs);
        }
        self.unacknowledged.grow(other.unacknowledged);
        self.requests.merge(&other.requests);
        self.here.merge(other.here);
    }

    /// A leg came in whose sender is elsewhere.
    pub fn came_in(&mut self, leg: &Leg) {
        let (from, to) = (leg.times.get(Stage::Rx), leg.times.get(Stage::Read));
        if let Some(time) = from.zip(to).and_then(|(from, to)| to.since(from)) {
            self.ingress.add(time.0);
        }
    }

    /// A leg went out whose reader is elsewhere. Datagrams are not acknowledged.
    pub fn went_out(&mut self, leg: &Leg, is_stream: bool) {
        let Some(send) = leg.times.get(Stage::Send) else { return };
        if let Some(time) = leg.times.get(Stage::Xmit).and_then(|xmit| xmit.since(send)) {
            self.egress.add(time.0);
        }
        match leg.circumstances.path.heard.and_then(|heard| Some((heard, heard.at.since(send)?))) {
            Some((heard, time)) if heard.delayed => self.delayed.add(time.0),
            Some((_, time)) => self.acknowledged.add(time.0),
            None => self.unacknowledged.grow(u64::from(is_stream)),
        }
    }

    /// A message of this sampling window, if of any, is complete as far as it is seen here; `seen` has the stages of this host alone.
    /// Returns how long it was here.
    pub fn add(
        &mut self,
        now: Nanos,
        view: PartialView,
        seen: &Delivery,
        window: Option<Nanos>,
    ) -> Option<Nanos> {
        self.counts[view as usize].grow(1);
        let ended = ended_at(seen);
        self.here.delivered(now, (ended, window), seen.payload_len, None);
        let time = ended.since(seen.begins()?)?;
        self.here.matched(seen, time);
        let dwells = seen.segments().filter_map(|(_, all)| all.get(Segment::BrokerDwell));
        dwells.for_each(|dwell| self.dwell.add(dwell.0));
        Some(time)
    }

    /// Deliveries of which this view is all there is.
    pub fn count(&self, view: PartialView) -> u64 {
        self.counts[view as usize]
    }

    /// Deliveries that are seen in part.
    pub fn deliveries(&self) -> u64 {
        self.counts.iter().total()
    }

    /// The figures, as a snapshot has them.
    pub fn figures(&self) -> PartialFigures {
        PartialFigures {
            by_broker: self.count(PartialView::Broker),
            by_sender: self.count(PartialView::Sender),
            by_receiver: self.count(PartialView::Receiver),
            ingress: self.ingress.summary(),
            dwell: self.dwell.summary(),
            egress: self.egress.summary(),
            acknowledged: self.acknowledged.summary(),
            delayed: self.delayed.summary(),
            unacknowledged: self.unacknowledged,
            requests: self.requests.figures(),
            here: self.here.one_way(),
            segments: self.here.segments(),
            sched_gap: self.here.sched_gap.summary(),
        }
    }
}

impl PartialFigures {
    /// From where most of these messages were seen.
    pub fn view(&self) -> PartialView {
        let counts = [
            (self.by_sender, PartialView::Sender),
            (self.by_receiver, PartialView::Receiver),
            (self.by_broker, PartialView::Broker),
        ];
        counts.into_iter().max_by_key(|(count, _)| *count).map_or(PartialView::Broker, |(_, v)| v)
    }

    /// Deliveries that are seen in part.
    pub fn deliveries(&self) -> u64 {
        self.by_broker.saturating_add(self.by_sender).saturating_add(self.by_receiver)
    }
}
