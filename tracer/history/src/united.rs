//! Rows that have turned out to be a part of another row.

use std::collections::BTreeMap;
use wirelap_events::GroupId;

/// Rows that have turned out to be a part of another row, and which one that is now.
#[derive(Clone, Debug, Default)]
pub struct United {
    roots: BTreeMap<GroupId, GroupId>,
}

impl United {
    /// Takes in those of a snapshot. Returns the ones that are new.
    pub fn update(&mut self, united: &[(GroupId, GroupId)]) -> Vec<(GroupId, GroupId)> {
        let mut new = Vec::new();
        for &(part, whole) in united {
            if part != whole && self.roots.insert(part, whole).is_none() {
                new.push((part, whole));
            }
        }
        new
    }

    /// The row that a row is now; most are themselves.
    pub fn root(&self, group: GroupId) -> GroupId {
        self.roots.get(&group).copied().unwrap_or(group)
    }

    /// A row, and all rows that are a part of it.
    pub fn parts(&self, whole: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        let parts = self.roots.iter().filter(move |(_, root)| **root == whole);
        std::iter::once(whole).chain(parts.map(|(part, _)| *part))
    }
}
