//! Notes that the user should know beside the figures.

use super::hosts::host_notes;
use super::ros::ros_notes;
use super::traffic::{TLS_REMEDY, traffic_notes};
use super::verdicts::subscriber_away::shared_name;
use wirelap_correlate::{
    Group, GroupNote, Muted, Refusals, Snapshot, SnapshotNote, TlsCounts, UnixServer,
};
use wirelap_events::TraceDetail;
use wirelap_events::human::{counted, exact, one_or};

/// Notes that the user should know beside a snapshot's figures, a sentence each: first what was not decoded, last the nodes of ROS 2.
pub fn snapshot_notes(snapshot: &Snapshot) -> Vec<String> {
    let mut notes = traffic_notes(&snapshot.unknown);
    notes.extend(snapshot.unix_servers.iter().map(unix_server));
    notes.extend(skipped_runs(snapshot.trust.skipped_runs));
    notes.extend(snapshot.notes.iter().map(snapshot_note));
    notes.extend(host_notes(snapshot));
    notes.extend(ros_notes(&snapshot.ros));
    notes
}

/// That a server's clients come through a Unix socket, as a sentence.
pub fn unix_server(server: &UnixServer) -> String {
    let UnixServer { pid, comm, clients } = server;
    format!(
        "{} through the Unix socket {} to {comm} (PID {}): no bytes are seen there, and messages in them are in no figure.",
        counted(clients.connections, "connection"),
        clients.path,
        pid.0
    )
}

/// The notes on a row for the user, one sentence each.
pub fn group_notes(group: &Group) -> Vec<String> {
    let notes = group.notes.iter().map(group_note);
    let names = group.shared_names.iter().map(|shared| format!("{}.", shared_name(shared)));
    notes.chain(refusals(&group.refusals)).chain(names).collect()
}

/// The meaning of lost events that did not meet a full ring buffer; `None` if there are none.
fn skipped_runs(runs: u64) -> Option<String> {
    (runs > 0).then(|| {
        format!(
            "Of the events counted as lost, {} did not meet a full ring buffer: so often the kernel skipped a probe that ran already \
             on the same CPU, for processes that are traced or not. A larger --ring-size does not help; events may be missing.",
            exact(runs)
        )
    })
}

fn snapshot_note(note: &SnapshotNote) -> String {
    match note {
        SnapshotNote::LessDetail(detail) => less_detail(*detail).into(),
        SnapshotNote::PacketsOnly { fragments, cut } => packets_only(*fragments, *cut),
        SnapshotNote::UnknownSockets { events } => {
            format!(
                "{events} events were of sockets that had not come into view, and were left out."
            )
        }
        SnapshotNote::UnknownDatagrams { reads } => format!(
            "It is not known which datagrams {} of UDP sockets took: as many that were delivered may be said not \
             to be.",
            counted(*reads, "read")
        ),
        SnapshotNote::TlsKeys(counts) => tls_keys(counts),
        SnapshotNote::UnreadWebSockets { connections } => format!(
            "{}: compressed messages refer to earlier ones that wirelap did not see, so those are in no figure; \
             a connection that is opened while wirelap runs is read.",
            counted(*connections, "WebSocket")
        ),
        SnapshotNote::UnreadBefore { reader: (pid, comm), connections, peer, bytes } => {
            let places = match connections {
                1 => format!("by {peer}"),
                _ => format!("on {connections} connections, among them that with {peer}"),
            };
            format!(
                "{} (PID {}) reads nothing: {} that had been sent to it {places} before the observation began {} still unread. It is \
                 stopped, hangs or waits for something else: see what its threads do.",
                comm.as_str(),
                pid.0,
                counted(*bytes, "byte"),
                one_or(*bytes, "is", "are")
            )
        }
        SnapshotNote::ContradictoryTimes { times } => {
            format!(
                "{times} times of stages were earlier than those of the stages before them and were left out: the \
                 clocks of two CPUs differ, or an observation was taken for that of another message."
            )
        }
    }
}

/// The figures that are not known with less detail.
fn less_detail(detail: TraceDetail) -> &'static str {
    match detail {
        TraceDetail::Ends => {
            "With --detail ends, only sends and reads are observed: bytes on the wire are not known, and the time between a send and \
             its read is in one segment, in_kernel, whose cause is not known. What other hosts send is seen from packets, which are \
             observed from the first read of it on."
        }
        TraceDetail::Path => {
            "With --detail path, the scheduler is not observed, nor when TCP sockets are ready: the time from a packet's arrival to \
             its read is in one segment, in_kernel, whose cause is not known."
        }
        TraceDetail::Full => "",
    }
}

/// The figures that packets alone show, and the packets that could not be read.
fn packets_only(fragments: u64, cut: u64) -> String {
    let left_out = [
        (fragments, "datagrams of which IP fragments are missing or overlap"),
        (cut, "packets whose headers cannot be read"),
    ];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    let left_out: Vec<String> =
        left_out.map(|(count, what)| format!(" Left out: {} {what}.", exact(count))).collect();
    let left_out = left_out.concat();
    format!(
        "Packets only: no sockets and no scheduler are seen, and when messages were sent and read is not known. The time of a message is \
         from its first packet to its last, over all legs; the time of a message that was seen once is 0. The dwell is the time between \
         the packet to the broker and the packet from it, and includes both ways if the broker is on another host.{left_out}"
    )
}

