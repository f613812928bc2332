//! The collectors that watch a host, for whom one agent works as if each had its own.

use std::collections::BTreeMap;
use wirelap_hosts::stream::Question;

/// The most collectors of a host.
const MAX_COLLECTORS: usize = 32;

/// The collectors that watch.
#[derive(Debug, Default)]
pub struct Audience {
    /// Each, and whether the agent may rest for it, because another agent of the kernel observes.
    collectors: BTreeMap<String, bool>,
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
            Question::Rest(rests) => self.change(|collectors| {
                collectors.insert(collector.to_owned(), rests);
            }),
            // Which connections carry is known here, and pings are answered here. Several may watch, each at its own times.
            Question::Carrier(..) | Question::Ping(_) | Question::Window { .. } => None,
            Question::Place(_) | Question::States(_) | Question::Again => Some(question),
        }
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
    fn only_those_who_watch_are_heard() {
        let mut audience = Audience::default();
        let place = Question::Place(Pid(1));
        assert_eq!(audience.ask("a", place), None);
        audience.join("a");
        assert_eq!(audience.ask("a", place), Some(place));
        let port = ([10, 0, 0, 1], 1883).into();
        assert_eq!(audience.ask("a", Question::Carrier(port, port)), None, "it would hide that");
        audience.leave("a");
        assert_eq!(audience.ask("a", place), None);
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
