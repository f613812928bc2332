//! How far a row's figures can be trusted: from counts, by fixed limits, to a verdict with its reasons.
//!
//! The limits and why they are what they are: `docs/decisions/0021-when-a-row-is-not-to-be-trusted.md`.

use crate::snapshot::{Group, Trust, Unseen};
use wirelap_events::human::{counted, counted_as, exact};

/// Whether a row's figures can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reliability {
    /// As they stand.
    #[default]
    Good,
    /// With the reasons in mind.
    Reduced,
    /// Not at all.
    Unusable,
}

impl Reliability {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Reliability::Good => "good",
            Reliability::Reduced => "reduced",
            Reliability::Unusable => "unusable",
        }
    }

    /// What stands before the row's name in a table.
    pub const fn mark(self) -> &'static str {
        match self {
            Reliability::Good => "",
            Reliability::Reduced => "! ",
            Reliability::Unusable => "✗ ",
        }
    }
}

/// Why a row's figures are not simply good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoubtKind {
    /// Probes had to throw events away.
    EventsLost,
    /// Deliveries were not followed from the first send to the last read.
    NotFollowed,
    /// Packets passed that no probe saw.
    Unseen,
    /// Bytes were in no frame that was found.
    Undecoded,
    /// Payload was not captured, and no message was found in the rest.
    Uncaptured,
    /// Messages were in batches that could not be opened.
    Unread,
    /// Flows or messages were given up to keep memory bounded.
    GivenUp,
    /// Two readers of a group were sent the same messages.
    ReadTwice,
    /// Readers are on another host, or left out by a filter.
    ReaderNotSeen,
    /// Latencies begin after the send call.
    SendNotSeen,
    /// More was followed than the programs delivered.
    TooMany,
    /// The programs' own records contradict the trace.
    Contradicted,
    /// Segments do not add up to the latency.
    NotTelescoping,
    /// The clocks of two hosts differ by too much.
    Clocks,
    /// The programs did not get what was sent. The figures are right, and of the rest.
    Undelivered,
}

impl DoubtKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DoubtKind::EventsLost => "events_lost",
            DoubtKind::NotFollowed => "not_followed",
            DoubtKind::Unseen => "unseen",
            DoubtKind::Undecoded => "undecoded",
            DoubtKind::Uncaptured => "uncaptured",
            DoubtKind::Unread => "unread",
            DoubtKind::GivenUp => "given_up",
            DoubtKind::ReadTwice => "read_twice",
            DoubtKind::ReaderNotSeen => "reader_not_seen",
            DoubtKind::SendNotSeen => "send_not_seen",
            DoubtKind::TooMany => "too_many",
            DoubtKind::Contradicted => "contradicted",
            DoubtKind::NotTelescoping => "not_telescoping",
            DoubtKind::Clocks => "clocks",
            DoubtKind::Undelivered => "undelivered",
        }
    }
}

/// A reason, with the numbers that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What.
    pub kind: DoubtKind,
    /// What it makes of the row.
    pub reliability: Reliability,
    /// One sentence without a full stop.
    pub text: String,
}

/// The counts that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrustFacts {
    /// Windows of time were observed, on purpose.
    pub is_sampled: bool,
    /// A capture of others: packets, and no sockets.
    pub packets_only: bool,
    /// Messages found: sent or delivered.
    pub messages: u64,
    /// Payload bytes that were not captured.
    pub uncaptured_bytes: u64,
    /// Deliveries that were to be followed.
    pub deliveries: u64,
    /// Those that were.
    pub matched: u64,
    /// Messages sent and got, where the programs themselves count.
    pub own_counts: Option<(u64, u64)>,
    /// Events taken in.
    pub events: u64,
    /// Events thrown away.
    pub events_lost: u64,
    /// Packets seen.
    pub packets: u64,
    /// Payload bytes in them.
    pub payload_bytes: u64,
    /// Packets that were not seen where they were sent.
    pub unseen_sent: Unseen,
    /// Packets that were not seen where they were received.
    pub unseen_received: Unseen,
    /// Bytes whose frames could not be found.
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be opened.
    pub unread_messages: u64,
    /// Flows and messages given up to keep memory bounded.
    pub evicted: u64,
    /// Matched deliveries whose send call was not seen.
    pub without_send: u64,
    /// Legs whose reader cannot be seen here.
    pub to_unseen_readers: u64,
    /// Messages that two readers of a group were sent.
    pub read_twice: u64,
    /// Messages compared with the programs' own records, and those that contradict them.
    pub compared: (u64, u64),
    /// Deliveries that the trace saw and the programs did not get.
    pub unknown: u64,
    /// Messages whose segments do not add up.
    pub telescoping_violations: u64,
    /// How far the offset of two hosts' clocks can be wrong, and the median latency, in nanoseconds.
    pub clocks_ns: Option<(u64, u64)>,
}

