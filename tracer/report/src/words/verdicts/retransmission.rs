//! Words of `retransmission`.

use super::super::phrases::{counted, messages};
use super::VerdictWords;
use wirelap_correlate::{Awaited, Clause, Named, StuckConnection};
use wirelap_events::{DropCause, Recovery, human};

pub const WORDS: VerdictWords = VerdictWords {
    title: "retransmission",
    short: "retransmission",
    means: "packets were lost, and retransmitted after a timeout, by fast retransmit, by a tail loss probe, or by a later attempt if they had not left the host; or they are sent again and again and nothing arrives (a hole in the path); or nothing was lost, and messages overtook earlier ones on the way and had to wait for them",
    evidence: "messages that lost bytes, messages that waited behind them, what caused the retransmission, and why this host dropped packets; of what is too big for a device ahead, the network namespace and the MTU. An attempt that failed because the packet was still in the qdisc is none",
    helps: "the packet filter's rule, the full queue, the socket's buffer; otherwise the path between the hosts",
    remedy: |circumstance| lost_for(circumstance.dropped),
    clause: |clause| {
        Some(match clause {
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
            Clause::RepairedByProtocol => {
                "what brought them again: the protocol's own repair".into()
            }
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
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

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
        Awaited::Nothing
        | Awaited::Request
        | Awaited::Answer
        | Awaited::Expiry
        | Awaited::Replica
        | Awaited::Others => {
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
    if resent == 0 {
        return format!(
            "{} waited for packets that they had overtaken on the way: none was lost, and TCP sent nothing again",
            messages(own.saturating_add(behind))
        );
    }
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

/// Against packets that are lost, by what this host threw them away for.
const fn lost_for(cause: Option<DropCause>) -> &'static str {
    match cause {
        Some(DropCause::Filter) => {
            "find the rule that drops them (`nft list ruleset`, `iptables -vnL`, `tc filter show`), and let this traffic pass"
        }
        Some(DropCause::Queue) => {
            "give the queue that was full more room (`tc -s qdisc` shows which; net.core.netdev_max_backlog for a CPU's), or send slower"
        }
        Some(DropCause::SocketBuffer) => {
            "let the receiver read faster, or give its socket room: SO_RCVBUF (net.core.rmem_max), net.ipv4.tcp_rmem, net.ipv4.tcp_mem"
        }
        Some(DropCause::Duplicate) => {
            "find what lets packets overtake each other on the way, or delays acknowledgements: load that is balanced packet by packet, bonded links, several queues"
        }
        Some(DropCause::TooBig) => {
            "let the sender hear of the smaller MTU on the way (let ICMP's \"fragmentation needed\" and IPv6's \"packet too big\" pass), or keep its segments smaller: the same MTU everywhere, `advmss` of a route, MSS clamping (`tcp option maxseg size set rt mtu`), net.ipv4.tcp_mtu_probing=1"
        }
        Some(DropCause::NoSocket | DropCause::Other) | None => {
            "find where packets are lost (`ethtool -S`, `nstat`, the counters of switches on the way), and mend that part of the path or send slower"
        }
    }
}

/// The kinds that occurred, each with its count.
fn listed(all: &[(u64, &str)]) -> String {
    let some = all.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{what} ({count})")).collect();
    words.join(", ")
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
