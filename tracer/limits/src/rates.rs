//! Times and shares by which rates of sampled traffic are told.

use super::ms;
use wirelap_events::Nanos;

/// Time after a window by which what was followed in it has been counted.
pub const WINDOW_SETTLED: Nanos = ms(300);

/// Time after a window by which what was not followed has been counted, too: it is given up then.
pub const WINDOW_GIVEN_UP: Nanos = ms(5_500);

/// Time that the present rate is of at most, in seconds.
pub const LONGEST_PRESENT: f64 = 60.0;

/// Length of a window from which on it counts although what is in it has not all been counted.
pub const LONG_WINDOW: Nanos = ms(1_000);

/// Windows that a present rate is of at least.
pub const MIN_WINDOWS: usize = 5;

/// Error of the present rate that ends the search for more windows.
pub const PRESENT_RATE_ERROR: f64 = 0.3;

/// Reads that are not missed by chance.
pub const MISSED_BEYOND_CHANCE: f64 = 7.0;

/// Time after a pause, or after observation began, from which on a message that is read has hardly begun before.
pub const LONGEST_WAY_OVER_PAUSE: Nanos = ms(1_000);
