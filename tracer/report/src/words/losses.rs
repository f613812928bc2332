//! Why events were lost, and what became of packets and messages that were lost, came twice or cannot be seen, in words.

use wirelap_correlate::{
    Awaited, Clause, ClosedBy, Departure, MissedBy, MostLeft, Named, ServerGone, StuckConnection,
};
use wirelap_events::human::{self, exact};
use wirelap_events::{Comm, DropCause, EventLosses, Pid, ProcessEnd, Recovery};

/// Why events were lost, as a clause.
pub fn lost_because(losses: EventLosses) -> String {
    let EventLosses { events, skipped, stated, fragmented } = losses;
    let known = skipped.saturating_add(stated).saturating_add(fragmented);
    let causes = [
        (events.saturating_sub(known), "the ring buffer was full"),
        (skipped, "the kernel skipped runs of probes that ran already on the same CPU"),
        (stated, "the capturing program or its kernel dropped packets, as the file itself says"),
        (fragmented, "IP fragments of datagrams are missing or overlap"),
    ];
    let some: Vec<_> = causes.into_iter().filter(|(count, _)| *count > 0).collect();
    match some.as_slice() {
        [] => "the ring buffer was full".into(),
        [(_, only)] => (*only).into(),
        several => {
            let counted = several.iter().map(|(count, why)| format!("{why} ({})", exact(*count)));
            counted.collect::<Vec<_>>().join(" or ")
        }
    }
}

/// A clause about losses; empty for any other.
pub fn clause(clause: &Clause) -> String {
    match clause {
        Clause::AwaitedLost(awaited) => awaited_lost(*awaited).into(),
        Clause::Lost { datagrams, own, behind, ends } => {
            lost(*datagrams, (*own, *behind), ends.as_ref())
        }
        Clause::Recovered(counts) => {
            let all = Recovery::ALL.map(|kind| (counts[kind as usize], recovered(kind)));
            format!("what brought them again: {}", listed(&all))
        }
        Clause::DroppedHere(counts) => {
            let all = DropCause::ALL.map(|cause| (counts[cause as usize], dropped_for(cause)));
            format!("where this host saw them go: {}", listed(&all))
        }
        Clause::NotDroppedHere => {
            "this host threw none of them away: they were lost on the way".into()
        }
        Clause::Stuck(stuck) => stuck_bytes(stuck),
        Clause::RepairedByProtocol => "what brought them again: the protocol's own repair".into(),
        Clause::DatagramsDropped(all) => {
            let all = all.map(|(cause, count)| (count, dropped_for(cause)));
            format!("what this host threw away in all: {}", listed(&all))
        }
        Clause::Overtaken { own, behind, resent, twice } => {
            overtaken(*own, *behind, (*resent, *twice))
        }
        Clause::OnAllConnections { resent, twice, dropped } => {
            on_all_connections((*resent, *twice), *dropped)
        }
        Clause::BufferFull(packets) => counted(
            *packets,
            "packet was thrown away because the receiving socket's buffer was full",
            "packets were thrown away because the receiving socket's buffer was full",
        ),
        Clause::QueueFull(packets) => counted(
            *packets,
            "packet was thrown away because a queue of the device was full",
            "packets were thrown away because a queue of the device was full",
        ),
        Clause::NotDelivered { missing, due } => {
            format!("{missing} of {due} deliveries did not take place, by the workloads' own count")
        }
        Clause::Filtered(datagrams) => counted(
            *datagrams,
            "datagram was thrown away by a packet filter of this host (nftables, tc)",
            "datagrams were thrown away by a packet filter of this host (nftables, tc)",
        ),
        Clause::ServerGone(gone) => server_gone(gone),
        Clause::ReaderLeft { reader, departure, is_abrupt } => {
            reader_left(*reader, *departure, *is_abrupt)
        }
        other => messages_lost(other),
    }
}

