//! Hooks that are attached when the events show that they are needed.

use super::Capture;
use crate::programs;

impl Capture {
    /// Attaches the hooks that were left for later and are needed now.
    pub(super) fn attach_later(&mut self) {
        let (ebpf, links, needs) = (&mut self.ebpf, &mut self.links, &self.needs);
        self.later.retain(|&(when, hook)| {
            let is_needed = needs.has(when);
            if is_needed && let Err(refused) = programs::attach_hook(ebpf, links, hook) {
                let reason = refused.reason;
                // The observation is missing then, as on a kernel without the hook.
                tracing::warn!(hook = hook.name, reason, "a hook cannot be attached");
            }
            !is_needed
        });
    }
}
