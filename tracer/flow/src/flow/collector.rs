//! Collector of a decoder's results: messages for the joins, bytes for the ledger, and frames that bear on
//! messages.

use super::found::{Found, FoundFragments, FoundReader};
use super::identity::{content, found_message};
use super::output::DecoderOutput;
use super::places::{FoundPlace, GivenPlaces};
use super::requests::Released;
use super::round_trips::{ExchangePart, FoundExchange};
use super::subscriptions::{FoundSubscription, SubscriptionChange};
use crate::bytes::Ledger;
use wirelap_events::human::clean;
use wirelap_events::{
    ByteRange, Frame, FrameClass, MessageTrace, Offset, RequestLimits, Saturate, TraceContext,
};
use wirelap_figures::{Introduction, ReaderGroup};
use wirelap_protocols::ros2::{DdsEndpoint, RosFact};
use wirelap_protocols::{
    Fragments, FrameNote, FrameSink, KeptFor, Protocol, RequestContent, Side, Throttle, Withheld,
};

/// Kinds of frames that bear on messages and are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Kinds of frames that do not depend on each other.
pub struct ControlFrames {
    /// A frame that opens a session or subscribes.
    pub set_up: bool,
    /// A frame that subscribes.
    pub subscribes: bool,
    /// A server goes on with the session of an earlier connection of its client.
    pub resumes: bool,
    /// A request for messages, and its end.
    pub asked: Option<Offset>,
    /// The consumer or channel that it is for.
    pub asked_line: u64,
    /// Limits that the request sets for how long it may be kept waiting.
    pub ask: Option<RequestLimits>,
    /// The consumers or channels of its receiver whose last requests for messages are answered, and one past the last byte of the frame that
    /// does it.
    pub answers: [Option<(u64, Option<Offset>)>; ANSWERS],
    /// Messages that their receiver is given once their transaction is committed.
    pub committed: bool,
    /// Acknowledgements before which their receiver may not have been allowed to send more, one of each consumer or channel.
    pub acknowledgements: [Option<FoundAcknowledgement>; ACKNOWLEDGEMENTS],
    /// Time for which its sender does not read what comes from its receiver.
    pub throttle: Option<Throttle>,
    /// The ends whose clients get no more of something.
    pub unsubscribes: [bool; 2],
}

/// So many consumers of a connection may be answered in one packet, of which all are told.
const ANSWERS: usize = 4;

/// So many consumers of a connection may acknowledge in one packet, of which all are told.
const ACKNOWLEDGEMENTS: usize = 4;

/// An acknowledgement of a message while as many as ever were not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundAcknowledgement {
    /// The consumer or channel.
    pub line: u64,
    /// One past the last byte of the first message that it acknowledges, in the other direction, if that was captured.
    pub message: Option<Offset>,
    /// One past the last byte of the message, in the other direction, with which there were as many as ever.
    pub full_with: Option<Offset>,
    /// One past its own last byte.
    pub end: Offset,
    /// True if its receiver may send more from then on.
    pub permits_more: bool,
}

impl ControlFrames {
    /// The last request of a consumer or channel is answered, by a frame that ends at `end` if that is known.
    fn add_answer(&mut self, line: u64, end: Option<Offset>) {
        let mut places = self.answers.iter_mut();
        if let Some(place) = places.find(|known| known.is_none_or(|(known, _)| known == line)) {
            *place = Some((line, end.or(place.and_then(|(_, end)| end))));
        }
    }

    fn add_acknowledgement(&mut self, found: FoundAcknowledgement) {
        let mut places = self.acknowledgements.iter_mut();
        let place = places.find(|known| known.is_none_or(|known| known.line == found.line));
        match place {
            // What is acknowledged first was there first.
            Some(Some(first)) => {
                first.permits_more |= found.permits_more;
                first.full_with = first.full_with.or(found.full_with);
            }
            Some(place) => *place = Some(found),
            None => {}
        }
    }
}

