//! Attaches the probes for the text of TLS to the libraries of running programs.
//!
//! | module | what |
//! |---|---|
//! | `files` | the programs and libraries that run, and the libraries that others may load later |
//! | `functions` | the functions that TLS is written and read with, and the programs for them |
//! | `symbols` | where in a file these functions stand |
//! | `code`, `returns` | where they return |
//! | `attacher` | the probes, and the files that they are attached to |
//! | `access` | why the text of a process cannot be read |
//! | `watch` | looks at programs that open sockets later |

mod access;
mod attacher;
mod code;
mod files;
mod functions;
mod returns;
mod symbols;
mod watch;

pub use access::TlsAccess;
pub(crate) use watch::TlsWatch;

use crate::error::with_causes;
use crate::hooks::{ChosenHook, RefusedHook, missing_right};
use attacher::Attacher;
use aya::Ebpf;
use files::ProcessCode;
use wirelap_process::rights::{FOR_PROGRAMS, may_probe_programs};

/// The name of the observation.
pub const TLS_TEXT: &str = "text of TLS";

/// The name of its hook.
const HOOK: &str = "uprobes of OpenSSL, GnuTLS, Go and rustls";

/// Attaches to every library and program that is found, and goes on to look at programs that open sockets later. What cannot be
/// attached to is said, and stops nothing else.
pub(crate) fn attach(ebpf: &mut Ebpf) -> (ChosenHook, Option<TlsWatch>) {
    let mut chosen = ChosenHook {
        observation: TLS_TEXT,
        hook: None,
        without: "messages inside TLS are not read",
        remedy: "run wirelap as root, or with CAP_SYS_ADMIN and CAP_SYS_PTRACE besides",
        refused: Vec::new(),
    };
    let refuse = |chosen: &mut ChosenHook, reason: String| {
        chosen.refused.push(RefusedHook { hook: HOOK, reason });
    };
    if !may_probe_programs() {
        refuse(&mut chosen, missing_right(FOR_PROGRAMS));
        return (chosen, None);
    }
    let mut attacher = match Attacher::load(ebpf) {
        Ok(attacher) => attacher,
        Err(error) => {
            refuse(&mut chosen, with_causes(&error));
            return (chosen, None);
        }
    };
    let running = files::processes().into_iter().map(ProcessCode::of);
    let running = running.flat_map(|code| code.files().cloned().collect::<Vec<_>>());
    for file in files::usual().into_iter().chain(running) {
        if let Some(reason) = attacher.attach(&file) {
            tracing::debug!(reason, "refused");
            refuse(&mut chosen, reason);
        }
    }
    tracing::debug!(probes = attacher.probes(), "reads the text of TLS");
    if attacher.probes() == 0 && !chosen.refused.is_empty() {
        return (chosen, None);
    }
    // Where no program has such a library yet, one may start later.
    match TlsWatch::start(attacher) {
        Ok(watch) => {
            chosen.hook = Some(HOOK);
            (chosen, Some(watch))
        }
        Err(error) => {
            refuse(&mut chosen, error.to_string());
            (chosen, None)
        }
    }
}
