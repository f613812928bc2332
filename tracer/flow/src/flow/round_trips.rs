//! Requests and their replies, from the bytes of the request until those of the reply are read.
//!
//! ```text
//! who asks    |send  |left · · · · · · · · · |came  |read
//!             |<here>|<-------- away ------->|<here>|
//! ```
//!
//! The marks of a request are gone before a slow reply comes, so its times are kept here; the reply's are looked up when it was
//! read. Where both ends are on this host, the request's leg is kept, too, of a few requests: those alone are followed.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Leg, Nanos, Offset, Saturate};
use wirelap_protocols::{RequestContent, Side};

/// The most open requests, and unread replies, of one direction.
const OPEN: usize = 1024;

/// The most open requests of one direction that are handed on for others. Each has its leg, which is large.
const MAX_HANDED_ON: usize = 32;

/// Time between two searches of the open requests for old ones.
const SEARCH: Nanos = Nanos::from_millis(1_000);

/// Time between two requests of one direction that are followed from end to end.
const SAMPLE_INTERVAL: Nanos = Nanos::from_millis(10);

/// A part that the bytes of an end have in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangePart {
    /// The question.
    Request,
    /// The answer to it.
    Reply,
    /// The word of a server that nobody answers.
    NoReply,
}

/// A request or a reply that a decoder found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundExchange {
    /// The sending end.
    pub side: Side,
    /// The number that a request and its reply have.
    pub number: u64,
    /// The bytes of the request or reply.
    pub extent: ByteRange,
    /// The part that these bytes have.
    pub part: ExchangePart,
    /// The content of a request that its receiver may hand on.
    pub content: RequestContent,
}

/// The times at which a request left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The send of its first byte.
    pub sent: Nanos,
    /// Time at which its last byte was handed to the device, for the first time.
    pub left: Nanos,
}

/// A request whose reply was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The departure of the request.
    pub departure: Departure,
    /// Time at which the reply's last byte came in, if that was seen.
    pub came: Option<Nanos>,
    /// Time at which the reply's last byte was read.
    pub read: Nanos,
}

impl RoundTrip {
    /// From the request's send to the reply's read.
    pub fn time(&self) -> Nanos {
        self.read - self.departure.sent
    }

    /// From the request's departure to the reply's arrival, if that is known.
    pub fn away(&self) -> Option<Nanos> {
        self.came.and_then(|came| came.since(self.departure.left))
    }
}

/// A request that is on its way, or has arrived.
#[derive(Debug)]
pub struct SentRequest {
    /// The times at which it left.
    pub departure: Departure,
    /// True if both ends are on this host.
    pub is_here: bool,
    /// Its leg, if it is followed from end to end.
    pub leg: Option<Box<Leg>>,
    /// True if its sender hands it on for somebody else, who is counted.
    pub is_handed_on: bool,
}

/// The result of looking for a request.
#[derive(Debug)]
pub enum RequestLookUp {
    /// A request that has not left yet, or was not read yet where its reader is on this host.
    NotYet,
    /// A request that was not seen to leave.
    Unseen,
    /// A request that has left, and was read where its reader is on this host.
    Sent(SentRequest),
}

#[derive(Debug)]
struct OpenRequest {
    found_at: Nanos,
    extent: ByteRange,
    /// True if its leg is kept where both ends are on this host.
    is_sample: bool,
    is_handed_on: bool,
    sent: Option<SentRequest>,
}

impl OpenRequest {
    /// Number of legs that it holds on to.
    fn legs(&self) -> usize {
        usize::from(self.sent.as_ref().is_some_and(|sent| sent.leg.is_some()))
    }
}

/// A reply that was not read yet.
#[derive(Debug)]
pub struct UnreadReply {
    /// The number that it has in common with its request.
    pub number: u64,
    /// The bytes of the reply.
    pub extent: ByteRange,
    /// Time at which its bytes were there for the decoder.
    pub found_at: Nanos,
    /// The request that it answers.
    pub request: SentRequest,
}