/// Messages that did not arrive, or came twice.
fn messages_lost(clause: &Clause) -> String {
    match clause {
        Clause::NeverLeft { missing, whole } => format!(
            "{missing} of {whole} messages were published and never reached a socket: the library threw them away, as at a high-water mark"
        ),
        Clause::NeverRead { unread, sent } => {
            format!(
                "{unread} times at least, a message was sent to a reader and never read ({sent} messages were sent)"
            )
        }
        Clause::Swallowed { messages, sent, dropped: 0 } => {
            format!("{messages} of {sent} messages were read by the broker and passed on to nobody")
        }
        Clause::Swallowed { messages, sent, dropped } => format!(
            "{messages} of {sent} messages were read by the broker and not seen to leave it: they may wait in its sockets, as this host threw away {dropped} packets of these connections"
        ),
        Clause::AfterReaderLeft { messages, sent, is_kept: false } => format!(
            "{messages} of {sent} messages were read by the broker after that, and passed on to nobody"
        ),
        Clause::AfterReaderLeft { messages, sent, is_kept: true } => format!(
            "{messages} of {sent} messages were read by the broker after that: it keeps them for who reads next, unless their queue is gone with its last consumer"
        ),
        Clause::LeftBehind { most, name, others } => left_behind(most, *name, *others),
        Clause::Missed { most, name, others } => missed(most, *name, *others),
        Clause::NobodyGot { messages, sent } => format!(
            "{messages} of {sent} messages were read by the broker, and nobody was seen to get any"
        ),
        Clause::NobodySubscribes => "nobody seems to subscribe".into(),
        Clause::PassedOver { records, of_group, reader } => {
            let (nobody, before) = if *of_group {
                ("read by no member of the consumer group", "the member that read before it")
            } else {
                (
                    "read by no consumer that was seen",
                    "the consumer that was seen to read before it",
                )
            };
            format!(
                "{} {nobody}: {} began behind them, and {before} had stopped before them; the group had committed no offset, so that it began where its settings say (auto.offset.reset=latest)",
                counted(*records, "record was", "records were"),
                named(*reader)
            )
        }
        Clause::Aborted(messages) => counted(
            *messages,
            "message is of a transaction that was aborted: its consumer gets it and throws it away",
            "messages are of transactions that were aborted: their consumers get them and throw them away",
        ),
        Clause::CutShort(messages) => counted(
            *messages,
            "message was given up by its sender when a part of it was sent: nobody gets it",
            "messages were given up by their sender when a part of them was sent: nobody gets them",
        ),
        Clause::Repeated { repeats, sent } => {
            format!(
                "{repeats} times, a message was sent or delivered again by the protocol ({sent} messages were sent)"
            )
        }
        Clause::InSharedMemory(messages) => counted(
            *messages,
            "message has its payload in shared memory: only where it lies is on the network",
            "messages have their payload in shared memory: only where it lies is on the network",
        ),
        _ => String::new(),
    }
}

/// The lost thing that a broker waited for.
const fn awaited_lost(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Receipt => {
            "the network lost the broker's PUBREC, without which the publisher sends no PUBREL, or what was before it on the connection"
        }
        Awaited::Release | Awaited::UnseenRelease => {
            "the network lost the publisher's PUBREL that lets the broker deliver, or what was before it on the connection"
        }
        Awaited::Earlier => {
            "the network lost messages that the broker had sent to the subscriber before, which had to have them before it answered"
        }
        Awaited::Acknowledgement
        | Awaited::LateAcknowledgement
        | Awaited::UnseenAcknowledgement => {
            "the network lost the subscriber's acknowledgement that the broker waits for, or what was before it on the connection"
        }
        Awaited::Nothing | Awaited::Request | Awaited::Answer | Awaited::Expiry => {
            "TCP sent the consumer's request for messages again, or what it had to have before it asked"
        }
    }
}

/// The lost bytes: those of `own` messages, for which so many `behind` them waited, with the ends of their connection.
fn lost(datagrams: bool, (own, behind): (u64, u64), ends: Option<&(Named, Named)>) -> String {
    let name = |(pid, comm): &Named| format!("{} (pid {})", comm.as_str(), pid.0);
    let ends = ends.map(|(from, to)| format!(" from {} to {}", name(from), name(to)));
    let ends = ends.unwrap_or_default();
    let what = if datagrams { "datagrams" } else { "bytes" };
    let before = if datagrams {
        "messages that were lost before them"
    } else {
        "what was lost before them, bytes or an acknowledgement"
    };
    match (own, behind) {
        (own, 0) => format!("the network lost {what} of {}{ends}", messages(own)),
        (0, behind) => format!("{}{ends} waited for {before}", messages(behind)),
        (own, behind) => format!(
            "the network lost {what} of {}{ends}, and {behind} more waited for what was lost before them",
            messages(own)
        ),
    }
}

