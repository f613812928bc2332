//! The rows that the user asked for.

use super::Picture;
use crate::breakdown::{
    Breakdown, BreakdownRow, BreakdownTable, Dimension, NONE, RowFigures, RowKey, UNKNOWN,
};
use crate::view::Group;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wirelap_events::{GroupId, Pid, TopicId};

/// Rows in a snapshot before the end: more are not looked at while time passes.
const LISTED: usize = 256;

impl Picture<'_> {
    /// The rows that the user asked for: at the end all that are kept, and before those with the most messages.
    pub(super) fn breakdown(&self, groups: &[Group]) -> Option<Breakdown> {
        let table = self.accounts.breakdown.as_deref()?;
        let mut rows: Vec<(&RowKey, &RowFigures)> =
            table.rows.iter().filter(|(_, row)| row.messages() > 0).collect();
        rows.sort_unstable_by_key(|(key, row)| (Reverse(row.messages()), **key));
        let listed = if self.overdue_at_end.is_some() { rows.len() } else { LISTED };
        let mut rest = table.rest.clone();
        for (_, row) in rows.iter().skip(listed) {
            rest.merge(row);
        }
        let unlisted = rows.len().saturating_sub(listed) as u64;
        // One name may have several numbers: rows that have turned out to be one.
        let mut named: BTreeMap<Vec<Option<String>>, RowFigures> = BTreeMap::new();
        for (key, row) in rows.into_iter().take(listed) {
            let names =
                table.by.iter().zip(key).map(|(&by, &number)| self.name(table, groups, by, number));
            named.entry(names.collect()).or_default().merge(row);
        }
        let mut rows: Vec<BreakdownRow> =
            named.into_iter().map(|(names, row)| shown(names, &row)).collect();
        rows.sort_by_key(|row| Reverse(row.sent.saturating_add(row.delivered)));
        Some(Breakdown {
            by: table.by.to_vec(),
            rows,
            rest: shown(Vec::new(), &rest),
            rest_rows: table.evicted.saturating_add(unlisted),
            is_crowded: table.evicted > 0,
        })
    }

    fn name(
        &self,
        table: &BreakdownTable,
        groups: &[Group],
        by: Dimension,
        number: u64,
    ) -> Option<String> {
        if number == UNKNOWN {
            return None;
        }
        let id = u32::try_from(number).unwrap_or(u32::MAX);
        let seen = &self.seen.conversations;
        match by {
            Dimension::Topic => seen.topic(TopicId(id)).map(text),
            Dimension::Client => seen.client_name(TopicId(id)).map(text),
            Dimension::Group if number == NONE => Some(String::new()),
            Dimension::Group => seen.group_name(TopicId(id)).map(text),
            Dimension::Connection => {
                table.connections.get(&number).map(|[near, far]| format!("{near} \u{2192} {far}"))
            }
            Dimension::Process => Some(match seen.sockets().name(Pid(id)) {
                Some(name) => format!("{name} ({})", Pid(id).number()),
                None => Pid(id).number().to_string(),
            }),
            Dimension::Container => self.seen.host.places().label(Pid(id)),
            Dimension::Host => {
                let index = usize::try_from(number).unwrap_or(usize::MAX);
                table.hosts.get(index).map(ToString::to_string)
            }
            Dimension::Protocol => Some(self.accounts.rows.get(GroupId(id))?.middleware.clone()),
            Dimension::Broker => {
                let group = self.accounts.rows.root(GroupId(id));
                let group = groups.iter().find(|one| one.id == group)?;
                group.broker.clone().or_else(|| Some(group.endpoint?.to_string()))
            }
        }
    }
}

/// A name as text. Bytes that are none are escaped, so that different names look different.
fn text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_owned(),
        Err(_) => name.escape_ascii().to_string(),
    }
}

fn shown(names: Vec<Option<String>>, row: &RowFigures) -> BreakdownRow {
    BreakdownRow {
        names,
        sent: row.sent,
        delivered: row.delivered,
        matched: row.matched,
        payload_bytes: row.payload_bytes,
        one_way: row.one_way.summary(),
    }
}