/// The open requests of one direction, and the unread replies in it to requests of the other one.
#[derive(Debug, Default)]
pub struct RoundTrips {
    open: FxHashMap<u64, OpenRequest>,
    /// Requests of which it is not known yet when they left, in the order of their bytes.
    leaving: VecDeque<(Offset, u64)>,
    replies: VecDeque<UnreadReply>,
    /// Number of legs that requests and replies hold on to.
    legs: usize,
    /// Messages before are of a workload's warm-up.
    warmed_up: Offset,
    searched: Nanos,
    /// Time of the last request that is followed from end to end.
    sampled: Nanos,
    /// Requests to which no reply was seen, since that was last taken.
    unanswered: u64,
}

impl RoundTrips {
    /// A request was found. Returns true if it is one of the few that are followed from end to end.
    pub fn asked(&mut self, number: u64, extent: ByteRange, now: Nanos) -> bool {
        let is_sample = self.sampled == Nanos(0) || now >= self.sampled + SAMPLE_INTERVAL;
        let request =
            OpenRequest { found_at: now, extent, is_sample, is_handed_on: false, sent: None };
        let is_open = self.open(number, request);
        self.sampled = if is_open && is_sample { now } else { self.sampled };
        is_open && is_sample
    }

    /// A request was found that its sender hands on for one whose own is followed from end to end. Returns true if this one is, too.
    pub fn handed_on(&mut self, number: u64, extent: ByteRange, now: Nanos) -> bool {
        self.thin_handed_on();
        let (is_sample, is_handed_on) = (true, true);
        self.open(
            number,
            OpenRequest { found_at: now, extent, is_sample, is_handed_on, sent: None },
        )
    }

    /// Forgets every other one of the requests that are handed on, if there are many. What is answered late is followed sometimes, too, and
    /// what nobody answers takes little memory.
    fn thin_handed_on(&mut self) {
        let all = self.open.iter().filter(|(_, request)| request.is_handed_on);
        if all.clone().count() < MAX_HANDED_ON {
            return;
        }
        let mut all: Vec<(Offset, u64)> =
            all.map(|(&number, request)| (request.extent.start, number)).collect();
        all.sort_unstable();
        for (_, number) in all.into_iter().skip(1).step_by(2) {
            self.drop_handed_on(number);
        }
    }

    /// Nobody waits for the reply to a request any more that was handed on with this number.
    pub fn drop_handed_on(&mut self, number: u64) {
        if self.open.get(&number).is_some_and(|request| request.is_handed_on)
            && let Some(request) = self.open.remove(&number)
        {
            self.legs.shrink(request.legs());
            self.leaving.retain(|&entry| entry != (request.extent.start, number));
        }
    }

    fn open(&mut self, number: u64, request: OpenRequest) -> bool {
        if self.open.len() >= OPEN || self.leaving.len() >= OPEN {
            return false;
        }
        self.leaving.push_back((request.extent.start, number));
        let before = self.open.insert(number, request);
        self.legs.shrink(before.as_ref().map_or(0, OpenRequest::legs));
        self.unanswered.grow(u64::from(before.is_some_and(|before| self.counts(&before))));
        true
    }

    /// Looks up the requests that have left, before their marks are forgotten, and whether each is one of the few that are followed from
    /// end to end. What was not seen to leave is forgotten, too.
    pub fn look_up(&mut self, look_up: impl Fn(ByteRange, bool) -> RequestLookUp) {
        while let Some(&(start, number)) = self.leaving.front() {
            let request = self.open.get_mut(&number).filter(|one| one.extent.start == start);
            if let Some(request) = request {
                match look_up(request.extent, request.is_sample) {
                    RequestLookUp::NotYet => return,
                    RequestLookUp::Sent(sent) => {
                        request.sent = Some(sent);
                        self.legs.grow(request.legs());
                    }
                    RequestLookUp::Unseen => drop(self.open.remove(&number)),
                }
            }
            self.leaving.pop_front();
        }
    }

