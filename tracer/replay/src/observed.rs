//! What the events of a file tell of, and what they do not.

use wirelap_events::Saturate;
use wirelap_events::{Body, Event, Nanos, Packet, PacketHook};

/// Which observations are in the files at all.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Kinds of events that do not depend on each other.
pub struct Seen {
    send: bool,
    xmit: bool,
    rx: bool,
    ready: bool,
    wake: bool,
    read: bool,
    pub first: Option<Nanos>,
    /// Packets with payload that was not captured.
    cut: u64,
}

impl Seen {
    pub fn add(&mut self, event: &Event<'_>) {
        self.first.get_or_insert(event.at);
        if let Body::Packet(packet) = &event.body {
            self.cut.grow(u64::from(packet.uncaptured() > 0));
        }
        match event.body {
            Body::Send(_) => self.send = true,
            Body::Packet(Packet { hook: PacketHook::Xmit, .. }) => self.xmit = true,
            Body::Packet(_) => self.rx = true,
            Body::Ready(_) => self.ready = true,
            Body::Wake(_) => self.wake = true,
            Body::Read(_) => self.read = true,
            _ => {}
        }
    }

    /// A sentence on packets that a snap length has cut.
    pub fn cut(&self) -> Option<String> {
        (self.cut > 0).then(|| {
            format!(
                "{} packets were cut when they were captured: messages in what is missing are in no figure. A longer \
                 snap length (tcpdump -s 0) keeps them whole.",
                self.cut
            )
        })
    }

    /// A sentence on the stages that no event tells of.
    pub fn missing(&self) -> Option<String> {
        let stages = [
            (self.send, "send"),
            (self.xmit, "xmit"),
            (self.rx, "rx"),
            (self.ready, "ready"),
            (self.wake, "wakeup, running"),
            (self.read, "read"),
        ];
        let missing: Vec<&str> =
            stages.into_iter().filter(|(seen, _)| !seen).map(|(_, name)| name).collect();
        (self.first.is_some() && !missing.is_empty())
            .then(|| format!("Not in the files, and so in no figure: {}.", missing.join(", ")))
    }
}
