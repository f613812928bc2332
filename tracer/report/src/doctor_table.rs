//! `wirelap doctor` on the terminal, at most 100 columns wide.

use crate::DoctorReport;
use crate::grid::{Align, hang, lay_out};

/// The whole report as text.
pub fn render(report: &DoctorReport) -> String {
    let mut out = facts(report);
    out.push('\n');
    out.push_str(&observations(report));
    for row in report.observations.iter().filter(|row| row.hook.is_none()) {
        out.push_str(&hang(&format!("{}: ", row.observation), &missing(row)));
    }
    out.push('\n');
    let verdict = if report.can_attach {
        "this process may attach probes"
    } else {
        "attaching probes needs root: run `sudo wirelap doctor` to see which hooks load"
    };
    out.push_str(&hang("verdict: ", verdict));
    for note in &report.notes {
        out.push_str(&hang("note: ", note));
    }
    out
}

fn facts(report: &DoctorReport) -> String {
    let held = |held: bool| if held { "yes" } else { "no" };
    let capabilities = report.capabilities.iter();
    let capabilities: Vec<_> =
        capabilities.map(|cap| format!("{} {}", cap.name, held(cap.held))).collect();
    let clock_source = report.clock_source.as_deref().unwrap_or("unknown");
    [
        ("wirelap       ", report.wirelap_version.clone()),
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

/// Whether packets alone can be shown.
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
