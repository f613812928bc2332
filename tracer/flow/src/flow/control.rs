//! A flow's control messages: requests, subscriptions and permissions, as far as they are remembered.

use super::answers::Answers;
use super::permits::Permits;
use super::requests::{CONSUMERS, PendingRelease, RELEASES, REQUESTS, Request};
use super::subscriptions::Subscriptions;
use super::unasked::UnaskedTopics;
use crate::marks::Marks;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Nanos, Offset, Release};
use wirelap_figures::Ring;

/// Control messages that the sender of a flow sent on it. Many flows have none.
#[derive(Debug)]
pub struct FlowControl {
    /// The last requests for messages.
    requests: Option<Box<Ring<Request, REQUESTS>>>,
    /// Topics, by their numbers, that its requests for messages leave out.
    pub unasked_topics: Option<Box<UnaskedTopics>>,
    /// Times for which each of its consumers awaited answers.
    answers: VecDeque<(u64, Answers)>,
    /// The last permissions to pass messages on.
    releases: VecDeque<PendingRelease>,
    /// The last time that it opened a session or subscribed to something before it got its first message.
    pub set_up: Nanos,
    /// The last time that it subscribed to something; 0 if it was not seen to.
    pub subscribed: Nanos,
    /// Its server went on with the session that it had on an earlier connection.
    pub resumes: bool,
    /// The last time that it unsubscribed from something.
    pub unsubscribed: Option<Nanos>,
    /// Starts of its last subscriptions, where messages tell for which of them they are.
    pub subscriptions: Option<Box<Subscriptions>>,
    /// Acknowledgements that it has sent, by consumer or channel.
    pub permits: Option<Box<Permits>>,
}

/// The control messages of a flow that has none.
pub static NO_CONTROL: FlowControl = FlowControl::new();

impl Default for FlowControl {
    fn default() -> FlowControl {
        FlowControl::new()
    }
}

impl FlowControl {
    const fn new() -> FlowControl {
        FlowControl {
            requests: None,
            unasked_topics: None,
            answers: VecDeque::new(),
            releases: VecDeque::new(),
            set_up: Nanos(0),
            subscribed: Nanos(0),
            resumes: false,
            unsubscribed: None,
            subscriptions: None,
            permits: None,
        }
    }

    /// The remembered requests, the last one first.
    fn requests(&self) -> impl Iterator<Item = &Request> {
        let all = self.requests.iter().flat_map(|requests| requests.iter());
        all.take_while(|request| request.at > Nanos(0))
    }

