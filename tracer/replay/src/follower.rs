//! The interface by which a caller gets events and deliveries while files are read.

use wirelap_events::{Delivery, Event};
use wirelap_process::Failure;

/// Gets events and deliveries while files are read.
pub trait Follower {
    /// Whether the follower gets deliveries. Without deliveries, the names of topics are not kept either.
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
