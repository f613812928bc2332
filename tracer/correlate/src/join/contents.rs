//! Identities by content alone.
//!
//! A topic may be named by a number that was given to it before wirelap came: an OPC UA client's handle, an alias of MQTT 5,
//! a key expression of Zenoh.
//! Of an MQTT connection whose version is not known, a zero before the payload may be a part of it. Such a message is found
//! by its content on the connections that tell.

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use wirelap_events::Saturate;
use wirelap_flow::{Content, Identity};

/// Identities of one content that are told apart; with more, the content does not tell which it is.
const KEPT: usize = 4;

/// The difference between two names of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherName {
    /// One of both is not sure of its topic, or where its payload starts. Topics that are known are the same.
    Unsure,
    /// The topic is the same, as far as servers keep it that hand messages on in several protocols.
    SameTopic,
    /// The other name has this topic.
    OtherTopic(u64),
}

impl OtherName {
    /// The difference between a known name and another one; `None` if they have none that tells anything.
    fn of(known: Content, own: Content) -> Option<OtherName> {
        match known.subject.zip(own.subject) {
            Some((known, own)) if known != own => Some(OtherName::OtherTopic(known)),
            _ => {
                (own.is_telling && (known.is_unsure || own.is_unsure)).then_some(OtherName::Unsure)
            }
        }
    }
}

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

    /// The other identities of messages with this content, and how their names differ from its own. Of a content that has more identities
    /// than are told apart, only those with the same topic.
    pub fn names(
        &self,
        content: Content,
        own: Identity,
    ) -> impl Iterator<Item = (Identity, OtherName)> + '_ {
        let same =
            content.subject.and_then(|subject| self.with_topic.get(&(content.hash, subject)));
        let same = same.into_iter().flatten().map(|&identity| (identity, OtherName::SameTopic));
        let alone = self.alone.get(&content.hash).filter(|all| all.others == 0);
        let others = alone.into_iter().flat_map(|all| &all.known);
        let others = others
            .filter_map(move |&(identity, known)| Some((identity, OtherName::of(known, content)?)));
        same.chain(others).filter(move |(identity, _)| *identity != own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(hash: u64) -> Identity {
        Identity { hash, exact: false }
    }

    #[test]
    fn a_name_that_is_sure_is_found_by_one_that_is_not() {
        let mut contents = Contents::default();
        let sure = Content { hash: 7, subject: Some(1), is_telling: true, is_unsure: false };
        let unsure = Content { hash: 7, subject: None, is_telling: true, is_unsure: true };
        let other = |contents: &Contents, content| {
            let names = contents.names(content, identity(9));
            let unsure = names.filter(|(_, name)| *name == OtherName::Unsure);
            unsure.map(|(identity, _)| identity.hash).collect::<Vec<_>>()
        };
        assert!(other(&contents, unsure).is_empty());
        contents.add(sure, identity(1));
        assert_eq!(other(&contents, unsure), [1]);
        assert!(other(&contents, sure).is_empty());
        contents.add(sure, identity(2));
        assert_eq!(other(&contents, unsure), [1, 2]);
        contents.remove(sure, identity(1));
        assert_eq!(other(&contents, unsure), [2]);
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
