//! Root's rights: which are kept, by whom, until when. The whole is in docs/security.md.
//!
//! Capabilities belong to threads. A thread starts with those of the thread that started it, so everything here is about
//! the calling thread, and [`spawn`] starts one that has none.

use landlock::{
    ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;
use std::thread::{Builder, JoinHandle};

/// What loading and attaching probes needs.
const ATTACH: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::NET_ADMIN);

/// What naming results in the folders of users needs, and giving them to their users.
pub const OUTPUTS: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER).union(CapabilitySet::CHOWN);

/// What running programs as somebody else needs, and stopping them.
pub const WORKLOADS: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL);

/// What attaching needs, by name.
const TO_ATTACH: [(&str, CapabilitySet); 3] = [
    ("CAP_BPF", CapabilitySet::BPF),
    ("CAP_PERFMON", CapabilitySet::PERFMON),
    ("CAP_NET_ADMIN", CapabilitySet::NET_ADMIN),
];

/// Bits of a set of capabilities.
const BITS: u32 = 64;

/// Gives up all capabilities but these, for good: no program that is executed from now on has more. To be called before
/// there are other threads. Where the kernel does not let us, everything works as before.
pub fn confine(kept: CapabilitySet) {
    let _ = set_no_new_privs(true);
    for bit in 0..BITS {
        // Beyond the kernel's last one it refuses; without CAP_SETPCAP always, and then no_new_privs has to do.
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    let _ = clear_ambient_capability_set();
    keep(kept);
}

/// What wirelap itself gives up before it traces: all rights but those to attach, and the means to change or to execute a
/// file, which root has by its name alone. Files that are open stay as they are.
pub fn confine_tracer() {
    confine(ATTACH);
    // A kernel without Landlock (before 5.13, or switched off) has no such means; nothing depends on it.
    let _ = forbid_changes();
}

/// What wirelap gives up before it reads what others have written: all but to read any file. Where a report goes is open
/// then, or a steward's.
pub fn confine_reader() {
    confine(CapabilitySet::DAC_READ_SEARCH);
    let _ = forbid_changes();
}

fn forbid_changes() -> Result<(), RulesetError> {
    let changes: BitFlags<AccessFs> = AccessFs::from_write(ABI::V3) | AccessFs::Execute;
    let rules = Ruleset::default().handle_access(changes)?.create()?;
    // The screen is drawn there if stdin and stdout are not the terminal itself.
    let rules = match PathFd::new("/dev/tty") {
        Ok(terminal) => rules.add_rule(PathBeneath::new(terminal, AccessFs::WriteFile))?,
        Err(_) => rules,
    };
    rules.restrict_self().map(drop)
}

/// Gives up all of this thread's capabilities but these, for good.
pub fn keep(kept: CapabilitySet) {
    let Ok(held) = capabilities(None) else { return };
    let kept = held.permitted & kept;
    set(kept, kept);
}

/// Lets rights rest that will be needed once more.
pub fn rest() {
    let Ok(held) = capabilities(None) else { return };
    set(CapabilitySet::empty(), held.permitted);
}

/// Takes up the rights that have rested.
pub fn resume() {
    let Ok(held) = capabilities(None) else { return };
    set(held.permitted, held.permitted);
}

/// The names of the capabilities that attaching needs and this thread lacks. Asks the kernel directly: a process that
/// may open no file has them all the same.
pub fn missing_to_attach() -> Vec<&'static str> {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    TO_ATTACH
        .into_iter()
        .filter(|(_, one)| !effective.contains(*one))
        .map(|(name, _)| name)
        .collect()
}

fn set(effective: CapabilitySet, permitted: CapabilitySet) {
    let inheritable = CapabilitySet::empty();
    let _ = set_capabilities(None, CapabilitySets { effective, permitted, inheritable });
}

/// Starts a thread that has no rights.
///
/// # Errors
/// The kernel does not start one.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(|| {
        keep(CapabilitySet::empty());
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::read_to_string;

    #[test]
    fn a_thread_that_is_started_here_has_no_rights() {
        let status =
            spawn("test", || read_to_string("/proc/thread-self/status")).unwrap().join().unwrap();
        let status = status.unwrap();
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
            let line = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
            assert_eq!(u64::from_str_radix(line.trim(), 16), Ok(0), "{set}");
        }
    }

    #[test]
    fn a_tracer_changes_and_executes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("there"), folder.path().join("new"));
        std::fs::write(&path, "before").unwrap();
        let of_there = path.clone();
        let tried = std::thread::spawn(move || {
            confine_tracer();
            let tries = [
                std::fs::write(&of_there, "after").is_err(),
                std::fs::write(&new, "").is_err(),
                std::fs::remove_file(&of_there).is_err(),
                std::process::Command::new("/bin/true").status().is_err(),
            ];
            (tries, read_to_string("/proc/self/status").is_ok())
        });
        let has_landlock = read_to_string("/sys/kernel/security/lsm")
            .is_ok_and(|modules| modules.contains("landlock"));
        let (refused, reads) = tried.join().unwrap();
        assert!(reads);
        assert!(!has_landlock || refused == [true; 4], "{refused:?}");
        assert!(!has_landlock || read_to_string(&path).unwrap() == "before");
    }

    #[test]
    fn rights_that_rest_come_back_and_those_given_up_do_not() {
        let held = std::thread::spawn(|| {
            let before = capabilities(None).unwrap().permitted;
            keep(ATTACH);
            rest();
            let resting = capabilities(None).unwrap();
            resume();
            let resumed = capabilities(None).unwrap();
            confine(CapabilitySet::empty());
            resume();
            (before, resting, resumed, capabilities(None).unwrap())
        });
        let (before, resting, resumed, last) = held.join().unwrap();
        let kept = before & ATTACH;
        assert_eq!((resting.effective, resting.permitted), (CapabilitySet::empty(), kept));
        assert_eq!((resumed.effective, resumed.permitted), (kept, kept));
        assert_eq!(last.permitted, CapabilitySet::empty());
    }
}
