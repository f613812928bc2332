//! One direction of a conversation.

use super::answers::Answers;
use super::carried::CarriedBytes;
use super::devices::Devices;
use super::found::Found;
use super::framed::between;
use super::head::FirstBytes;
use super::output::DecoderOutput;
use super::pieces::Pieces;
use super::places::AwaitedPlaces;
use super::reassembly::Reassembly;
use super::requests::{CONSUMERS, PendingRelease, RELEASES, REQUESTS, Request};
use super::rooms::Rooms;
use super::round_trips::{RoundTrips, UnreadReply};
use super::seen_bytes::SeenBytes;
use super::subscriptions::Subscriptions;
use super::throttles::Throttles;
use super::unasked::UnaskedTopics;
use super::unwrap::Unwrap;
use super::window::Window;
use crate::bytes::Unseen;
use crate::config::Config;
use crate::ids::{AssemblyId, Direction};
use crate::limits::network::WINDOW_REOPENED;
use crate::marks::Marks;
use crate::stats::Ring;
use arrayvec::ArrayVec;
use std::collections::VecDeque;
use wirelap_events::{
    ByteRange, FlowKey, Nanos, Offset, PacketHook, Release, Seq, SocketId, TcpFields, tcp_flags,
};
use wirelap_protocols::stream::Stream;

/// One direction of a conversation.
#[derive(Debug)]
pub struct Flow {
    pub key: FlowKey,
    pub unwrap: Unwrap,
    pub bytes: Reassembly,
    pub marks: Marks,
    pub devices: Devices,
    /// The sending socket, once known.
    pub sender: Option<SocketId>,
    /// The receiving socket, once known; the last one that received, for a multicast flow.
    pub receiver: Option<SocketId>,
    /// Legs that wait for their stages: indices and serial numbers of the message table.
    pub pending: VecDeque<(usize, u64)>,
    /// Messages in fragments of which something was sent here, in the order of their first bytes.
    pub assembling: VecDeque<AssemblyId>,
    /// The sequence number of the SYN.
    pub isn: Option<Seq>,
    /// Starts of the last writes, while the protocol is not known: likely starts of PDUs.
    pub writes: ArrayVec<Offset, WRITES>,
    /// Start of the sender's next write, told when it was found open: a likely start of a PDU.
    pub boundary: Option<Offset>,
    /// One past the last byte, once a FIN was seen: the kernel's counters run one further.
    pub end: Option<Offset>,
    /// The bytes that were on the counting device.
    pub carried: CarriedBytes,
    /// TCP: what each packet hook saw of it, in the order of [`PacketHook`].
    seen: Option<Box<[SeenBytes; 2]>>,
    /// Packets and bytes that passed unseen before `seen` was last freed.
    unseen_before: [Unseen; 2],
    /// UDP: the datagram that is coming in fragments.
    pub pieces: Pieces,
    /// True if a send was ever seen: then a message without one is not complete.
    pub has_sends: bool,
    /// The loss count of the ready probe when this flow last reported ready.
    pub ready_losses: u64,
    /// TCP: where its receiver is.
    pub window: Window,
    /// TCP: its receiver last said that it has no room.
    pub closed_window: bool,
    /// From when on its receiver had no room the last time, or had it only for moments, and until when; most flows always have room.
    shut: Option<Box<(Nanos, Option<Nanos>)>>,
    /// Observation was interrupted since the last packet.
    pub interrupted: bool,
    /// The first bytes, kept until the protocol is known.
    pub head: FirstBytes,
    /// The last times that it asked for messages; most flows never do.
    pub requests: Option<Box<Ring<Request, REQUESTS>>>,
    /// Topics, by their numbers, that its requests for messages leave out; most flows have none.
    pub unasked_topics: Option<Box<UnaskedTopics>>,
    /// Times for which the consumers that it asked for awaited its answers; most flows have none.
    pub answers: Option<VecDeque<(u64, Answers)>>,
    /// The last permissions to pass messages on; most flows have none.
    pub releases: Option<VecDeque<PendingRelease>>,
    /// Messages that wait for their places in the receiver's log; most flows have none.
    pub awaited_places: Option<Box<AwaitedPlaces>>,
    /// Open requests, and replies that are not read yet; most flows have none.
    pub round_trips: Option<Box<RoundTrips>>,
    /// The last time that it opened a session or subscribed to something before it got its first message.
    pub set_up: Nanos,
    /// The last time that it subscribed to something; 0 if it was not seen to.
    pub subscribed: Nanos,
    /// Starts of its last subscriptions, where messages tell for which of them they are; most flows have none.
    pub subscriptions: Option<Box<Subscriptions>>,
    /// Times in which its receiver did not read it, by its own word; most flows are always read.
    pub throttles: Option<Box<Throttles>>,
    /// The last time that it unsubscribed from something.
    pub unsubscribed: Option<Nanos>,
    /// Acknowledgements that it has sent, by consumer or channel; most flows have nothing to
    /// acknowledge.
    pub rooms: Option<Box<Rooms>>,
    /// TCP: bytes that no packet brought, from the end of a PDU on.
    pub hole: Option<ByteRange>,
    /// TCP: the last message that was found.
    last: Option<Box<Found>>,
    /// Messages that were found on it.
    pub messages: u64,
    /// Time at which the first of them was found.
    pub first_message: Option<Nanos>,
    /// Number of these messages that were seen to go on from their receiver, and the time at which the newest
    /// of them was found.
    pub forwarded: u64,
    pub forwarded_to: Nanos,
    /// The direction on which that one went on.
    pub forwarded_by: Option<Direction>,
    /// Cuts PDUs, once the protocol is known (TCP).
    pub stream: Option<Stream>,
}

