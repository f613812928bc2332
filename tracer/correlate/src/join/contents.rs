//! Identities by content alone.
//!
//! A topic may be named by a number that was given to it before wirelap came: an OPC UA client's handle, an alias of MQTT 5,
//! a key expression of Zenoh.
//! Of an MQTT connection whose version is not known, a zero before the payload may be a part of it. Such a message is found
//! by its content on the connections that tell.

use crate::flow::{Content, Identity};
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use wirelap_events::Saturate;

/// Identities of one content that are told apart; with more, the content does not tell which it is.
const KEPT: usize = 4;

/// The identities that a content has.
#[derive(Debug, Default)]
struct Identities {
    known: ArrayVec<(Identity, Content), KEPT>,
    others: u32,
}

/// The identities of messages that are open, by their content.
#[derive(Debug, Default)]
pub struct Contents {
    alone: FxHashMap<u64, Identities>,
    /// With the topic as far as servers keep it, of which the same message has one in each protocol at most.
    with_topic: FxHashMap<(u64, u64), ArrayVec<Identity, KEPT>>,
}

impl Contents {
    /// There are messages of an identity from now on.
    pub fn add(&mut self, content: Content, identity: Identity) {
        if let Some(subject) = content.subject {
            // More than have room cannot be told apart.
            _ = self.with_topic.entry((content.hash, subject)).or_default().try_push(identity);
        }
        let all = self.alone.entry(content.hash).or_default();
        if all.known.try_push((identity, content)).is_err() {
            all.others.grow(1);
        }
    }

    /// There is none of them left.
    pub fn remove(&mut self, content: Content, identity: Identity) {
        if let Some(subject) = content.subject
            && let Entry::Occupied(mut entry) = self.with_topic.entry((content.hash, subject))
        {
            entry.get_mut().retain(|known| *known != identity);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        let Entry::Occupied(mut entry) = self.alone.entry(content.hash) else { return };
        let all = entry.get_mut();
        if let Some(index) = all.known.iter().position(|(known, _)| *known == identity) {
            all.known.swap_remove(index);
        } else {
            all.others = all.others.saturating_sub(1);
        }
        if all.known.is_empty() && all.others == 0 {
            entry.remove();
        }
    }

    /// The identities of other messages with this content, whose topics may be the same in another protocol.
    pub fn translated(
        &self,
        content: Content,
        own: Identity,
    ) -> impl Iterator<Item = Identity> + '_ {
        let all = content.subject.and_then(|subject| self.with_topic.get(&(content.hash, subject)));
        all.into_iter().flatten().copied().filter(move |identity| *identity != own)
    }

    /// The identities and topics of other messages with this content, if all of them are known.
    pub fn renamed(
        &self,
        content: Content,
        own: Identity,
    ) -> impl Iterator<Item = (Identity, u64)> + '_ {
        let all = self.alone.get(&content.hash).filter(|all| all.others == 0);
        let known = all.into_iter().flat_map(|all| &all.known);
        let others = known
            .filter(move |(identity, known)| *identity != own && known.subject != content.subject);
        others.filter_map(|(identity, known)| Some((*identity, known.subject?)))
    }

    /// The one identity that a message of this content may have instead of its own, where one of both is not sure. Topics
    /// that are known are the same.
    pub fn other(&self, content: Content, own: Identity) -> Option<Identity> {
        let all =
            self.alone.get(&content.hash).filter(|all| all.others == 0 && content.is_telling)?;
        let is_other = |(identity, known): &(Identity, Content)| {
            let topics = known.subject.zip(content.subject);
            let may_be = (known.is_unsure || content.is_unsure)
                && *identity != own
                && topics.is_none_or(|(a, b)| a == b);
            may_be.then_some(*identity)
        };
        let mut others = all.known.iter().filter_map(is_other);
        others.next().filter(|_| others.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(hash: u64) -> Identity {
        Identity { hash, exact: false }
    }

    #[test]
    fn a_content_with_two_names_tells_nothing() {
        let mut contents = Contents::default();
        let sure = Content { hash: 7, subject: Some(1), is_telling: true, is_unsure: false };
        let unsure = Content { hash: 7, subject: None, is_telling: true, is_unsure: true };
        let own = identity(9);
        assert_eq!(contents.other(unsure, own), None);
        contents.add(sure, identity(1));
        assert_eq!(contents.other(unsure, own), Some(identity(1)));
        assert_eq!(contents.other(sure, own), None);
        contents.add(sure, identity(2));
        assert_eq!(contents.other(unsure, own), None);
        contents.remove(sure, identity(1));
        assert_eq!(contents.other(unsure, own), Some(identity(2)));
        contents.remove(sure, identity(2));
        assert!(contents.alone.is_empty() && contents.with_topic.is_empty());
    }

    #[test]
    fn names_are_bounded() {
        let mut contents = Contents::default();
        let sure = Content { hash: 7, subject: Some(1), is_telling: true, is_unsure: false };
        (0..10).for_each(|hash| contents.add(sure, identity(hash)));
        assert_eq!(contents.alone[&7].others, 10 - u32::try_from(KEPT).unwrap());
        (0..10).for_each(|hash| contents.remove(sure, identity(hash)));
        assert!(contents.alone.is_empty() && contents.with_topic.is_empty());
    }
}
