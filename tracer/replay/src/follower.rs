//! The interface by which a caller gets events and deliveries while files are read.

use wirelap_correlate::{DeliverySink, Snapshot};
use wirelap_events::{Delivery, Event, Nanos};
use wirelap_process::Failure;

/// Gets events and deliveries while files are read.
pub trait Follower {
    /// True if the follower gets deliveries. Without deliveries, the names of topics are not kept either.
    const DELIVERIES: bool;

    /// Called when the first file is open. `wall` is the difference from the clock of its events to the wall clock in nanoseconds;
    /// `None` if the events have wall clock times.
    fn begin(&mut self, wall: Option<i64>);

    /// Called for each event, before the correlator gets it.
    ///
    /// # Errors
    /// The follower cannot go on, which ends the reading.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure>;

    /// Called for each complete delivery, with the name of its topic.
    ///
    /// # Errors
    /// The follower cannot go on, which ends the reading.
    fn delivery(&mut self, delivery: &Delivery, topic: Option<&[u8]>) -> Result<(), Failure>;

    /// The sink that gets everything that becomes of messages in place of [`Follower::delivery`]: deliveries with their causes,
    /// and the messages that were given up. `None` if there is none.
    fn sink(&mut self) -> Option<&mut dyn DeliverySink> {
        None
    }

    /// True if the follower wants a snapshot now. `at` is the time of the events, up to which all were taken.
    fn wants_snapshot(&mut self, _at: Nanos) -> bool {
        false
    }

    /// Called with the snapshots that the follower wanted, and with the last one.
    fn snapshot(&mut self, _snapshot: Snapshot) {}
}

/// A follower that ignores all events, for callers that need the report only.
pub struct NoFollower;

impl Follower for NoFollower {
    const DELIVERIES: bool = false;

    fn begin(&mut self, _: Option<i64>) {}

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        Ok(())
    }
}
