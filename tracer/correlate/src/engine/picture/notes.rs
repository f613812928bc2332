//! What the user should know beside the figures.

use super::Picture;
use crate::bytes::{Unknown, sentences};
use crate::rows::Row;

impl Picture<'_> {
    pub(super) fn notes(&self, unknown: &Unknown) -> Vec<String> {
        let totals = &self.accounts.totals;
        let mut notes = sentences(unknown);
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(text.replace("{}", &count.to_string()));
            }
        };
        note(
            totals.unknown_sockets,
            "{} events were of sockets that had not come into view, and were left out.",
        );
        note(
            totals.unknown_reads,
            "{} reads of UDP sockets took datagrams of which it is not known which they were: as many that \
             were delivered may be said not to be.",
        );
        note(
            totals.anomalies,
            "{} times contradicted others (clocks of two CPUs) and were left out.",
        );
        notes
    }
}

pub fn notes_of(row: &Row) -> Vec<String> {
    let mut notes = Vec::new();
    if row.without_send > 0 {
        notes.push(format!(
            "The send call was not seen on this kernel or host for {} deliveries: their one-way \
             latency starts at the first stage that was.",
            row.without_send
        ));
    }
    if row.to_remote > 0 {
        notes.push(format!(
            "{} legs end at another host, or at a process that a filter leaves out: whether and when they were read there is not \
             known here.",
            row.to_remote
        ));
    }
    if row.shared > 0 {
        notes.push(format!(
            "{} times a message's payload was in shared memory: only where it lies travelled, and the \
             bytes and sizes here are of that.",
            row.shared
        ));
    }
    if let [to, from] = row.unread
        && to.saturating_add(from) > 0
    {
        notes.push(format!(
            "Batches that say that they have {to} messages on the way to the broker, and {from} from it, could not be \
             opened (not captured whole, or compressed in an unknown way): these messages are in no count here."
        ));
    }
    if row.framed > 0 {
        notes.push(format!(
            "{} times no probe saw the packet of a message: its send and read are known by their sequence numbers, its length by its \
             neighbours, and what it says is not.",
            row.framed
        ));
    }
    if let Some(domain) = row.domain {
        notes.push(format!("Domain {domain}, told from its port numbers."));
    }
    notes
}
