//! Connections that were opened and closed without a word: whoever asks whether a server listens.
//!
//! No protocol can be told of them, so they are in no row by themselves. Their bytes belong to the row
//! of the server that they were opened to.

use crate::flow::Conversation;
use crate::overhead::Overhead;
use crate::rows::{Rows, normal};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::NetNs;

/// Servers whose probe connections are kept after their end.
const SERVERS: usize = 256;

/// Where a server listens.
type Place = (SocketAddr, NetNs);

/// The bytes of probe connections that are no longer kept.
#[derive(Debug, Default)]
pub struct ProbeConnections(FxHashMap<Place, Overhead>);

impl ProbeConnections {
    /// Keeps the bytes of a conversation that is forgotten, if it is a probe connection.
    pub fn keep(&mut self, gone: &Conversation) {
        let Some(place) = place_of(gone) else { return };
        if self.0.len() < SERVERS || self.0.contains_key(&place) {
            gone.ledger.add_to(self.0.entry(place).or_default());
        }
    }

    /// Adds the probe connections, past and present, to the sums of the rows whose server they went to.
    pub fn add_to(&self, rows: &Rows, open: &[&Conversation], sums: &mut [Overhead]) {
        let mut places: FxHashMap<Place, Option<usize>> = FxHashMap::default();
        let mut row_at = |place: Place| {
            let row = || rows.at(place.0, place.1).map(|row| row.0 as usize);
            *places.entry(place).or_insert_with(row)
        };
        for (place, bytes) in &self.0 {
            if let Some(sum) = row_at(*place).and_then(|index| sums.get_mut(index)) {
                *sum += bytes;
            }
        }
        for conversation in open {
            let row = place_of(conversation).and_then(&mut row_at);
            if let Some(sum) = row.and_then(|index| sums.get_mut(index)) {
                conversation.ledger.add_to(sum);
            }
        }
    }
}

/// Where a probe connection went; `None` if it carried something, or nobody saw who opened it.
fn place_of(conversation: &Conversation) -> Option<Place> {
    if conversation.row.is_some() || !conversation.ledger.is_silent() {
        return None;
    }
    let key = conversation.flow(conversation.server?).key;
    Some((normal(key.src), key.scope))
}
