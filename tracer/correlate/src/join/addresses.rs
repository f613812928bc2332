//! Readers that are sent each message at several addresses.

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use wirelap_flow::Direction;

/// Pairs of a sender and a reader that are remembered; beyond, all are forgotten and begin anew.
const MAX_PAIRS: usize = 16_384;

/// The addresses of a reader that are remembered; beyond, the oldest goes. More than the network interfaces of most hosts.
const MAX_ADDRESSES: usize = 8;

/// A participant, as its protocol names it in every message.
type Participant = [u8; 12];

/// The directions that lead from one participant to another, which reads at each of their ends.
#[derive(Debug, Default)]
pub struct Addresses(FxHashMap<(Participant, Participant), ArrayVec<Direction, MAX_ADDRESSES>>);

impl Addresses {
    /// A message of `sender` is for `reader`, in a direction.
    pub fn note(&mut self, sender: Participant, reader: Participant, direction: Direction) {
        if self.0.len() >= MAX_PAIRS && !self.0.contains_key(&(sender, reader)) {
            self.0.clear();
        }
        let known = self.0.entry((sender, reader)).or_default();
        if !known.contains(&direction) {
            if known.is_full() {
                known.remove(0);
            }
            known.push(direction);
        }
    }

    /// The directions in which messages of `sender` went to `reader`.
    pub fn between(&self, sender: Participant, reader: Participant) -> &[Direction] {
        self.0.get(&(sender, reader)).map_or(&[], ArrayVec::as_slice)
    }
}