/// Writes whose beginnings are remembered until their packet comes.
pub const WRITES: usize = 8;

/// The last byte before `end`.
pub(super) fn last_before(end: Offset) -> ByteRange {
    ByteRange { start: Offset(end.0.saturating_sub(1)), end }
}

impl Flow {
    /// True if nobody is seen to read `extent`: its reader is on another host, or left out by a filter. A datagram that came
    /// in here may yet be for a socket that has not shown itself.
    pub fn ends_unseen(&self, extent: ByteRange) -> bool {
        let is_stream = matches!(self.marks, Marks::Tcp(_));
        self.receiver.is_none() && (is_stream || !self.marks.was_received(extent))
    }

    pub fn new(key: FlowKey, config: &Config) -> Flow {
        Flow {
            key,
            unwrap: Unwrap::default(),
            bytes: Reassembly::new(config.max_flow_bytes),
            marks: Marks::new(key.transport, config.max_marks),
            devices: Devices::default(),
            sender: None,
            receiver: None,
            pending: VecDeque::new(),
            assembling: VecDeque::new(),
            isn: None,
            writes: ArrayVec::new(),
            boundary: None,
            end: None,
            carried: CarriedBytes::default(),
            seen: None,
            unseen_before: Default::default(),
            pieces: Pieces::default(),
            has_sends: false,
            ready_losses: 0,
            window: Window::default(),
            closed_window: false,
            shut: None,
            interrupted: false,
            head: FirstBytes::default(),
            requests: None,
            unasked_topics: None,
            answers: None,
            releases: None,
            awaited_places: None,
            round_trips: None,
            set_up: Nanos(0),
            subscribed: Nanos(0),
            subscriptions: None,
            throttles: None,
            unsubscribed: None,
            rooms: None,
            hole: None,
            last: None,
            messages: 0,
            first_message: None,
            forwarded: 0,
            forwarded_to: Nanos(0),
            forwarded_by: None,
            stream: None,
        }
    }

    /// The last time that it asked for messages.
    pub fn request(&self) -> Option<&Request> {
        self.requests.as_ref()?.iter().next().filter(|request| request.at > Nanos(0))
    }

