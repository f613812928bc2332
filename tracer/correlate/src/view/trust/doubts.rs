//! Every reason to doubt a row's figures.

use super::super::snapshot::{Group, Trust};
use super::facts::TrustFacts;
use super::reliability::{Doubt, DoubtReason, Reliability};
use wirelap_events::Nanos;
use wirelap_limits::trust::{
    CLOCKS, COARSE_TIMES, CONTRADICTED, CUT_SHORT, ENCRYPTED, ENCRYPTED_CONNECTIONS, EVENTS_LOST,
    EVENTS_LOST_SAMPLED, GIVEN_UP, GUESSED, LOSSES_STATED, NAMELESS, NOT_FOLLOWED,
    NOT_FOLLOWED_SAMPLED, NOT_TRACED, ONE_IS_TOO_MANY, PARTS, PERHAPS_READ, READ_TWICE,
    READER_NOT_SEEN, SEND_NOT_SEEN, SHARED_MEMORY, SPLIT_SUBFLOWS, TOO_MANY, TrustLimits,
    UNDECODED, UNDELIVERED, UNIX_CLIENTS, UNREAD, UNREAD_PACKETS, UNSEEN, UNSEEN_BARE, UNSORTED,
};

/// Every reason to doubt, the gravest first.
pub fn doubts(facts: &TrustFacts) -> Vec<Doubt> {
    let mut found = FoundDoubts(Vec::new());
    found.events(facts);
    found.followed(facts);
    found.packets(facts);
    found.times(facts);
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

struct FoundDoubts(Vec<Doubt>);

impl FoundDoubts {
    /// Adds a reason if `count` of `whole` passes a limit.
    fn add(&mut self, reason: DoubtReason, limits: TrustLimits, count: u64, whole: u64) {
        if count > 0 {
            self.add_share(reason, limits, count as f64 / whole.max(count).max(1) as f64);
        }
    }

    /// Adds a reason if `share` passes a limit.
    fn add_share(&mut self, reason: DoubtReason, limits: TrustLimits, share: f64) {
        let reliability = if share >= limits.unusable {
            Reliability::Unusable
        } else if share >= limits.reduced {
            Reliability::Reduced
        } else {
            return;
        };
        self.0.push(Doubt { reason, reliability });
    }

    fn events(&mut self, facts: &TrustFacts) {
        let lost = facts.events_lost;
        let events = lost.events.saturating_add(facts.events);
        let limits = match facts.is_sampled {
            _ if lost.stated > 0 => LOSSES_STATED,
            true => EVENTS_LOST_SAMPLED,
            false => EVENTS_LOST,
        };
        let counts_are_traced = facts.own_counts.is_none();
        let reason = DoubtReason::EventsLost { lost, events, counts_are_traced };
        self.add(reason, limits, lost.events, events);
        let messages = facts.deliveries.max(facts.packets / 2);
        let entries = facts.evicted;
        self.add(DoubtReason::GivenUp { entries }, GIVEN_UP, entries, messages);
    }

    fn followed(&mut self, facts: &TrustFacts) {
        let limits = if facts.is_sampled { NOT_FOLLOWED_SAMPLED } else { NOT_FOLLOWED };
        let (followed, deliveries) = (facts.matched, facts.deliveries);
        let missing = deliveries.saturating_sub(followed);
        let reason = DoubtReason::NotFollowed { followed, deliveries };
        self.add(reason, limits, missing, deliveries);
        let legs = facts.uncertain.to_unseen_readers;
        let all = legs.saturating_add(deliveries);
        self.add(DoubtReason::ReaderNotSeen { legs }, READER_NOT_SEEN, legs, all);
        let messages = facts.uncertain.read_twice;
        self.add(DoubtReason::ReadTwice { messages }, READ_TWICE, messages, deliveries);
        let messages = facts.uncertain.cut_short;
        let all = messages.saturating_add(facts.messages);
        self.add(DoubtReason::CutShort { messages }, CUT_SHORT, messages, all);
        let messages = facts.uncertain.encrypted;
        let all = messages.saturating_add(facts.messages);
        self.add(DoubtReason::Encrypted { messages }, ENCRYPTED, messages, all);
        let connections = facts.holes.encrypted_connections;
        let limits = if deliveries == 0 { ONE_IS_TOO_MANY } else { ENCRYPTED_CONNECTIONS };
        let reason = DoubtReason::EncryptedConnections { connections };
        self.add(reason, limits, connections, connections);
        let pairs = facts.uncertain.unseen_pairs;
        let limits = if deliveries == 0 { ONE_IS_TOO_MANY } else { SHARED_MEMORY };
        self.add(DoubtReason::SharedMemory { pairs }, limits, pairs.into(), pairs.into());
        let connections = facts.unix_clients;
        let reason = DoubtReason::UnixClients { connections };
        self.add(reason, UNIX_CLIENTS, connections, connections);
        let messages = facts.uncertain.nameless;
        self.add(DoubtReason::Nameless { messages }, NAMELESS, messages, facts.messages);
        let guessed = DoubtReason::Guessed { deliveries: facts.uncertain.guessed };
        self.add(guessed, GUESSED, facts.uncertain.guessed, deliveries);
        let messages = facts.uncertain.perhaps_read;
        let all = messages.saturating_add(deliveries);
        self.add(DoubtReason::PerhapsRead { messages }, PERHAPS_READ, messages, all);
        let without = facts.uncertain.without_send;
        let reason = DoubtReason::SendNotSeen { deliveries: without };
        self.add(reason, SEND_NOT_SEEN, without, followed);
        if !facts.is_sampled {
            let more = followed.saturating_sub(deliveries);
            let reason = DoubtReason::TooMany { followed, counted: deliveries };
            self.add(reason, TOO_MANY, more, followed);
        }
    }

    fn packets(&mut self, facts: &TrustFacts) {
        let (sent, received) = (facts.holes.sent, facts.holes.received);
        let packets = sent.packets.saturating_add(received.packets);
        // Lost events leave the same holes, and have been named.
        if facts.events_lost.events == 0 {
            let reason = if facts.packets_only {
                let bytes = sent.bytes.saturating_add(received.bytes);
                DoubtReason::UncapturedPackets { packets, bytes }
            } else {
                let (sent_bytes, received_bytes) = (sent.bytes, received.bytes);
                DoubtReason::UnseenPackets { packets, sent_bytes, received_bytes }
            };
            let is_bare = sent.bytes.saturating_add(received.bytes) == 0;
            let limits = if is_bare { UNSEEN_BARE } else { UNSEEN };
            self.add(reason, limits, packets, facts.packets);
        }
        if facts.messages == 0 {
            let bytes = facts.holes.uncaptured_bytes;
            let reason = DoubtReason::Uncaptured { bytes };
            self.add(reason, ONE_IS_TOO_MANY, bytes, facts.payload_bytes);
            let messages = facts.holes.unfinished_messages;
            self.add(DoubtReason::Unfinished { messages }, CUT_SHORT, messages, messages);
            let participants = facts.uncertain.unannounced;
            let count = u64::from(participants);
            self.add(DoubtReason::Unannounced { participants }, SHARED_MEMORY, count, count);
        }
        let packets = facts.holes.unread_packets;
        let all = facts.packets.max(packets);
        self.add(DoubtReason::UnreadPackets { packets }, UNREAD_PACKETS, packets, all);
        let messages = facts.holes.unread_messages;
        let all = messages.saturating_add(facts.deliveries);
        self.add(DoubtReason::Unread { messages }, UNREAD, messages, all);
        // Between two windows everything passes undecoded.
        if !facts.is_sampled {
            let undecoded = facts.holes.undecoded_bytes;
            let bytes = facts.payload_bytes.saturating_add(sent.bytes).max(undecoded);
            self.add(DoubtReason::Undecoded { undecoded, bytes }, UNDECODED, undecoded, bytes);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 0 to 1"
    )]
    fn times(&mut self, facts: &TrustFacts) {
        let thousandths = (facts.not_traced * PARTS).round() as u64;
        self.add_share(DoubtReason::NotTraced { thousandths }, NOT_TRACED, facts.not_traced);
        let packets = facts.file.too_late;
        self.add(DoubtReason::Unsorted { packets }, UNSORTED, packets, facts.events);
        let directions = facts.file.split_subflows;
        let reason = DoubtReason::SplitSubflows { directions };
        self.add(reason, SPLIT_SUBFLOWS, directions, facts.events);
        if let Some((unit, median)) = facts.file.time_unit_ns.filter(|_| facts.matched > 0) {
            let reason = DoubtReason::CoarseTimes { unit: Nanos(unit), median: Nanos(median) };
            self.add_share(reason, COARSE_TIMES, unit as f64 / median.max(1) as f64);
        }
    }

    fn records(&mut self, facts: &TrustFacts) {
        let (compared, messages) = facts.compared;
        let reason = DoubtReason::Contradicted { messages, compared };
        self.add(reason, CONTRADICTED, messages, compared);
        let deliveries = facts.unknown;
        let reason = DoubtReason::UnknownDeliveries { deliveries };
        self.add(reason, ONE_IS_TOO_MANY, deliveries, compared);
        let messages = facts.telescoping_violations;
        let reason = DoubtReason::NotTelescoping { messages };
        self.add(reason, ONE_IS_TOO_MANY, messages, facts.matched);
        if let Some((apart, median)) = facts.clocks_ns {
            let reason = DoubtReason::Clocks { apart: Nanos(apart), median: Nanos(median) };
            self.add_share(reason, CLOCKS, apart as f64 / median.max(1) as f64);
        }
    }

    fn delivered(&mut self, facts: &TrustFacts) {
        let Some((due, delivered)) = facts.own_counts else { return };
        let missing = due.saturating_sub(delivered);
        self.add(DoubtReason::Undelivered { missing, due }, UNDELIVERED, missing, due);
    }
}

#[cfg(test)]
mod tests {
    use super::super::reliability::reliability;
    use super::*;
    use wirelap_events::EventLosses;
    use wirelap_flow::Unseen;

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

    fn verdict(change: impl FnOnce(&mut TrustFacts)) -> (Reliability, Vec<&'static str>) {
        let mut facts = healthy();
        change(&mut facts);
        let doubts = doubts(&facts);
        (reliability(&doubts), doubts.iter().map(|doubt| doubt.reason.name()).collect())
    }

    /// The verdict on a row of which nothing else is known.
    fn only(change: impl FnOnce(&mut TrustFacts)) -> (Reliability, Vec<&'static str>) {
        verdict(|facts| {
            *facts = TrustFacts::default();
            change(facts);
        })
    }

    use Reliability::{Good, Reduced, Unusable};

    #[test]
    fn a_healthy_run_is_good_and_so_is_one_that_saw_almost_all() {
        assert_eq!(verdict(|_| {}), (Good, vec![]));
        let almost = verdict(|facts| {
            facts.matched = 1_990;
            facts.events_lost.events = 2;
            facts.holes.undecoded_bytes = 1_999;
            facts.holes.sent = Unseen { packets: 2, bytes: 128 };
        });
        assert_eq!(almost, (Good, vec![]));
        let idle = verdict(|facts| *facts = TrustFacts::default());
        assert_eq!(idle, (Good, vec![]), "nothing measured, nothing wrong");
    }

    #[test]
    fn lost_events_reduce_and_then_spoil() {
        assert_eq!(verdict(|facts| facts.events_lost.events = 10), (Reduced, vec!["events_lost"]));
        let (grave, kinds) = verdict(|facts| {
            facts.events_lost.events = 13_000;
            facts.matched = 700;
            facts.holes.sent = Unseen { packets: 400, bytes: 9_000 };
        });
        assert_eq!((grave, kinds), (Unusable, vec!["events_lost", "not_followed"]));
    }

    #[test]
    fn a_loss_that_the_file_states_reduces_however_small_it_is() {
        let stated = |count| {
            verdict(|facts| {
                facts.events_lost =
                    EventLosses { events: count, stated: count, ..EventLosses::default() }
            })
        };
        assert_eq!(stated(1), (Reduced, vec!["events_lost"]));
        assert_eq!(stated(1_000), (Unusable, vec!["events_lost"]));
    }

    #[test]
    fn packets_that_no_probe_saw_count_by_their_share() {
        let unseen =
            |packets| verdict(|facts| facts.holes.sent = Unseen { packets, bytes: packets * 64 }).0;
        assert_eq!([3, 4, 399, 400].map(unseen), [Good, Reduced, Reduced, Unusable]);
    }

    #[test]
    fn a_packet_of_quic_that_was_not_read_is_a_doubt() {
        let unread = |packets| verdict(|facts| facts.holes.unread_packets = packets);
        assert_eq!(unread(1), (Reduced, vec!["unread_packets"]));
        assert_eq!([0, 399, 400].map(|packets| unread(packets).0), [Good, Reduced, Unusable]);
        let alone = only(|facts| facts.holes.unread_packets = 1);
        assert_eq!(alone, (Unusable, vec!["unread_packets"]));
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
        let left_out =
            |share| verdict(|facts| (facts.is_sampled, facts.not_traced) = (true, share));
        assert_eq!(left_out(0.005), (Good, vec![]));
        assert_eq!(left_out(0.918), (Reduced, vec!["not_traced"]), "nobody has asked for it");
    }

    #[test]
    fn what_the_programs_contradict_is_not_good() {
        assert_eq!(verdict(|facts| facts.compared.1 = 1).0, Reduced);
        assert_eq!(verdict(|facts| facts.compared.1 = 20).0, Unusable);
        assert_eq!(verdict(|facts| facts.unknown = 1).0, Unusable);
        assert_eq!(verdict(|facts| facts.matched = 2_001), (Reduced, vec!["too_many"]));
        assert_eq!(verdict(|facts| facts.telescoping_violations = 1).0, Unusable);
    }

    #[test]
    fn what_was_not_delivered_is_named_and_the_figures_of_the_rest_stand() {
        let half = verdict(|facts| {
            facts.own_counts = Some((2_000, 1_000));
            (facts.deliveries, facts.matched) = (1_000, 1_000);
        });
        assert_eq!(half, (Reduced, vec!["undelivered"]));
    }

    #[test]
    fn where_nothing_was_captured_no_message_is_not_none() {
        let cut = |messages| {
            verdict(|facts| (facts.messages, facts.holes.uncaptured_bytes) = (messages, 9_000))
        };
        assert_eq!(cut(0), (Unusable, vec!["uncaptured"]));
        assert_eq!(cut(10), (Good, vec![]), "heads suffice");
    }

    #[test]
    fn times_matter_beside_the_latency_too() {
        let coarse = |unit, median| verdict(|facts| facts.file.time_unit_ns = Some((unit, median)));
        assert_eq!(coarse(1_000_000_000, 0), (Unusable, vec!["coarse_times"]), "no latency is 0");
        assert_eq!(coarse(1_000_000, 3_000_000).0, Reduced);
        assert_eq!(coarse(1_000_000, 40_000_000).0, Good);
        let nothing = verdict(|facts| {
            (facts.deliveries, facts.matched) = (0, 0);
            (facts.own_counts, facts.file.time_unit_ns) = (None, Some((1_000_000_000, 0)));
        });
        assert_eq!(nothing, (Good, vec![]), "there is no time that could be wrong");
    }

    #[test]
    fn packets_that_could_not_be_sorted_reduce() {
        assert_eq!(verdict(|facts| facts.file.too_late = 1), (Reduced, vec!["unsorted"]));
    }

    #[test]
    fn what_is_encrypted_or_cut_short_is_never_good() {
        let cut = |messages| verdict(|facts| facts.uncertain.cut_short = messages);
        assert_eq!(cut(1), (Reduced, vec!["cut_short"]));
        assert_eq!(cut(1_000_000), (Reduced, vec!["cut_short"]), "the rest is right");
        let nothing_else = only(|facts| facts.holes.unfinished_messages = 1);
        assert_eq!(nothing_else, (Reduced, vec!["unfinished"]));
        assert_eq!(
            verdict(|facts| facts.holes.unfinished_messages = 1).0,
            Good,
            "one is always under way"
        );
        let hidden = |messages| verdict(|facts| facts.uncertain.encrypted = messages);
        assert_eq!(hidden(1), (Reduced, vec!["encrypted"]));
        assert_eq!(hidden(4_000), (Unusable, vec!["encrypted"]));
        let nothing_else = only(|facts| facts.uncertain.encrypted = 1);
        assert_eq!(nothing_else, (Unusable, vec!["encrypted"]));
        let beside = verdict(|facts| facts.holes.encrypted_connections = 1);
        assert_eq!(beside, (Reduced, vec!["encrypted_connections"]));
        let undelivered = only(|facts| {
            facts.messages = 5_000;
            facts.holes.encrypted_connections = 1;
        });
        assert_eq!(undelivered, (Unusable, vec!["encrypted_connections"]));
    }

    #[test]
    fn times_that_may_be_those_of_equal_messages_reduce() {
        let perhaps_read = |messages| verdict(|facts| facts.uncertain.perhaps_read = messages);
        assert_eq!(perhaps_read(2), (Good, vec![]));
        assert_eq!(perhaps_read(3), (Reduced, vec!["perhaps_read"]));
        assert_eq!(perhaps_read(2_000), (Unusable, vec!["perhaps_read"]));
        let guessed = |deliveries| verdict(|facts| facts.uncertain.guessed = deliveries);
        assert_eq!(guessed(19), (Good, vec![]));
        assert_eq!(guessed(20), (Reduced, vec!["guessed"]));
        assert_eq!(guessed(2_000), (Reduced, vec!["guessed"]), "the counts are right");
    }

    #[test]
    fn what_is_handed_over_in_shared_memory_is_never_good() {
        assert_eq!(
            verdict(|facts| facts.uncertain.unseen_pairs = 1),
            (Reduced, vec!["shared_memory"])
        );
        let nothing_else = only(|facts| facts.uncertain.unseen_pairs = 1);
        assert_eq!(nothing_else, (Unusable, vec!["shared_memory"]));
    }

    #[test]
    fn clients_that_come_by_a_unix_socket_reduce() {
        assert_eq!(verdict(|facts| facts.unix_clients = 1), (Reduced, vec!["unix_clients"]));
    }

    #[test]
    fn participants_that_were_there_before_are_a_doubt_as_long_as_no_message_is_seen() {
        let nothing_else = only(|facts| facts.uncertain.unannounced = 2);
        assert_eq!(nothing_else, (Reduced, vec!["unannounced"]));
        assert_eq!(verdict(|facts| facts.uncertain.unannounced = 2), (Good, vec![]));
    }

    #[test]
    fn clocks_matter_beside_the_latency() {
        let apart = |ns| verdict(|facts| facts.clocks_ns = Some((ns, 100_000))).0;
        assert_eq!([9_999, 10_000, 100_000].map(apart), [Good, Reduced, Unusable]);
    }
}
