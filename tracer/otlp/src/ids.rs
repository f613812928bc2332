//! The numbers of traces and spans, made of what a message is known by: whoever sees the same bytes of the same connection makes the same ones.

use std::net::{IpAddr, SocketAddr};
use wirelap_events::{Delivery, FlowKey, Leg, MessageId, NetNs, TraceContext, Transport};

/// Nanoseconds of the time by which messages are told apart that have the same place in a connection's bytes: where it is not known how many
/// bytes had gone before, each session begins to count anew.
const TIME_STEP: u64 = 1_000_000_000;

/// The bits of a trace's number by which a share of all traces is chosen (W3C Trace Context, level 2: the last seven bytes are random).
const RANDOM_BITS: u32 = 56;

/// The number of a message's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId([u64; 2]);

/// The number of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

/// The part that a span has in a message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanRole {
    Producer = 1,
    Forwarder = 2,
    Consumer = 3,
}

/// The host and the clock by which numbers are made.
#[derive(Clone, Copy, Debug)]
pub struct IdOrigin<'a> {
    /// The name of this host.
    pub host: &'a str,
    /// The nanoseconds by which the clock of the day is ahead of that of events.
    pub wall_offset: i64,
}

/// Two words that depend on all that was added.
struct Mixer([u64; 2]);

impl Mixer {
    fn new() -> Mixer {
        Mixer([0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F])
    }

    fn add(&mut self, word: u64) {
        let [first, second] = self.0;
        self.0 = [mixed(first ^ word), mixed(second.rotate_left(32) ^ word)];
    }

    fn address(&mut self, address: SocketAddr) {
        match address.ip() {
            IpAddr::V4(ip) => self.add(ip.to_bits().into()),
            IpAddr::V6(ip) => {
                for part in ip.segments() {
                    self.add(part.into());
                }
            }
        }
        self.add(address.port().into());
    }

    /// The host, and what of it a connection cannot leave: others have the same addresses.
    fn confines(&mut self, flow: &FlowKey, host: &str) {
        if flow.scope == NetNs(0) && !flow.src.ip().is_loopback() && !flow.dst.ip().is_loopback() {
            return;
        }
        self.add(flow.scope.0.into());
        for byte in host.bytes() {
            self.add(byte.into());
        }
    }

    /// The place of a message in the bytes of a connection.
    fn leg(&mut self, leg: &Leg) {
        self.address(leg.flow.src);
        self.address(leg.flow.dst);
        self.add(u64::from(leg.flow.transport == Transport::Udp));
        self.add(leg.flow_range.range.start.0);
    }
}

/// Spreads the bits of a word over all of it (the last steps of `SplitMix64`).
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl TraceId {
    /// The number of a message's trace, by its first leg and its number among the messages that have one place there.
    pub fn of(delivery: &Delivery, origin: IdOrigin<'_>) -> TraceId {
        let mut mixer = Mixer::new();
        let began = delivery.begins().unwrap_or_default().0;
        mixer.add(began.saturating_add_signed(origin.wall_offset) / TIME_STEP);
        if let Some(first) = delivery.legs.first() {
            mixer.confines(&first.flow, origin.host);
            mixer.leg(first);
        }
        mixer.add(delivery.trace.ordinal.into());
        let [first, second] = mixer.0;
        // A number of zeros alone is none.
        TraceId([first, second.max(1)])
    }

    /// The number of one of several messages that have one number, as far as is known here. The bits by which a share is chosen stay the same.
    #[must_use]
    pub fn of_one(self, message: MessageId) -> TraceId {
        let [first, second] = self.0;
        TraceId([mixed(first ^ mixed(message.0)), second])
    }

    /// The number as it is sent.
    pub fn bytes(self) -> Vec<u8> {
        self.0.map(u64::to_be_bytes).concat()
    }

    /// True if the trace is one of this share of all, whoever decides it.
    pub fn is_in(self, share: f64) -> bool {
        let random = self.0[1] & (u64::MAX >> (u64::BITS - RANDOM_BITS));
        let all = (1_u64 << RANDOM_BITS) as f64;
        random as f64 >= (1.0 - share) * all
    }

    /// The number of a span of this trace. A forwarder's is told apart by the leg that it sends, a consumer's by its own end of the leg too.
    pub fn span(self, role: SpanRole, leg: Option<&Leg>) -> SpanId {
        let mut mixer = Mixer(self.0);
        mixer.add(role as u64);
        if let Some(leg) = leg {
            mixer.leg(leg);
            if role == SpanRole::Consumer {
                mixer.add(leg.to.unwrap_or_default().0);
                mixer.add(leg.reader.unwrap_or_default().tid.0.into());
            }
        }
        SpanId(mixer.0[0].max(1))
    }
}

