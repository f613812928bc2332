//! `wirelap doctor`: shows what can be observed on this machine, and the remedies for what cannot.

use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_capture::doctor::{self, Doctor, Lacking};
use wirelap_capture::{ChosenHook, btf};
use wirelap_process::Failure;
use wirelap_process::mend::{Asker, LackKind, LinuxDistribution, set_capabilities};
use wirelap_process::output;
use wirelap_process::rights::{self, FOR_CGROUPS};
use wirelap_report::{
    Capability, DoctorReport, MissingItem, MissingKind, Observation, doctor_table, human,
};
use wirelap_session::ring_bytes;

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
const CAPABILITIES: [&str; 3] = ["CAP_BPF", "CAP_PERFMON", FOR_CGROUPS];

/// Prints the report. The exit status is 3 if nothing can be attached on this machine even as root: the kernel has no BTF, or
/// refuses.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    // A right that is given up first is not one that is lacking.
    let has_tls = rights::may_attach_to_programs();
    rights::confine_packet_tracer(false);
    let doctor = doctor::examine(args.btf.as_deref());
    let report = report(&doctor, has_tls, &LinuxDistribution::here(), &Asker::here());
    if args.json {
        output::json_to_stdout(&report)?;
    } else {
        output::print(&doctor_table::render(&report))?;
    }
    let cannot =
        !doctor.can_attach && (doctor.missing_capabilities.is_empty() || doctor.btf.is_none());
    Ok(if cannot { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// Says how the hooks were found: attached for a moment if this process has the rights, otherwise looked up in the kernel's
/// type information.
fn how_checked(doctor: &Doctor) -> String {
    match &doctor.refused {
        None => "every hook above was attached".into(),
        Some(_) if !doctor.missing_capabilities.is_empty() => {
            "run as root, doctor also attaches each hook to check it; without root it only checks that the kernel has the hooks".into()
        }
        Some(error) => format!("attaching failed: {error}"),
    }
}

/// Why an observation has no hook, in the kernel's words; `None` if it has one.
fn why_none(chosen: &ChosenHook) -> Option<String> {
    let refused: Vec<_> =
        chosen.refused.iter().map(|one| format!("{}: {}", one.hook, one.reason)).collect();
    let is_without = chosen.hook.is_none() && !refused.is_empty();
    is_without
        .then(|| format!("nothing observes `{}` here: {}", chosen.observation, refused.join("; ")))
}

/// Says how large the ring buffer is.
fn ring() -> String {
    format!(
        "the ring buffer takes {} here, which suits the memory that this process may use; --ring-size changes that",
        human::bytes(ring_bytes(None).into())
    )
}

fn report(
    doctor: &Doctor,
    has_tls: bool,
    distribution: &LinuxDistribution,
    asker: &Asker,
) -> DoctorReport {
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
    notes.push(ring());
    if doctor.can_attach {
        notes.extend(doctor.observations.iter().filter_map(why_none));
    }
    if doctor.skips_probes {
        notes.push(
            "this kernel takes a CPU from a thread also while a probe runs for it, and skips the same probe for other threads of that CPU until \
             it goes on: on a machine that is very busy, or emulated, some events are lost. How many is in the trust line"
                .into(),
        );
    }
    if !doctor.missing_capabilities.is_empty() && !asker.is_root {
        notes.push(format!(
            "to trace without sudo: {} (everybody who may execute this file then sees all traffic of this machine)",
            set_capabilities(distribution, asker)
        ));
    }
    let held = |name: &&str| !doctor.missing_capabilities.contains(name);
    let missing = doctor.lacking.iter().filter(|one| !(has_tls && one.is_for_tls()));
    DoctorReport {
        schema: wirelap_report::doctor::DOCTOR_SCHEMA.to_owned(),
        wirelap_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", doctor.kernel, doctor.architecture),
        btf: doctor.btf.as_ref().map(|file| file.display().to_string()),
        distribution: Some(distribution.name.clone()).filter(|name| !name.is_empty()),
        clock_source: doctor.clock_source.clone(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        can_attach: doctor.can_attach,
        capabilities: CAPABILITIES
            .iter()
            .map(|name| Capability { name: (*name).to_owned(), held: held(name) })
            .collect(),
        can_capture_packets: doctor.no_packets.is_none(),
        no_packets: doctor.no_packets.clone(),
        observations: doctor.observations.iter().map(observation).collect(),
        missing: missing.map(|one| missing_thing(one, distribution, asker)).collect(),
        notes,
    }
}

fn missing_thing(one: &Lacking, distribution: &LinuxDistribution, asker: &Asker) -> MissingItem {
    let tls = if one.is_for_tls() && !asker.is_root { " --tls" } else { "" };
    MissingItem {
        name: one.name.clone(),
        kind: match one.lack.kind() {
            LackKind::Right => MissingKind::Right,
            LackKind::Kernel => MissingKind::Kernel,
            LackKind::Setting => MissingKind::Setting,
        },
        lost: one.lost.iter().map(|lost| (*lost).to_owned()).collect(),
        command: one.lack.command(distribution, asker) + tls,
    }
}

fn observation(chosen: &ChosenHook) -> Observation {
    // The remedy is shown if the best hook could not be used.
    let remedy = !chosen.refused.is_empty() || chosen.hook.is_none();
    Observation {
        observation: chosen.observation.to_owned(),
        hook: chosen.hook.map(str::to_owned),
        lost_without: chosen.without.to_owned(),
        remedy: remedy.then(|| match chosen.lacks() {
            Some(capability) => format!("give this process {capability}"),
            None => chosen.remedy.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_process::mend::{Lack, Traces};

    fn asker() -> Asker {
        Asker { is_root: false, has_setcap: true, program: "/usr/bin/wirelap".into() }
    }

    fn debian() -> LinuxDistribution {
        LinuxDistribution::of("ID=debian\nVERSION_CODENAME=bookworm\n", Traces::default())
    }

    /// Report for a user without any right, on a kernel that has all that is needed.
    fn without_rights(missing: &[&'static str]) -> DoctorReport {
        let lacking = vec![Lacking {
            lack: Lack::Capability,
            name: missing.join(", "),
            lost: vec!["nothing can be traced"],
        }];
        let doctor = Doctor {
            missing_capabilities: missing.to_vec(),
            can_attach: false,
            refused: Some("attaching probes needs root".into()),
            lacking,
            ..doctor::examine(None)
        };
        report(&doctor, false, &debian(), &asker())
    }

    #[test]
    fn without_rights_doctor_says_what_root_would_add_and_how_to_do_without_sudo() {
        let report = without_rights(&["CAP_BPF"]);
        assert!(!report.can_attach);
        assert!(report.notes.iter().any(|note| note.contains("as root")));
        assert!(report.notes.iter().any(|note| note.contains("sudo setcap cap_bpf,")));
        assert!(!report.observations.is_empty());
        let missing: Vec<_> = report.capabilities.iter().filter(|cap| !cap.held).collect();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].name, "CAP_BPF");
        assert_eq!(report.missing[0].kind, MissingKind::Right);
        assert_eq!(report.missing[0].command, "sudo /usr/bin/wirelap live");
    }

    #[test]
    fn a_kernel_that_skips_probes_is_told() {
        for (skips_probes, expected) in [(true, 1), (false, 0)] {
            let doctor = Doctor { skips_probes, ..doctor::examine(None) };
            let report = report(&doctor, false, &debian(), &asker());
            let told = report.notes.iter().filter(|note| note.contains("skips the same probe"));
            assert_eq!(told.count(), expected);
        }
    }

    #[test]
    fn what_is_missing_has_a_command_of_the_distribution() {
        let doctor = Doctor {
            btf: None,
            missing_capabilities: Vec::new(),
            can_attach: false,
            refused: Some("no BTF".into()),
            lacking: vec![Lacking {
                lack: Lack::Btf,
                name: Lack::Btf.name().into(),
                lost: vec!["nothing can be traced"],
            }],
            ..doctor::examine(None)
        };
        let report = report(&doctor, true, &debian(), &asker());
        assert_eq!(report.missing.len(), 1);
        assert_eq!(report.missing[0].kind, MissingKind::Kernel);
        assert!(report.missing[0].command.starts_with("sudo apt install linux-image-"));
        assert!(!report.can_attach && report.btf.is_none());
    }
}
