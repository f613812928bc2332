//! Every reason to doubt a row's figures.

use super::super::snapshot::{Group, Trust};
use super::facts::TrustFacts;
use super::limits::{
    CLOCKS, CONTRADICTED, EVENTS_LOST, EVENTS_LOST_SAMPLED, GIVEN_UP, Limits, NOT_FOLLOWED,
    NOT_FOLLOWED_SAMPLED, READ_TWICE, READER_NOT_SEEN, SEND_NOT_SEEN, TOO_MANY, UNDECODED,
    UNDELIVERED, UNREAD, UNSEEN,
};
use super::reliability::{Doubt, DoubtKind, Reliability};
use wirelap_events::human::{counted, counted_as, exact};

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
    use super::super::reliability::reliability;
    use super::*;
    use crate::bytes::Unseen;

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
        assert_eq!(verdict(|facts| facts.events_lost = 10), (Reduced, vec![DoubtKind::EventsLost]));
        let (grave, kinds) = verdict(|facts| {
            facts.events_lost = 13_000;
            facts.matched = 700;
            facts.unseen_sent = Unseen { packets: 400, bytes: 9_000 };
        });
        assert_eq!((grave, kinds), (Unusable, vec![DoubtKind::EventsLost, DoubtKind::NotFollowed]));
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
        assert_eq!(verdict(|facts| facts.matched = 2_001), (Reduced, vec![DoubtKind::TooMany]));
        assert_eq!(verdict(|facts| facts.telescoping_violations = 1).0, Unusable);
    }

    #[test]
    fn what_was_not_delivered_is_named_and_the_figures_of_the_rest_stand() {
        let half = verdict(|facts| {
            facts.own_counts = Some((2_000, 1_000));
            (facts.deliveries, facts.matched) = (1_000, 1_000);
        });
        assert_eq!(half, (Reduced, vec![DoubtKind::Undelivered]));
    }

    #[test]
    fn where_nothing_was_captured_no_message_is_not_none() {
        let cut = |messages| {
            verdict(|facts| (facts.messages, facts.uncaptured_bytes) = (messages, 9_000))
        };
        assert_eq!(cut(0), (Unusable, vec![DoubtKind::Uncaptured]));
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