impl TrustFacts {
    /// Of a row of a snapshot.
    pub fn of(group: &Group, trust: &Trust) -> TrustFacts {
        let messages = group.messages;
        let overhead = &group.overhead;
        TrustFacts {
            is_sampled: trust.window_share < WHOLE_TIME,
            messages: messages.sent.saturating_add(messages.delivered),
            uncaptured_bytes: group.holes.uncaptured_bytes,
            deliveries: messages.delivered,
            matched: messages.matched,
            events: trust.events,
            events_lost: trust.lost(),
            packets: overhead.packets,
            payload_bytes: [overhead.payload, overhead.protocol, overhead.control, overhead.opaque]
                .into_iter()
                .fold(0, u64::saturating_add),
            unseen_sent: group.holes.sent,
            unseen_received: group.holes.received,
            undecoded_bytes: group.holes.undecoded_bytes,
            unread_messages: trust.unread_messages,
            evicted: trust.evicted,
            without_send: group.without_send,
            to_unseen_readers: group.to_unseen_readers,
            read_twice: group.read_twice,
            ..TrustFacts::default()
        }
    }
}

/// Observed for less than this share of the time, a row is sampled.
pub const WHOLE_TIME: f64 = 0.999;

/// From which share on something reduces a row, and from which it makes it unusable.
#[derive(Clone, Copy)]
struct Limits {
    reduced: f64,
    unusable: f64,
}

/// Never.
const NEVER: f64 = f64::INFINITY;

const EVENTS_LOST: Limits = Limits { reduced: 0.000_1, unusable: 0.02 };
/// What is left of a sample is a smaller one; the counts are the programs' own.
const EVENTS_LOST_SAMPLED: Limits = Limits { reduced: 0.000_1, unusable: 0.5 };
const NOT_FOLLOWED: Limits = Limits { reduced: 0.01, unusable: 0.5 };
/// Of what windows cut off, some is always missing.
const NOT_FOLLOWED_SAMPLED: Limits = Limits { reduced: 0.25, unusable: 0.75 };
const UNSEEN: Limits = Limits { reduced: 0.001, unusable: 0.1 };
const UNDECODED: Limits = Limits { reduced: 0.01, unusable: 0.5 };
const UNREAD: Limits = Limits { reduced: 0.01, unusable: 0.5 };
const GIVEN_UP: Limits = Limits { reduced: 0.001, unusable: 0.1 };
const READER_NOT_SEEN: Limits = Limits { reduced: 0.01, unusable: NEVER };
const READ_TWICE: Limits = Limits { reduced: 0.0, unusable: 0.5 };
const SEND_NOT_SEEN: Limits = Limits { reduced: 0.01, unusable: NEVER };
const CONTRADICTED: Limits = Limits { reduced: 0.0, unusable: 0.01 };
const TOO_MANY: Limits = Limits { reduced: 0.0, unusable: 0.01 };
const CLOCKS: Limits = Limits { reduced: 0.1, unusable: 1.0 };
const UNDELIVERED: Limits = Limits { reduced: 0.001, unusable: NEVER };

/// Every reason to doubt, the gravest first.
pub fn doubts(facts: &TrustFacts) -> Vec<Doubt> {
    let mut found = Found(Vec::new());
    found.events(facts);
    found.followed(facts);
    found.packets(facts);
    found.records(facts);
    found.delivered(facts);
    let mut doubts = found.0;
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.reliability));
    doubts
}

/// The gravest of them.
pub fn reliability(doubts: &[Doubt]) -> Reliability {
    doubts.iter().map(|doubt| doubt.reliability).max().unwrap_or_default()
}