    /// Takes the request of this number, whose reply was found in the other direction, if it was seen to leave and is no part of a warm-up.
    pub fn take_request(&mut self, number: u64) -> Option<SentRequest> {
        let mut request = self.open.remove(&number)?;
        self.legs.shrink(request.legs());
        let is_handed_on = request.is_handed_on;
        let sent = request.sent.take().filter(|_| is_handed_on || self.counts(&request))?;
        Some(SentRequest { is_handed_on, ..sent })
    }

    /// Nobody replies to the request of this number.
    pub fn end_unanswered(&mut self, number: u64) {
        let Some(request) = self.open.remove(&number) else { return };
        self.legs.shrink(request.legs());
        self.unanswered.grow(u64::from(self.counts(&request)));
    }

    /// A reply was found in this direction.
    pub fn add_reply(&mut self, reply: UnreadReply) {
        if self.replies.len() < OPEN {
            self.legs.grow(usize::from(reply.request.leg.is_some()));
            self.replies.push_back(reply);
        }
    }

    /// The first reply that was not read yet.
    pub fn first_reply(&self) -> Option<&UnreadReply> {
        self.replies.front()
    }

    /// Takes the first reply, which is done with.
    pub fn take_reply(&mut self) -> Option<UnreadReply> {
        let reply = self.replies.pop_front()?;
        self.legs.shrink(usize::from(reply.request.leg.is_some()));
        Some(reply)
    }

    /// Messages before `end` are of a workload's warm-up.
    pub fn mark_warm_up(&mut self, end: Offset) {
        self.warmed_up = self.warmed_up.max(end);
    }

    /// True if a request is the sender's own, and no part of a warm-up.
    fn counts(&self, request: &OpenRequest) -> bool {
        !request.is_handed_on && request.extent.start >= self.warmed_up
    }

    /// True if it is time to look for what has waited for too long; that look then counts as made.
    pub fn is_due(&mut self, now: Nanos) -> bool {
        let is_due = now >= self.searched + SEARCH;
        self.searched = if is_due { now } else { self.searched };
        is_due
    }

    /// Gives up the requests that were found before `limit`.
    pub fn give_up(&mut self, limit: Nanos) {
        let is_old = |request: &OpenRequest| request.found_at < limit;
        let old = self.open.values().filter(|request| is_old(request) && self.counts(request));
        self.unanswered.grow(u64::try_from(old.count()).unwrap_or(u64::MAX));
        self.open.retain(|_, request| {
            self.legs.shrink(if is_old(request) { request.legs() } else { 0 });
            !is_old(request)
        });
    }

    /// Forgets everything that is under way: it is not known what happened in a pause.
    pub fn interrupt(&mut self) {
        self.open.clear();
        self.leaving.clear();
        self.replies.clear();
        self.legs = 0;
    }

    /// Requests to which no reply was seen, since this was last asked.
    pub fn take_unanswered(&mut self) -> u64 {
        std::mem::take(&mut self.unanswered)
    }

    /// True if anything is under way.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty() || !self.replies.is_empty()
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        let open = self.open.capacity().saturating_mul(size_of::<(u64, OpenRequest)>());
        let leaving = self.leaving.capacity().saturating_mul(size_of::<(Offset, u64)>());
        let replies = self.replies.capacity().saturating_mul(size_of::<UnreadReply>());
        let legs = self.legs.saturating_mul(size_of::<Leg>());
        open.saturating_add(leaving).saturating_add(replies).saturating_add(legs)
    }

    /// The first byte whose marks will still be asked for.
    pub fn wants_from(&self) -> Option<Offset> {
        let request = self.leaving.front().map(|&(start, _)| start);
        let reply = self.first_reply().map(|reply| reply.extent.start);
        request.into_iter().chain(reply).min()
    }
}

#[cfg(test)]
mod tests;
