//! The windows of rows that are muted: as they were when that began.

use crate::window::FigureWindow;
use rustc_hash::FxHashMap;
use wirelap_correlate::{Group, Snapshot};
use wirelap_events::GroupId;

/// The rows that are muted, with the figures that they had in each window before.
#[derive(Clone, Debug, Default)]
pub struct MutedRows(FxHashMap<GroupId, Vec<(FigureWindow, Group)>>);

impl MutedRows {
    /// Takes in the newest snapshot. `figures` are those of a row in a window before it; `None` if it was not there.
    pub fn update(
        &mut self,
        newest: &Snapshot,
        figures: impl Fn(FigureWindow) -> std::sync::Arc<Snapshot>,
    ) {
        let muted = |id: GroupId| newest.groups.iter().any(|one| one.id == id && one.is_muted());
        self.0.retain(|id, _| muted(*id));
        let mut new =
            newest.groups.iter().filter(|one| one.is_muted() && !self.0.contains_key(&one.id));
        let Some(_) = new.next() else { return };
        let windows = FigureWindow::ALL.map(|window| (window, figures(window)));
        let ids = newest.groups.iter().filter(|one| one.is_muted()).map(|one| one.id);
        for id in ids.collect::<Vec<_>>() {
            let of = |snapshot: &Snapshot| snapshot.groups.iter().find(|one| one.id == id).cloned();
            let its = windows.iter().filter_map(|(window, all)| Some((*window, of(all)?)));
            self.0.entry(id).or_insert_with(|| its.collect());
        }
    }

    /// Puts the figures of a muted row into it that it had in a window. Returns whether it is muted.
    pub fn put(&self, group: &mut Group, window: FigureWindow) -> bool {
        let Some(all) = self.0.get(&group.id) else { return false };
        if let Some((_, then)) = all.iter().find(|(of, _)| *of == window) {
            group.messages = then.messages;
            group.one_way = then.one_way;
            group.sched_gap = then.sched_gap;
            group.segments.clone_from(&then.segments);
            group.coverage = then.coverage;
            (group.rate_now, group.rate) = (then.rate_now, then.rate);
        }
        true
    }
}