impl Group {
    /// Why this row's figures are not simply good, the gravest reason first. `trust` is of the same snapshot.
    pub fn doubts(&self, trust: &Trust) -> Vec<Doubt> {
        doubts(&TrustFacts::of(self, trust))
    }
}

struct Found(Vec<Doubt>);

impl Found {
    /// Adds a reason if `count` of `whole` passes a limit.
    fn add(
        &mut self,
        kind: DoubtKind,
        limits: Limits,
        count: u64,
        whole: u64,
        text: &dyn Fn() -> String,
    ) {
        if count == 0 {
            return;
        }
        let share = count as f64 / whole.max(count).max(1) as f64;
        let reliability = if share >= limits.unusable {
            Reliability::Unusable
        } else if share >= limits.reduced {
            Reliability::Reduced
        } else {
            return;
        };
        self.0.push(Doubt { kind, reliability, text: text() });
    }

    fn events(&mut self, facts: &TrustFacts) {
        let (lost, all) = (facts.events_lost, facts.events_lost.saturating_add(facts.events));
        let limits = if facts.is_sampled { EVENTS_LOST_SAMPLED } else { EVENTS_LOST };
        self.add(DoubtKind::EventsLost, limits, lost, all, &|| {
            let counts = if facts.own_counts.is_some() { "" } else { "counts are too low, and " };
            format!(
                "{} of {} were lost because the ring buffer was full: {counts}the times are of what was left; a larger \
                 --ring-size, a filter or --sample helps",
                exact(lost),
                counted(all, "event")
            )
        });
        let messages = facts.deliveries.max(facts.packets / 2);
        self.add(DoubtKind::GivenUp, GIVEN_UP, facts.evicted, messages, &|| {
            format!(
                "{} given up to keep memory bounded: their messages are in no figure",
                counted_as(facts.evicted, "flow or message", "flows or messages")
            )
        });
    }

    fn followed(&mut self, facts: &TrustFacts) {
        let limits = if facts.is_sampled { NOT_FOLLOWED_SAMPLED } else { NOT_FOLLOWED };
        let missing = facts.deliveries.saturating_sub(facts.matched);
        self.add(DoubtKind::NotFollowed, limits, missing, facts.deliveries, &|| match facts.matched {
            0 => format!(
                "none of {} was followed from its first send to its last read: no time is known",
                counted(facts.deliveries, "delivery")
            ),
            matched => format!(
                "only {} of {} were followed from the first send to the last read: the times are of those",
                exact(matched),
                counted(facts.deliveries, "delivery")
            ),
        });
        let elsewhere = facts.to_unseen_readers;
        let legs = elsewhere.saturating_add(facts.deliveries);
        self.add(DoubtKind::ReaderNotSeen, READER_NOT_SEEN, elsewhere, legs, &|| {
            format!(
                "the readers of {} are on another host, or left out by a filter: whether and when they read is not known here",
                counted_as(elsewhere, "leg", "legs")
            )
        });
        let twice = facts.read_twice;
        self.add(DoubtKind::ReadTwice, READ_TWICE, twice, facts.deliveries, &|| {
            format!(
                "{} sent to two consumers of a group, as a partition was given from one to the other: which of them \
                 handled them is not known, and both deliveries are counted",
                counted_as(twice, "message was", "messages were")
            )
        });
        let without = facts.without_send;
        self.add(DoubtKind::SendNotSeen, SEND_NOT_SEEN, without, facts.matched, &|| {
            format!(
                "the send call of {} was not seen: their time begins at the first stage that was, and is too short",
                counted(without, "delivery")
            )
        });
        if !facts.is_sampled {
            let more = facts.matched.saturating_sub(facts.deliveries);
            self.add(DoubtKind::TooMany, TOO_MANY, more, facts.matched, &|| {
                format!(
                    "{} followed, and the programs counted {}",
                    counted_as(facts.matched, "delivery was", "deliveries were"),
                    exact(facts.deliveries)
                )
            });
        }
    }

