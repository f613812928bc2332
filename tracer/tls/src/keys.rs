//! Keys of TLS connections, and what came of them.

use crate::{AddedSecrets, DecryptionObstacle, KeyLog, Random, TlsSession};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use wirelap_events::Total;

/// The keys of TLS connections that the caller has. A clone shares the same.
#[derive(Clone, Default)]
pub struct TlsKeys(Arc<Shared>);

#[derive(Default)]
struct Shared {
    log: RwLock<KeyLog>,
    counts: [AtomicU64; COUNTED],
}

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsEvent {
    /// There are keys for a connection.
    Found,
    /// A connection is read with its keys.
    Opened,
    /// The keys have none for a connection.
    NoKey,
    /// A connection's handshake was not seen, so that its keys cannot be found.
    Missed,
    /// A connection's cipher suite is not read.
    Cipher,
    /// The server's part of a connection's handshake was not seen.
    Handshake,
    /// A connection's records do not authenticate with its keys.
    WrongKey,
    /// A record of a connection that is read was not, or several in a row of which nothing is known.
    Unread,
}

const COUNTED: usize = TlsEvent::Unread as usize + 1;

impl From<DecryptionObstacle> for TlsEvent {
    fn from(obstacle: DecryptionObstacle) -> TlsEvent {
        match obstacle {
            DecryptionObstacle::Cipher => TlsEvent::Cipher,
            DecryptionObstacle::Handshake => TlsEvent::Handshake,
            DecryptionObstacle::Keys => TlsEvent::WrongKey,
        }
    }
}

/// Counts of TLS connections by what their keys led to, and of their bytes that could not be
/// decrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsCounts {
    /// Connections that are read with their keys.
    pub opened: u64,
    /// Connections for which there is no key.
    pub no_key: u64,
    /// Connections whose handshake was not seen, or only in part.
    pub missed: u64,
    /// Connections with a cipher suite that is not read.
    pub cipher: u64,
    /// Connections whose records do not authenticate with their keys.
    pub wrong_key: u64,
    /// Connections with keys of which no record was read, so far, for none of these reasons.
    pub silent: u64,
    /// Places in connections that are read at which records were not: they do not authenticate, or bytes of them are missing.
    pub unread_places: u64,
}

/// Says nothing of the keys.
impl fmt::Debug for TlsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsKeys").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl TlsKeys {
    /// Adds the text of a key log (`SSLKEYLOGFILE`). Connections that begin later are read with its keys.
    pub fn add(&self, text: &[u8]) -> AddedSecrets {
        self.0.log.write().unwrap_or_else(PoisonError::into_inner).add(text)
    }

    /// The keys.
    pub fn log(&self) -> RwLockReadGuard<'_, KeyLog> {
        self.0.log.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.log().is_empty()
    }

    /// Reads the connection whose client has sent this number, if there are keys for it.
    pub fn session(&self, random: &Random) -> Option<TlsSession> {
        Some(TlsSession::new(*random, *self.log().find(random)?))
    }

    /// Counts something.
    pub fn count(&self, event: TlsEvent) {
        if let Some(count) = self.0.counts.get(event as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts of what became of the keys; `None` if there are none.
    pub fn counts(&self) -> Option<TlsCounts> {
        let count = |event: TlsEvent| {
            self.0.counts.get(event as usize).map_or(0, |count| count.load(Ordering::Relaxed))
        };
        let known = [TlsEvent::Opened, TlsEvent::Handshake, TlsEvent::Cipher, TlsEvent::WrongKey];
        (!self.is_empty()).then(|| TlsCounts {
            silent: count(TlsEvent::Found).saturating_sub(known.into_iter().map(count).total()),
            opened: count(TlsEvent::Opened),
            no_key: count(TlsEvent::NoKey),
            missed: count(TlsEvent::Missed).saturating_add(count(TlsEvent::Handshake)),
            cipher: count(TlsEvent::Cipher),
            wrong_key: count(TlsEvent::WrongKey),
            unread_places: count(TlsEvent::Unread),
        })
    }
}
