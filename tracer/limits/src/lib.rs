//! Every time and share that decides what is said: what it limits, and the situation that it is made for.
//!
//! Bounds of memory stand beside what they bound. Rules have no numbers of their own: a test reads their sources.

pub mod causes;
pub mod deliveries;
pub mod kinds;
pub mod network;
pub mod rates;
pub mod rules;
pub mod threads;
pub mod trust;

use wirelap_events::Nanos;

/// Time, and part of the whole, from which on a cost matters.
#[derive(Clone, Copy, Debug)]
pub struct LeastCost {
    pub time: Nanos,
    pub share: f64,
}

/// Costs from which on a cause becomes a verdict.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// Cost of a typical message.
    pub typical: LeastCost,
    /// Cost of a slow message, beyond that of a typical one.
    pub slow: LeastCost,
}

/// A second: the unit of rates.
pub const SECOND: Nanos = ms(1_000);

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[cfg(test)]
mod tests;
