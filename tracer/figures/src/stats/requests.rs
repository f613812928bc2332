//! Round trips of requests: from this host to another one, and with both ends on this host.

use super::distribution::Distribution;
use super::figures::{SegmentStat, Summary};
use super::row::RowStats;
use wirelap_events::{Delivery, Nanos, Saturate, Segment};

/// Sums of the requests of a row whose both ends are on this host.
#[derive(Debug)]
pub struct LocalRequests {
    round_trip: Distribution,
    /// Those that are followed from end to end, each as a message of two legs.
    followed: RowStats,
    unanswered: u64,
}

/// Requests whose both ends are on this host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalRequestFigures {
    /// From the send of a request to the read of its reply.
    pub round_trip: Summary,
    /// Requests that were followed from end to end: a part of them.
    pub followed: u64,
    /// Of these, where the time went: leg 1 is the request, leg 2 the reply, and its dwell the time at who answers.
    pub segments: Vec<SegmentStat>,
    /// Requests to which no reply was seen.
    pub unanswered: u64,
}

/// The times of requests whose both ends are on this host, for adding up repetitions.
#[derive(Clone, Debug)]
pub struct LocalRequestTimes {
    /// From the send of a request to the read of its reply.
    pub round_trip: Distribution,
    /// The times of each segment of those that were followed, with the number of the leg.
    pub segments: Vec<(u8, Segment, Distribution)>,
    /// Requests that were followed from end to end.
    pub followed: u64,
    /// Requests to which no reply was seen.
    pub unanswered: u64,
}

impl Default for LocalRequests {
    fn default() -> LocalRequests {
        LocalRequests {
            round_trip: Distribution::new(3),
            followed: RowStats::default(),
            unanswered: 0,
        }
    }
}

impl LocalRequests {
    /// Adds what another row has, which has turned out to be the same.
    pub fn merge(&mut self, other: LocalRequests) {
        self.round_trip.merge(&other.round_trip);
        self.followed.merge(other.followed);
        self.unanswered.grow(other.unanswered);
    }

    /// A reply was read so long after its request was sent.
    pub fn answered(&mut self, time: Nanos) {
        self.round_trip.add(time.0);
    }

    /// A request was followed with its reply.
    pub fn followed(&mut self, exchange: &Delivery, time: Nanos) {
        self.followed.matched(exchange, time);
    }

    /// So many requests were given up whose reply was not seen.
    pub fn unanswered(&mut self, requests: u64) {
        self.unanswered.grow(requests);
    }

    /// All times.
    pub fn times(&self) -> LocalRequestTimes {
        let segments = self.followed.segment_times().map(|(leg, segment, times)| {
            let leg = u8::try_from(leg.saturating_add(1)).unwrap_or(u8::MAX);
            (leg, segment, times.clone())
        });
        LocalRequestTimes {
            round_trip: self.round_trip.clone(),
            segments: segments.collect(),
            followed: self.followed.one_way.count(),
            unanswered: self.unanswered,
        }
    }

    /// The figures, as a snapshot has them.
    pub fn figures(&self) -> LocalRequestFigures {
        LocalRequestFigures {
            round_trip: self.round_trip.summary(),
            followed: self.followed.one_way.count(),
            segments: self.followed.segments(),
            unanswered: self.unanswered,
        }
    }
}

impl LocalRequestFigures {
    /// True if there were no requests.
    pub fn is_empty(&self) -> bool {
        self.round_trip.count == 0 && self.unanswered == 0
    }
}

/// Sums of the requests of a row to another host.
#[derive(Debug)]
pub struct Requests {
    round_trip: Distribution,
    here: Distribution,
    away: Distribution,
    unanswered: u64,
}

/// Requests of processes on this host to another one, which replies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestFigures {
    /// From the send of a request to the read of its reply.
    pub round_trip: Summary,
    /// The part of the round trip on this host: until the request was handed to the device, and from the reception of the
    /// reply on.
    pub here: Summary,
    /// The rest: both ways, and what the other host did.
    pub away: Summary,
    /// The time on this host as a part of the whole, 0..=1; `None` if it is not known of any.
    pub here_share: Option<f64>,
    /// Requests to which no reply was seen.
    pub unanswered: u64,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            round_trip: Distribution::new(3),
            here: Distribution::new(3),
            away: Distribution::new(3),
            unanswered: 0,
        }
    }
}

impl Requests {
    /// Adds what another row has, which has turned out to be the same.
    pub fn merge(&mut self, other: &Requests) {
        self.round_trip.merge(&other.round_trip);
        self.here.merge(&other.here);
        self.away.merge(&other.away);
        self.unanswered.grow(other.unanswered);
    }

    /// A reply was read: how long the round trip took, and if that is known, how much of it elsewhere.
    pub fn answered(&mut self, time: Nanos, away: Option<Nanos>) {
        self.round_trip.add(time.0);
        if let Some(away) = away {
            self.away.add(away.0);
            self.here.add(time.0.saturating_sub(away.0));
        }
    }

    /// So many requests were given up whose reply was not seen.
    pub fn unanswered(&mut self, requests: u64) {
        self.unanswered.grow(requests);
    }

    /// The figures, as a snapshot has them.
    pub fn figures(&self) -> RequestFigures {
        let (here, away) = (self.here.sum(), self.away.sum());
        let all = here.saturating_add(away);
        RequestFigures {
            round_trip: self.round_trip.summary(),
            here: self.here.summary(),
            away: self.away.summary(),
            here_share: (all > 0).then(|| here as f64 / all as f64),
            unanswered: self.unanswered,
        }
    }
}

impl RequestFigures {
    /// True if there were no requests.
    pub fn is_empty(&self) -> bool {
        self.round_trip.count == 0 && self.unanswered == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_requests_of_which_it_is_known() {
        let mut requests = Requests::default();
        assert!(requests.figures().is_empty());
        requests.answered(Nanos(100), Some(Nanos(75)));
        requests.answered(Nanos(500), None);
        requests.unanswered(2);
        let figures = requests.figures();
        assert_eq!((figures.round_trip.count, figures.here.count, figures.unanswered), (2, 1, 2));
        assert_eq!(figures.here_share, Some(0.25));
    }
}