    /// The request that was made so many requests before the last one, if it is remembered.
    pub fn request_before(&self, requests: u32) -> Option<&Request> {
        let at = usize::try_from(requests).ok()?;
        self.requests.as_ref()?.iter().nth(at).filter(|request| request.at > Nanos(0))
    }

    /// The last time that it asked for messages of this consumer.
    pub fn request_on(&self, line: u64) -> Option<&Request> {
        let mut asked = self.requests.as_ref()?.iter().take_while(|request| request.at > Nanos(0));
        asked.find(|request| request.line == line)
    }

    /// Adds a request for messages, which this flow carried.
    pub fn asks(&mut self, request: Request) {
        self.requests.get_or_insert_default().push(request);
    }

    /// True if TCP had to send the last bytes that came, or those before them, again.
    pub fn came_late(&self) -> bool {
        let Some(end) = self.bytes.next() else { return false };
        let seen = self.marks.path(last_before(end), 0).circumstances;
        seen.resent || seen.behind_loss
    }

    /// Time at which the last bytes that came were there for their reader.
    pub fn last_arrived(&self) -> Option<Nanos> {
        let end = self.bytes.next()?;
        self.arrived(end).or_else(|| self.marks.passed_at(last_before(end)))
    }

    /// The last request is answered with messages that are handed out when their transaction is committed.
    pub fn answered_at_commit(&mut self) {
        if let Some(requests) = &mut self.requests {
            requests.newest_mut().awaits_commit = true;
        }
    }

    /// Notes that the last request for messages is answered.
    pub fn request_is_answered(&mut self) {
        if let Some(requests) = &mut self.requests {
            requests.newest_mut().is_answered = true;
        }
    }

    /// The first reply in it that is not read yet.
    pub fn first_reply(&self) -> Option<&UnreadReply> {
        self.round_trips.as_ref()?.first_reply()
    }

    /// Notes at time `at` whether the flow's receiver has room, as it said.
    pub fn has_window(&mut self, has_room: bool, at: Nanos) {
        if self.closed_window != has_room {
            return;
        }
        self.closed_window = !has_room;
        let shut = match self.shut.as_deref().copied() {
            Some((from, None)) if has_room => (from, Some(at)),
            Some((from, Some(until))) if at < until + WINDOW_REOPENED => (from, None),
            _ => (at, None),
        };
        self.shut = Some(Box::new(shut));
    }

    /// From when on, and until when at most, its receiver had no room shortly before `limit`.
    pub fn shut_before(&self, limit: Nanos) -> Option<(Nanos, Nanos)> {
        let (from, until) = *self.shut.as_deref()?;
        let until = until.unwrap_or(limit).min(limit);
        (limit < until + WINDOW_REOPENED).then_some((from, until))
    }

    /// Adds a release, by which this flow lets its receiver pass a message on.
    pub fn lets_go(&mut self, release: PendingRelease) {
        let releases = self.releases.get_or_insert_default();
        if releases.len() == RELEASES {
            releases.pop_front();
        }
        releases.push_back(release);
    }

    /// The release after which the receiver was allowed to pass on the message that begins at `message`, if it
    /// had to wait for one.
    pub fn release_for(&self, message: Offset) -> Option<Release> {
        let releases = self.releases.as_ref()?;
        releases.iter().rev().find(|release| release.is_for(message))?.read
    }

    /// All bytes before `end` were read at `at`: the last request and permissions may be among them.
    pub fn read_up_to(&mut self, end: Offset, at: Nanos) {
        if let Some(releases) = &mut self.releases {
            let unread = releases.iter_mut().rev().take_while(|release| release.read.is_none());
            for release in unread.filter(|release| release.of.end <= end) {
                let seen = self.marks.path(last_before(release.of.end), 0);
                release.read = Some(release.seen(&seen, at));
            }
        }
        let Some(requests) = &mut self.requests else { return };
        let is_open = |request: &&mut Request| request.read.is_none() && request.at > Nanos(0);
        let open = requests.iter_mut().take_while(is_open);
        for request in open.filter(|request| request.end <= end) {
            let seen = self.marks.path(last_before(request.end), 0).circumstances;
            request.read = Some((at, seen.resent || seen.behind_loss));
        }
    }

