//! Every time and share that decides what is said: what it limits, and the situation that it is made for.
//!
//! ```text
//!  network     what became of bytes between two sockets        ─▶ flow, correlate
//!  threads     what threads did                                ─▶ flow
//!  causes      which part of a message's time has which cause  ─▶ flow, why
//!  rates       rates of sampled traffic                        ─▶ figures
//!  lag         what a subscriber of a topic should have        ─▶ why, correlate
//!  deliveries  joining, waiting, giving up                     ─▶ flow, correlate
//!  rules       when evidence makes a verdict                   ─▶ why
//!  kinds       costs from which on a cause becomes a verdict   ─▶ why
//!  trust       reasons to doubt a row                          ─▶ correlate
//! ```
//!
//! Bounds of memory stand beside what they bound. Rules have no numbers of their own: a test reads their sources.

pub mod causes;
pub mod deliveries;
pub mod kinds;
pub mod lag;
pub mod network;
pub mod rates;
pub mod rules;
pub mod threads;
pub mod trust;

use wirelap_events::Nanos;

/// Time, and part of the whole, from which on a cost matters.
#[derive(Clone, Copy, Debug)]
pub struct LeastCost {
    /// Time of a message.
    pub time: Nanos,
    /// Part of the whole time, 0..=1.
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
