//! Finds out which observations the files contain, and makes notes on those that are missing.

use wirelap_events::Saturate;
use wirelap_events::{Body, Event, Nanos, Packet, PacketHook};

/// The observations that at least one event of the files is of.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Kinds of events that do not depend on each other.
pub struct Observed {
    send: bool,
    xmit: bool,
    rx: bool,
    ready: bool,
    wake: bool,
    read: bool,
    pub first: Option<Nanos>,
    /// The number of packets whose payload was not captured completely.
    cut: u64,
}

impl Observed {
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

    /// A note on packets that a snap length has cut; `None` if there are none.
    pub fn cut(&self) -> Option<String> {
        (self.cut > 0).then(|| {
            format!(
                "{} packets were captured only in part: messages in the missing bytes are in no figure. A longer snap \
                 length (tcpdump -s 0) captures complete packets.",
                self.cut
            )
        })
    }

    /// A note on the stages that no event is of; `None` if all are observed.
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
        (self.first.is_some() && !missing.is_empty()).then(|| {
            format!(
                "Stages that are not in the files, and so in no figure: {}.",
                missing.join(", ")
            )
        })
    }
}
