//! An event's body ↔ its bytes.

use super::kind::FIRST_EVENT;
use super::packet;
use crate::wire::{WireReader, WireValue, WireWriter};
use wirelap_events::{Body, Event, Nanos};

/// The last kind that is an event.
const LAST_EVENT: u8 = 30;

/// The number of an event's kind.
pub fn kind(body: &Body<'_>) -> u8 {
    match body {
        Body::Socket(_) => 16,
        Body::Closed(_) => 17,
        Body::Send(_) => 18,
        Body::Read(_) => 19,
        Body::Ready(_) => 20,
        Body::Packet(_) => 21,
        Body::Wake(_) => 22,
        Body::Retransmit(_) => 23,
        Body::Drop(_) => 24,
        Body::Lost(_) => 25,
        Body::Window(_) => 26,
        Body::Quota(_) => 27,
        Body::State(_) => 28,
        Body::Waiting(_) => 29,
        Body::Ended(_) => 30,
        // These are written to no file, so this number is never in one: plain text, and bytes without a packet.
        Body::Plain(_) | Body::Written(_) => 0,
    }
}

/// True if this version knows events of this kind's number.
pub fn is_known(kind: u8) -> bool {
    (FIRST_EVENT..=LAST_EVENT).contains(&kind)
}

/// Appends an event's body.
pub fn put(event: &Event<'_>, out: &mut impl WireWriter) {
    match &event.body {
        Body::Socket(socket) => socket.put(out),
        Body::Closed(socket) => socket.put(out),
        Body::Send(send) => send.put(out),
        Body::Read(read) => read.put(out),
        Body::Ready(ready) => ready.put(out),
        Body::Packet(packet) => packet::put(packet, event.at, out),
        Body::Wake(wake) => wake.put(out),
        Body::Retransmit(retransmit) => retransmit.put(out),
        Body::Drop(drop) => drop.put(out),
        Body::Lost(lost) => lost.put(out),
        Body::Window(open) => open.put(out),
        Body::Quota(quota) => quota.put(out),
        Body::State(state) => state.put(out),
        Body::Waiting(since) => since.put(out),
        Body::Ended(end) => end.put(out),
        Body::Plain(_) | Body::Written(_) => {}
    }
}

/// Reads the body of an event that was seen at a time; `None` if it does not say what its kind should.
pub fn take(kind: u8, at: Nanos, from: &mut impl WireReader) -> Option<Body<'static>> {
    Some(match kind {
        16 => Body::Socket(WireValue::take(from)?),
        17 => Body::Closed(WireValue::take(from)?),
        18 => Body::Send(WireValue::take(from)?),
        19 => Body::Read(WireValue::take(from)?),
        20 => Body::Ready(WireValue::take(from)?),
        21 => Body::Packet(packet::take(at, from)?),
        22 => Body::Wake(WireValue::take(from)?),
        23 => Body::Retransmit(WireValue::take(from)?),
        24 => Body::Drop(WireValue::take(from)?),
        25 => Body::Lost(WireValue::take(from)?),
        26 => Body::Window(WireValue::take(from)?),
        27 => Body::Quota(WireValue::take(from)?),
        28 => Body::State(WireValue::take(from)?),
        29 => Body::Waiting(WireValue::take(from)?),
        30 => Body::Ended(WireValue::take(from)?),
        _ => return None,
    })
}
