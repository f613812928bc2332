//! The hosts that are observed by agents, in the view "probes".
//!
//! ```text
//!  hosts
//!    HOST              EVENTS    LOST   AGENT      BYTES       CLOCK
//!    here             120,312       0   3.1 %    2.1 MiB     its own
//!    robot             98,004       0   2.7 %    1.9 MiB     ± 42 µs
//!  ! broker                 0       0       –          –           –
//!      lost: Connection refused: is sshd running there?
//! ```

use super::page::Page;
use crate::text;
use ratatui::style::Style;
use wirelap_events::{HostClock, HostState};

/// Columns of a host's name.
const NAME: usize = 14;

/// Adds a line for each host, and what is wrong with it.
pub fn add(page: &mut Page, hosts: &[HostState]) {
    page.heading("hosts");
    page.columns(&format!(
        "   {}{:>12}{:>8}{:>8}{:>11}{:>12}",
        text::left("HOST", NAME),
        "EVENTS",
        "LOST",
        "AGENT",
        "BYTES",
        "CLOCK"
    ));
    for host in hosts {
        let is_well = host.is_well();
        let (sign, style) = if is_well { (" ", Style::new()) } else { ("!", page.theme.warning()) };
        let lost = host.lost().saturating_add(host.late).saturating_add(host.unreadable);
        let cells = format!(
            "{}{}{}{}{}{}",
            text::left(&host.name, NAME),
            text::right(&text::exact_in(host.events, 12), 12),
            text::right(&text::exact_in(lost, 8), 8),
            text::right(&text::cpu(host.cpu_share), 8),
            text::right(&text::bytes(host.bytes), 11),
            text::right(&clock(host), 12),
        );
        page.say(&format!(" {sign} "), &cells, style);
        if !is_well || matches!(host.clock, HostClock::Stepped(_)) {
            page.say("     ", &host.words(), style);
        }
        if let Some(step) = host.steps.last() {
            let count = text::exact_in(host.step_count, 8);
            let words = format!("its clock has {}; steps: {}", step.words(), count.trim());
            page.say("     ! ", &words, page.theme.warning());
        }
        for lack in &host.lacks {
            page.say("     ! ", lack, page.theme.warning());
        }
    }
}

fn clock(host: &HostState) -> String {
    match host.clock {
        HostClock::Unknown => text::NONE.into(),
        HostClock::Own => "its own".into(),
        HostClock::Known { at_most, .. } => format!("± {}", text::time(at_most)),
        HostClock::Stepped(_) => "stepped".into(),
    }
}