/// The numbers of a message: its own, of which its spans have theirs, and those of the trace that its application is in.
///
/// One span of an application can send many messages, so that spans are told apart by the messages' own numbers.
#[derive(Clone, Copy, Debug)]
pub struct MessageIds {
    /// The message's own number.
    pub own: TraceId,
    /// The application's trace, if the message names one.
    pub context: Option<TraceContext>,
}

impl MessageIds {
    /// The numbers of a message.
    pub fn of(delivery: &Delivery, origin: IdOrigin<'_>) -> MessageIds {
        MessageIds { own: TraceId::of(delivery, origin), context: delivery.trace.context }
    }

    /// The trace that its spans are sent in.
    pub fn trace(&self) -> TraceId {
        let Some(context) = self.context else { return self.own };
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(context.trace.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        TraceId(words)
    }

    /// True if the message is one of this share of all that applications have recorded, or might have: of what an application did not
    /// record, its own spans are missing.
    pub fn is_in(&self, share: f64) -> bool {
        self.context.is_none_or(|context| context.is_sampled()) && self.trace().is_in(share)
    }
}

impl SpanId {
    /// The number as it is sent.
    pub fn bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use wirelap_events::{ByteRange, Offset, Stage};
    use wirelap_test_support::delivered::{delivery, flow, leg};

    fn at(start: u64, times: &[(Stage, u64)]) -> Delivery {
        let mut first = leg(times);
        let address = |host| SocketAddr::from(([10, 0, 0, host], 1_883));
        first.flow = FlowKey::new(Transport::Tcp, address(1), address(2), NetNs(0));
        first.flow_range.range = ByteRange::new(Offset(start), 80);
        delivery([first])
    }

    fn here(wall_offset: i64) -> IdOrigin<'static> {
        IdOrigin { host: "here", wall_offset }
    }

