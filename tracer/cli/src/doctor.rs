//! `wirelap doctor`: shows what can be observed on this machine, and the remedies for what cannot.

use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_capture::doctor::{self, Doctor};
use wirelap_capture::{ChosenHook, btf};
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

    /// The file with the kernel's types [default: as for `live`]
    #[arg(long, value_name = "FILE")]
    pub btf: Option<PathBuf>,
}

/// The capabilities that attaching needs.
const CAPABILITIES: [&str; 3] = ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"];

/// Prints the report. The exit status is 3 if the kernel has no BTF, so that attaching cannot work even as root.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    rights::confine_packet_tracer(false);
    let doctor = doctor::examine(args.btf.as_deref());
    let report = report(&doctor);
    if args.json {
        output::json_to_stdout(&report)?;
    } else {
        output::print(&doctor_table::render(&report))?;
    }
    Ok(if doctor.btf.is_some() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

/// How the hooks were found: attached for a moment if this process has the rights, otherwise looked up in the kernel's
/// type information.
fn how_checked(doctor: &Doctor) -> String {
    match &doctor.refused {
        _ if !doctor.missing_capabilities.is_empty() => {
            "run as root, doctor also attaches each hook to check it; without root it only checks that the kernel has the hooks".into()
        }
        None => "every hook above was attached".into(),
        Some(error) => format!("attaching failed: {error}"),
    }
}

fn report(doctor: &Doctor) -> DoctorReport {
    let mut notes = vec![how_checked(doctor)];
    if let Some(file) = doctor.btf.as_ref().filter(|file| *file != Path::new(btf::OWN)) {
        notes.push(format!(
            "the types are from {} and not from the kernel: they tell where its fields are. The kernel itself must have been built with types \
             all the same (CONFIG_DEBUG_INFO_BTF=y), because it checks every probe by them",
            file.display()
        ));
    }
    if doctor.btf.is_none() {
        notes.insert(
            0,
            "without BTF no probe can be attached: boot a kernel with CONFIG_DEBUG_INFO_BTF=y, or, if only /sys/kernel/btf is missing, name the \
             vmlinux of this kernel (--btf)"
                .into(),
        );
    }
    let held = |name: &&str| !doctor.missing_capabilities.contains(name);
    DoctorReport {
        schema: wirelap_report::doctor::DOCTOR_SCHEMA.to_owned(),
        wirelap_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", doctor.kernel, doctor.architecture),
        btf: doctor.btf.as_ref().map(|file| file.display().to_string()),
        clock_source: doctor.clock_source.clone(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        can_attach: doctor.btf.is_some() && doctor.missing_capabilities.is_empty(),
        capabilities: CAPABILITIES
            .iter()
            .map(|name| Capability { name: (*name).to_owned(), held: held(name) })
            .collect(),
        can_capture_packets: doctor.no_packets.is_none(),
        no_packets: doctor.no_packets.clone(),
        observations: doctor.observations.iter().map(observation).collect(),
        notes,
    }
}

fn observation(chosen: &ChosenHook) -> Observation {
    // The remedy is shown if the best hook could not be used.
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
        let doctor = Doctor { missing_capabilities: vec!["CAP_BPF"], ..doctor::examine(None) };
        let report = report(&doctor);
        assert!(!report.can_attach);
        assert!(report.notes.iter().any(|note| note.contains("as root")));
        assert!(!report.observations.is_empty());
        let missing: Vec<_> = report.capabilities.iter().filter(|cap| !cap.held).collect();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].name, "CAP_BPF");
    }
}
