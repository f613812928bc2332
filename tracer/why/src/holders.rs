//! Holders of a CPU while threads of a row waited for one.

use super::explanation::HolderShare;
use rustc_hash::FxHashMap;
use wirelap_events::{Holder, Nanos, Saturate, Tid, Wake};

/// Threads that are remembered for having had a CPU.
const MAX_HOLDERS: usize = 1024;

/// Those of them that are told.
const MAX_HOLDERS_TOLD: usize = 10;

/// The threads that had a CPU while threads of a row waited for it, and until when that has been
/// counted.
#[derive(Clone, Debug, Default)]
pub struct Holders(FxHashMap<Tid, (HolderShare, Nanos)>);

impl Holders {
    /// Each moment counts once for each thread that had a CPU, however many threads waited.
    pub fn waited(&mut self, at: Nanos, wake: &Wake) {
        let since = wake.woken + wake.throttled;
        for holder in std::iter::once(&wake.holder).chain(&wake.others) {
            let Holder { task, comm, held } = *holder;
            let is_full = self.0.len() >= MAX_HOLDERS && !self.0.contains_key(&task.tid);
            if task.tid == Tid(0) || held == Nanos(0) || is_full {
                continue;
            }
            let none = HolderShare { task, comm, held: Nanos(0), waits: 0 };
            let (share, until) = self.0.entry(task.tid).or_insert((none, Nanos(0)));
            share.held += held.min(at - since.max(*until));
            share.waits.grow(1);
            *until = at.max(*until);
        }
    }

    /// The longest first.
    pub fn longest(&self) -> Vec<HolderShare> {
        let mut holders: Vec<HolderShare> = self.0.values().map(|one| one.0).collect();
        holders.sort_by_key(|share| (std::cmp::Reverse(share.held), share.task.tid));
        holders.truncate(MAX_HOLDERS_TOLD);
        holders
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Holders) {
        for (share, _) in other.0.values() {
            let none = HolderShare { held: Nanos(0), waits: 0, ..*share };
            let (sum, _) = self.0.entry(share.task.tid).or_insert((none, Nanos(0)));
            sum.held += share.held;
            sum.waits.grow(share.waits);
        }
    }
}
