//! The ends of assemblies: which are due, idle or over, and their removal.

use super::{Assemblies, SPARE, SPARE_CARRIERS};
use wirelap_events::{Nanos, Saturate};
use wirelap_flow::{AssemblyId, Direction};

impl Assemblies {
    /// True if everybody who is known to read there has the message, and got it.
    pub fn is_over(&self, id: AssemblyId) -> bool {
        let Some(assembly) = self.get(id) else { return true };
        let order = self.orders.get(assembly.order);
        order.is_none_or(|order| order.have_all(assembly))
            && assembly.readers.iter().all(|reader| reader.got.is_some())
    }

    /// Number of readers that will not have a message that some have.
    pub fn lacking(&self, id: AssemblyId) -> usize {
        let Some(assembly) = self.get(id) else { return 0 };
        let order = self.orders.get(assembly.order);
        assembly.lacking().saturating_add(order.map_or(0, |order| order.passed(assembly)))
    }

    /// The next that is due: something was known of it before `limit`.
    pub fn next_due(&mut self, limit: Nanos) -> Option<AssemblyId> {
        let (_, id) = *self.due.front().filter(|(at, _)| *at <= limit)?;
        self.due.pop_front();
        Some(id)
    }

    /// The next that nothing has happened to since `limit`, or that began before `cut`.
    pub fn next_idle(&mut self, limit: Nanos, cut: Nanos) -> Option<AssemblyId> {
        while let Some(&(at, id)) = self.idle.front()
            && (at <= limit || at < cut)
        {
            self.idle.pop_front();
            let Some(assembly) = self.get(id) else { continue };
            let touched = assembly.touched;
            if touched <= limit || assembly.began < cut {
                return Some(id);
            }
            // Later than the others, so that they stay in order.
            let newest = self.idle.back().map_or(touched, |(at, _)| touched.max(*at));
            self.idle.push_back((newest, id));
        }
        None
    }

    /// Messages whose first fragment went in one of these directions.
    pub fn of_directions(&self, mut is_one: impl FnMut(Direction) -> bool) -> Vec<AssemblyId> {
        let its = self.open.iter().filter(|(_, one)| is_one(one.direction));
        its.map(|(index, one)| (index, one.serial)).collect()
    }

    pub fn forget(&mut self, id: AssemblyId) {
        let Some(last) = self.get(id).map(|assembly| assembly.touched) else { return };
        self.release_held(id, last);
        let mut gone = self.open.remove(id.0);
        self.carriers.shrink(gone.carriers.len());
        self.words.shrink(gone.words());
        self.by_direction.remove(&(gone.direction, gone.message));
        for carrier in &gone.carriers {
            let key = (carrier.direction, gone.message);
            if carrier.direction != gone.direction && self.by_direction.get(&key) == Some(&id.0) {
                self.by_direction.remove(&key);
            }
        }
        if self.multicast.get(&gone.message) == Some(&id.0) {
            self.multicast.remove(&gone.message);
        }
        if self.spare.len() < SPARE && gone.carriers.capacity() <= SPARE_CARRIERS {
            gone.readers.clear();
            self.spare.push(gone);
        }
    }
}