    fn there(wall_offset: i64) -> IdOrigin<'static> {
        IdOrigin { host: "there", wall_offset }
    }

    #[test]
    fn two_hosts_that_see_the_same_bytes_make_the_same_trace() {
        // One sees the send, with a clock of its own, the other only the arrival.
        let sender = at(7_000, &[(Stage::Send, 5_000_400_000), (Stage::Xmit, 5_000_410_000)]);
        let receiver = at(7_000, &[(Stage::Rx, 900_000), (Stage::Read, 950_000)]);
        let (a, b) = (TraceId::of(&sender, here(0)), TraceId::of(&receiver, there(5_000_000_000)));
        assert_eq!(a, b);
        assert_eq!(a.span(SpanRole::Producer, None), b.span(SpanRole::Producer, None));
        assert_ne!(a, TraceId::of(&sender, here(1_000_000_000)), "a later session");
    }

    #[test]
    fn no_two_messages_have_a_number_and_a_share_is_a_share() {
        let times = [(Stage::Send, 10), (Stage::Read, 20)];
        let mut ids = HashSet::new();
        for number in 0..20_000 {
            let mut one = at(number * 64, &times);
            one.legs[0].flow = flow(1_000 + u16::try_from(number % 7).unwrap(), 1_883);
            ids.insert(TraceId::of(&one, here(0)));
        }
        assert_eq!(ids.len(), 20_000);
        let chosen = |share| ids.iter().filter(|id| id.is_in(share)).count();
        assert_eq!((chosen(0.0), chosen(1.0)), (0, 20_000));
        assert!((1_800..2_200).contains(&chosen(0.1)), "{}", chosen(0.1));
        // Who takes a smaller share takes none that the other does not.
        assert!(ids.iter().filter(|id| id.is_in(0.05)).all(|id| id.is_in(0.1)));
    }

    #[test]
    fn what_cannot_leave_a_host_or_a_namespace_is_told_from_that_of_others() {
        let mut one = at(7_000, &[(Stage::Send, 10)]);
        let mut ids = HashSet::new();
        for (loopback, scope) in [(true, 0), (true, 1), (true, 2), (false, 1)] {
            let first = &mut one.legs[0];
            let address = std::net::SocketAddr::from(([10, 0, 0, 1], 1_883));
            first.flow = FlowKey { src: address, dst: address, ..flow(1, 1_883) };
            if loopback {
                first.flow = flow(1, 1_883);
            }
            first.flow.scope = NetNs(scope);
            ids.extend([TraceId::of(&one, here(0)), TraceId::of(&one, there(0))]);
        }
        assert_eq!(ids.len(), 8);
    }

    #[test]
    fn messages_in_one_place_have_the_same_numbers_on_two_hosts() {
        let numbered = |ordinal, times: &[(Stage, u64)]| {
            let mut one = at(7_000, times);
            one.trace.ordinal = ordinal;
            one
        };
        let ids = |ordinal| {
            let (sent, read) = ([(Stage::Send, 10)], [(Stage::Rx, 70)]);
            let [here, there] = [(sent, here(0)), (read, there(0))]
                .map(|(times, origin)| TraceId::of(&numbered(ordinal, &times), origin));
            assert_eq!(here, there, "{ordinal}");
            here
        };
        assert_eq!((0..1_000).map(ids).collect::<HashSet<_>>().len(), 1_000);
    }

    #[test]
    fn the_trace_of_an_application_decides_over_the_share() {
        let mut one = at(7_000, &[(Stage::Send, 10)]);
        let mut context = TraceContext { trace: [0xFF; 16], parent: [1; 8], flags: 1 };
        context.trace[..9].copy_from_slice(b"123456789");
        one.trace.context = Some(context);
        let ids = MessageIds::of(&one, here(0));
        assert_eq!(ids.trace().bytes(), context.trace);
        assert!(ids.is_in(0.001), "by its last 56 bits");
        one.trace.context = Some(TraceContext { flags: 2, ..context });
        assert!(!MessageIds::of(&one, here(0)).is_in(1.0), "the application has not recorded it");
    }

    #[test]
    fn messages_in_one_place_have_numbers_of_their_own_and_share_the_bits_of_choice() {
        let place = TraceId::of(&at(7_000, &[(Stage::Send, 10)]), here(0));
        let all: HashSet<TraceId> = (0..1_000).map(|one| place.of_one(MessageId(one))).collect();
        assert_eq!((all.len(), all.contains(&place)), (1_000, false));
        assert!(all.iter().all(|one| one.bytes()[8..] == place.bytes()[8..]));
    }

    #[test]
    fn parts_of_a_way_have_numbers_of_their_own() {
        let one = at(64, &[(Stage::Send, 10), (Stage::Read, 20)]);
        let trace = TraceId::of(&one, here(0));
        let mut other_reader = one.legs[0].clone();
        other_reader.to = Some(wirelap_events::SocketId(9));
        let spans = [
            trace.span(SpanRole::Producer, None),
            trace.span(SpanRole::Forwarder, one.legs.first()),
            trace.span(SpanRole::Consumer, one.legs.first()),
            trace.span(SpanRole::Consumer, Some(&other_reader)),
        ];
        assert_eq!(HashSet::from(spans).len(), 4);
        assert_eq!((trace.bytes().len(), spans[0].bytes().len()), (16, 8));
    }
}
