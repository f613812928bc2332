//! `wirelap doctor` on the terminal, at most 100 columns wide.

use crate::grid::{Align, hang, lay_out};
use crate::{DoctorReport, MissingItem, MissingKind};

/// The whole report as text.
pub fn render(report: &DoctorReport) -> String {
    let mut out = facts(report);
    out.push('\n');
    out.push_str(&observations(report));
    // Below, there is the reason of what is listed as missing.
    let is_listed = |row: &&crate::Observation| {
        report.missing.iter().any(|missing| missing.lost.contains(&row.lost_without))
    };
    let unseen = report.observations.iter().filter(|row| row.hook.is_none());
    for row in unseen.filter(|row| !is_listed(row)) {
        out.push_str(&hang(&format!("{}: ", row.observation), &missing(row)));
    }
    out.push('\n');
    for missing in &report.missing {
        out.push_str(&mend(missing));
    }
    let lacks_right = report.capabilities.iter().any(|capability| !capability.held);
    let verdict = match (report.can_attach, lacks_right) {
        (true, false) => "this process may attach probes",
        (true, true) => "this process may attach probes, but not all of them",
        (false, true) => {
            "attaching probes needs root: run `sudo wirelap doctor` to see which hooks load"
        }
        (false, false) => "this process cannot attach probes",
    };
    out.push_str(&hang("verdict: ", verdict));
    for note in &report.notes {
        out.push_str(&hang("note: ", note));
    }
    out
}

/// The missing thing, the figures that are lost without it and the command that mends it, which is never broken into lines.
fn mend(missing: &MissingItem) -> String {
    let kind = match missing.kind {
        MissingKind::Right => "a right of this process",
        MissingKind::Kernel => "a feature of the kernel",
        MissingKind::Setting => "a setting of this machine",
    };
    let mut out = hang("missing: ", &format!("{} ({kind})", missing.name));
    for lost in &missing.lost {
        out.push_str(&hang("  lost until then: ", lost));
    }
    let command: String = missing.command.chars().filter(|char| !char.is_control()).collect();
    out + "  to mend it:      " + &command + "\n\n"
}

fn facts(report: &DoctorReport) -> String {
    let held = |held: bool| if held { "yes" } else { "no" };
    let capabilities = report.capabilities.iter();
    let capabilities: Vec<_> =
        capabilities.map(|cap| format!("{} {}", cap.name, held(cap.held))).collect();
    let clock_source = report.clock_source.as_deref().unwrap_or("unknown");
    [
        ("wirelap       ", report.wirelap_version.clone()),
        ("distribution  ", report.distribution.clone().unwrap_or_else(|| "unknown".into())),
        ("kernel        ", report.kernel.clone()),
        ("BTF           ", report.btf.clone().unwrap_or_else(|| "none".into())),
        ("clock         ", format!("{} from {clock_source}", report.clock)),
        ("capabilities  ", capabilities.join(", ")),
        ("packets only  ", packets_only(report)),
    ]
    .iter()
    .map(|(name, value)| hang(name, value))
    .collect()
}

/// Tells whether packets alone can be shown, or why not.
fn packets_only(report: &DoctorReport) -> String {
    match &report.no_packets {
        Some(why) => format!("no: {why}"),
        None if report.can_capture_packets => {
            "yes: `wirelap live --packets-only` needs no probes".into()
        }
        None => "not examined".into(),
    }
}

fn observations(report: &DoctorReport) -> String {
    let mut rows = vec![["observation", "hook"].map(String::from).to_vec()];
    rows.extend(report.observations.iter().map(|row| {
        vec![row.observation.clone(), row.hook.clone().unwrap_or_else(|| "none".into())]
    }));
    lay_out(&[Align::Left, Align::Left], &rows)
}

fn missing(row: &crate::Observation) -> String {
    match &row.remedy {
        Some(remedy) => format!("without it: {}. To get it: {remedy}", row.lost_without),
        None => format!("without it: {}", row.lost_without),
    }
}
