//! Events that own their payload.

use wirelap_events::{Body, Event, Packet, PlainText, WrittenBytes};

/// An event with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedEvent {
    /// The event; a packet's payload is not in it.
    pub event: Event<'static>,
    /// Captured bytes of a packet's payload, or of a text or a send.
    pub payload: Vec<u8>,
}

impl OwnedEvent {
    /// The event, its payload included.
    pub fn event(&self) -> Event<'_> {
        let mut event: Event<'_> = self.event;
        if let Body::Packet(packet) = &mut event.body {
            packet.payload = &self.payload;
        }
        if let Body::Plain(plain) = &mut event.body {
            plain.text = &self.payload;
        }
        if let Body::Written(written) = &mut event.body {
            written.bytes = &self.payload;
        }
        event
    }

    /// A copy of an event.
    pub fn of(event: &Event<'_>) -> OwnedEvent {
        let Event { at, cpu, body } = *event;
        let mut payload = Vec::new();
        let body = match body {
            Body::Packet(packet) => {
                payload.extend_from_slice(packet.payload);
                Body::Packet(Packet { payload: &[], ..packet })
            }
            Body::Plain(plain) => {
                payload.extend_from_slice(plain.text);
                Body::Plain(PlainText { text: &[], ..plain })
            }
            Body::Written(written) => {
                payload.extend_from_slice(written.bytes);
                Body::Written(WrittenBytes { bytes: &[], ..written })
            }
            Body::Socket(it) => Body::Socket(it),
            Body::Closed(it) => Body::Closed(it),
            Body::Send(it) => Body::Send(it),
            Body::Read(it) => Body::Read(it),
            Body::Ready(it) => Body::Ready(it),
            Body::Wake(it) => Body::Wake(it),
            Body::Quota(it) => Body::Quota(it),
            Body::Ended(it) => Body::Ended(it),
            Body::Retransmit(it) => Body::Retransmit(it),
            Body::Drop(it) => Body::Drop(it),
            Body::Lost(it) => Body::Lost(it),
            Body::State(it) => Body::State(it),
            Body::Window(it) => Body::Window(it),
            Body::Waiting(it) => Body::Waiting(it),
        };
        OwnedEvent { event: Event { at, cpu, body }, payload }
    }
}
