//! The collectors that watch a host, for whom one agent works as if each had its own.

use std::collections::{BTreeMap, VecDeque};
use wirelap_hosts::stream::Question;

/// The most collectors of a host.
const MAX_COLLECTORS: usize = 32;

/// The most pings whose answers are waited for.
const MAX_PINGS: usize = 1_024;

/// A ping that is on its way.
#[derive(Debug)]
struct Ping {
    number: u64,
    collector: String,
    /// The number that the collector has given it.
    own: u64,
}

/// The collectors that watch.
#[derive(Debug, Default)]
pub struct Audience {
    /// Each, and whether the agent may rest for it, because another agent of the kernel observes.
    collectors: BTreeMap<String, bool>,
    pings: VecDeque<Ping>,
    pings_sent: u64,
}

impl Audience {
    /// Number of collectors.
    pub fn len(&self) -> usize {
        self.collectors.len()
    }

    /// True if nobody watches.
    pub fn is_empty(&self) -> bool {
        self.collectors.is_empty()
    }

    /// A collector watches from now on. Returns what the agent is to be told of that.
    pub fn join(&mut self, collector: &str) -> Option<Question> {
        if self.collectors.len() >= MAX_COLLECTORS {
            return None;
        }
        self.change(|collectors| {
            collectors.entry(collector.to_owned()).or_insert(false);
        })
    }

    /// A collector watches no more. Returns what the agent is to be told of that.
    pub fn leave(&mut self, collector: &str) -> Option<Question> {
        self.pings.retain(|ping| ping.collector != collector);
        self.change(|collectors| {
            collectors.remove(collector);
        })
    }

    /// A collector asks. Returns what the agent is asked.
    pub fn ask(&mut self, collector: &str, question: Question) -> Option<Question> {
        if !self.collectors.contains_key(collector) {
            return None;
        }
        match question {
            Question::Ping(own) => {
                if self.pings.len() >= MAX_PINGS {
                    self.pings.pop_front();
                }
                self.pings_sent = self.pings_sent.wrapping_add(1);
                let (number, collector) = (self.pings_sent, collector.to_owned());
                self.pings.push_back(Ping { number, collector, own });
                Some(Question::Ping(number))
            }
            Question::Rest(rests) => self.change(|collectors| {
                collectors.insert(collector.to_owned(), rests);
            }),
            // Which connections carry is known here.
            Question::Carrier(..) => None,
            // Several may watch, each at its own times.
            Question::Window { .. } => None,
            Question::Place(_) | Question::States(_) | Question::Again => Some(question),
        }
    }

    /// The collector whose ping the agent has answered, and the number that it has given it.
    pub fn answered(&mut self, number: u64) -> Option<(String, u64)> {
        let at = self.pings.iter().position(|ping| ping.number == number)?;
        self.pings.remove(at).map(|ping| (ping.collector, ping.own))
    }

    /// True if every collector has another agent that observes the same.
    fn may_rest(&self) -> bool {
        !self.collectors.is_empty() && self.collectors.values().all(|rests| *rests)
    }

    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<String, bool>)) -> Option<Question> {
        let before = self.may_rest();
        change(&mut self.collectors);
        let rests = self.may_rest();
        (before != rests && !self.is_empty()).then_some(Question::Rest(rests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Pid;

    #[test]
    fn each_collector_gets_the_answers_to_its_own_pings() {
        let mut audience = Audience::default();
        assert_eq!(audience.ask("a", Question::Ping(1)), None, "it does not watch");
        audience.join("a");
        audience.join("b");
        assert_eq!(audience.ask("a", Question::Ping(1)), Some(Question::Ping(1)));
        assert_eq!(audience.ask("b", Question::Ping(1)), Some(Question::Ping(2)));
        assert_eq!(audience.answered(2), Some(("b".into(), 1)));
        assert_eq!(audience.answered(2), None);
        audience.leave("a");
        assert_eq!(audience.answered(1), None);
        let place = Question::Place(Pid(1));
        assert_eq!(audience.ask("b", place), Some(place));
    }

    #[test]
    fn an_agent_rests_only_while_nobody_needs_it() {
        let mut audience = Audience::default();
        assert_eq!(audience.join("a"), None);
        assert_eq!(audience.ask("a", Question::Rest(true)), Some(Question::Rest(true)));
        assert_eq!(audience.join("b"), Some(Question::Rest(false)), "b has no other agent yet");
        assert_eq!(audience.ask("b", Question::Rest(true)), Some(Question::Rest(true)));
        assert_eq!(audience.ask("a", Question::Rest(false)), Some(Question::Rest(false)));
        assert_eq!(audience.leave("a"), Some(Question::Rest(true)));
        assert_eq!(audience.leave("b"), None, "the agent ends");
        assert!(audience.is_empty());
    }
}
