//! Notes for the user beside the figures.

use super::super::totals::Totals;
use crate::rows::Row;
use crate::view::{GroupNote, Muted, SnapshotNote};
use wirelap_events::TraceDetail;
use wirelap_figures::UncertainCounts;
use wirelap_flow::TlsCounts;

/// The notes of a snapshot, from the counters over everything.
pub fn notes_of_all(
    totals: &Totals,
    keys: Option<TlsCounts>,
    unread_websockets: u64,
    detail: TraceDetail,
) -> Vec<SnapshotNote> {
    let all = [
        (unread_websockets, SnapshotNote::UnreadWebSockets { connections: unread_websockets }),
        (totals.unknown_sockets, SnapshotNote::UnknownSockets { events: totals.unknown_sockets }),
        (totals.unknown_reads, SnapshotNote::UnknownDatagrams { reads: totals.unknown_reads }),
        (totals.anomalies, SnapshotNote::ContradictoryTimes { times: totals.anomalies }),
    ];
    let counted = all.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note);
    let less = (detail != TraceDetail::Full).then_some(SnapshotNote::LessDetail(detail));
    less.into_iter().chain(keys.map(SnapshotNote::TlsKeys)).chain(counted).collect()
}

/// The notes of a row, from its counters.
pub fn notes_of(row: &Row, muted: Option<Muted>) -> Vec<GroupNote> {
    let [to_broker, from_broker] = row.noted.unread;
    let UncertainCounts { without_send, to_unseen_readers, superseded, .. } = row.uncertain;
    let all = [
        (without_send, GroupNote::SendNotSeen { deliveries: without_send }),
        (to_unseen_readers, GroupNote::ReaderNotSeen { legs: to_unseen_readers }),
        (row.noted.in_subflows, GroupNote::Subflows { legs: row.noted.in_subflows }),
        (row.noted.shared, GroupNote::SharedMemory { legs: row.noted.shared }),
        (
            to_broker.saturating_add(from_broker),
            GroupNote::UnreadBatches { to_broker, from_broker },
        ),
        (row.noted.read_from_log, GroupNote::ReadFromLog { messages: row.noted.read_from_log }),
        (superseded, GroupNote::Superseded { replies: superseded }),
        (row.noted.framed, GroupNote::PacketNotSeen { legs: row.noted.framed }),
    ];
    let counted = all.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note);
    let muted = muted.map(GroupNote::Muted).into_iter();
    muted.chain(counted).chain(row.name.domain.map(|domain| GroupNote::Domain { domain })).collect()
}
