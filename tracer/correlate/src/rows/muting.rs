//! Rows that the user has muted: nothing of them is observed until that ends.

use super::own_pauses::OwnPauses;
use super::row::Row;
use super::table::Rows;
use wirelap_events::{GroupId, Nanos};
use wirelap_figures::Pauses;

impl Rows {
    /// True if any row is muted.
    pub fn has_muted(&self) -> bool {
        self.muted > 0
    }

    /// True if this row is muted.
    pub fn is_muted(&self, id: GroupId) -> bool {
        self.has_muted() && self.get(id).is_some_and(Row::is_muted)
    }

    /// Mutes a row. `all`: the pauses of the observation. Returns whether it was not muted before.
    pub fn mute(&mut self, id: GroupId, at: Nanos, all: &Pauses) -> bool {
        let Some(row) = self.get_mut(id).filter(|row| !row.is_muted()) else { return false };
        row.mute(at, all);
        self.count_muted();
        true
    }

    /// Ends the muting of a row. Returns whether it was muted.
    pub fn unmute(&mut self, id: GroupId, at: Nanos, all: &Pauses) -> bool {
        let Some(row) = self.get_mut(id).filter(|row| row.is_muted()) else { return false };
        row.unmute(at, all);
        self.count_muted();
        true
    }

    /// A row may have become part of one that is muted, or the other way round.
    pub(super) fn count_muted(&mut self) {
        self.muted = self.iter().filter(|(_, row)| row.is_muted()).count();
    }
}

impl Row {
    /// True if the user has muted the row.
    pub fn is_muted(&self) -> bool {
        self.own_pauses.as_ref().is_some_and(|own| own.muted.is_some())
    }

    /// The time of its figures: that at which it was muted, or else `now`.
    pub fn shown_at(&self, now: Nanos) -> Nanos {
        self.own_pauses.as_ref().and_then(|own| own.muted).unwrap_or(now)
    }

    /// The row's own pauses if it is or was muted, else `all`, those of the observation.
    pub fn pauses<'a>(&'a self, all: &'a Pauses) -> &'a Pauses {
        self.own_pauses.as_ref().map_or(all, |own| &own.pauses)
    }

    /// True if a message that was read at `read` may have been sent in a pause, or before observation began.
    pub fn may_be_cut(&self, all: &Pauses, read: Nanos) -> bool {
        self.pauses(all).may_be_cut(read) || read < self.joined_until
    }

    /// The time for which it was muted until `now` while observation was not paused; `None` if it never was muted.
    pub fn muted_for(&self, all: &Pauses, now: Nanos) -> Option<Nanos> {
        let own = self.own_pauses.as_ref()?;
        Some(own.pauses.paused(now) - all.paused(now))
    }

    /// Observation pauses.
    pub fn close_window(&mut self, at: Nanos) {
        self.numbers.interrupt();
        if let Some(own) = &mut self.own_pauses {
            own.pauses.close(at);
        }
    }

    /// The present window is open only for the messages that were found in it before.
    pub fn wait(&mut self, since: Nanos) {
        if let Some(own) = &mut self.own_pauses {
            own.pauses.wait(since);
        }
    }

    /// Observation goes on. `all`: the pauses of the observation.
    pub fn open_window(&mut self, at: Nanos, all: &Pauses) {
        if self.own_pauses.is_none() {
            self.resume(all, at);
        } else if !self.is_muted() {
            self.reopen(at);
        }
    }

    fn mute(&mut self, at: Nanos, all: &Pauses) {
        let new = || Box::new(OwnPauses { pauses: all.clone(), muted: None });
        let own = self.own_pauses.get_or_insert_with(new);
        own.muted = Some(at);
        own.pauses.close(at);
        self.numbers.interrupt();
    }

    fn unmute(&mut self, at: Nanos, all: &Pauses) {
        if let Some(own) = &mut self.own_pauses {
            own.muted = None;
            own.pauses.leave_out(at);
        }
        if !all.is_closed() {
            self.reopen(at);
        }
    }

    fn reopen(&mut self, at: Nanos) {
        let Some(mut own) = self.own_pauses.take() else { return };
        if own.pauses.open(at) {
            self.resume(&own.pauses, at);
        }
        self.own_pauses = Some(own);
    }

    /// Takes over the pauses of a row that has turned out to be a part of this one: what a part of is muted is muted.
    pub(super) fn adopt_pauses(&mut self, part: Option<Box<OwnPauses>>) {
        let Some(part) = part else { return };
        if self.own_pauses.is_none() || (part.muted.is_some() && !self.is_muted()) {
            self.own_pauses = Some(part);
        }
    }
}
