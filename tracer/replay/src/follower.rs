//! Who follows what is read.

use wirelap_events::{Delivery, Event};
use wirelap_process::Failure;

/// Follows what is read.
pub trait Follower {
    /// Whether it takes deliveries. Without that, topics are not kept either.
    const DELIVERIES: bool;

    /// The first file is open. `wall` leads from its events' clock to the wall clock, if they differ.
    fn begin(&mut self, wall: Option<i64>);

    /// An event comes in.
    ///
    /// # Errors
    /// It cannot go on.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure>;

    /// A delivery is complete.
    ///
    /// # Errors
    /// It cannot go on.
    fn delivery(&mut self, delivery: &Delivery, topic: Option<&[u8]>) -> Result<(), Failure>;
}

/// Everything that is of interest is in the report.
pub struct Nobody;

impl Follower for Nobody {
    const DELIVERIES: bool = false;

    fn begin(&mut self, _: Option<i64>) {}

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        Ok(())
    }
}
