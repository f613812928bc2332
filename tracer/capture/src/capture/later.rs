//! Hooks that are attached when the events show that they are needed.

use super::Capture;
use crate::attach;
use crate::hooks::AttachTime;
use wirelap_events::{Body, Event, Packet, PacketHook, SendCall, SendKind};

/// Which hooks that are attached later are needed, by the events seen.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    qdisc: bool,
    datagram: bool,
}

impl Needs {
    pub fn add(&mut self, event: &Event<'_>) {
        match event.body {
            Body::Packet(Packet { hook: PacketHook::Xmit, queued: None, .. }) => self.qdisc = true,
            Body::Send(SendCall { kind: SendKind::Datagram { entered: None, .. }, .. }) => {
                self.datagram = true;
            }
            _ => {}
        }
    }
}

impl Capture {
    /// Attaches the hooks that were left for later and are needed now.
    pub(super) fn attach_later(&mut self, needs: Needs) {
        let (ebpf, links) = (&mut self.ebpf, &mut self.links);
        self.later.retain(|&(when, hook)| {
            let is_needed = match when {
                AttachTime::QdiscSeen => needs.qdisc,
                AttachTime::DatagramSent => needs.datagram,
                AttachTime::Always | AttachTime::Udp => false,
            };
            if is_needed && let Err(refused) = attach::attach_hook(ebpf, links, hook) {
                let reason = refused.reason;
                // The observation is missing then, as on a kernel without the hook.
                tracing::warn!(hook = hook.name, reason, "a hook cannot be attached");
            }
            !is_needed
        });
    }
}
