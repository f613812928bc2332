//! The byte ledger of the selected row.
//!
//! ```text
//! 255 a message in 3.1 packets (leg 1 120, leg 2 135):
//! payload 128 + header 14 + control 1.2 + transport 64 + network 40 + pure ACKs 5.2
//! as Ethernet: 310 in 3.1 frames
//! protocol bytes: open 32, publish 7, keepalive 2
//! ```

use crate::text;
use wirelap_correlate::snapshot::{Detail, Operation, Overhead, Part, Parts};

/// The lines of the byte ledger, per delivery; a dash without deliveries.
pub fn lines(overhead: &Overhead) -> Vec<String> {
    if overhead.deliveries == 0 {
        return vec![text::NONE.into()];
    }
    let each = |bytes: u64| text::number(bytes as f64 / overhead.deliveries as f64);
    let detail = &overhead.detail;
    let mut lines = vec![
        format!(
            "{} a message in {} packets{}:",
            each(overhead.total()),
            each(overhead.packets),
            legs(detail, each)
        ),
        parts(&detail.parts(), each),
        format!(
            "as Ethernet: {} in {} frames",
            each(detail.framed.bytes),
            each(detail.framed.frames)
        ),
    ];
    lines.extend(operations(detail));
    lines
}

fn legs(detail: &Detail, each: impl Fn(u64) -> String) -> String {
    let legs = (0..).zip(detail.legs.iter().map(Parts::total)).skip(1);
    let legs: Vec<_> = legs
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(leg, bytes)| text::unbroken(&format!("leg {leg} {}", each(bytes))))
        .collect();
    if legs.len() < 2 { String::new() } else { format!(" ({})", legs.join(", ")) }
}

/// Bytes per delivery, by purpose; all classes of control frames are added up.
fn parts(parts: &Parts, each: impl Fn(u64) -> String) -> String {
    let named = |part: Part| (part.name(), parts[part]);
    let rows = [
        named(Part::Payload),
        named(Part::Copies),
        named(Part::Repeats),
        named(Part::Header),
        ("control", parts.control()),
        named(Part::Opaque),
        named(Part::Transport),
        named(Part::Network),
        named(Part::Link),
        named(Part::PureAck),
        named(Part::Connection),
        named(Part::Retransmitted),
    ];
    let shown = rows.into_iter().filter(|&(name, bytes)| bytes > 0 || name == "payload");
    let shown = shown.map(|(name, bytes)| text::unbroken(&format!("{name} {}", each(bytes))));
    shown.collect::<Vec<_>>().join(" + ")
}

/// The protocol's own bytes for one operation of each kind.
fn operations(detail: &Detail) -> Option<String> {
    let mean = |operation: Operation| {
        let cost = detail.cost(operation);
        let mean = (cost.count > 0).then(|| cost.bytes as f64 / cost.count as f64)?;
        Some(text::unbroken(&format!("{} {}", operation.name(), text::number(mean))))
    };
    let shown: Vec<_> = Operation::ALL.into_iter().filter_map(mean).collect();
    (!shown.is_empty()).then(|| format!("protocol bytes: {}", shown.join(", ")))
}
