//! The verdict on how far a row's figures can be trusted: from counts, by fixed limits, with its
//! reasons.
//!
//! The limits and why they are what they are: `docs/decisions/joining.md`, "When a row is not to be trusted".

mod doubts;
mod facts;
mod reliability;

pub use doubts::doubts;
pub use facts::{FileFacts, TrustFacts};
pub use reliability::{Doubt, DoubtReason, Reliability, reliability};
pub use wirelap_limits::trust::WHOLE_TIME;
