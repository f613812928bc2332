//! Messages under another name: one identity is found by another one with the same content.
//!
//! | the names differ because | who is looked up |
//! |---|---|
//! | a topic is a number that was given to it before the observation, or an MQTT connection's version is not known | every leg whose own name, or that of a message with its content, is not sure |
//! | a server hands messages on in another protocol, with the same topic | a leg from a server that no message was found for |
//! | a server or a bridge gives messages another topic | the same, if no message with the same topic came to its sender |
//!
//! A name is taken only if it is the one that fits.

use super::super::contents::{Contents, OtherName};
use super::super::forwarders::Receiver;
use super::super::index::Known;
use super::super::new_leg::NewLeg;
use super::super::open::Message;
use super::Messages;
use rustc_hash::FxHashSet;
use wirelap_events::Saturate;
use wirelap_flow::{Content, Identity};
use wirelap_why::TakesAll;

impl Messages {
    /// Gives a new leg the identity of the message that it belongs to, where one of both lacks the name that the other has. Every leg
    /// goes through this before anything is decided by its identity.
    pub fn settle_identity(&mut self, new: &mut NewLeg, takes_all: &dyn Fn() -> TakesAll) {
        let is_unsure = |content: Content| content.is_unsure && content.is_telling;
        if self.contents.is_none() && new.message.content.is_some_and(is_unsure) {
            self.keep_contents();
        }
        if let Some(identity) = self.find_sure_name(new, takes_all) {
            new.message.identity = identity;
        }
    }

    /// The identity of a message that is known under a name that the new leg lacks, or lacks the name that it has.
    fn find_sure_name(&self, new: &NewLeg, takes_all: &dyn Fn() -> TakesAll) -> Option<Identity> {
        let names = self.contents.as_ref()?.names(new.message.content?, new.message.identity);
        let unsure = names.filter(|(_, name)| *name == OtherName::Unsure);
        let (identity, _) = take_only(unsure)?;
        let carried = self.carried(identity, new.way());
        let joins = || self.candidate(&new.with_identity(identity), carried, takes_all).is_some();
        ((identity.exact && carried.is_some()) || joins()).then_some(identity)
    }

    /// The one identity that a leg's message may have where it came to the leg's sender: with the same topic, or else with another one.
    /// Until a change of topics is known, no other message may have its content.
    pub(super) fn find_name_at_server(
        &mut self,
        new: &NewLeg,
        content: Content,
    ) -> Option<Identity> {
        let (server, to) = (Receiver::at(&new.ends.sender), content.subject?);
        if self.contents.is_none() && self.has_another_name(new, content) {
            self.keep_contents();
        }
        let names = || Some(self.contents.as_ref()?.names(content, new.message.identity));
        let same_topic = names()?.filter(|&(identity, name)| {
            name == OtherName::SameTopic
                && (self.came_here(new, identity) || self.is_at_another_address(new, identity))
        });
        if let Some((identity, _)) = take_only(same_topic) {
            return Some(identity);
        }
        let known = self.translations.renamed_from(server, to);
        let other_topic = names()?.filter_map(|(identity, name)| {
            let OtherName::OtherTopic(from) = name else { return None };
            let may_be = known.is_none_or(|known| known == from) && self.came_here(new, identity);
            may_be.then_some((identity, from))
        });
        let (identity, from) = take_only(other_topic)?;
        if known.is_none() {
            let is_unique = matches!(self.index.known(identity), Known::One(_));
            if !is_unique || !content.is_telling {
                return None;
            }
            self.translations.note_renamed(server, from, to);
        }
        Some(identity)
    }

    /// True if a message that is open has the content of a new leg and another topic. Looked at for the first, second, fourth, eighth
    /// … of those that nothing is found for.
    fn has_another_name(&mut self, new: &NewLeg, content: Content) -> bool {
        self.translations.orphans.grow(1);
        self.translations.orphans.is_power_of_two()
            && self.open.iter().any(|(_, message)| {
                message.facts.content.is_some_and(|other| other.hash == content.hash)
                    && message.facts.identity != new.message.identity
            })
    }

    /// From now on messages are known by their content alone, too: there is one that is not sure of its name.
    fn keep_contents(&mut self) {
        let mut contents = Contents::default();
        let mut all: Vec<&Message> = self.open.iter().map(|(_, message)| message).collect();
        all.sort_unstable_by_key(|message| message.serial);
        let mut seen = FxHashSet::default();
        for message in all {
            if seen.insert(message.facts.identity)
                && let Some(content) = message.facts.content
            {
                contents.add(content, message.facts.identity);
            }
        }
        self.contents = Some(contents);
    }
}

/// The item of an iterator that has no other.
fn take_only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let only = all.next()?;
    all.next().is_none().then_some(only)
}
