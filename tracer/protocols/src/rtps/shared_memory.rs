//! Participants that hand their samples over in shared memory, where no packet shows them, as far as discovery tells.
//!
//! Two participants do so if both announce an address of that kind and they are on one host. Its number is 16 in Eclipse Cyclone DDS
//! (`ddsi_locator.h`) and in eProsima Fast DDS, which adds its major version since version 3 (`rtps/common/Locator.hpp`); RTI Connext has
//! numbers of its own (`rti/ndds/…/rtps_locator.h`). Fast DDS has the host in its GUIDs, the others in the address.

use super::entity::{Guid, GuidPrefix};
use super::parameters::Announcement;
use super::shared_host::SharedHost;
use crate::UnseenParties;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most participants and endpoints that are remembered. Later ones are not known.
const MAX_KNOWN: usize = 4_096;

#[derive(Debug, Default)]
struct SharedMemoryPeer {
    /// The host on which it has an address in shared memory.
    host: Option<SharedHost>,
    domain: Option<u32>,
    has_endpoints: bool,
    /// True if it has announced its addresses.
    is_announced: bool,
}

/// A writer or reader of a participant that has shared memory.
#[derive(Debug)]
struct Endpoint {
    topic: Box<[u8]>,
    writes: bool,
}

#[derive(Debug, Default)]
struct KnownPeers {
    peers: HashMap<GuidPrefix, SharedMemoryPeer>,
    endpoints: HashMap<Guid, Endpoint>,
    /// The writer's participant and the reader's. What they had is in no figure when they are gone, too.
    pairs: HashSet<(GuidPrefix, GuidPrefix)>,
}

/// Everything known of shared memory.
#[derive(Debug, Default)]
pub(super) struct SharedMemory(Mutex<KnownPeers>);

impl SharedMemory {
    /// A participant says something, and may have announced its addresses before. Whether that is news.
    pub fn speaks(&self, participant: GuidPrefix) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.add(participant).is_some_and(|(_, is_new)| is_new)
    }

    /// A participant announces its addresses, or an endpoint of it one in shared memory. Whether that is news.
    pub fn announce(&self, announced: &Announcement) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((peer, _)) = known.add(announced.participant) else { return false };
        let is_news = !peer.is_announced || (peer.host.is_none() && announced.host.is_some());
        peer.host = peer.host.or(announced.host);
        peer.domain = peer.domain.or(announced.domain);
        peer.is_announced = true;
        is_news
    }

    /// A participant has a writer or a reader of a topic. Whether that is news, if it has shared memory.
    pub fn endpoint(&self, guid: Guid, topic: &[u8], writes: bool) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        let Some(&participant) = guid.first_chunk() else { return false };
        if known.endpoints.contains_key(&guid) || known.endpoints.len() >= MAX_KNOWN {
            return false;
        }
        let Some(peer) = known.peers.get_mut(&participant) else { return false };
        peer.has_endpoints = true;
        let domain = peer.domain;
        let Some(host) = peer.host else { return false };
        for (other, endpoint) in &known.endpoints {
            let other = other.first_chunk().copied().unwrap_or_default();
            let is_near = known.peers.get(&other).is_some_and(|other| {
                let is_same_domain = domain.zip(other.domain).is_none_or(|(a, b)| a == b);
                other.host == Some(host) && is_same_domain
            });
            let is_match = endpoint.writes != writes && *endpoint.topic == *topic;
            if is_near && is_match && other != participant && known.pairs.len() < MAX_KNOWN {
                let pair = if writes { (participant, other) } else { (other, participant) };
                known.pairs.insert(pair);
            }
        }
        known.endpoints.insert(guid, Endpoint { topic: topic.into(), writes });
        true
    }

    /// A participant is gone.
    pub fn forget(&self, participant: GuidPrefix) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What others had of which nothing was known is in no figure either.
        if known.peers.get(&participant).is_some_and(|peer| peer.is_announced) {
            known.peers.remove(&participant);
        }
        known.endpoints.retain(|guid, _| !guid.starts_with(&participant));
    }

    /// The participants in the domain of this one whose messages are not seen. Where the topics of two that have shared memory between them are not known,
    /// because the capture began later, they are taken for a pair.
    pub fn unseen(&self, participant: GuidPrefix) -> UnseenParties {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let domain = known.peers.get(&participant).and_then(|peer| peer.domain);
        let is_here = |other: Option<u32>| domain.zip(other).is_none_or(|(a, b)| a == b);
        let domain_of = |prefix: &GuidPrefix| known.peers.get(prefix).and_then(|peer| peer.domain);
        let matched = known.pairs.iter().filter(|(writer, _)| is_here(domain_of(writer))).count();
        let strangers = known.peers.iter().filter(|(prefix, peer)| {
            let is_near = |(other, near): (&GuidPrefix, &SharedMemoryPeer)| {
                other != *prefix && near.host == peer.host && is_here(near.domain)
            };
            let may_share = peer.host.is_some() && !peer.has_endpoints;
            may_share && is_here(peer.domain) && known.peers.iter().any(is_near)
        });
        let pairs = matched.saturating_add(strangers.count().div_ceil(2));
        let unannounced = known.peers.values().filter(|peer| !peer.is_announced).count();
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        UnseenParties { pairs: count(pairs), unannounced: count(unannounced) }
    }
}

