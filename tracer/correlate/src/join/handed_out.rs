//! Contents of messages that were delivered and are forgotten, as far as no other one took their place.

use wirelap_flow::Identity;

/// The number of contents that are remembered.
const PLACES: usize = 4096;

/// Contents of messages that were delivered.
#[derive(Debug, Default)]
pub struct HandedOut(Vec<u64>);

impl HandedOut {
    /// A message that was delivered is forgotten.
    pub fn note(&mut self, identity: Identity) {
        self.0.resize(PLACES, 0);
        if let Some(place) = self.0.get_mut(place(identity)) {
            *place = identity.hash;
        }
    }

    /// True if a message of this content was delivered lately.
    pub fn has(&self, identity: Identity) -> bool {
        self.0.get(place(identity)) == Some(&identity.hash)
    }
}

fn place(identity: Identity) -> usize {
    usize::try_from(identity.hash).unwrap_or_default() % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_content_of_a_place_is_remembered() {
        let of = |hash| Identity { hash, exact: false };
        let mut all = HandedOut::default();
        assert!(!all.has(of(7)));
        all.note(of(7));
        all.note(of(8));
        assert!(all.has(of(7)) && all.has(of(8)));
        all.note(of(7 + PLACES as u64));
        assert!(!all.has(of(7)) && all.0.len() == PLACES);
    }
}
