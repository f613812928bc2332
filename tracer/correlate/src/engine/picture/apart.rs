//! Marks that are added to the names of brokers that would otherwise be called the same.

use super::Picture;
use crate::rows::Row;
use crate::view::Group;

/// The mark that tells brokers of one name apart, the most telling first. Each is tried only for names that are still
/// the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BrokerMark {
    /// The container that it runs in.
    Container,
    Port,
    /// The network namespace, where two may serve at one address.
    Namespace,
    Process,
}

impl Picture<'_> {
    /// Rows of several brokers of one name get more into the name.
    pub(super) fn tell_brokers_apart(&self, groups: &mut [Group]) {
        for mark in
            [BrokerMark::Container, BrokerMark::Port, BrokerMark::Namespace, BrokerMark::Process]
        {
            let names: Vec<_> = groups
                .iter()
                .map(|group| (group.middleware.clone(), group.broker.clone()))
                .collect();
            let marks: Vec<Option<String>> =
                groups.iter().map(|group| self.mark_of(group, mark)).collect();
            for (index, group) in groups.iter_mut().enumerate() {
                let same = || (0..names.len()).filter(|&other| names[other] == names[index]);
                // Ports and processes are worth knowing even where they are the same, or not known, for some.
                let is_worth_it = matches!(mark, BrokerMark::Port | BrokerMark::Process)
                    || same().any(|other| marks[other] != marks[index]);
                if let (Some(broker), Some(mark)) = (&mut group.broker, &marks[index])
                    && same().count() > 1
                    && is_worth_it
                {
                    broker.push_str(mark);
                }
            }
        }
    }

    /// Rows of one name that have no broker get what tells their conversations apart in its place: their domain, or else an address
    /// of theirs.
    pub(super) fn tell_peers_apart(&self, groups: &mut [Group]) {
        let is_peers = |group: &Group| {
            let row = self.accounts.rows.get(group.id);
            group.broker.is_none()
                && row.is_some_and(|row| !row.has_told_name() && !row.is_brokered)
        };
        let names: Vec<_> =
            groups.iter().map(|group| is_peers(group).then(|| group.middleware.clone())).collect();
        for (group, name) in groups.iter_mut().zip(&names) {
            let same = names.iter().filter(|other| *other == name).count();
            if name.is_some() && same > 1 {
                let domain = self.accounts.rows.get(group.id).and_then(|row| row.name.domain);
                group.broker = domain
                    .map(|domain| format!("domain {domain}"))
                    .or_else(|| group.endpoint.map(|endpoint| endpoint.to_string()));
            }
        }
    }

    /// The mark that would be added to the name of a row's broker; `None` if it is not known, or the caller has named
    /// the row.
    fn mark_of(&self, group: &Group, mark: BrokerMark) -> Option<String> {
        let row = self.accounts.rows.get(group.id).filter(|row| !row.has_told_name())?;
        match mark {
            BrokerMark::Container => self.container_mark(row),
            BrokerMark::Port => group.endpoint.map(|endpoint| format!(":{}", endpoint.port())),
            BrokerMark::Namespace => self.namespace_mark(row),
            BrokerMark::Process => row.server.map(|pid| format!(" (pid {})", pid.0)),
        }
    }

    fn container_mark(&self, row: &Row) -> Option<String> {
        let container = self.seen.host.places().container(row.server?)?;
        container.short().map(|name| format!(" ({name})"))
    }

    fn namespace_mark(&self, row: &Row) -> Option<String> {
        let namespace = self.seen.host.places().namespace_of(row.server?)?;
        (!namespace.is_own).then(|| format!(" (netns {})", namespace.label()))
    }
}