    fn packets(&mut self, facts: &TrustFacts) {
        let (sent, received) = (facts.unseen_sent, facts.unseen_received);
        let packets = sent.packets.saturating_add(received.packets);
        // Lost events leave the same holes, and have been named.
        if facts.events_lost == 0 {
            self.add(DoubtKind::Unseen, UNSEEN, packets, facts.packets, &|| if facts.packets_only {
                let bytes = exact(sent.bytes.saturating_add(received.bytes));
                format!(
                    "at least {} acknowledged and not in the capture ({bytes} B): messages in them are in no count",
                    counted_as(packets, "packet was", "packets were")
                )
            } else {
                format!(
                    "at least {} passed that no probe saw, by the sequence numbers of the sockets ({} B not seen when sent, \
                     {} B when received): messages in them are in no count",
                    counted(packets, "packet"),
                    exact(sent.bytes),
                    exact(received.bytes)
                )
            });
        }
        let (uncaptured, never) = (facts.uncaptured_bytes, Limits { reduced: 0.0, unusable: 0.0 });
        if facts.messages == 0 {
            self.add(DoubtKind::Uncaptured, never, uncaptured, facts.payload_bytes, &|| {
                format!(
                    "no message was found: {} not captured; a longer snap length (--snap, tcpdump -s 0) helps",
                    counted_as(uncaptured, "payload byte was", "payload bytes were")
                )
            });
        }
        let unread = facts.unread_messages;
        let all = unread.saturating_add(facts.deliveries);
        self.add(DoubtKind::Unread, UNREAD, unread, all, &|| {
            format!(
                "{} in batches that could not be opened: they are in no count",
                counted_as(unread, "message was", "messages were")
            )
        });
        // Between two windows everything passes undecoded.
        if !facts.is_sampled {
            let undecoded = facts.undecoded_bytes;
            let all = facts.payload_bytes.saturating_add(sent.bytes).max(undecoded);
            self.add(DoubtKind::Undecoded, UNDECODED, undecoded, all, &|| {
                format!(
                    "{} of {} in no frame that was found: messages in them are in no count",
                    exact(undecoded),
                    counted_as(all, "byte was", "bytes were")
                )
            });
        }
    }

    fn records(&mut self, facts: &TrustFacts) {
        let (compared, wrong) = facts.compared;
        self.add(DoubtKind::Contradicted, CONTRADICTED, wrong, compared, &|| {
            format!(
                "the programs' own records contradict the trace on {} of {} compared",
                exact(wrong),
                counted(compared, "message")
            )
        });
        let never = Limits { reduced: 0.0, unusable: 0.0 };
        self.add(DoubtKind::Contradicted, never, facts.unknown, compared, &|| {
            format!(
                "the trace has {} that the subscriber did not get",
                counted(facts.unknown, "delivery")
            )
        });
        let violations = facts.telescoping_violations;
        self.add(DoubtKind::NotTelescoping, never, violations, facts.matched, &|| {
            format!(
                "the segments of {} do not add up to the latency",
                counted(violations, "message")
            )
        });
        if let Some((apart, median)) = facts.clocks_ns.filter(|&(_, median)| median > 0) {
            let share = apart as f64 / median as f64;
            let reliability = match share {
                s if s >= CLOCKS.unusable => Reliability::Unusable,
                s if s >= CLOCKS.reduced => Reliability::Reduced,
                _ => return,
            };
            let text = format!(
                "the clocks of the two hosts may differ by {}, and the median message took {}",
                wirelap_events::Nanos(apart),
                wirelap_events::Nanos(median)
            );
            self.0.push(Doubt { kind: DoubtKind::Clocks, reliability, text });
        }
    }

