//! The hello messages in the first packets of one direction, which come in any order (RFC 9000 §19.6).

use crate::hello::{Hello, HelloReader};
use std::collections::BTreeMap;
use wirelap_events::Saturate;

/// The most bytes that are read of one direction: a server's certificates are in other packets.
const MAX_BYTES: u64 = 1 << 16;

/// The most pieces that wait for those before them.
const MAX_PARKED: usize = 64;

/// Puts the handshake of one direction in order.
#[derive(Debug, Default)]
pub struct CryptoReader {
    hellos: HelloReader,
    next: u64,
    parked: BTreeMap<u64, Vec<u8>>,
}

impl CryptoReader {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let parked = self.parked.values().map(Vec::capacity);
        parked.fold(self.hellos.held_bytes().0, usize::saturating_add)
    }

    /// Bytes of the handshake, of which the first is at `at`.
    pub fn feed(&mut self, at: u64, bytes: &[u8], out: &mut dyn FnMut(Hello)) {
        if at.saturating_add(bytes.len() as u64) > MAX_BYTES {
            return;
        }
        if at > self.next {
            let known = self.parked.get(&at).map(Vec::len);
            let has_room = known.is_some() || self.parked.len() < MAX_PARKED;
            if has_room && known.is_none_or(|known| known < bytes.len()) {
                self.parked.insert(at, bytes.to_vec());
            }
            return;
        }
        self.hand_on(at, bytes, out);
        while let Some(first) = self.parked.first_entry().filter(|first| *first.key() <= self.next)
        {
            let (at, bytes) = first.remove_entry();
            self.hand_on(at, &bytes, out);
        }
    }

    fn hand_on(&mut self, at: u64, bytes: &[u8], out: &mut dyn FnMut(Hello)) {
        let old = usize::try_from(self.next.saturating_sub(at)).unwrap_or(usize::MAX);
        if let Some(new) = bytes.get(old..) {
            self.next.grow(new.len() as u64);
            self.hellos.feed(new, out);
        }
    }
}
