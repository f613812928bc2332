//! The picture of the moment: what the other parts know, put together.

mod apart;
mod breakdown;
mod build;
mod evidence;
mod notes;
mod slow;
mod unattributed;

pub use build::broker_of;

use super::accounts::Accounts;
use super::deliveries::{Deliveries, Observed};
use wirelap_events::{GroupId, TraceDetail};
use wirelap_why::Overdue;

/// Everything that a snapshot is made from.
pub struct Picture<'a> {
    pub deliveries: &'a Deliveries,
    pub accounts: &'a Accounts,
    pub seen: Observed<'a>,
    /// Messages that had not arrived when the observation ended; `None` before.
    pub overdue_at_end: Option<&'a [(GroupId, Overdue)]>,
    /// The detail in which messages are observed.
    pub detail: TraceDetail,
}
