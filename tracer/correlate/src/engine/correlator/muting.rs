//! Rows that the user mutes.

use super::{Correlator, DeliverySink};
use wirelap_events::{GroupId, Nanos, SocketId};

impl Correlator {
    /// Mutes a row: a pause of this row alone, in which its figures stay as they are. What has arrived is handed out; what is on its way is
    /// given up, and counted as cut by a pause. Its conversations are not looked at until [`Correlator::unmute`], and neither are new
    /// ones of the row. The caller may observe less of the sockets of [`Correlator::muted_sockets`]. Returns whether there is such a row
    /// that was not muted.
    pub fn mute(&mut self, group: GroupId, out: &mut dyn DeliverySink) -> bool {
        let (deliveries, mut context) = self.split();
        let row = context.accounts.rows.root(group);
        if !context.accounts.rows.is_muted(row) {
            deliveries.settle_of(row, out, &mut context);
        }
        // What was found in the last event was found before that.
        let (at, pauses) = (self.coverage.now() + Nanos(1), self.coverage.pauses());
        let is_new = self.accounts.rows.mute(group, at, pauses);
        if is_new {
            self.conversations.mute(&self.accounts.rows, false);
            let (deliveries, mut context) = self.split();
            deliveries.give_up_muted(&mut context);
            let rows = &self.accounts.rows;
            self.accounts.lag.forget(|group| rows.is_muted(group));
        }
        is_new
    }

    /// Ends the muting of a row. Events from `at` on count, from which everything is observed of its sockets; its streams are joined again
    /// in mid-stream. Returns whether it was muted.
    pub fn unmute(&mut self, group: GroupId, at: Nanos) -> bool {
        let pauses = self.coverage.pauses();
        let was_muted = self.accounts.rows.unmute(group, at, pauses);
        if was_muted {
            self.conversations.unmute(&self.accounts.rows, at);
        }
        was_muted
    }

    /// The open sockets of muted rows, those of conversations too that came into view since: these are not looked at any more from now
    /// on. `except`: the sockets of this row are left out, which [`Correlator::unmute`] will be asked for.
    pub fn muted_sockets(&mut self, except: Option<GroupId>) -> Vec<SocketId> {
        if !self.accounts.rows.has_muted() {
            return Vec::new();
        }
        let rows = &self.accounts.rows;
        let all = self.conversations.mute(rows, true);
        match except {
            None => all,
            Some(_) => self.conversations.muted_sockets(rows, except),
        }
    }
}
