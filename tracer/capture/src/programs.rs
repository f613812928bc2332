//! The programs of hooks: loading, attaching, and unloading them, and why the kernel refused one.

use crate::error::{find_io, with_causes};
use crate::hooks::{AttachPoint, ObservationHook, ProbeProgram, missing_right};
use crate::links::{ProgramLink, ProgramLinks};
use crate::{CaptureError, filter};
use aya::programs::{CgroupAttachMode, CgroupSkbAttachType, Iter, Program as Loaded, ProgramError};
use aya::{Btf, Ebpf};
use rustix::io::Errno;
use std::any::Any;
use std::fs::File;
use std::io::{self, Read};
use wirelap_process::remedy::{is_shortage, of_cause};
use wirelap_process::rights::{FOR_CGROUPS, may_use_cgroups};

/// Why a hook cannot be used.
#[derive(Debug)]
pub(crate) struct HookError {
    /// The reason in words.
    pub reason: String,
    /// The error of the operating system, if it was one.
    errno: Option<Errno>,
}

impl HookError {
    /// True if the kernel has stopped checking the program because a signal has come for this thread (`kernel/bpf/verifier.c`
    /// `do_check()`). Nothing is wrong with the program.
    fn is_interrupted(&self) -> bool {
        self.errno == Some(Errno::AGAIN)
    }

    /// The error, if every other hook would fail with it, too: a resource is exhausted, or the kernel forbids all BPF programs.
    /// (A program that the verifier rejects is EACCES.)
    pub fn fatal_error(&self, is_required: bool) -> Option<io::Error> {
        let errno = self.errno?;
        (is_shortage(errno) || (is_required && errno == Errno::PERM)).then(|| errno.into())
    }
}

impl From<&str> for HookError {
    fn from(reason: &str) -> HookError {
        HookError { reason: reason.to_owned(), errno: None }
    }
}

impl From<&ProgramError> for HookError {
    fn from(error: &ProgramError) -> HookError {
        HookError { reason: explain(error), errno: find_io(error).and_then(Errno::from_io_error) }
    }
}

/// Loads the programs of a hook.
pub(crate) fn load_hook(
    ebpf: &mut Ebpf,
    btf: &Btf,
    hook: &ObservationHook,
) -> Result<(), HookError> {
    hook.programs.iter().try_for_each(|program| load_program(find(ebpf, program)?, program, btf))
}

/// Attaches the programs of a hook that has been loaded.
pub(crate) fn attach_hook(
    ebpf: &mut Ebpf,
    links: &mut ProgramLinks,
    hook: &ObservationHook,
) -> Result<(), HookError> {
    hook.programs.iter().try_for_each(|program| {
        let link = attach_program(find(ebpf, program)?)?;
        links.insert(program.name, link);
        Ok(())
    })
}

/// Attaches programs again that were detached.
pub(crate) fn attach_again(
    ebpf: &mut Ebpf,
    links: &mut ProgramLinks,
    programs: &[&'static str],
) -> Result<(), HookError> {
    for &name in programs {
        let loaded = ebpf.program_mut(name).ok_or("the compiled probes have no such program")?;
        links.insert(name, attach_program(loaded)?);
    }
    Ok(())
}

/// Unloads all programs of a hook, because some of them alone would report incomplete observations.
pub(crate) fn unload_hook(ebpf: &mut Ebpf, links: &mut ProgramLinks, hook: &ObservationHook) {
    for program in hook.programs {
        links.remove(program.name);
        unload(ebpf, program.name);
    }
}

fn find<'a>(ebpf: &'a mut Ebpf, program: &ProbeProgram) -> Result<&'a mut Loaded, HookError> {
    ebpf.program_mut(program.name).ok_or_else(|| "the compiled probes have no such program".into())
}

fn unload(ebpf: &mut Ebpf, name: &str) {
    // The error of a program that was never loaded says only that.
    let _ = match ebpf.program_mut(name) {
        Some(Loaded::BtfTracePoint(program)) => program.unload(),
        Some(Loaded::FEntry(program)) => program.unload(),
        Some(Loaded::FExit(program)) => program.unload(),
        Some(Loaded::CgroupSock(program)) => program.unload(),
        Some(Loaded::CgroupSkb(program)) => program.unload(),
        Some(Loaded::Iter(program)) => program.unload(),
        _ => Ok(()),
    };
}

