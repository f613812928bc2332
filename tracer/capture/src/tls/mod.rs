//! Attaches the probes for the text of TLS to the libraries of running programs.
//!
//! | module | what |
//! |---|---|
//! | `files` | the programs and libraries that run, each once, and the libraries that others may load later |
//! | `symbols` | where in a file the functions stand that write text into TLS |

mod files;
mod symbols;

use crate::attach::Link;
use crate::error::with_causes;
use crate::hooks::{ChosenHook, RefusedHook};
use aya::Ebpf;
use aya::programs::uprobe::UProbeScope;
use aya::programs::{ProgramError, UProbe};
use files::CodeFile;
use symbols::CallingConvention;

/// The name of the observation.
const OBSERVATION: &str = "text of TLS";

/// The name of its hook.
const HOOK: &str = "uprobes of OpenSSL, GnuTLS and Go";

/// The programs, by the calling convention of the functions that they attach to.
const PROGRAMS: [(CallingConvention, &str); 2] =
    [(CallingConvention::C, "tls_write_c"), (CallingConvention::Go, "tls_write_go")];

/// Attaches to every library and program that is found. What cannot be attached to is said, and stops nothing else.
pub(crate) fn attach(ebpf: &mut Ebpf) -> (ChosenHook, Vec<Link>) {
    let mut chosen = ChosenHook {
        observation: OBSERVATION,
        hook: None,
        without: "messages inside TLS are not read",
        remedy: "start the programs before wirelap, with OpenSSL, GnuTLS or Go, and not stripped",
        refused: Vec::new(),
    };
    let mut links: Vec<Link> = Vec::new();
    let refuse = |chosen: &mut ChosenHook, reason: String| {
        chosen.refused.push(RefusedHook { hook: HOOK, reason });
    };
    for (convention, name) in PROGRAMS {
        if let Err(error) = load(ebpf, name) {
            refuse(&mut chosen, format!("{}: {}", convention.name(), with_causes(&error)));
            return (chosen, links);
        }
    }
    for file in files::find() {
        for found in symbols::find(&file.path) {
            let (_, name) = PROGRAMS[found.convention as usize];
            match attach_at(ebpf, name, &file, found.offset) {
                Ok(link) => links.push(link),
                Err(error) => {
                    let reason = format!("{}: {}", file.name, with_causes(&error));
                    tracing::debug!(reason, "refused");
                    refuse(&mut chosen, reason);
                }
            }
        }
    }
    tracing::debug!(probes = links.len(), "reads the text of TLS");
    if links.is_empty() {
        refuse(&mut chosen, "no library or program here has functions of these names".to_owned());
    } else {
        chosen.hook = Some(HOOK);
    }
    (chosen, links)
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut UProbe, ProgramError> {
    ebpf.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

fn load(ebpf: &mut Ebpf, name: &str) -> Result<(), ProgramError> {
    program(ebpf, name)?.load()
}

fn attach_at(
    ebpf: &mut Ebpf,
    name: &str,
    file: &CodeFile,
    offset: u64,
) -> Result<Link, ProgramError> {
    let program = program(ebpf, name)?;
    let link = program.attach(offset, &file.path, UProbeScope::AllProcesses)?;
    Ok(Box::new(program.take_link(link)?))
}