/// Late packets of `own` messages, for which so many `behind` them waited; segments that were sent again, and that came twice.
fn overtaken(own: u64, behind: u64, (resent, twice): (u64, u64)) -> String {
    format!(
        "packets of {} came late, and {behind} more waited for them; {twice} segments arrived twice, of {resent} that TCP sent again: the first copy had been overtaken by later packets, or its acknowledgement was late, and was not lost",
        messages(own)
    )
}

fn on_all_connections((resent, twice): (u64, u64), dropped: u64) -> String {
    let sent_again = (resent > 0).then(|| match twice {
        0 => format!("{resent} retransmissions"),
        _ => format!("{resent} retransmissions, {twice} of which brought what had arrived, or arrived all the same"),
    });
    let thrown_away = (dropped > 0).then(|| format!("{dropped} packets thrown away by this host"));
    let parts: Vec<String> = sent_again.into_iter().chain(thrown_away).collect();
    format!("on all connections: {}", parts.join(", "))
}

/// Bytes that do not arrive, and where this host throws them away.
fn stuck_bytes(stuck: &StuckConnection) -> String {
    let from = match &stuck.sender {
        Some((pid, comm)) => format!("{} (pid {}, {})", comm.as_str(), pid.0, stuck.ends.0),
        None => stuck.ends.0.to_string(),
    };
    let dropped = match &stuck.dropped {
        Some(place) => {
            let netns = match &place.netns {
                Some((_, Some(name))) => format!("in network namespace {name} "),
                Some((id, None)) => format!("in network namespace {} ", id.0),
                None => String::new(),
            };
            let mtu = place.mtu.map_or(String::new(), |mtu| format!(", {mtu} B"));
            format!(
                "; this host threw {} of them away {netns}({}{mtu})",
                counted(place.packets.into(), "packet", "packets"),
                dropped_for(place.cause)
            )
        }
        None => "; where they are lost was not seen".into(),
    };
    format!(
        "{} from {from} to {} do not arrive: they wait for bytes that were sent {} ago, {} again since{dropped}",
        human::traffic_bytes(stuck.bytes),
        stuck.ends.1,
        stuck.age,
        counted(stuck.resent.into(), "time", "times"),
    )
}

/// Sentence on how a server went, and who noticed.
fn server_gone(gone: &ServerGone) -> String {
    let name = |(pid, comm): &Named| format!("{} (pid {})", comm.as_str(), pid.0);
    let who = match gone.process {
        Some((pid, Some(comm))) => name(&(pid, comm)),
        Some((pid, None)) => format!("the server at {} (pid {})", gone.address, pid.0),
        None => format!("the server at {}", gone.address),
    };
    let clients: Vec<String> = gone.clients.iter().map(name).collect();
    let of = if clients.is_empty() { String::new() } else { format!(" ({})", clients.join(", ")) };
    let lost = counted(gone.connections, "connection", "connections");
    let since = match gone.again {
        Some((after, next)) => {
            format!("; {} serves at {} again, {after} after that", name(&next), gone.address)
        }
        None => format!("; nobody was seen to serve at {} since", gone.address),
    };
    let refused = match gone.refused {
        0 => String::new(),
        some => format!(
            ", and {} refused",
            counted(some, "attempt to connect was", "attempts to connect were")
        ),
    };
    format!(
        "{who} {} {} after the observation began, and {lost} of clients{of} ended with it{since}{refused}",
        ended(gone.end.as_ref()),
        gone.after,
    )
}

/// Words for the end of a process.
fn ended(end: Option<&ProcessEnd>) -> String {
    let Some(end) = end else { return "was gone (how its process ended was not seen)".into() };
    match end.signal() {
        Some(signal) if end.out_of_memory => format!(
            "was killed by the kernel (signal {signal}) because memory had run out, in its cgroup or on the machine,"
        ),
        Some(signal) => format!("was ended by signal {}", signal_name(signal)),
        None => format!("exited with code {}", end.code().unwrap_or_default()),
    }
}

/// The name of a signal, with its number (`include/uapi/asm-generic/signal.h`).
fn signal_name(signal: u32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return signal.to_string(),
    };
    format!("{signal} ({name})")
}

