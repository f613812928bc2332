//! The rows that the user asked for.

use super::Picture;
use crate::view::Group;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wirelap_events::{GroupId, Nanos, Pid, TopicId};
use wirelap_figures::{
    Breakdown, BreakdownRow, BreakdownTable, Dimension, DimensionNumbers, LinkEnd, MutedExtent,
    NONE, RowFigure, RowFigures, UNKNOWN, has_text,
};

/// Rows in a snapshot before the end: more are not looked at while time passes.
const LISTED: usize = 256;

/// A row of the table.
type TableRow<'t> = (&'t DimensionNumbers, &'t RowFigures);

impl Picture<'_> {
    /// The rows that the user asked for: at the end all that are kept, and before those that are the first in the order.
    pub(super) fn breakdown(&self, groups: &[Group], since: Nanos) -> Option<Breakdown> {
        let table = self.accounts.breakdown.as_deref()?;
        let query = &self.accounts.query;
        let mut rows: Vec<TableRow<'_>> =
            table.rows.iter().filter(|(_, row)| row.messages() > 0).collect();
        let at_end = self.overdue_at_end.is_some();
        let (listed, text) = if at_end { (rows.len(), "") } else { (LISTED, query.text.as_str()) };
        let lower = text.to_lowercase();
        let is_wanted = |row: &TableRow<'_>| {
            lower.is_empty() || has_text(&self.names(table, groups, row.0), &lower)
        };
        let mut unlisted: Vec<TableRow<'_>> = rows.extract_if(.., |row| !is_wanted(row)).collect();
        unlisted.extend(first(&mut rows, query.order, listed));
        let mut rest = table.rest.clone();
        for (_, row) in &unlisted {
            rest.merge(row);
        }
        // One name may have several numbers: rows that have turned out to be one.
        let mut named: BTreeMap<Vec<Option<String>>, RowFigures> = BTreeMap::new();
        for (key, row) in rows {
            named.entry(self.names(table, groups, key)).or_default().merge(row);
        }
        let mut rows: Vec<BreakdownRow> =
            named.into_iter().map(|(names, row)| self.shown(names, &row)).collect();
        rows.sort_by_key(|row| Reverse(row.figure(query.order)));
        Some(Breakdown {
            by: table.by.to_vec(),
            since: table.since.unwrap_or(since),
            order: query.order,
            text: text.to_owned(),
            rows,
            rest: self.shown(Vec::new(), &rest),
            rest_rows: table.evicted.saturating_add(unlisted.len() as u64),
            is_crowded: table.evicted > 0,
        })
    }

    fn names(
        &self,
        table: &BreakdownTable,
        groups: &[Group],
        key: &DimensionNumbers,
    ) -> Vec<Option<String>> {
        let numbers = table.by.iter().zip(key);
        numbers.map(|(&by, &number)| self.name(table, groups, by, number)).collect()
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
            Dimension::Process => Some(self.process_name(Pid(id))),
            Dimension::Container => self.seen.host.places().label(Pid(id)),
            Dimension::Host => {
                let index = usize::try_from(number).unwrap_or(usize::MAX);
                table.hosts.get(index).map(ToString::to_string)
            }
            Dimension::Link => {
                let index = usize::try_from(number).unwrap_or(usize::MAX);
                let [from, to] = table.links.get(index)?;
                Some(format!("{} \u{2192} {}", self.link_end(*from), self.link_end(*to)))
            }
            Dimension::Protocol => {
                Some(self.accounts.rows.get(GroupId(id))?.name.middleware.clone())
            }
            Dimension::Broker => {
                let group = self.accounts.rows.root(GroupId(id));
                let group = groups.iter().find(|one| one.id == group)?;
                group.broker.clone().or_else(|| Some(group.endpoint?.to_string()))
            }
        }
    }

    /// The name of a host at an end of a link.
    fn link_end(&self, end: LinkEnd) -> String {
        match end {
            LinkEnd::Host(number) => self.seen.host.name_of(number),
            LinkEnd::Address(address) => address.to_string(),
        }
    }

    fn shown(&self, names: Vec<Option<String>>, row: &RowFigures) -> BreakdownRow {
        let rows = &self.accounts.rows;
        let muted = row.parents.muted(|group| rows.is_muted(group));
        BreakdownRow { muted, ..figures(names, row) }
    }

    /// A process by its name and number.
    pub(super) fn process_name(&self, pid: Pid) -> String {
        match self.seen.conversations.sockets().name(pid) {
            Some(name) => format!("{name} ({})", pid.number()),
            None => pid.number().to_string(),
        }
    }
}

/// Leaves the first `listed` rows of the order, and takes out the others. Rows that are equal in the order are in that of their messages.
fn first<'t>(rows: &mut Vec<TableRow<'t>>, order: RowFigure, listed: usize) -> Vec<TableRow<'t>> {
    if rows.len() <= listed {
        return Vec::new();
    }
    // A quantile takes longer to find than to compare.
    let mut ranked: Vec<(Reverse<(u64, u64)>, TableRow<'t>)> =
        rows.drain(..).map(|row| (Reverse((rank(order, row.1), row.1.messages())), row)).collect();
    ranked.sort_unstable_by(|a, b| (a.0, a.1.0).cmp(&(b.0, b.1.0)));
    let others = ranked.split_off(listed);
    rows.extend(ranked.into_iter().map(|(_, row)| row));
    others.into_iter().map(|(_, row)| row).collect()
}

fn rank(order: RowFigure, row: &RowFigures) -> u64 {
    match order {
        RowFigure::Messages => row.messages(),
        RowFigure::Sent => row.sent,
        RowFigure::Delivered => row.delivered,
        RowFigure::Bytes => row.payload_bytes,
        RowFigure::P50 | RowFigure::P99 | RowFigure::Max => figures(Vec::new(), row).figure(order),
    }
}

/// A name as text. Bytes that are none are escaped, so that different names look different.
fn text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_owned(),
        Err(_) => name.escape_ascii().to_string(),
    }
}

fn figures(names: Vec<Option<String>>, row: &RowFigures) -> BreakdownRow {
    BreakdownRow {
        names,
        sent: row.sent,
        delivered: row.delivered,
        matched: row.matched,
        payload_bytes: row.payload_bytes,
        one_way: row.one_way.summary(),
        clock_error: row.clock_error,
        muted: MutedExtent::None,
    }
}
