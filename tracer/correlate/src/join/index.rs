//! Finds messages by identity.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::collections::vec_deque::Iter;
use wirelap_flow::{Identity, Way};

/// A message: its serial number, by which those of a line are in order, and its place.
pub type Listed = (u64, usize);

/// The messages of an identity that were known before one was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Nothing.
    Alone,
    /// One, whose directions were not kept: they, and those of the new one, are to be told now.
    Second(Listed),
    /// Some, whose directions are kept.
    More,
}

/// The messages that are known of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// No message.
    Nothing,
    /// One, of few legs: they tell its directions.
    One(Listed),
    /// Their directions are in the index.
    Many,
}

/// The messages of one identity. Almost always one; a content that is sent again and again has many.
#[derive(Debug)]
enum Line {
    /// One message, whose directions are not in the index: to look at its few legs costs less. This variant is small,
    /// as there are tens of thousands.
    One(u64, u32),
    #[allow(clippy::box_collection)] // Few have many, and the others are to be small.
    Many(Box<VecDeque<Listed>>),
}

impl Line {
    fn one((serial, place): Listed) -> Line {
        // Tables have far fewer places.
        Line::One(serial, u32::try_from(place).unwrap_or(u32::MAX))
    }

    fn many(messages: impl Into<VecDeque<Listed>>) -> Line {
        Line::Many(Box::new(messages.into()))
    }
}

/// An identity and a way, in two words: each message is looked up by it several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OnWay(u64, u64);

impl OnWay {
    fn new(identity: Identity, Way { direction, subscription }: Way) -> OnWay {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        OnWay(
            identity.hash ^ u64::from(subscription).wrapping_mul(SPREAD),
            direction.serial << 2 | (direction.side as u64) << 1 | u64::from(identity.exact),
        )
    }
}

/// Messages by identity, and by identity and way.
#[derive(Debug, Default)]
pub struct Index {
    lines: FxHashMap<Identity, Line>,
    /// The newest message of an identity that has a leg in a direction, where directions are kept.
    on_direction: FxHashMap<OnWay, Listed>,
}

impl Index {
    /// Adds the newest message of an identity.
    pub fn add(&mut self, identity: Identity, message: Listed) -> Added {
        match self.lines.entry(identity) {
            Entry::Vacant(entry) => {
                entry.insert(Line::one(message));
                Added::Alone
            }
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Line::One(serial, place) => {
                    let first = (*serial, *place as usize);
                    entry.insert(Line::many([first, message]));
                    Added::Second(first)
                }
                Line::Many(many) => {
                    many.push_back(message);
                    Added::More
                }
            },
        }
    }

    /// From now on the directions of this identity's messages are told.
    pub fn keep_directions(&mut self, identity: Identity) {
        if let Some(line) = self.lines.get_mut(&identity)
            && let Line::One(serial, place) = *line
        {
            *line = Line::many([(serial, place as usize)]);
        }
    }

    pub fn known(&self, identity: Identity) -> Known {
        match self.lines.get(&identity) {
            None => Known::Nothing,
            Some(Line::One(serial, place)) => Known::One((*serial, *place as usize)),
            Some(Line::Many(_)) => Known::Many,
        }
    }

    pub fn add_direction(&mut self, identity: Identity, way: Way, message: Listed) {
        // One that another overtook is not the newest.
        let newest = self.on_direction.entry(OnWay::new(identity, way)).or_insert(message);
        *newest = (*newest).max(message);
    }

    pub fn on_direction(&self, identity: Identity, way: Way) -> Option<Listed> {
        self.on_direction.get(&OnWay::new(identity, way)).copied()
    }

    /// The messages of an identity that came after `carried` (all, for `None`), oldest first: those
    /// that `is_stale` says are too old, and the others. It holds for a message if it does for a newer
    /// one.
    pub fn after(
        &self,
        identity: Identity,
        carried: Option<Listed>,
        is_stale: impl Fn(usize) -> bool,
    ) -> (impl DoubleEndedIterator<Item = usize> + Clone + '_, impl Iterator<Item = usize> + '_)
    {
        let first = carried.map_or(0, |(serial, _)| serial.saturating_add(1));
        let (one, many) = match self.lines.get(&identity) {
            None => (None, None),
            Some(Line::One(serial, place)) => (Some((*serial, *place as usize)), None),
            Some(Line::Many(many)) => (None, Some(&**many)),
        };
        let one = one.filter(|&(serial, _)| serial >= first).map(|(_, message)| message);
        let (old_one, new_one) = if one.is_some_and(&is_stale) { (one, None) } else { (None, one) };
        let (old, new) = many.map_or_else(Default::default, |many| {
            let start = many.partition_point(|&(serial, _)| serial < first);
            let fresh = many.partition_point(|&(_, message)| is_stale(message)).max(start);
            (many.range(start..fresh), many.range(fresh..))
        });
        let message = |&(_, message): &Listed| message;
        (old_one.into_iter().chain(old.map(message)), new_one.into_iter().chain(new.map(message)))
    }

    /// A message of an identity that `is_old`: the last, if that holds for a message where it does for a newer one.
    pub fn last_of(&self, identity: Identity, is_old: impl Fn(usize) -> bool) -> Option<Listed> {
        match self.lines.get(&identity)? {
            Line::One(serial, place) => {
                Some((*serial, *place as usize)).filter(|&(_, place)| is_old(place))
            }
            Line::Many(many) => {
                let old = many.partition_point(|&(_, place)| is_old(place));
                many.get(old.checked_sub(1)?).copied()
            }
        }
    }

    /// The messages of an identity of which there are several, from the one with this serial number on, oldest first.
    pub fn from(&self, identity: Identity, serial: u64) -> impl Iterator<Item = usize> + '_ {
        let (_, later) = self.around(identity, serial);
        later.map(|&(_, message)| message)
    }

    /// The messages of an identity before the one with this serial number, newest first.
    pub fn before(&self, identity: Identity, serial: u64) -> impl Iterator<Item = usize> + '_ {
        let (earlier, _) = self.around(identity, serial);
        earlier.rev().map(|&(_, message)| message)
    }

    fn around(&self, identity: Identity, serial: u64) -> (Iter<'_, Listed>, Iter<'_, Listed>) {
        let Some(Line::Many(many)) = self.lines.get(&identity) else {
            return <(Iter<'_, Listed>, Iter<'_, Listed>)>::default();
        };
        let at = many.partition_point(|&(other, _)| other < serial);
        (many.range(..at), many.range(at..))
    }

    /// Messages go in the order in which they came, or nearly. Returns whether this was the last of the identity.
    pub fn remove(&mut self, identity: Identity, message: Listed) -> bool {
        let Some(line) = self.lines.get_mut(&identity) else { return false };
        match line {
            Line::One(..) => self.lines.remove(&identity).is_some(),
            Line::Many(many) => {
                if let Ok(at) = many.binary_search_by_key(&message.0, |&(serial, _)| serial) {
                    many.remove(at);
                }
                many.is_empty() && self.lines.remove(&identity).is_some()
            }
        }
    }

    pub fn remove_direction(&mut self, identity: Identity, way: Way, message: Listed) {
        if let Entry::Occupied(newest) = self.on_direction.entry(OnWay::new(identity, way))
            && *newest.get() == message
        {
            newest.remove();
        }
    }
}
