//! `wirelap doctor`: what can be observed here, and what to do about the rest.

use clap::Args;
use std::process::ExitCode;
use wirelap_capture::ChosenHook;
use wirelap_capture::doctor::{self, Doctor};
use wirelap_process::Failure;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_report::{Capability, DoctorReport, Observation, doctor_table};

/// `wirelap doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON (schema wirelap/doctor/1) in place of the table
    #[arg(long)]
    pub json: bool,
}

/// What attaching needs.
const CAPABILITIES: [&str; 3] = ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"];

/// Prints the report. Exit status 3 if attaching could not work even as root.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    rights::confine_tracer();
    let doctor = doctor::examine();
    let report = report(&doctor);
    if args.json {
        output::json_to_stdout(&report)?;
    } else {
        output::print(&doctor_table::render(&report))?;
    }
    let hopeless = !doctor.has_btf;
    Ok(if hopeless { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// How sure the hooks are: attached for a moment where this process may, otherwise as the kernel's type information
/// promises.
fn tried(doctor: &Doctor) -> String {
    match &doctor.refused {
        _ if !doctor.missing_capabilities.is_empty() => {
            "as root, doctor also tries to attach each hook; here it only looks the hooks up".into()
        }
        None => "every hook above was attached".into(),
        Some(error) => format!("attaching failed: {error}"),
    }
}

fn report(doctor: &Doctor) -> DoctorReport {
    let mut notes = vec![tried(doctor)];
    if !doctor.has_btf {
        notes.insert(
            0,
            "without BTF nothing can be attached: boot a kernel with CONFIG_DEBUG_INFO_BTF=y"
                .into(),
        );
    }
    let held = |name: &&str| !doctor.missing_capabilities.contains(name);
    DoctorReport {
        schema: wirelap_report::doctor::DOCTOR_SCHEMA.to_owned(),
        wirelap_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", doctor.kernel, doctor.architecture),
        btf: doctor.has_btf.then(|| "/sys/kernel/btf/vmlinux".to_owned()),
        clock_source: doctor.clock_source.clone(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        can_attach: doctor.has_btf && doctor.missing_capabilities.is_empty(),
        capabilities: CAPABILITIES
            .iter()
            .map(|name| Capability { name: (*name).to_owned(), held: held(name) })
            .collect(),
        observations: doctor.observations.iter().map(observation).collect(),
        notes,
    }
}

fn observation(chosen: &ChosenHook) -> Observation {
    // What a better hook would need is told when a worse one, or none, had to do.
    let remedy = !chosen.refused.is_empty() || chosen.hook.is_none();
    Observation {
        observation: chosen.observation.to_owned(),
        hook: chosen.hook.map(str::to_owned),
        lost_without: chosen.without.to_owned(),
        remedy: remedy.then(|| chosen.remedy.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_rights_doctor_says_what_root_would_add() {
        let doctor = Doctor { missing_capabilities: vec!["CAP_BPF"], ..doctor::examine() };
        let report = report(&doctor);
        assert!(!report.can_attach);
        assert!(report.notes.iter().any(|note| note.contains("as root")));
        assert!(!report.observations.is_empty());
        let missing: Vec<_> = report.capabilities.iter().filter(|cap| !cap.held).collect();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].name, "CAP_BPF");
    }
}
