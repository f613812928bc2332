//! Messages that wait for their places in a log to be known.

use wirelap_events::Nanos;
use wirelap_flow::{Direction, Found};

/// The most of them; then the first is taken without.
pub const MAX_UNPLACED: usize = 4096;

/// A message that is known by its place alone, and was found before anyone said what is there: a server may hand a message out
/// before it answers the publisher.
#[derive(Debug)]
pub struct Unplaced {
    pub at: Nanos,
    pub direction: Direction,
    pub found: Found,
}
