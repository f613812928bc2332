//! The section "What was not decoded": the protocols, servers and bytes of traffic that no decoder reads.

use super::words::clean;
use crate::RunReport;
use crate::grid::hang;
use crate::unknown::{muted, sentence};

/// The section's heading and sentences; `None` if all traffic was decoded.
pub fn text(report: &RunReport) -> Option<String> {
    let unknown = &report.unknown;
    if unknown.traffic.is_empty() {
        return None;
    }
    let mut out = String::from("What was not decoded\n");
    for row in &unknown.traffic {
        out.push_str(&hang("  ", &clean(&sentence(row))));
    }
    if unknown.other_connections > 0 {
        out.push_str(&hang(
            "  ",
            &format!(
                "And {} bytes in {} more connections.",
                unknown.other_bytes, unknown.other_connections
            ),
        ));
    }
    if let Some(muted) = muted(unknown) {
        out.push_str(&hang("  ", &muted));
    }
    Some(out)
}