    fn delivered(&mut self, facts: &TrustFacts) {
        let Some((sent, delivered)) = facts.own_counts else { return };
        let missing = sent.saturating_sub(delivered);
        self.add(DoubtKind::Undelivered, UNDELIVERED, missing, sent, &|| {
            format!(
                "{} of {} were never delivered, by the programs' own counts: all figures are of the rest",
                exact(missing),
                counted(sent, "message")
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A healthy run of 1,000 round trips.
    fn healthy() -> TrustFacts {
        TrustFacts {
            messages: 4_000,
            deliveries: 2_000,
            matched: 2_000,
            own_counts: Some((2_000, 2_000)),
            events: 30_000,
            packets: 4_000,
            payload_bytes: 200_000,
            compared: (2_000, 0),
            ..TrustFacts::default()
        }
    }

    fn verdict(change: impl FnOnce(&mut TrustFacts)) -> (Reliability, Vec<DoubtKind>) {
        let mut facts = healthy();
        change(&mut facts);
        let doubts = doubts(&facts);
        (reliability(&doubts), doubts.iter().map(|doubt| doubt.kind).collect())
    }

    use DoubtKind as Kind;
    use Reliability::{Good, Reduced, Unusable};

    #[test]
    fn a_healthy_run_is_good_and_so_is_one_that_saw_almost_all() {
        assert_eq!(verdict(|_| {}), (Good, vec![]));
        let almost = verdict(|facts| {
            facts.matched = 1_990;
            facts.events_lost = 2;
            facts.undecoded_bytes = 1_999;
            facts.unseen_sent = Unseen { packets: 2, bytes: 128 };
        });
        assert_eq!(almost, (Good, vec![]));
        let idle = verdict(|facts| *facts = TrustFacts::default());
        assert_eq!(idle, (Good, vec![]), "nothing measured, nothing wrong");
    }

    #[test]
    fn lost_events_reduce_and_then_spoil() {
        assert_eq!(verdict(|facts| facts.events_lost = 10), (Reduced, vec![Kind::EventsLost]));
        let (grave, kinds) = verdict(|facts| {
            facts.events_lost = 13_000;
            facts.matched = 700;
            facts.unseen_sent = Unseen { packets: 400, bytes: 9_000 };
        });
        assert_eq!((grave, kinds), (Unusable, vec![Kind::EventsLost, Kind::NotFollowed]));
    }

    #[test]
    fn packets_that_no_probe_saw_count_by_their_share() {
        let unseen = |packets| {
            verdict(|facts| facts.unseen_sent = Unseen { packets, bytes: packets * 64 }).0
        };
        assert_eq!([3, 4, 399, 400].map(unseen), [Good, Reduced, Reduced, Unusable]);
    }

    #[test]
    fn what_was_not_followed_spoils_from_half_on() {
        let followed = |matched| verdict(|facts| facts.matched = matched).0;
        assert_eq!(
            [1_981, 1_980, 1_001, 1_000, 0].map(followed),
            [Good, Reduced, Reduced, Unusable, Unusable]
        );
        let sampled = verdict(|facts| (facts.is_sampled, facts.matched) = (true, 1_800));
        assert_eq!(sampled, (Good, vec![]), "windows cut messages off");
    }

    #[test]
    fn what_the_programs_contradict_is_not_good() {
        assert_eq!(verdict(|facts| facts.compared.1 = 1).0, Reduced);
        assert_eq!(verdict(|facts| facts.compared.1 = 20).0, Unusable);
        assert_eq!(verdict(|facts| facts.unknown = 1).0, Unusable);
        assert_eq!(verdict(|facts| facts.matched = 2_001), (Reduced, vec![Kind::TooMany]));
        assert_eq!(verdict(|facts| facts.telescoping_violations = 1).0, Unusable);
    }

    #[test]
    fn what_was_not_delivered_is_named_and_the_figures_of_the_rest_stand() {
        let half = verdict(|facts| {
            facts.own_counts = Some((2_000, 1_000));
            (facts.deliveries, facts.matched) = (1_000, 1_000);
        });
        assert_eq!(half, (Reduced, vec![Kind::Undelivered]));
    }

    #[test]
    fn where_nothing_was_captured_no_message_is_not_none() {
        let cut = |messages| {
            verdict(|facts| (facts.messages, facts.uncaptured_bytes) = (messages, 9_000))
        };
        assert_eq!(cut(0), (Unusable, vec![Kind::Uncaptured]));
        assert_eq!(cut(10), (Good, vec![]), "heads suffice");
    }

    #[test]
    fn clocks_matter_beside_the_latency() {
        let apart = |ns| verdict(|facts| facts.clocks_ns = Some((ns, 100_000))).0;
        assert_eq!([9_999, 10_000, 100_000].map(apart), [Good, Reduced, Unusable]);
    }

    #[test]
    fn reasons_are_sentences_with_their_numbers() {
        let mut facts = healthy();
        facts.events_lost = 13_402;
        facts.own_counts = None;
        facts.matched = 0;
        let texts: Vec<String> = doubts(&facts).into_iter().map(|doubt| doubt.text).collect();
        assert!(texts[0].starts_with("13,402 of 43,402 events were lost because"), "{texts:?}");
        assert!(texts[1].starts_with("none of 2,000 deliveries was followed"), "{texts:?}");
    }
}
