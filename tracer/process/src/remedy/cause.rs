//! Explains an error number of the operating system by the limits and rights of this process, in the same words wherever
//! the error happens.

use crate::rights::missing_to_attach;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::hint::black_box;
use std::io;

/// More than a thread takes: its stack is 2 MiB.
const THREAD: usize = 4 << 20;

/// The cause of an error in this process's limits or rights, with the remedy. `None` if the error has no such cause.
pub fn of_cause(error: &io::Error) -> Option<String> {
    of_errno(Errno::from_io_error(error)?)
}

fn of_errno(error: Errno) -> Option<String> {
    Some(match error {
        Errno::MFILE => format!(
            "this process may have at most {} open files: raise this limit (`ulimit -n 4096`)",
            limit(Resource::Nofile)
        ),
        Errno::NFILE => {
            "the machine has reached its limit of open files: end other programs, or raise the limit \
             (`sysctl fs.file-max`)"
                .into()
        }
        Errno::NOMEM => match getrlimit(Resource::As).current {
            Some(bytes) => format!(
                "this process may use at most {bytes} bytes of address space: raise this limit (`ulimit -v unlimited`)"
            ),
            None => "there is not enough memory: end other programs, raise memory.max of this process's cgroup, or \
                     choose a smaller --ring-size"
                .into(),
        },
        // A thread's stack that cannot be mapped is reported so, too (pthread_create(3)).
        Errno::AGAIN if !has_room(THREAD) => return of_errno(Errno::NOMEM),
        Errno::AGAIN => format!(
            "this user may have at most {} processes and threads: raise this limit (`ulimit -u`), or pids.max of \
             this process's cgroup",
            limit(Resource::Nproc)
        ),
        Errno::FBIG => format!(
            "this process may write files of at most {} bytes: raise this limit (`ulimit -f unlimited`)",
            limit(Resource::Fsize)
        ),
        Errno::PERM | Errno::ACCESS => return forbidden(),
        _ => return None,
    })
}

/// True if this process may take so many bytes of memory more. An allocation that fails where nobody expects it ends the program
/// without a sentence, so what takes much asks first.
pub fn has_room(bytes: usize) -> bool {
    let mut room: Vec<u8> = Vec::new();
    let has_room = room.try_reserve_exact(bytes).is_ok();
    // Otherwise the compiler may leave out an allocation that nothing uses, and take it for possible.
    black_box(&mut room);
    has_room
}

fn limit(resource: Resource) -> String {
    getrlimit(resource).current.map_or("a limited number of".into(), |most| most.to_string())
}

/// True if an error means that a resource is exhausted, so that another way of doing the same would fail too.
pub fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// A reason why a process with all capabilities cannot use them on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// The process is in a user namespace.
    UserNamespace,
    /// The kernel's lockdown.
    Lockdown,
    /// A filter of system calls.
    Seccomp,
}

/// The first of these that there is.
pub fn barrier() -> Option<Barrier> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    if !is_initial_namespace(&read("/proc/self/uid_map")) {
        return Some(Barrier::UserNamespace);
    }
    if read("/sys/kernel/security/lockdown").contains("[confidentiality]") {
        return Some(Barrier::Lockdown);
    }
    let filtered = |line: &str| line.starts_with("Seccomp:") && line.trim_end().ends_with('2');
    read("/proc/self/status").lines().any(filtered).then_some(Barrier::Seccomp)
}

/// Why an operation that needs root's rights was refused, with the remedy.
fn forbidden() -> Option<String> {
    let barrier = barrier();
    let missing = missing_to_attach();
    if !missing.is_empty() && barrier != Some(Barrier::UserNamespace) {
        let missing = missing.join(", ");
        return Some(format!(
            "this process lacks {missing}: run it as root with all capabilities (`sudo wirelap …`)"
        ));
    }
    let text = match barrier? {
        Barrier::UserNamespace => {
            "this process is in a user namespace, whose root has no rights on the machine: run it outside (in a \
             container: with --privileged and without user namespaces)"
        }
        Barrier::Lockdown => {
            "the kernel forbids it (lockdown=confidentiality): boot without this option"
        }
        Barrier::Seccomp => {
            "a seccomp filter forbids system calls to this process: run it outside of the container or service that \
             has set the filter"
        }
    };
    Some(text.into())
}

/// True for the map of the initial user namespace, which maps all ids to themselves (`user_namespaces(7)`).
fn is_initial_namespace(uid_map: &str) -> bool {
    let words: Vec<&str> = uid_map.split_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: Errno) -> String {
        of_cause(&errno.into()).unwrap_or_default()
    }

    #[test]
    fn each_shortage_names_its_own_limit() {
        let named = [
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "fs.file-max"),
            (Errno::NOMEM, "memory"),
            (Errno::AGAIN, "ulimit -u"),
            (Errno::FBIG, "ulimit -f"),
        ];
        for (errno, limit) in named {
            assert!(of(errno).contains(limit), "{errno}: {}", of(errno));
        }
        assert_eq!(of_cause(&Errno::NOENT.into()), None);
    }

    #[test]
    fn the_namespace_of_the_machine_is_known_by_its_map() {
        assert!(is_initial_namespace("         0          0 4294967295\n"));
        assert!(!is_initial_namespace("         0       1000          1\n"));
    }
}
