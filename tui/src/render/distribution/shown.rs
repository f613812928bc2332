//! What the plots are of.

use crate::app::App;
use crate::chart::highest;
use crate::theme::Theme;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::Bins;

/// What the plots are of.
pub(super) struct Shown<'a> {
    pub(super) app: &'a App,
    pub(super) group: GroupId,
    /// The latencies of the window.
    pub(super) bins: &'a Bins,
    /// The 99th percentile of the window, above which the tail begins; `None` with too few messages.
    pub(super) tail: Option<Nanos>,
    pub(super) theme: Theme,
}

/// A percentile that at least ten messages are beyond.
pub(super) fn quantile(bins: &Bins, share: f64) -> Option<Nanos> {
    let enough = highest(bins.count()).is_some_and(|highest| share <= highest + 1e-9);
    enough.then(|| bins.quantile(share))
}
