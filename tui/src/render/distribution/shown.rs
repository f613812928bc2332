//! The data of the plots.

use crate::app::App;
use crate::chart::highest;
use crate::theme::Theme;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::Bins;

/// The data of the plots.
pub(super) struct PlotData<'a> {
    pub(super) app: &'a App,
    pub(super) group: GroupId,
    /// The time that is shown: the one that the user selected, or the window.
    pub(super) period: (Nanos, Nanos),
    /// The latencies of that time.
    pub(super) bins: &'a Bins,
    /// The 99th percentile of that time, above which the tail begins; `None` with too few messages.
    pub(super) tail: Option<Nanos>,
    pub(super) theme: Theme,
}

impl<'a> PlotData<'a> {
    pub(super) fn new(app: &'a App, group: GroupId, bins: &'a Bins, theme: Theme) -> PlotData<'a> {
        let span = app.distribution().span();
        let period = span.unwrap_or_else(|| app.history().extent(app.window()));
        PlotData { app, group, period, bins, tail: quantile(bins, 0.99), theme }
    }
}

/// A percentile that at least ten messages are beyond.
pub(super) fn quantile(bins: &Bins, share: f64) -> Option<Nanos> {
    let enough = highest(bins.count()).is_some_and(|highest| share <= highest + 1e-9);
    enough.then(|| bins.quantile(share))
}
