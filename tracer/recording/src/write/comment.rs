//! A packet's comment: what its bytes do not say and a user of Wireshark would like to know.

use std::fmt::Write;
use wirelap_events::{Body, Event, Nanos, Packet, tcp_flags};

/// A shorter wait in the qdisc is not mentioned.
const LONG_WAIT: Nanos = Nanos(50_000);

/// The comment, if there is something to say. `socket` is the sending socket's event; `first` says whether the packet is
/// the first of its flow.
pub fn of(
    event: &Event<'_>,
    packet: &Packet<'_>,
    socket: Option<&Event<'static>>,
    first: bool,
) -> Option<String> {
    let mut text = String::new();
    let mut say = |part: std::fmt::Arguments<'_>| {
        if !text.is_empty() {
            text.push_str("; ");
        }
        // A string takes everything.
        let _ = text.write_fmt(part);
    };
    let opens = packet.tcp.is_some_and(|tcp| tcp.flags & tcp_flags::SYN != 0);
    if (first || opens)
        && let Some(Event { body: Body::Socket(socket), .. }) = socket
    {
        let (name, pid) = (socket.comm.as_str(), socket.task.pid.0);
        say(format_args!("sent by {name} (process {pid}, socket {})", socket.id.0));
    }
    if packet.segments > 1 {
        say(format_args!("one packet here, {} on the wire", packet.segments));
    }
    if !packet.deferred
        && let Some(waited) = packet.queued.and_then(|queued| event.at.since(queued))
        && waited >= LONG_WAIT
    {
        say(format_args!("waited {waited} in the qdisc"));
    }
    if packet.deferred {
        say(format_args!("waited for ksoftirqd"));
    }
    (!text.is_empty()).then_some(text)
}