    /// A message that had been read at `read` is in the answer to the request of that time.
    pub fn answered_with(&mut self, asked: Nanos, read: Nanos) {
        if let Some(request) = self.request_at_mut(asked) {
            request.filled = request.filled.max(Some(read));
        }
    }

    /// A message that ends before `end` is in the answer to the request of that time.
    pub fn answer_ends(&mut self, asked: Nanos, end: Offset) {
        if let Some(request) = self.request_at_mut(asked).filter(|one| !one.is_interrupted) {
            request.answer = request.answer.max(Some(end));
        }
    }

    /// The answer to this request, which was the consumer's last one, was there at `came`.
    pub fn answer_came(&mut self, request: &Request, came: Nanos) {
        let consumers = self.answers.get_or_insert_default();
        let known = consumers.iter().position(|(line, _)| *line == request.line);
        let known = known.and_then(|place| consumers.remove(place));
        let (_, mut answers) = known.unwrap_or_default();
        answers.came(request.at, came);
        // The first is the one that asked least lately.
        if consumers.len() >= CONSUMERS {
            consumers.pop_front();
        }
        consumers.push_back((request.line, answers));
    }

    /// For how long, between `from` and `to`, requests of the consumer that made one at `asked` had not been answered.
    pub fn unanswered(&self, from: Nanos, to: Nanos, asked: Nanos) -> Nanos {
        let Some(consumers) = &self.answers else { return Nanos(0) };
        // Of a request that was long ago it is not known who made it, unless nobody else does.
        let of_it = match self.request_at(asked) {
            Some(request) => consumers.iter().find(|(line, _)| *line == request.line),
            None => consumers.front().filter(|_| consumers.len() == 1),
        };
        of_it.map_or(Nanos(0), |(_, answers)| answers.between(from, to))
    }

    fn request_at_mut(&mut self, at: Nanos) -> Option<&mut Request> {
        self.requests.as_mut()?.iter_mut().find(|request| request.at == at)
    }

    /// The request that was made at that time, if it is remembered.
    pub fn request_at(&self, at: Nanos) -> Option<&Request> {
        self.requests.as_ref()?.iter().find(|request| request.at == at)
    }

    /// True if the bytes before `end` have come, or it is not known which come next.
    pub fn has_come(&self, end: Offset) -> bool {
        self.bytes.next().is_none_or(|next| next >= end)
    }

    /// True if the next byte in order is known not to have arrived.
    pub fn lacks_next(&self) -> bool {
        let Marks::Tcp(marks) = &self.marks else { return false };
        self.bytes.next().is_some_and(|next| marks.lacks(next))
    }

    /// After the packet behind a `hole`, of which the messages from number `first` on were found: adds the one in the hole,
    /// if one send call and its neighbours frame it.
    pub fn frame(
        &mut self,
        hole: Option<ByteRange>,
        first: usize,
        serial: u64,
        found: &mut DecoderOutput,
    ) {
        let (Marks::Tcp(marks), Some(last)) =
            (&self.marks, found.all.get(first..).and_then(<[Found]>::last))
        else {
            return;
        };
        let framed = match (hole, &self.last, found.all.get(first)) {
            (Some(hole), Some(before), Some(after)) if marks.is_one_send(hole) => {
                between(before, hole, after, serial)
            }
            _ => None,
        };
        match &mut self.last {
            Some(place) => (**place).clone_from(last),
            None => self.last = Some(Box::new(last.clone())),
        }
        if let Some(message) = framed {
            found.all.insert(first, message);
        }
    }

