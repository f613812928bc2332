//! What to do about errors of the operating system: what their cause says, or else what the place says where they
//! happened.

mod cause;

pub use cause::{is_shortage, of_cause};

use crate::failure::Failure;
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::thread::{CapabilitySet, capabilities};
use std::io::{self, ErrorKind};
use std::path::Path;

/// An error, and what to do about it where its cause says that.
pub fn with(error: &io::Error) -> String {
    match of_cause(error) {
        Some(remedy) => format!("{error}: {remedy}"),
        None if error.kind() == ErrorKind::NotConnected => format!("{error}: start wirelap again"),
        None => error.to_string(),
    }
}

/// What to do when a file that the user named cannot be written.
pub fn of_file(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room, or name another file".into()
        }
        ErrorKind::ReadOnlyFilesystem => {
            "its file system is mounted read-only: name a file elsewhere".into()
        }
        ErrorKind::AlreadyExists => "name another, or replace it with --force".into(),
        ErrorKind::PermissionDenied => "name a file in a folder that can be written".into(),
        // The steward, which would have written it.
        ErrorKind::NotConnected => "start wirelap again".into(),
        _ => {
            of_cause(error).unwrap_or_else(|| "name a file in a folder that can be written".into())
        }
    }
}

/// Who is to blame for it: the machine that has not enough of something, or whoever named the file.
pub fn failure(error: &io::Error) -> fn(String) -> Failure {
    let is_shortage = error.kind() != ErrorKind::PermissionDenied
        && (of_cause(error).is_some()
            || matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::NotConnected
            ));
    if is_shortage { Failure::Machine } else { Failure::Usage }
}

/// What to do when the temporary folder cannot be prepared.
pub fn of_temporary_folder(error: &io::Error) -> String {
    let folder = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            return "make room there, or set TMPDIR to a folder with room".into();
        }
        ErrorKind::ReadOnlyFilesystem => "that is not mounted read-only",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "that is there",
        ErrorKind::PermissionDenied => "that this user may write to",
        _ => match of_cause(error) {
            Some(remedy) => return remedy,
            None => "on another disk",
        },
    };
    format!("set TMPDIR to a folder {folder}")
}

/// What to do when a program cannot be started.
pub fn of_start(program: &Path, error: &io::Error) -> String {
    const ENOEXEC: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
    let folder = program.parent().unwrap_or(Path::new("/"));
    match error.kind() {
        ErrorKind::PermissionDenied if is_noexec(program) => format!(
            "{} is on a file system that is mounted noexec: copy the program to one from which programs may be started, \
             and name it in $WIRELAP_WORKLOAD",
            folder.display()
        ),
        ErrorKind::PermissionDenied => {
            "the user that workloads run as must be allowed to execute it, and to search the folders above it".into()
        }
        ErrorKind::NotFound => "build it again, or name it in $WIRELAP_WORKLOAD".into(),
        _ if error.raw_os_error() == Some(ENOEXEC) => {
            format!("it is no program for this machine ({}): build it here", std::env::consts::ARCH)
        }
        _ => of_cause(error)
            .unwrap_or_else(|| "see whether it starts by itself: `wirelap-workload list`".into()),
    }
}

/// What to do when a workload ended with these words: it has the limits that we have.
pub fn of_workload(words: &str) -> Option<String> {
    let (_, number) = words.rsplit_once("(os error ")?;
    let error = io::Error::from_raw_os_error(number.split_once(')')?.0.parse().ok()?);
    match error.kind() {
        // It runs as another user, whose rights are not ours.
        ErrorKind::PermissionDenied => None,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(of_temporary_folder(&error)),
        _ => of_cause(&error),
    }
}

fn is_noexec(program: &Path) -> bool {
    statvfs(program).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// What root needs to run workloads as somebody else, to stop them and to read what they wrote; what of it is missing.
pub fn missing_for_workloads() -> Option<io::Error> {
    const NEEDED: [(&str, CapabilitySet); 5] = [
        ("CAP_SETUID", CapabilitySet::SETUID),
        ("CAP_SETGID", CapabilitySet::SETGID),
        ("CAP_CHOWN", CapabilitySet::CHOWN),
        ("CAP_KILL", CapabilitySet::KILL),
        ("CAP_DAC_OVERRIDE", CapabilitySet::DAC_OVERRIDE),
    ];
    let held = capabilities(None).ok()?.effective;
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(_, one)| !held.contains(*one)).map(|(name, _)| *name).collect();
    (!missing.is_empty()).then(|| {
        io::Error::other(format!(
            "root runs workloads as another user, for which this process lacks {}: run it with all of root's \
             capabilities",
            missing.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_remedy() {
        let of = |kind: ErrorKind| of_temporary_folder(&kind.into());
        assert!(of(ErrorKind::StorageFull).contains("room"));
        assert!(of(ErrorKind::ReadOnlyFilesystem).contains("read-only"));
        let open_files = io::Error::from_raw_os_error(24);
        for remedy in [of_temporary_folder(&open_files), of_file(&open_files)] {
            assert!(remedy.contains("ulimit -n"), "{remedy}");
        }
        assert!(matches!(failure(&open_files)(String::new()), Failure::Machine(_)));
        let limited = of_workload("cannot start a thread: no more (os error 11)").unwrap();
        assert!(limited.contains("ulimit -u"), "{limited}");
        assert_eq!(of_workload("cannot bind (os error 13)"), None);
        assert_eq!(of_workload("address in use"), None);
        let nowhere = io::Error::from(ErrorKind::NotFound);
        assert!(matches!(failure(&nowhere)(String::new()), Failure::Usage(_)));
    }
}
