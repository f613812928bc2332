//! Remedies for errors of the operating system: by their cause in this process if it has one, otherwise by the operation
//! that failed.

mod cause;

pub use cause::{Barrier, barrier, has_room, is_shortage, of_cause};

use crate::failure::Failure;
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::thread::{CapabilitySet, capabilities};
use std::io::{self, ErrorKind};
use std::path::Path;

/// The text of an error, followed by the remedy if its cause is known.
pub fn with(error: &io::Error) -> String {
    match of_cause(error) {
        Some(remedy) => format!("{error}: {remedy}"),
        None if error.kind() == ErrorKind::NotConnected => format!("{error}: start wirelap again"),
        None => error.to_string(),
    }
}

/// The remedy when a file that the user has named cannot be written.
pub fn of_file(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room, or name another file".into()
        }
        ErrorKind::ReadOnlyFilesystem => {
            "its file system is mounted read-only: name a file on another one".into()
        }
        ErrorKind::AlreadyExists => "name another file, or replace it with --force".into(),
        ErrorKind::BrokenPipe => {
            "what read it has ended: let that read to the end, or name a file".into()
        }
        ErrorKind::InvalidFilename => "name a file with a shorter path".into(),
        ErrorKind::PermissionDenied => "name a file in a folder that can be written".into(),
        // The steward, which creates the files, has ended.
        ErrorKind::NotConnected => "start wirelap again".into(),
        _ => {
            of_cause(error).unwrap_or_else(|| "name a file in a folder that can be written".into())
        }
    }
}

/// True if the folder that this path begins at was deleted while this process is in it (`getcwd(2)`).
pub fn begins_nowhere(path: &Path) -> bool {
    let gone = |error: io::Error| error.kind() == ErrorKind::NotFound;
    path.is_relative() && std::env::current_dir().is_err_and(gone)
}

/// The failure that an error is: of the machine if a resource is exhausted, otherwise of the command line.
pub fn failure(error: &io::Error) -> fn(String) -> Failure {
    let is_shortage = error.kind() != ErrorKind::PermissionDenied
        && (of_cause(error).is_some()
            || matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::NotConnected
            ));
    if is_shortage { Failure::Machine } else { Failure::Usage }
}

/// The remedy when the temporary folder cannot be used.
pub fn of_temporary_folder(error: &io::Error) -> String {
    let folder = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            return "make room there, or set TMPDIR to a folder with room".into();
        }
        ErrorKind::ReadOnlyFilesystem => "that is not mounted read-only",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "that exists",
        ErrorKind::InvalidFilename => "with a shorter path",
        ErrorKind::PermissionDenied => "that this user may write to",
        _ => match of_cause(error) {
            Some(remedy) => return remedy,
            None => "on another disk",
        },
    };
    format!("set TMPDIR to a folder {folder}")
}

/// The remedy when the workloads' program cannot be started.
pub fn of_start(program: &Path, error: &io::Error) -> String {
    const ENOEXEC: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
    let folder = program.parent().unwrap_or(Path::new("/"));
    match error.kind() {
        ErrorKind::PermissionDenied if is_noexec(program) => format!(
            "{} is on a file system that is mounted noexec: copy the program to a file system without noexec, and set \
             $WIRELAP_WORKLOAD to its path",
            folder.display()
        ),
        ErrorKind::PermissionDenied => {
            "allow the user that workloads run as to execute the program and to search the folders above it".into()
        }
        ErrorKind::NotFound => "build it again, or set $WIRELAP_WORKLOAD to its path".into(),
        _ if error.raw_os_error() == Some(ENOEXEC) => {
            format!("it is not a program for this machine ({}): build it here", std::env::consts::ARCH)
        }
        _ => of_cause(error)
            .unwrap_or_else(|| "check whether it starts by itself: `wirelap-workload list`".into()),
    }
}

/// The remedy for the error message that a workload ended with. The limits of this process are those of the workload.
pub fn of_workload(words: &str) -> Option<String> {
    let (_, number) = words.rsplit_once("(os error ")?;
    let error = io::Error::from_raw_os_error(number.split_once(')')?.0.parse().ok()?);
    match error.kind() {
        // The workload runs as another user: the rights of this process say nothing about it.
        ErrorKind::PermissionDenied => None,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(of_temporary_folder(&error)),
        _ => of_cause(&error),
    }
}

fn is_noexec(program: &Path) -> bool {
    statvfs(program).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// The error that this process, which is root, lacks capabilities to run workloads as another user, to stop them and to
/// read their files; `None` if it has all.
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
            "workloads run as another user, and this process lacks {} to start them: run wirelap with all of root's \
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
        let broken = of_file(&ErrorKind::BrokenPipe.into());
        assert!(broken.contains("what read it has ended"), "{broken}");
        assert!(of(ErrorKind::InvalidFilename).contains("shorter path"));
        assert!(!begins_nowhere(Path::new("a")) && !begins_nowhere(Path::new("/a")));
        let nowhere = io::Error::from(ErrorKind::NotFound);
        assert!(matches!(failure(&nowhere)(String::new()), Failure::Usage(_)));
    }
}
