//! Why a row's figures are not simply good.

use super::lost_because;
use super::traffic::TLS_REMEDY;
use wirelap_correlate::DoubtReason;
use wirelap_events::human::{counted, counted_as, exact, share};
use wirelap_events::{EventLosses, Nanos};

/// A reason in one sentence without a full stop.
#[expect(clippy::too_many_lines, reason = "a sentence for each reason")]
pub fn doubt(reason: &DoubtReason) -> String {
    match *reason {
        DoubtReason::EventsLost { lost, events, counts_are_traced } => {
            events_lost(lost, events, counts_are_traced)
        }
        DoubtReason::GivenUp { entries } => format!(
            "{} given up to keep memory bounded: their messages are in no figure",
            counted_as(entries, "flow or message", "flows or messages")
        ),
        DoubtReason::NotFollowed { followed: 0, deliveries } => format!(
            "none of {} was followed from its first send to its last read: no time is known",
            counted(deliveries, "delivery")
        ),
        DoubtReason::NotFollowed { followed, deliveries } => format!(
            "only {} of {} were followed from the first send to the last read: the times are of those",
            exact(followed),
            counted(deliveries, "delivery")
        ),
        DoubtReason::ReaderNotSeen { legs } => format!(
            "the readers of {} are on another host, or left out by a filter: whether and when they read is not known here",
            counted(legs, "leg")
        ),
        DoubtReason::ReadTwice { messages } => format!(
            "{} sent to two consumers of a group, as a partition was given from one to the other: which of them \
             handled them is not known, and both deliveries are counted",
            counted_as(messages, "message was", "messages were")
        ),
        DoubtReason::CutShort { messages } => format!(
            "{} given up by their sender when a part of them was sent: they are in no count",
            counted_as(messages, "message was", "messages were")
        ),
        DoubtReason::Unfinished { messages } => format!(
            "no message was complete: a part of {} was sent, and the end was not seen",
            counted(messages, "message")
        ),
        DoubtReason::Encrypted { messages } => format!(
            "{} encrypted by the protocol: they are in no count",
            counted_as(messages, "message is", "messages are")
        ),
        DoubtReason::EncryptedConnections { connections } => format!(
            "{} not read: how many messages came and went there is not known, and they are in no count; {TLS_REMEDY}",
            counted_as(
                connections,
                "encrypted connection of the server was",
                "encrypted connections of the server were"
            )
        ),
        DoubtReason::SharedMemory { pairs } => format!(
            "{} handed over in shared memory, as discovery announces, and in no count: other transports show it (Fast DDS: `FASTDDS_BUILTIN_TRANSPORTS=UDPv4`)",
            counted_as(
                pairs.into(),
                "pair of a writing and a reading participant on one host has its samples",
                "pairs of a writing and a reading participant on one host have their samples"
            )
        ),
        DoubtReason::UnixClients { connections } => format!(
            "{} the server through a Unix socket, where no bytes are seen: their messages are in no count",
            counted_as(connections, "client reaches", "clients reach")
        ),
        DoubtReason::Unannounced { participants } => format!(
            "no message was seen, and the announcement of {} was not seen yet: what they hand over in shared memory is in no count",
            counted(participants.into(), "participant")
        ),
        DoubtReason::Nameless { messages } => format!(
            "{} named by a number of which wirelap did not see what it stands for, and their payload does not tell either: \
             behind a router or broker they may be counted a second time",
            counted_as(messages, "message was", "messages were")
        ),
        DoubtReason::Guessed { deliveries } => format!(
            "of {} it is not known which of several equal messages they brought: the counts of deliveries are right, the times may be \
             those of another one",
            counted(deliveries, "delivery")
        ),
        DoubtReason::PerhapsRead { messages } => format!(
            "{} not seen to be read, and of as many reads of UDP sockets it is not known which datagrams they took: they may have \
             been delivered",
            counted_as(messages, "message was", "messages were")
        ),
        DoubtReason::SendNotSeen { deliveries } => format!(
            "the send call of {} was not seen: their time begins at the first stage that was, and is too short",
            counted(deliveries, "delivery")
        ),
        DoubtReason::TooMany { followed, counted } => format!(
            "{} followed, and the programs counted {}",
            counted_as(followed, "delivery was", "deliveries were"),
            exact(counted)
        ),
        DoubtReason::UnseenPackets { packets, sent_bytes: 0, received_bytes: 0 } => format!(
            "at least {} without payload passed that no probe saw, by the sequence numbers of the sockets: no message is in \
             them, and they are missing in the bytes of headers",
            counted(packets, "packet")
        ),
        DoubtReason::UnseenPackets { packets, sent_bytes, received_bytes } => format!(
            "at least {} passed that no probe saw, by the sequence numbers of the sockets ({} B not seen when sent, \
             {} B when received): messages in them are in no count",
            counted(packets, "packet"),
            exact(sent_bytes),
            exact(received_bytes)
        ),
        DoubtReason::UncapturedPackets { packets, bytes } => format!(
            "at least {} acknowledged and not in the capture ({} B): messages in them are in no count",
            counted_as(packets, "packet was", "packets were"),
            exact(bytes)
        ),
        DoubtReason::UnreadPackets { packets } => format!(
            "at least {} not read with the keys, or acknowledged and not in the capture: messages in them are in no count",
            counted_as(packets, "packet of QUIC was", "packets of QUIC were")
        ),
        DoubtReason::Uncaptured { bytes } => format!(
            "no message was found: {} not captured; a longer snap length (--snap, tcpdump -s 0) helps",
            counted_as(bytes, "payload byte was", "payload bytes were")
        ),
        DoubtReason::Unread { messages } => format!(
            "{} in batches that could not be opened: they are in no count",
            counted_as(messages, "message was", "messages were")
        ),
        DoubtReason::Undecoded { undecoded, bytes } => format!(
            "{} of {} in no frame that was found: messages in them are in no count",
            exact(undecoded),
            counted_as(bytes, "byte was", "bytes were")
        ),
        DoubtReason::Contradicted { messages, compared } => format!(
            "the programs' own records contradict the trace on {} of {} compared",
            exact(messages),
            counted(compared, "message")
        ),
        DoubtReason::UnknownDeliveries { deliveries } => format!(
            "the trace has {} that the subscriber did not get",
            counted(deliveries, "delivery")
        ),
        DoubtReason::NotTelescoping { messages } => {
            format!("the segments of {} do not add up to the latency", counted(messages, "message"))
        }
        DoubtReason::Clocks { apart, median } => format!(
            "the clocks of the hosts may differ by {apart}, and the median message took {median}"
        ),
        DoubtReason::Unsorted { packets } => format!(
            "{} so late in the file that wirelap does not sort them: messages may be missing or come twice in the counts; \
             reordercap FILE SORTED sorts all",
            counted_as(packets, "packet comes", "packets come")
        ),
        DoubtReason::SplitSubflows { directions } => format!(
            "it is not known where the bytes of {} of Multipath TCP belong in their connections: messages in them are in no count; a \
             capture from the beginning of the connections helps",
            counted_as(directions, "direction of a subflow", "directions of subflows")
        ),
        DoubtReason::CoarseTimes { unit, median: Nanos(0) } => format!(
            "all times in the file are multiples of {unit}, or missing: no latency and no rate can be known from them"
        ),
        DoubtReason::CoarseTimes { unit, median } => format!(
            "all times in the file are multiples of {unit}, and the median message took {median}"
        ),
        DoubtReason::NotTraced { thousandths } => format!(
            "{} of the time was not traced, because wirelap did not keep up: messages of it are in no count; --sample off traces all, \
             --ports and --detail path make that cheaper",
            share(thousandths as f64 / 1000.0)
        ),
        DoubtReason::Undelivered { missing, due } => format!(
            "{} of {} did not take place, by the programs' own counts: all figures are of the rest",
            exact(missing),
            counted(due, "delivery")
        ),
    }
}

