//! Figures of rows that are added up on another thread.

use super::Correlator;
use crate::rows::{Accountant, DeferredFigures};

impl Correlator {
    /// From now on what deliveries add to the figures of their rows is only noted, so that it can be added on another thread: by an
    /// [`Accountant`], which takes all that [`Correlator::take_deferred`] hands out and is given back to
    /// [`Correlator::adopt_figures`]. Meanwhile nobody is told of single deliveries, and snapshots lack them. Returns whether that can be
    /// done: only for captures of other programs on one host, of which nothing but packets is known, and where no rows by topic and the like are asked
    /// for.
    pub fn defer_figures(&mut self) -> bool {
        let can_wait = self.deliveries.packets_only()
            && !self.deliveries.are_of_several_hosts()
            && self.accounts.breakdown.is_none();
        self.accounts.rows.defer(can_wait);
        can_wait
    }

    /// Number of deliveries noted.
    pub fn deferred(&mut self) -> usize {
        self.accounts.rows.deferred().map_or(0, |deferred| deferred.len())
    }

    /// Takes what was noted. `spare`, an empty batch, is used in its place.
    pub fn take_deferred(&mut self, spare: DeferredFigures) -> DeferredFigures {
        match self.accounts.rows.deferred() {
            Some(deferred) => std::mem::replace(deferred, spare),
            None => spare,
        }
    }

    /// Ends [`Correlator::defer_figures`]: takes over what was added up, which must be all that was noted.
    pub fn adopt_figures(&mut self, accountant: Accountant) {
        self.accounts.rows.defer(false);
        self.accounts.rows.adopt(accountant);
    }
}
