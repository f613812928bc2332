//! Adds deliveries to the figures of their rows, apart from who hands them out.

use super::deferred::{DeferredDelivery, DeferredFigures, DeferredLeg, fill_in, nothing};
use super::row::Row;
use super::table::Rows;
use crate::join::leg::{self, cut_each};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use wirelap_events::{Delivery, GroupId};

/// Adds up what deliveries of packets alone add to their rows. Each figure is what it would be if it had been added when the delivery
/// was handed out, as they are taken in the same order.
#[derive(Debug)]
pub struct Accountant {
    rows: FxHashMap<GroupId, Row>,
    /// Room for a delivery, which is large. Reused from delivery to delivery.
    scratch: Box<Delivery>,
}

impl Default for Accountant {
    fn default() -> Accountant {
        Accountant { rows: FxHashMap::default(), scratch: Box::new(nothing()) }
    }
}

impl Accountant {
    /// Takes everything out of a batch.
    pub fn take(&mut self, batch: &mut DeferredFigures) {
        let mut legs = batch.legs.drain(..);
        let mut whole = batch.whole.drain(..);
        for delivery in batch.all.drain(..) {
            let places = &mut self.scratch.legs;
            for (index, leg) in legs.by_ref().take(delivery.legs).enumerate() {
                match leg {
                    DeferredLeg::Packets { flow, range, leg } => {
                        if places.len() <= index {
                            places.push(leg::nothing(flow));
                        }
                        if let Some(place) = places.get_mut(index) {
                            leg.put(flow, range, place);
                        }
                    }
                    DeferredLeg::Whole => match (places.get_mut(index), whole.next()) {
                        (Some(place), Some(leg)) => *place = leg,
                        (None, Some(leg)) => places.extend([leg]),
                        (_, None) => {}
                    },
                }
            }
            places.truncate(delivery.legs);
            self.delivery(&delivery);
        }
    }

    /// Adds a delivery whose legs are there.
    fn delivery(&mut self, deferred: &DeferredDelivery) {
        let is_whole = cut_each(&mut self.scratch.legs) && deferred.is_whole;
        fill_in(&mut self.scratch, deferred);
        let row = self.rows.entry(deferred.group).or_insert_with(Row::empty);
        row.add_of_capture(&mut self.scratch, is_whole, deferred.now);
    }
}

impl Rows {
    /// Takes over what was added up elsewhere. Nothing was added here meanwhile.
    pub fn adopt(&mut self, accountant: Accountant) {
        let mut all: FxHashMap<GroupId, Row> = FxHashMap::default();
        for (group, figures) in accountant.rows {
            // Rows may have turned out to be one since their deliveries were noted.
            match all.entry(self.root(group)) {
                Entry::Occupied(mut known) => known.get_mut().absorb(figures),
                Entry::Vacant(first) => _ = first.insert(figures),
            }
        }
        for (group, figures) in all {
            if let Some(row) = self.get_mut(group) {
                row.adopt_figures(figures);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Nanos, Saturate};

    /// Figures of so many messages.
    fn figures(messages: u64) -> Row {
        let mut row = Row::empty();
        for _ in 0..messages {
            row.counts.matched.grow(1);
            row.evidence.delivery(&nothing(), Nanos(1_000));
        }
        row
    }

    #[test]
    fn rows_that_have_become_one_keep_the_figures_of_both() {
        let [first, second, other] = [0, 1, 2].map(GroupId);
        let mut rows = Rows::of_nobody(3);
        rows.join(second, first);
        let mut accountant = Accountant::default();
        for (group, messages) in [(first, 3), (second, 4), (other, 5)] {
            accountant.rows.insert(group, figures(messages));
        }
        rows.adopt(accountant);
        for (group, messages) in [(first, 7), (other, 5)] {
            let row = rows.get(group).unwrap();
            let spent = row.evidence.time_spent().messages;
            assert_eq!((row.counts.matched, spent), (messages, messages));
        }
    }
}