impl KnownPeers {
    /// A participant, and true if it is new; `None` if there is no room for it.
    fn add(&mut self, participant: GuidPrefix) -> Option<(&mut SharedMemoryPeer, bool)> {
        let has_room = self.peers.len() < MAX_KNOWN;
        match self.peers.entry(participant) {
            Entry::Occupied(entry) => Some((entry.into_mut(), false)),
            Entry::Vacant(entry) if has_room => {
                Some((entry.insert(SharedMemoryPeer::default()), true))
            }
            Entry::Vacant(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: GuidPrefix = [1, 0x0f, 7, 7, 1, 0, 0, 0, 0, 0, 0, 0];
    const TWO: GuidPrefix = [1, 0x0f, 7, 7, 2, 0, 0, 0, 0, 0, 0, 0];
    const ELSEWHERE: GuidPrefix = [1, 0x0f, 8, 8, 3, 0, 0, 0, 0, 0, 0, 0];

    fn guid(participant: GuidPrefix, endpoint: u8) -> Guid {
        let mut guid = [endpoint; 16];
        guid[..12].copy_from_slice(&participant);
        guid
    }

    fn all(domains: [Option<u32>; 3]) -> SharedMemory {
        let known = SharedMemory::default();
        for (prefix, domain) in [ONE, TWO, ELSEWHERE].into_iter().zip(domains) {
            let host = Some(SharedHost::new(prefix, [0; 16]));
            assert!(known.announce(&Announcement { participant: prefix, host, domain }));
        }
        known
    }

    fn pairs(known: &SharedMemory, participant: GuidPrefix) -> u32 {
        known.unseen(participant).pairs
    }

    #[test]
    fn who_speaks_and_has_announced_nothing_is_counted_until_it_does() {
        let known = SharedMemory::default();
        let unannounced = || known.unseen(ONE).unannounced;
        assert!(known.speaks(ONE) && known.speaks(TWO) && !known.speaks(TWO));
        assert_eq!(unannounced(), 2);
        let nothing = Announcement { participant: ONE, host: None, domain: Some(0) };
        assert!(known.announce(&nothing) && !known.announce(&nothing));
        assert_eq!(known.unseen(ONE), UnseenParties { pairs: 0, unannounced: 1 });
        known.forget(TWO);
        assert!(!known.speaks(TWO), "its last words");
        assert_eq!(unannounced(), 1, "what it had is still in no figure");
        known.forget(ONE);
        assert_eq!(unannounced(), 1);
    }

    #[test]
    fn participants_on_one_host_that_write_and_read_a_topic_are_a_pair() {
        let known = all([Some(0); 3]);
        assert_eq!(pairs(&known, ONE), 1, "their topics are not known yet");
        assert!(known.endpoint(guid(ONE, 3), b"chatter", true));
        assert!(known.endpoint(guid(TWO, 3), b"other", true));
        assert_eq!(pairs(&known, ONE), 0, "two writers");
        assert!(known.endpoint(guid(TWO, 4), b"chatter", false));
        assert!(known.endpoint(guid(ELSEWHERE, 4), b"chatter", false));
        assert_eq!(pairs(&known, ONE), 1, "the third is on another host");
        assert!(!known.endpoint(guid(TWO, 4), b"chatter", false));
        known.forget(TWO);
        assert_eq!(pairs(&known, ONE), 1, "what they had is still in no figure");
    }

    #[test]
    fn domains_are_apart() {
        let known = all([Some(0), Some(1), None]);
        for (prefix, writes) in [(ONE, true), (TWO, false)] {
            known.endpoint(guid(prefix, 3), b"chatter", writes);
        }
        assert_eq!((pairs(&known, ONE), pairs(&known, TWO)), (0, 0));
    }
}