    fn requests_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        let all = self.requests.iter_mut().flat_map(|requests| requests.iter_mut());
        all.take_while(|request| request.at > Nanos(0))
    }

    /// For how long, between two moments, who asks had all that it had asked for, as far as is known, and had not asked again.
    pub fn unasked_time(&self, from: Nanos, to: Nanos) -> Nanos {
        let late = self.requests().map(|request| {
            let free = request.free_since.unwrap_or(request.at).max(from);
            request.at.min(to) - free.min(to)
        });
        late.fold(Nanos(0), |sum, time| sum + time)
    }

    /// The last request for messages.
    pub fn last_request(&self) -> Option<&Request> {
        self.requests().next()
    }

    /// The request that was made so many requests before the last one, if it is remembered.
    pub fn request_before(&self, requests: u32) -> Option<&Request> {
        self.requests().nth(usize::try_from(requests).ok()?)
    }

    /// The last request for messages of this consumer.
    pub fn request_on(&self, line: u64) -> Option<&Request> {
        self.requests().find(|request| request.line == line)
    }

    /// The last request for messages of each consumer whose requests are remembered.
    fn last_requests(&self) -> impl Iterator<Item = &Request> {
        let all = self.requests().enumerate();
        all.filter_map(|(index, request)| {
            let is_last = self.requests().take(index).all(|later| later.line != request.line);
            is_last.then_some(request)
        })
    }

    /// True if a request for messages of some consumer was not seen to be answered.
    pub fn has_open_request(&self) -> bool {
        self.last_requests().any(|request| !request.is_answered)
    }

    /// The request that was made at that time, if it is remembered.
    pub fn request_at(&self, at: Nanos) -> Option<&Request> {
        self.requests().find(|request| request.at == at)
    }

    fn request_at_mut(&mut self, at: Nanos) -> Option<&mut Request> {
        self.requests_mut().find(|request| request.at == at)
    }

    /// Adds a request for messages.
    pub fn add_request(&mut self, request: Request) {
        self.requests.get_or_insert_default().push(request);
    }

    /// Notes that the last request is answered with messages that are handed out when their transaction is committed.
    pub fn note_awaited_commit(&mut self) {
        if let Some(request) = self.requests_mut().next() {
            request.awaits_commit = true;
        }
    }

    /// Notes that the last request for messages of a consumer is answered, perhaps with none, by a frame that ends at `end` if that is known.
    pub fn note_answered(&mut self, line: u64, end: Option<Offset>) {
        if let Some(request) = self.requests_mut().find(|request| request.line == line) {
            request.is_answered = true;
            if !request.is_interrupted {
                request.answer = request.answer.max(end);
            }
        }
    }

    /// Notes that observation is interrupted: the end of the last request's answer is not known.
    pub fn interrupt(&mut self) {
        if let Some(request) = self.requests_mut().next() {
            request.answer = None;
            request.is_interrupted = true;
        }
    }

    /// Notes that a message that had been read at `read` is in the answer to the request of that time.
    pub fn note_answer_source(&mut self, asked: Nanos, read: Nanos) {
        if let Some(request) = self.request_at_mut(asked) {
            request.filled = request.filled.max(Some(read));
        }
    }

    /// Notes that a message that ends before `end` is in the answer to the request of that time.
    pub fn extend_answer(&mut self, asked: Nanos, end: Offset) {
        if let Some(request) = self.request_at_mut(asked).filter(|one| !one.is_interrupted) {
            request.answer = request.answer.max(Some(end));
        }
    }

    /// Notes that the answer to this request, which was the consumer's last one, was there at `came`.
    pub fn note_arrived_answer(&mut self, request: &Request, came: Nanos) {
        let known = self.answers.iter().position(|(line, _)| *line == request.line);
        let known = known.and_then(|place| self.answers.remove(place));
        let (_, mut answers) = known.unwrap_or_default();
        answers.came(request.at, came);
        // The first is the one that asked least lately.
        if self.answers.len() >= CONSUMERS {
            self.answers.pop_front();
        }
        self.answers.push_back((request.line, answers));
    }

    /// The time, between `from` and `to`, for which requests of the consumer that made one at `asked` had not been answered.
    pub fn unanswered_time(&self, from: Nanos, to: Nanos, asked: Nanos) -> Nanos {
        // For a request that was long ago it is not known who made it, unless nobody else does.
        let of_it = match self.request_at(asked) {
            Some(request) => self.answers.iter().find(|(line, _)| *line == request.line),
            None => self.answers.front().filter(|_| self.answers.len() == 1),
        };
        of_it.map_or(Nanos(0), |(_, answers)| answers.between(from, to))
    }

    /// Adds a release, which lets the flow's receiver pass a message on.
    pub fn add_release(&mut self, release: PendingRelease) {
        if self.releases.len() == RELEASES {
            self.releases.pop_front();
        }
        self.releases.push_back(release);
    }

    /// The release after which the receiver was allowed to pass on the message that begins at `message`, if it
    /// had to wait for one.
    pub fn release_for(&self, message: Offset) -> Option<Release> {
        self.releases.iter().rev().find(|release| release.is_for(message))?.read
    }

    /// Notes that all bytes before `end` were read at `at`: the last request and permissions may be among them.
    pub fn note_read(&mut self, marks: &Marks, end: Offset, at: Nanos) {
        let unread = self.releases.iter_mut().rev().take_while(|release| release.read.is_none());
        for release in unread.filter(|release| release.of.end <= end) {
            let seen = marks.path(ByteRange::last_before(release.of.end), 0);
            release.read = Some(release.seen(&seen, at));
        }
        let open = self.requests_mut().take_while(|request| request.read.is_none());
        for request in open.filter(|request| request.end <= end) {
            let path = marks.path(ByteRange::last_before(request.end), 0);
            let loss = &path.circumstances.loss;
            request.read = Some((at, loss.resent || loss.behind));
            request.there = path.ready;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_to_its_consumer() {
        let mut control = FlowControl::default();
        assert!(!control.has_open_request());
        for (line, at) in [(1, 10), (2, 20), (1, 30), (3, 40)] {
            control.add_request(Request { at: Nanos(at), line, ..Request::default() });
        }
        for line in [1, 3] {
            control.note_answered(line, None);
        }
        let is_answered = |line| control.request_on(line).map(|request| request.is_answered);
        assert_eq!([1, 2, 3, 4].map(is_answered), [Some(true), Some(false), Some(true), None]);
        assert!(control.has_open_request());
        control.note_answered(2, None);
        assert!(!control.has_open_request(), "a later one of the first consumer was answered");
    }

    #[test]
    fn an_answer_without_messages_ends_as_well() {
        let mut control = FlowControl::default();
        let end_of = |control: &FlowControl| control.request_on(1).and_then(|one| one.answer);
        control.add_request(Request { at: Nanos(10), line: 1, ..Request::default() });
        control.note_answered(1, Some(Offset(70)));
        assert_eq!(end_of(&control), Some(Offset(70)));
        control.extend_answer(Nanos(10), Offset(60));
        assert_eq!(end_of(&control), Some(Offset(70)), "the answer ends behind its messages");
        control.add_request(Request { at: Nanos(20), line: 1, ..Request::default() });
        control.interrupt();
        control.note_answered(1, Some(Offset(90)));
        assert_eq!(end_of(&control), None, "it may be another's");
    }

    #[test]
    fn who_has_its_answer_and_does_not_ask_is_late() {
        let mut control = FlowControl::default();
        for (free_since, at) in [(None, 10), (Some(20), 21), (Some(30), 80), (Some(90), 95)] {
            let free_since = free_since.map(Nanos);
            control.add_request(Request { at: Nanos(at), free_since, ..Request::default() });
        }
        let late = |from, to| control.unasked_time(Nanos(from), Nanos(to)).0;
        assert_eq!((late(0, 100), late(0, 25), late(40, 70), late(96, 99)), (56, 1, 30, 0));
    }
}