    /// Frees what is kept for speed.
    pub fn shrink(&mut self) {
        self.pending.shrink_to_fit();
        self.last = None;
        self.unseen_before = [PacketHook::Xmit, PacketHook::Rx].map(|hook| self.unseen(hook));
        self.seen = None;
        if self.round_trips.as_ref().is_some_and(|trips| !trips.is_waiting()) {
            self.round_trips = None;
        }
        self.assembling.shrink_to_fit();
        self.bytes.shrink();
        match &mut self.marks {
            Marks::Tcp(marks) => marks.shrink(),
            Marks::Udp(marks) => marks.shrink(),
        }
    }

    /// True if nothing was carried yet.
    pub fn is_fresh(&self) -> bool {
        self.isn.is_none() && self.bytes.next().is_none() && self.carried.is_empty()
    }

    /// The SYN with this sequence number opens this direction.
    pub fn open(&mut self, isn: Seq) {
        self.isn = Some(isn);
        self.boundary = None;
        self.unwrap = Unwrap::default();
        self.unwrap.offset(isn.plus(1));
        self.bytes.start_at(Offset::START);
        self.begin_seen(Offset::START);
    }

    /// The stack's own numbers say that everything before `upto` has passed.
    pub fn proven(&mut self, upto: Offset) {
        for hook in self.seen.iter_mut().flat_map(|seen| seen.iter_mut()) {
            hook.proven(upto);
        }
    }

    /// Forgets which packets were seen: that begins anew with the next one.
    pub fn forget_seen(&mut self) {
        self.seen = None;
    }

    /// The bytes that `hook` saw.
    pub fn seen_by(&mut self, hook: PacketHook) -> &mut SeenBytes {
        &mut self.seen.get_or_insert_default()[hook as usize]
    }

    /// Each hook has to see everything from `at` on, unless it has to since before.
    pub fn begin_seen(&mut self, at: Offset) {
        self.seen.get_or_insert_default().iter_mut().for_each(|hook| hook.start_at(at));
    }

    /// Observation was interrupted on purpose.
    pub fn interrupt_seen(&mut self) {
        for hook in self.seen.iter_mut().flat_map(|seen| seen.iter_mut()) {
            hook.restart();
        }
    }

    /// Observation is interrupted: what was asked and answered meanwhile is not known.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.interrupt_seen();
        if let Some(requests) = &mut self.requests {
            requests.newest_mut().answer = None;
            requests.newest_mut().is_interrupted = true;
        }
        if let Some(trips) = &mut self.round_trips {
            trips.interrupt();
        }
    }

    /// Forgets the flow's place, because it was not looked at for any time: the next packet tells
    /// where it is.
    pub fn lose_place(&mut self) {
        self.interrupt();
        self.unwrap.lose();
        self.window = Window::default();
    }

    /// Packets and bytes that `hook` did not see.
    pub fn unseen(&self, hook: PacketHook) -> Unseen {
        let mut sum = self.unseen_before[hook as usize];
        if let Some(seen) = &self.seen {
            sum += seen[hook as usize].unseen();
        }
        sum
    }

    /// The range of a packet's payload in the flow; `None` for a sequence number that cannot be
    /// this flow's.
    pub fn payload_range(&mut self, tcp: &TcpFields, len: u32) -> Option<ByteRange> {
        let syn = u32::from(tcp.flags & tcp_flags::SYN != 0);
        let range = ByteRange::new(self.unwrap.offset(tcp.seq.plus(syn))?, u64::from(len));
        if tcp.flags & tcp_flags::FIN != 0 {
            self.end = Some(range.end);
        }
        Some(range)
    }

    /// An offset from one of the kernel's counters, which count the FIN as a byte.
    pub fn counter(&mut self, seq: Seq) -> Option<Offset> {
        let offset = self.unwrap.offset(seq)?;
        Some(self.end.map_or(offset, |end| offset.min(end)))
    }
}
