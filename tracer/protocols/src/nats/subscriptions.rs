//! Subscriptions of a client: the queue group of each, by the number that messages repeat.
//!
//! ```text
//! SUB   subject [queue group] sid
//! UNSUB sid [most messages]
//! ```
//!
//! The number of messages counts from `SUB` on. If there have been as many, or if it is 0, the subscription ends at once. A `SUB`
//! with the number of a subscription that has not ended changes nothing (nats-server, `client.go`: `processUnsub`,
//! `processSubEx`).

use super::jetstream::is_inbox;
use super::line::{ControlLine, number};
use crate::ReadIn;
use rustc_hash::FxHashMap;
use wirelap_events::{Saturate, Size};

/// The most subscriptions of a client that are kept.
const MOST: usize = 4096;

/// The longest number and the longest group that are kept; most numbers have a few digits.
const LONGEST: usize = 256;

/// One subscription.
#[derive(Debug)]
struct NatsSubscription {
    /// `None` outside of groups.
    group: Option<Box<[u8]>>,
    /// True if the subscription gets answers. Its end is that of a request, and no unsubscription.
    is_inbox: bool,
    /// Messages that were seen since it began.
    delivered: u64,
    /// Number of messages with which the subscription ends; `None` if it is not limited.
    most: Option<u64>,
    /// True if the subscription has ended; messages may still be under way.
    has_ended: bool,
}

impl NatsSubscription {
    /// Ends it. Returns whether the client gets less of what is published.
    fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.has_ended, true) && !self.is_inbox
    }
}

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct NatsSubscriptions {
    by_sid: FxHashMap<Box<[u8]>, NatsSubscription>,
    /// Bytes of all numbers and groups.
    text_bytes: Size,
}

impl NatsSubscriptions {
    /// The number in a `SUB`.
    pub fn sid<'a>(line: &ControlLine<'a>) -> Option<&'a [u8]> {
        let mut words = line.arguments().skip(1);
        let second = words.next();
        words.next().or(second)
    }

    /// Takes in the arguments of a `SUB`.
    pub fn subscribe(&mut self, line: &ControlLine<'_>) {
        let mut words = line.arguments();
        let (subject, second, third) = (words.next(), words.next(), words.next());
        let (group, Some(sid)) = (third.and(second), third.or(second)) else { return };
        if self.by_sid.get(sid).is_some_and(|before| !before.has_ended) {
            return;
        }
        if let Some(before) = self.by_sid.remove(sid) {
            self.text_bytes -= text_bytes(sid, &before);
        }
        if sid.len() > LONGEST || group.is_some_and(|group| group.len() > LONGEST) {
            return;
        }
        if self.by_sid.len() >= MOST {
            self.by_sid.retain(|_, known| !known.has_ended && known.most.is_none());
            self.text_bytes = Size::sum(self.by_sid.iter().map(|(sid, one)| text_bytes(sid, one)));
        }
        if self.by_sid.len() < MOST {
            let subscription = NatsSubscription {
                group: group.map(Box::from),
                is_inbox: subject.is_some_and(is_inbox),
                delivered: 0,
                most: None,
                has_ended: false,
            };
            self.text_bytes += text_bytes(sid, &subscription);
            self.by_sid.insert(sid.into(), subscription);
        }
    }

    /// Takes in the arguments of an `UNSUB`. Returns whether the client gets less from now on of what is published.
    pub fn unsubscribe(&mut self, line: &ControlLine<'_>) -> bool {
        let mut words = line.arguments();
        let Some(sid) = words.next() else { return false };
        let most = words.next().and_then(number).map(u64::from).filter(|most| *most > 0);
        let Some(known) = self.by_sid.get_mut(sid) else {
            // It may be of before the connection was seen.
            return most.is_none();
        };
        known.most = most.filter(|most| *most > known.delivered);
        known.most.is_none() && known.end()
    }

    /// A message of a subscription is delivered. Returns whether the client gets less after it of what is published.
    pub fn delivered(&mut self, sid: &[u8]) -> bool {
        let Some(known) = self.by_sid.get_mut(sid) else { return false };
        known.delivered.grow(1);
        known.most.is_some_and(|most| known.delivered >= most) && known.end()
    }

    /// The group in which the client gets the messages of a subscription; unknown if the subscription was not seen.
    pub fn group_of(&self, sid: &[u8]) -> ReadIn<'_> {
        if self.by_sid.is_empty() {
            return ReadIn::Unknown;
        }
        match self.by_sid.get(sid) {
            Some(NatsSubscription { group: Some(group), .. }) => ReadIn::Group(group),
            Some(_) => ReadIn::NoGroup,
            None => ReadIn::Unknown,
        }
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(Box<[u8]>, NatsSubscription)>() + 1;
        self.text_bytes + Size(ENTRY) * self.by_sid.capacity()
    }
}

fn text_bytes(sid: &[u8], subscription: &NatsSubscription) -> Size {
    Size(sid.len()) + subscription.group.as_ref().map_or(0, |group| group.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(lines: &[&str]) -> NatsSubscriptions {
        let mut all = NatsSubscriptions::default();
        for line in lines {
            let line = ControlLine::read(line.as_bytes()).unwrap();
            match line.verb.name {
                "SUB" => all.subscribe(&line),
                _ => {
                    all.unsubscribe(&line);
                }
            }
        }
        all
    }

    #[test]
    fn the_number_tells_the_group() {
        let all = play(&["SUB a 1\r\n", "SUB b workers 2\r\n", "SUB c\r\n", "UNSUB 2 7\r\n"]);
        assert_eq!(all.group_of(b"1"), ReadIn::NoGroup);
        assert_eq!(all.group_of(b"2"), ReadIn::Group(b"workers"), "it gets seven more");
        assert_eq!(all.group_of(b"3"), ReadIn::Unknown);
        assert_eq!(all.by_sid.len(), 2);
        assert_eq!(play(&[]).group_of(b"1"), ReadIn::Unknown);
    }

    #[test]
    fn their_number_is_bounded_and_those_that_ended_go_first() {
        let mut lines: Vec<String> = (0..5_000).map(|n| format!("SUB a g {n}\r\n")).collect();
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(play(&texts).by_sid.len(), MOST);
        lines.insert(0, "SUB a g one\r\n".into());
        lines.insert(1, "UNSUB one\r\n".into());
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = play(&texts);
        assert_eq!((all.by_sid.len(), all.group_of(b"one")), (MOST, ReadIn::Unknown));
        assert!(all.held_bytes() < MOST * 200);
        let long = format!("SUB a {} 1\r\n", "g".repeat(300));
        let ended = ["SUB a h 1\r\n", "UNSUB 1\r\n", &long];
        assert_eq!(play(&ended).group_of(b"1"), ReadIn::Unknown);
    }

    #[test]
    fn a_number_is_used_again_once_its_subscription_has_ended() {
        let again = |end: &str| play(&["SUB a h 1\r\n", end, "SUB b i 1\r\n"]);
        assert_eq!(again("UNSUB 1\r\n").group_of(b"1"), ReadIn::Group(b"i"));
        assert_eq!(again("UNSUB 1 0\r\n").group_of(b"1"), ReadIn::Group(b"i"));
        for open in ["UNSUB 1 2\r\n", "UNSUB 2\r\n"] {
            assert_eq!(again(open).group_of(b"1"), ReadIn::Group(b"h"), "{open}");
        }
    }
}