/// Collector of a decoder's results.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is something that a decoder says of the frame that comes next"
)]
pub struct Collector<'a> {
    control: &'a mut ControlFrames,
    side: Side,
    protocol: &'static dyn Protocol,
    ledger: &'a mut Ledger,
    /// The results.
    pub found: &'a mut DecoderOutput,
    /// The fragments that the decoder has told of the frame that comes next.
    fragments: Option<Fragments>,
    /// Starts of the first and the last message that the frame that comes next releases, and the end of their receipt.
    releases: Option<([Offset; 2], Option<Offset>)>,
    /// Bytes of what was compressed, and what became of them, for the messages that follow.
    packed: (u64, u64),
    /// From which byte on the messages that follow can be used.
    usable_at: Option<Offset>,
    /// The payload of the message in the frame that comes next may start earlier.
    is_unsure: bool,
    /// True if its sender has the message in the frame that comes next from somebody else.
    passed_on: bool,
    /// True if that message lay in a queue until its time there was over.
    has_expired: bool,
    past: u32,
    /// True if that message lay in another queue before.
    was_rerouted: bool,
    /// True if that message is marked as retained by its publisher.
    publishers_mark: Option<u32>,
    /// Why its server does not pass it on at once.
    withheld: Option<Withheld>,
    /// The frame that comes next requests messages.
    asks: bool,
    /// The consumer or channel whose last request for messages the frame that comes next answers.
    answers: Option<u64>,
    /// The acknowledgement in the frame that comes next: the end of its message, the end of the message with which as many as ever
    /// were under way, and whether it permits more.
    acknowledges: Option<(Option<Offset>, Option<Offset>, bool)>,
    /// The reader of the message in it, or the consumer or channel that it is about.
    reader: FoundReader,
    /// The time at which its publisher made the message in it.
    made_at: Option<u64>,
    /// The trace that it names.
    trace: Option<TraceContext>,
    /// The place of the message in it.
    place: FoundPlace,
    /// Number of messages of the log between that message and what its reader was sent before.
    follows_after: u64,
    /// Time for which that message is kept for subscribers that are away.
    kept_for: KeptFor,
}

impl<'a> Collector<'a> {
    pub fn new(
        control: &'a mut ControlFrames,
        side: Side,
        protocol: &'static dyn Protocol,
        ledger: &'a mut Ledger,
        found: &'a mut DecoderOutput,
    ) -> Collector<'a> {
        Collector {
            control,
            side,
            protocol,
            ledger,
            found,
            fragments: None,
            releases: None,
            packed: (0, 0),
            usable_at: None,
            is_unsure: false,
            passed_on: false,
            has_expired: false,
            past: 0,
            was_rerouted: false,
            publishers_mark: None,
            withheld: None,
            asks: false,
            answers: None,
            acknowledges: None,
            reader: FoundReader::default(),
            made_at: None,
            trace: None,
            place: FoundPlace::Unknown,
            follows_after: 0,
            kept_for: KeptFor::Ever,
        }
    }

    /// A client gives itself a name.
    fn client(&mut self, side: Side, name: &[u8]) {
        let name = self.found.client_names.id_of(name);
        let reads_elsewhere = self.protocol.names_groups_elsewhere();
        self.found.introduced.push((side, Introduction::Client { name, reads_elsewhere }));
    }
}

impl Collector<'_> {
    /// The subscriptions of an end have changed.
    fn subscription(&mut self, side: Side, change: SubscriptionChange) {
        self.found.subscriptions.push(FoundSubscription { side, change });
    }

    /// Discovery tells something of the nodes of ROS 2.
    fn ros(&mut self, fact: &RosFact) {
        if let RosFact::Endpoint(_, DdsEndpoint { topic, name, .. }) = fact
            && let Some(type_name) = &name.type_name
        {
            self.found.topics.learn_type(topic, type_name, self.protocol.name());
        }
        self.found.ros.learn(fact);
    }

    /// The frame that comes next answers a request for messages.
    fn answer(&mut self) {
        self.answers = Some(self.reader.line);
        self.control.add_answer(self.reader.line, None);
    }

    /// A server refused something, for this reason.
    fn refused(&mut self, why: &[u8]) {
        if self.found.refusals.len() < MAX_REFUSALS {
            self.found.refusals.push(reason(why));
        }
    }

    /// A part of an exchange was found.
    fn exchange(
        &mut self,
        part: ExchangePart,
        number: u64,
        extent: ByteRange,
        content: RequestContent,
    ) {
        let side = self.side;
        self.found.exchanges.push(FoundExchange { side, number, extent, part, content });
    }
}

/// The most refusals that are kept of the bytes of a packet.
const MAX_REFUSALS: usize = 64;
/// The most bytes of a reason.
const REASON_BYTES: usize = 120;

/// A reason as text that can be shown.
fn reason(why: &[u8]) -> Box<str> {
    let why = String::from_utf8_lossy(why.get(..REASON_BYTES).unwrap_or(why));
    clean(&why).into()
}

