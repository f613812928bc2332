//! The lines about bytes below the table: where the bytes of a result went.

use crate::{PartsBytes, ReportedOverhead};
use wirelap_events::human::mean_bytes;

/// Each line with its heading; empty without deliveries.
pub fn lines(overhead: &ReportedOverhead) -> Vec<(&'static str, String)> {
    let total = overhead.parts_bytes.total();
    if overhead.deliveries == 0 || total == 0 {
        return Vec::new();
    }
    let each = |bytes: u64| mean_bytes(bytes as f64 / overhead.deliveries as f64);
    let ethernet = &overhead.ethernet;
    let bytes = format!(
        "{} a message: {}{}; as Ethernet: {} in {} frames",
        each(total),
        parts(&overhead.parts_bytes, each),
        legs(overhead, each),
        each(ethernet.frame_bytes),
        each(ethernet.frames),
    );
    let mut lines = vec![("  bytes: ", bytes)];
    let operations = overhead.operations.iter().filter(|one| one.count > 0);
    let operations: Vec<_> =
        operations.map(|one| format!("{} {}", one.operation, mean_bytes(one.mean_bytes))).collect();
    if !operations.is_empty() {
        lines.push(("  protocol bytes: ", format!("{} each", operations.join(" · "))));
    }
    lines
}

/// The bytes of each leg that carried messages; empty if there is only one.
fn legs(overhead: &ReportedOverhead, each: impl Fn(u64) -> String) -> String {
    let legs: Vec<_> = overhead
        .legs
        .iter()
        .filter(|leg| leg.leg > 0)
        .map(|leg| format!("leg {} {}", leg.leg, each(leg.total_bytes)))
        .collect();
    if legs.len() < 2 { String::new() } else { format!(" ({})", legs.join(" · ")) }
}

/// The parts of half a percent or more; what was sent again is always listed.
fn parts(parts: &PartsBytes, each: impl Fn(u64) -> String) -> String {
    let least = (parts.total() / 200).max(1);
    let shown = parts.named().into_iter().filter(|&(name, bytes)| {
        bytes >= least || (bytes > 0 && matches!(name, "repeats" | "retransmitted"))
    });
    shown.map(|(name, bytes)| format!("{name} {}", each(bytes))).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LegBytes;

    #[test]
    fn small_parts_are_left_out_unless_sent_again() {
        let parts_bytes = PartsBytes {
            payload: 99_000,
            session: 400,
            connection: 600,
            retransmitted: 3,
            ..PartsBytes::default()
        };
        let leg = |leg, total_bytes| LegBytes { leg, total_bytes, ..LegBytes::default() };
        let overhead = ReportedOverhead {
            deliveries: 1000,
            parts_bytes,
            legs: vec![leg(0, 3), leg(1, 50_000), leg(2, 50_000)],
            ..ReportedOverhead::default()
        };
        let [(_, line)] = lines(&overhead).try_into().unwrap();
        assert!(
            line.starts_with("100 a message: payload 99 · connection 0.60 · retransmitted <0.01")
        );
        assert!(line.contains("(leg 1 50 · leg 2 50)"), "{line}");
    }
}