fn events_lost(lost: EventLosses, events: u64, counts_are_traced: bool) -> String {
    let counts = if counts_are_traced { "counts are too low, and " } else { "" };
    if lost.are_all_stated() {
        return format!(
            "{} missing in the file, as it says itself, because the capturing program or its kernel dropped them: {counts}the times \
             are of what was left; a larger buffer (-B of tcpdump and dumpcap) or a capture filter helps",
            counted_as(lost.stated, "packet is", "packets are")
        );
    }
    let remedy = if lost.are_all_fragmented() {
        "a capture filter by address helps: only the first fragment has ports"
    } else if lost.are_all_late() {
        "a host with more time for its agent, or a faster connection to it, helps"
    } else if lost.are_all_skipped() {
        "a larger --ring-size does not help"
    } else {
        "a larger --ring-size, a filter or --sample helps"
    };
    format!(
        "{} of {} were lost because {}: {counts}the times are of what was left; {remedy}",
        exact(lost.events),
        counted(events, "event"),
        lost_because(lost)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::EventLosses;

    #[test]
    fn reasons_are_sentences_with_their_numbers() {
        let of = |skipped, counts_are_traced| {
            let lost = EventLosses { events: 13_402, skipped, ..EventLosses::default() };
            doubt(&DoubtReason::EventsLost { lost, events: 43_402, counts_are_traced })
        };
        let lost = |counts_are_traced| of(0, counts_are_traced);
        assert!(lost(true).contains("the ring buffer was full:"));
        assert!(lost(true).ends_with("a larger --ring-size, a filter or --sample helps"));
        let skipped = of(13_402, true);
        assert!(!skipped.contains("ring buffer") && skipped.contains("the kernel skipped"));
        assert!(skipped.ends_with("a larger --ring-size does not help"));
        let both = of(402, true);
        assert!(both.contains("was full (13,000) or the kernel skipped"), "{both}");
        assert!(both.contains("on the same CPU (402): counts"), "{both}");
        let stated = EventLosses { events: 3, stated: 3, ..EventLosses::default() };
        let stated =
            doubt(&DoubtReason::EventsLost { lost: stated, events: 90, counts_are_traced: true });
        assert!(stated.starts_with("3 packets are missing in the file, as it says itself"));
        assert!(!stated.contains("ring-size") && !stated.contains("ring buffer"), "{stated}");
        assert!(lost(true).starts_with("13,402 of 43,402 events were lost because"));
        assert!(lost(true).contains("counts are too low"));
        assert!(!lost(false).contains("counts are too low"));
        assert_eq!(
            doubt(&DoubtReason::NotFollowed { followed: 0, deliveries: 2_000 }),
            "none of 2,000 deliveries was followed from its first send to its last read: no time is known"
        );
        assert_eq!(
            doubt(&DoubtReason::NotFollowed { followed: 7, deliveries: 2_000 }),
            "only 7 of 2,000 deliveries were followed from the first send to the last read: the times are of those"
        );
        assert_eq!(
            doubt(&DoubtReason::UncapturedPackets { packets: 1, bytes: 1_448 }),
            "at least 1 packet was acknowledged and not in the capture (1,448 B): messages in them are in no count"
        );
    }
}