impl FrameSink for Collector<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.ledger.frame(self.side, frame);
        let fragments = self.fragments.take();
        let is_unsure = std::mem::take(&mut self.is_unsure);
        let passed_on = std::mem::take(&mut self.passed_on);
        let has_expired = std::mem::take(&mut self.has_expired);
        let past = std::mem::take(&mut self.past);
        let was_rerouted = std::mem::take(&mut self.was_rerouted);
        let publishers_mark = self.publishers_mark.take();
        let withheld = self.withheld.take();
        let reader = std::mem::take(&mut self.reader);
        if let Some(fragments) = fragments {
            self.ledger.repeated(self.side, fragments.repeated_bytes);
            let (side, at) = (self.side, frame.range.start);
            self.found.fragments.push(FoundFragments { side, at, fragments });
        }
        self.control.subscribes |= frame.class == FrameClass::Subscribe;
        self.control.set_up |= matches!(frame.class, FrameClass::Session | FrameClass::Subscribe);
        if let Some(([first, message], receipt)) = self.releases.take() {
            let (side, end) = (self.side, frame.range.end);
            self.found.released.push(Released { side, first, message, end, receipt });
        }
        let line = reader.line;
        let place = std::mem::take(&mut self.place);
        let follows_after = std::mem::take(&mut self.follows_after);
        let kept_for = std::mem::take(&mut self.kept_for);
        let made_at = self.made_at.take();
        let trace = MessageTrace { context: self.trace.take(), ordinal: 0 };
        if let Some((message, full_with, permits_more)) = self.acknowledges.take() {
            let end = frame.range.end;
            self.control.add_acknowledgement(FoundAcknowledgement {
                line,
                message,
                full_with,
                end,
                permits_more,
            });
        }
        if let Some(line) = self.answers.take() {
            self.control.add_answer(line, Some(frame.range.end));
        }
        if std::mem::take(&mut self.asks) || frame.asks_for_messages() {
            self.control.asked = Some(frame.range.end);
            self.control.asked_line = line;
        }
        if let Some(data) = &frame.data {
            let shared = frame.is_in_shared_memory();
            let topic_id = self.found.topics.id_of_topic(data.topic, self.protocol.name());
            let assembly = fragments.map(|fragments| fragments.message);
            let own = found_message(self.side, data);
            let own = Found { passed_on, has_expired, was_rerouted, withheld, shared, ..own };
            let own = Found { publishers_mark, past, trace, ..own };
            let mut found = Found { reader, assembly, made_at, follows_after, kept_for, ..own };
            found.topic.id = topic_id;
            // A stamp tells more.
            if found.stamp.is_none() {
                found.place = place;
            }
            let numbers_topics = self.protocol.numbers_topics();
            let routed = self.protocol.routed_topic(data.topic);
            if numbers_topics || routed.is_some() {
                let topic = routed.unwrap_or(data.topic);
                let is_unsure = is_unsure || numbers_topics && data.topic.is_empty();
                found.content = content(found.stamp, data, topic, is_unsure);
            }
            if numbers_topics {
                let is_known = data.key.is_some() || !data.topic.is_empty();
                let is_telling = found.content.is_some_and(|content| content.is_telling);
                found.topic.is_nameless = !is_known && !is_telling;
            }
            found.usable_at = self.usable_at.filter(|&end| end > data.extent.end);
            if frame.range.is_empty() {
                let (bytes, opened) = self.packed;
                let share = u128::from(data.payload_len).saturating_mul(u128::from(bytes));
                found.wire_payload =
                    u64::try_from(share.checked_div(u128::from(opened.max(1))).unwrap_or(0))
                        .unwrap_or(u64::MAX);
            }
            self.found.all.push(found);
        }
    }

    fn note(&mut self, note: FrameNote<'_>) {
        let found = &mut *self.found;
        match note {
            FrameNote::Client { side, name } => self.client(side, name),
            FrameNote::ClientTitle { name, title } => found.client_names.entitle(name, title),
            FrameNote::Member { side, group } => {
                if let Some(group) = found.group_names.id_of(group) {
                    found.introduced.push((side, Introduction::Member(group)));
                }
            }
            FrameNote::ReaderGroup(None) => self.reader.group = ReaderGroup::None,
            FrameNote::ReaderGroup(Some(name)) => {
                let group = found.group_names.id_of(name);
                self.reader.group = group.map_or(ReaderGroup::Unknown, ReaderGroup::Named);
            }
            FrameNote::Fragments(fragments) => self.fragments = Some(*fragments),
            FrameNote::Asks(ask) => (self.control.ask, self.asks) = (Some(ask), true),
            FrameNote::AsksForTopic { topic, asks } => {
                found.asked_topics.push((self.side, topic, asks));
            }
            FrameNote::Answers => self.answer(),
            FrameNote::Line(line) => self.reader.line = line,
            FrameNote::Subscription(number) => self.reader.subscription = number,
            FrameNote::Subscribes { number, queue } => {
                self.subscription(self.side, SubscriptionChange::Begins { number, queue });
            }
            FrameNote::Renumbers { begun, number } => {
                let change = SubscriptionChange::Renumbered { begun, number };
                self.subscription(self.side.other(), change);
            }
            FrameNote::QueueIsEmpty { queue, is_server_wide } => {
                let change = SubscriptionChange::QueueIsEmpty { queue, is_server_wide };
                self.subscription(self.side.other(), change);
            }
            FrameNote::Withheld(why) => self.withheld = Some(why),
            FrameNote::WasRerouted => self.was_rerouted = true,
            FrameNote::HasPublishersMark(number) => self.publishers_mark = Some(number),
            FrameNote::TakenOver { requests_ago } => self.reader.taken_over = Some(requests_ago),
            FrameNote::AwaitsCommit => self.control.committed = true,
            FrameNote::Releases { first, message, receipt } => {
                self.releases = Some(([first, message], receipt));
            }
            FrameNote::Acknowledges { message, full_with, permits_more } => {
                self.acknowledges = Some((message, full_with, permits_more));
            }
            FrameNote::Throttles(throttle) => self.control.throttle = Some(throttle),
            FrameNote::Unsubscribes(side) => self.control.unsubscribes[side as usize] = true,
            FrameNote::Unpacked { bytes, decompressed } => self.packed = (bytes, decompressed),
            FrameNote::UsableAt(end) => self.usable_at = Some(end),
            FrameNote::MadeAt(time) => self.made_at = Some(time),
            FrameNote::TraceContext(trace) => self.trace = Some(trace),
            FrameNote::HasPlace(place) => self.place = FoundPlace::At(place),
            FrameNote::KeptFor(kept) => self.kept_for = kept,
            FrameNote::ResumesSession => self.control.resumes = true,
            FrameNote::FollowsAfter(messages) => self.follows_after = messages,
            FrameNote::IsAtPlace(place) => self.place = FoundPlace::Only(place),
            FrameNote::AwaitsPlace(number) => self.place = FoundPlace::Awaited(number),
            FrameNote::GivesPlaces { first, count, place } => {
                let side = self.side;
                found.given_places.push(GivenPlaces { side, first, count, place });
            }
            FrameNote::UncertainStart => self.is_unsure = true,
            FrameNote::PassedOn => self.passed_on = true,
            FrameNote::Expired => self.has_expired = true,
            FrameNote::TellsPast(past) => self.past = past,
            FrameNote::UnreadMessages(messages) => {
                found.gaps.unread[self.side as usize].grow(messages);
            }
            FrameNote::Discarded(messages) => found.notes.thrown_away.grow(messages),
            FrameNote::ReadTwice(messages) => found.notes.uncertain.read_twice.grow(messages),
            FrameNote::PassedOver { records, is_same_group } => {
                found.notes.passed_over[usize::from(is_same_group)].grow(records);
            }
            FrameNote::PutBack { messages, why } => {
                found.notes.put_back[why as usize].grow(messages);
            }
            FrameNote::Discards(what) => found.notes.discarded.note(what),
            FrameNote::NotKept(messages) => found.notes.not_kept.grow(messages),
            FrameNote::Refuses(why) => self.refused(why),
            FrameNote::Superseded(replies) => found.notes.uncertain.superseded.grow(replies),
            FrameNote::CutShort(messages) => found.notes.uncertain.cut_short.grow(messages),
            FrameNote::Encrypted(messages) => found.notes.uncertain.encrypted.grow(messages),
            FrameNote::Implementation(name) => found.notes.implementation = Some(name),
            FrameNote::Unseen(parties) => found.notes.unseen_parties = Some(parties),
            FrameNote::InOrder { origin, first } => {
                found.ordered.push((self.side, origin, first));
            }
            FrameNote::Request { number, extent, content } => {
                self.exchange(ExchangePart::Request, number, extent, content);
            }
            FrameNote::Reply { number, extent } => {
                self.exchange(ExchangePart::Reply, number, extent, RequestContent::default());
            }
            FrameNote::NoReply(number) => {
                let extent = ByteRange::default();
                self.exchange(ExchangePart::NoReply, number, extent, RequestContent::default());
            }
            FrameNote::Ros(fact) => self.ros(fact),
        }
    }

    fn takes_trace_contexts(&self) -> bool {
        self.found.takes_trace_contexts
    }
}