/// The way in which a subscriber left that had got the messages before.
fn reader_left(
    reader: Option<(Pid, Option<Comm>)>,
    departure: Departure,
    is_abrupt: bool,
) -> String {
    let whom = named(reader);
    let how = match (departure, is_abrupt) {
        (Departure::Unsubscribed, _) => {
            return format!("{whom}, which had got those before, unsubscribed");
        }
        (Departure::Closed(ClosedBy::EndOfServer), _) => {
            return format!(
                "the broker was gone (nobody listened at its address, or another process has served there since), and with it the connection of {whom}, which had got those before"
            );
        }
        (Departure::Closed(ClosedBy::Server), true) => {
            "closed by the broker without the protocol's farewell: the broker was ended, or it dropped this subscriber"
        }
        (Departure::Closed(ClosedBy::Server), false) => "closed by the broker",
        (Departure::Closed(ClosedBy::Reader), true) => {
            "closed without the protocol's farewell: the process was ended, or the connection broke"
        }
        (Departure::Closed(ClosedBy::Reader), false) => "closed",
    };
    format!("the connection of {whom}, which had got those before, was {how}")
}

/// The messages that one subscriber did not get, while it got those before and after.
fn missed(most: &MissedBy, name: Option<Comm>, (times, others): (u64, u64)) -> String {
    let whom = named(most.pid.map(|pid| (pid, name)));
    let topic = most.topic.as_ref().map_or(String::new(), |topic| format!(" of {topic}"));
    let others_got = if most.others_got { "; others got them" } else { "" };
    let others = match times {
        0 => String::new(),
        1 => format!("; {} more another time", messages(others)),
        _ => format!("; {} more, {times} other times", messages(others)),
    };
    format!(
        "{} of {}{topic} were not passed on to {whom}, which got those before and after, the first of them after {}{others_got}{others}",
        most.messages,
        messages(most.whole),
        most.from
    )
}

/// The messages that a subscriber had not got when its connection was closed.
fn left_behind(most: &MostLeft, name: Option<Comm>, (times, others): (u64, u64)) -> String {
    let whom = named(most.pid.map(|pid| (pid, name)));
    let how = match (most.by, most.is_abrupt) {
        (ClosedBy::EndOfServer, _) => "the broker was gone, and its connection with it",
        (ClosedBy::Server, _) => "the broker closed its connection",
        (ClosedBy::Reader, true) => "its connection ended without the protocol's farewell",
        (ClosedBy::Reader, false) => "it closed its connection",
    };
    let others = match times {
        0 => String::new(),
        1 => format!("; {} more another time", messages(others)),
        _ => format!("; {} more, {times} other times", messages(others)),
    };
    format!(
        "{} had not been delivered to {whom} when {how}, the oldest for {}, held up by the {}{others}",
        messages(most.messages),
        most.oldest,
        most.holder.name()
    )
}

/// The name and process of a subscriber that is gone.
fn named(reader: Option<(Pid, Option<Comm>)>) -> String {
    let name = |(pid, comm): (Pid, Option<Comm>)| {
        let name = comm.as_ref().map_or("the subscriber", Comm::as_str);
        format!("{name} (pid {})", pid.0)
    };
    reader.map_or("the subscriber".to_owned(), name)
}

/// The kinds that occurred, each with its count.
fn listed(all: &[(u64, &str)]) -> String {
    let some = all.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{what} ({count})")).collect();
    words.join(", ")
}

fn messages(count: u64) -> String {
    if count == 1 { "1 message".into() } else { format!("{count} messages") }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The reason why TCP retransmitted, after "what brought them again: ".
pub const fn recovered(kind: Recovery) -> &'static str {
    match kind {
        Recovery::Timeout => "TCP's timeout",
        Recovery::Fast => "fast retransmit",
        Recovery::TailProbe => "a tail loss probe",
        Recovery::Retry => "a later try, as they had not left the host",
    }
}

/// Why this host dropped a packet, after "where this host saw them go: ".
pub const fn dropped_for(cause: DropCause) -> &'static str {
    match cause {
        DropCause::SocketBuffer => "receive buffer of the socket full",
        DropCause::Queue => "queue of a device full",
        DropCause::NoSocket => "nobody listened",
        DropCause::Filter => "dropped by a packet filter, as netfilter",
        DropCause::Duplicate => "had come before",
        DropCause::Other => "dropped by the stack for another reason",
        DropCause::TooBig => "larger than the MTU of the device ahead",
    }
}