/// The result of the keys of TLS connections: how many are read with them, how many are not and why.
fn tls_keys(counts: &TlsCounts) -> String {
    let encrypted = [
        (counts.missed, "whose handshake was not captured"),
        (counts.no_key, "for which there are no keys"),
        (counts.wrong_key, "whose records do not authenticate with their keys"),
        (counts.silent, "of which no record was read"),
        (
            counts.cipher,
            "with a cipher suite that is not read (TLS 1.2 and 1.3 are, with AES in GCM, CCM and CBC mode and ChaCha20-Poly1305)",
        ),
    ];
    let encrypted = encrypted.into_iter().filter(|(count, _)| *count > 0);
    let encrypted: Vec<_> =
        encrypted.map(|(count, why)| format!("{} {why}", counted(count, "connection"))).collect();
    let mut parts =
        vec![format!("TLS keys: {} read with them", counted(counts.opened, "connection"))];
    if !encrypted.is_empty() {
        parts.push(format!("still encrypted: {}", encrypted.join(", ")));
    }
    if counts.unread_places > 0 {
        parts.push(format!(
            "records were not read in {}, because bytes are missing or do not authenticate",
            counted(counts.unread_places, "place")
        ));
    }
    parts.join("; ") + "."
}
/// That the user has muted a row.
fn muted_row(muted: Muted) -> String {
    let time = muted.time;
    if muted.now {
        format!(
            "Muted by the user for {time}: its figures are those of the moment at which it was muted, and nothing more is observed of it. \
             It may have traffic."
        )
    } else {
        format!("Muted by the user for {time} so far: nothing of that time is in its figures.")
    }
}

/// What the servers of a row have refused; `None` if that is nothing.
fn refusals(all: &Refusals) -> Option<String> {
    let times = |times: u64| counted(times, "time");
    let listed = all.listed.iter().map(|one| format!("{} ({})", one.reason, times(one.times)));
    let more = (all.more > 0).then(|| format!("other reasons ({})", times(all.more)));
    let reasons: Vec<String> = listed.chain(more).collect();
    (!reasons.is_empty()).then(|| {
        format!(
            "Refused by the server, in its own words or those of the protocol: {}.",
            reasons.join("; ")
        )
    })
}

fn group_note(note: &GroupNote) -> String {
    match note {
        GroupNote::SendNotSeen { deliveries } => format!(
            "The send call was not seen on this kernel or host for {deliveries} deliveries: their one-way \
             latency starts at the first stage that was."
        ),
        GroupNote::ReaderNotSeen { legs } => format!(
            "{legs} legs end at another host, or at a process that a filter leaves out: whether and when they were read there is not \
             known here."
        ),
        GroupNote::Subflows { legs } => format!(
            "{legs} legs were in MPTCP connections, whose send and receive calls are not seen: a leg begins and ends with its packets \
             there, and whether it was read is not known."
        ),
        GroupNote::SharedMemory { legs } => format!(
            "{legs} times a message's payload was in shared memory: only where it lies travelled, and the \
             bytes and sizes here are of that."
        ),
        GroupNote::UnreadBatches { to_broker, from_broker } => format!(
            "Batches that say that they have {to_broker} messages on the way to the broker, and {from_broker} from it, could not be \
             opened (not captured whole, or compressed in an unknown way): these messages are in no count here."
        ),
        GroupNote::ReadFromLog { messages } => format!(
            "{messages} messages were read from the broker's log, and were not seen on their way there: they are older than this \
             observation, or than what it has room to remember, or came to the broker unseen. When they were sent is not known."
        ),
        GroupNote::Superseded { replies } => format!(
            "Replies that crossed, and count as delivered, and do not reach the application that asked: {replies}, or more if replies came \
             over several connections. Its library hands over one reply of each key (consolidation)."
        ),
        GroupNote::PacketNotSeen { legs } => format!(
            "{legs} times no probe saw the packet of a message: its send and read are known by their sequence numbers, its length by its \
             neighbours, and what it says is not."
        ),
        GroupNote::Muted(muted) => muted_row(*muted),
        GroupNote::Domain { domain } => format!("Domain {domain}, told from its port numbers."),
        GroupNote::Records => {
            "The messages here are TLS records, by --decode PORT=tls: a record may hold several messages of the protocol inside, or a part of \
             one, and it ends at the other end of its connection, also where that is a broker."
                .into()
        }
        GroupNote::Encrypted { conversations, is_tls } => {
            let remedy = if *is_tls { format!("; {TLS_REMEDY}") } else { String::new() };
            format!(
                "Encrypted connections: {conversations}. wirelap sees their bytes and timing, and their messages are in no figure{remedy}."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_alone_say_what_they_do_not_show_and_what_was_left_out() {
        assert!(packets_only(0, 0).ends_with("on another host."));
        let text = packets_only(1_200, 3);
        assert!(text.starts_with("Packets only: no sockets and no scheduler are seen"), "{text}");
        let end = "Left out: 1,200 datagrams of which IP fragments are missing or overlap. Left out: 3 packets whose headers cannot be read.";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_came_of_keys_is_one_sentence() {
        let counts = TlsCounts { opened: 2, ..TlsCounts::default() };
        assert_eq!(tls_keys(&counts), "TLS keys: 2 connections read with them.");
        let counts = TlsCounts { opened: 1, missed: 3, no_key: 1, unread_places: 1, ..counts };
        assert_eq!(
            tls_keys(&counts),
            "TLS keys: 1 connection read with them; still encrypted: 3 connections whose handshake was not captured, 1 connection \
             for which there are no keys; records were not read in 1 place, because bytes are missing or do not authenticate."
        );
    }
}
