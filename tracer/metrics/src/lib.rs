//! Figures of a running session as metrics, which Prometheus and others scrape.
//!
//! ```text
//!  DeliveryCollector ──Update──▶ Measured ◀──lock── Endpoint: a thread for each of a few clients
//!  (tracing thread)    a thread  (counters that never fall)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`Measured`] | what a session has shown so far, in the form that it is scraped in |
//! | `row` | the same of a row |
//! | [`FAMILIES`] | the metrics: names, units, meaning, values |
//! | `kinds`, `emit` | what they are, and how their values are encoded |
//! | `buckets` | distributions as the buckets of histograms, classic and native |
//! | `exposition` | the text or the protocol buffers of all metrics |
//! | [`Endpoint`] | the HTTP listener |
//! | `request` | a request's head, and what is answered |

// Numbers from a file or a packet may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod buckets;
mod emit;
mod endpoint;
mod exposition;
mod families;
mod kinds;
mod measured;
mod request;
mod row;

pub use endpoint::{Endpoint, EndpointAddress};
pub use exposition::{Format, registry};
pub use families::{FAMILIES, Family};
pub use kinds::{FamilyKind, FamilyUnit};
pub use measured::{Measured, SharedMeasured};