/// Number of times that a program is loaded if signals interrupt that.
const ATTEMPTS: u32 = 50;

fn load_program(loaded: &mut Loaded, program: &ProbeProgram, btf: &Btf) -> Result<(), HookError> {
    for _ in 1..ATTEMPTS {
        match load_once(loaded, program, btf) {
            Err(refused) if refused.is_interrupted() => {}
            result => return result,
        }
    }
    load_once(loaded, program, btf)
}

fn load_once(loaded: &mut Loaded, program: &ProbeProgram, btf: &Btf) -> Result<(), HookError> {
    if matches!(program.attach, AttachPoint::Cgroup | AttachPoint::Egress) && !may_use_cgroups() {
        return Err(missing_right(FOR_CGROUPS).as_str().into());
    }
    match (loaded, program.attach) {
        (Loaded::BtfTracePoint(loaded), AttachPoint::Tracepoint(name)) => loaded.load(name, btf),
        (Loaded::FEntry(loaded), AttachPoint::Entry(function)) => loaded.load(function, btf),
        (Loaded::FExit(loaded), AttachPoint::Exit(function)) => loaded.load(function, btf),
        (Loaded::CgroupSock(loaded), AttachPoint::Cgroup) => loaded.load(),
        (Loaded::CgroupSkb(loaded), AttachPoint::Egress) => loaded.load(),
        (Loaded::Iter(loaded), AttachPoint::FileIterator) => loaded.load("task_file", btf),
        _ => return Err("the program in the compiled probes has another type".into()),
    }
    .map_err(|error| HookError::from(&error))
}

fn attach_program(loaded: &mut Loaded) -> Result<ProgramLink, HookError> {
    match loaded {
        Loaded::BtfTracePoint(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::FEntry(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::FExit(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::CgroupSock(p) => p
            .attach(root_cgroup()?, CgroupAttachMode::Single)
            .and_then(|link| p.take_link(link))
            .map(boxed),
        Loaded::CgroupSkb(p) => p
            .attach(root_cgroup()?, CgroupSkbAttachType::Egress, CgroupAttachMode::Single)
            .and_then(|link| p.take_link(link))
            .map(boxed),
        // An iterator is attached for each walk by `list_existing`.
        _ => Ok(boxed(())),
    }
    .map_err(|error| HookError::from(&error))
}

fn boxed(link: impl Any + Send) -> ProgramLink {
    Box::new(link)
}

fn root_cgroup() -> Result<File, HookError> {
    let root = filter::cgroup_root().ok_or("no cgroup v2 hierarchy is mounted")?;
    File::open(&root).map_err(|error| HookError {
        reason: format!("{}: {error}", root.display()),
        errno: Errno::from_io_error(&error),
    })
}

/// Prefixes of the lines of statistics at the end of the verifier's log, after the line with the error (`print_verification_stats`,
/// kernel/bpf/verifier.c).
const STATISTICS: [&str; 3] = ["verification time ", "stack depth ", "processed "];

/// The error with its causes in one line; of the verifier, the error line of its log.
fn explain(error: &ProgramError) -> String {
    let ProgramError::LoadError { io_error, verifier_log } = error else {
        return with_causes(error);
    };
    let log = verifier_log.to_string();
    tracing::debug!(log, "the verifier refused a program");
    let last = log
        .lines()
        .rev()
        .find(|line| !line.is_empty() && !STATISTICS.iter().any(|known| line.starts_with(known)))
        .unwrap_or_default();
    format!("{io_error}; {last}")
}

/// Walks the open files of all processes with one of the object's iterators, and returns what it wrote.
pub(crate) fn walk_files(ebpf: &mut Ebpf, program: &'static str) -> Result<Vec<u8>, CaptureError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        let advice = find_io(error).and_then(of_cause).map(|advice| format!(": {advice}"));
        CaptureError::Existing(with_causes(error) + &advice.unwrap_or_default())
    };
    let iterator: &mut Iter = ebpf
        .program_mut(program)
        .ok_or(CaptureError::NoMap(program))?
        .try_into()
        .map_err(|error: ProgramError| failed(&error))?;
    let link = iterator.attach().map_err(|error| failed(&error))?;
    let link = iterator.take_link(link).map_err(|error| failed(&error))?;
    let mut file = link.into_file().map_err(|error| failed(&error))?;
    let mut written = Vec::new();
    file.read_to_end(&mut written).map_err(|error| failed(&error))?;
    Ok(written)
}
