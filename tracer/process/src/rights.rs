//! Root's rights: which are kept, by which process, until when. docs/security.md describes all of them.
//!
//! Capabilities belong to threads, and a new thread has those of the thread that started it. So every function here changes
//! the calling thread, and [`spawn`] starts a thread that has no capabilities.

use landlock::{
    ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;
use std::thread::{Builder, JoinHandle};

/// The capabilities that loading and attaching probes needs.
const ATTACH: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::NET_ADMIN);

/// The capabilities to name results in the folders of users and to give these files to their users.
pub const OUTPUTS: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER).union(CapabilitySet::CHOWN);

/// The capabilities to run programs as another user and to stop them.
pub const WORKLOADS: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL);

/// The capabilities without which no probe can be attached, with their names.
const REQUIRED: [(&str, CapabilitySet); 2] =
    [("CAP_BPF", CapabilitySet::BPF), ("CAP_PERFMON", CapabilitySet::PERFMON)];

/// The name of the capability that programs on cgroups need.
pub const FOR_CGROUPS: &str = "CAP_NET_ADMIN";

/// Number of bits of a set of capabilities.
const BITS: u32 = 64;

/// Gives up all capabilities but `kept`, permanently: programs that are executed later do not have more either. Must be
/// called before other threads are started. Errors are ignored: wirelap works with more rights than it needs, too.
pub fn confine(kept: CapabilitySet) {
    confine_with(kept, 0);
}

/// Confines, and leaves threads the right to take this real-time priority at most.
fn confine_with(kept: CapabilitySet, real_time: u64) {
    let limit = Rlimit { current: Some(real_time), maximum: Some(real_time) };
    // Without CAP_SYS_RESOURCE, as in many containers, the limit cannot be raised.
    let _ = setrlimit(Resource::Rtprio, limit);
    let _ = set_no_new_privs(true);
    for bit in 0..BITS {
        // The kernel refuses this without CAP_SETPCAP: then no_new_privs alone keeps executed programs without rights.
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    let _ = clear_ambient_capability_set();
    keep(kept);
}

/// The real-time priority of the thread which reads events, while it has fallen behind, and of the one which watches over it.
const READER_PRIORITY: u64 = 1;

/// The capability that the thread needs which gives real-time priority to the one that reads events: none where the limit
/// allows that.
pub fn to_hurry() -> CapabilitySet {
    match getrlimit(Resource::Rtprio).current {
        Some(most) if most < READER_PRIORITY => CapabilitySet::SYS_NICE,
        _ => CapabilitySet::empty(),
    }
}

/// Gives up what wirelap does not need to trace: all capabilities but those to attach, and the right to change or to execute
/// files, which root would have without any capability. Files that are open stay usable.
pub fn confine_tracer() {
    confine_with(ATTACH | CapabilitySet::SYS_NICE, READER_PRIORITY);
    // The kernel may lack Landlock (before 5.13, or switched off): it is an additional barrier only.
    let _ = forbid_changes();
}

/// As [`confine_tracer`], for a tracer that captures packets if it cannot attach probes; with `packets_only`, it does not attach any.
pub fn confine_packet_tracer(packets_only: bool) {
    let attach = if packets_only { CapabilitySet::empty() } else { ATTACH };
    confine_with(attach | CapabilitySet::NET_RAW | CapabilitySet::SYS_NICE, READER_PRIORITY);
    let _ = forbid_changes();
}

/// True if this thread may open packet sockets.
pub fn may_capture_packets() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::NET_RAW))
}

/// The capabilities that attaching to the libraries of other programs needs besides, also while tracing goes on: for uprobes
/// (`kernel/events/core.c` `perf_uprobe_event_init()`), and to read what programs have mapped.
pub const ATTACH_TO_PROGRAMS: CapabilitySet =
    CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE).union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up what wirelap does not need to trace and to attach to the libraries of other programs. Landlock would hide these
/// programs, so it is not used.
pub fn confine_tls_tracer() {
    confine_with(ATTACH | ATTACH_TO_PROGRAMS | CapabilitySet::SYS_NICE, READER_PRIORITY);
}

/// Gives up what wirelap does not need to read recordings and captures: all capabilities but to read any file, and the right
/// to change or to execute files. Output files must be open by then, or be created by a steward.
pub fn confine_reader() {
    confine(CapabilitySet::DAC_READ_SEARCH);
    let _ = forbid_changes();
}

/// Gives up what wirelap does not need to show what other processes observe: all capabilities, and the right to change or to
/// execute files.
pub fn confine_collector() {
    confine(CapabilitySet::empty());
    let _ = forbid_changes();
}

fn forbid_changes() -> Result<(), RulesetError> {
    let changes: BitFlags<AccessFs> = AccessFs::from_write(ABI::V3) | AccessFs::Execute;
    let rules = Ruleset::default().handle_access(changes)?.create()?;
    // The screen is drawn on /dev/tty when stdin and stdout are not the terminal.
    let rules = match PathFd::new("/dev/tty") {
        Ok(terminal) => rules.add_rule(PathBeneath::new(terminal, AccessFs::WriteFile))?,
        Err(_) => rules,
    };
    rules.restrict_self().map(drop)
}

/// Gives up all capabilities of this thread but `kept`, permanently.
pub fn keep(kept: CapabilitySet) {
    let Ok(held) = capabilities(None) else { return };
    let kept = held.permitted & kept;
    set(kept, kept);
}

/// Gives up all capabilities of this thread, permanently.
pub fn give_up() {
    keep(CapabilitySet::empty());
}

/// Makes this thread's capabilities ineffective until [`resume`].
pub fn suspend() {
    let Ok(held) = capabilities(None) else { return };
    set(CapabilitySet::empty(), held.permitted);
}

/// Makes the capabilities effective again that [`suspend`] has made ineffective.
pub fn resume() {
    let Ok(held) = capabilities(None) else { return };
    set(held.permitted, held.permitted);
}

/// The names of the capabilities without which no probe can be attached and which this thread lacks. They are read by a system
/// call and not from /proc, because a process that has reached its limit of open files must get the right answer too.
pub fn missing_to_attach() -> Vec<&'static str> {
    REQUIRED.into_iter().filter(|(_, one)| !has(*one)).map(|(name, _)| name).collect()
}

/// True if this thread may attach programs to cgroups (`kernel/bpf/syscall.c`, `is_net_admin_prog_type()`). Without that, some
/// observations are missing.
pub fn may_use_cgroups() -> bool {
    has(CapabilitySet::NET_ADMIN)
}

/// True if this thread may attach to other programs, for the text of TLS.
pub fn may_attach_to_programs() -> bool {
    has(ATTACH_TO_PROGRAMS)
}

/// The name of the capability without which no program's functions can be probed.
pub const FOR_PROGRAMS: &str = "CAP_SYS_ADMIN";

/// True if this thread may probe functions of programs at all (`kernel/bpf/syscall.c`, `bpf_prog_get_fd_by_id()`).
pub fn may_probe_programs() -> bool {
    has(CapabilitySet::SYS_ADMIN)
}

/// True if this thread may give one of its threads real-time priority.
pub fn may_hurry() -> bool {
    has(to_hurry())
}

fn has(wanted: CapabilitySet) -> bool {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    effective.contains(wanted)
}

fn set(effective: CapabilitySet, permitted: CapabilitySet) {
    let inheritable = CapabilitySet::empty();
    let _ = set_capabilities(None, CapabilitySets { effective, permitted, inheritable });
}

/// Starts a thread that has no capabilities.
///
/// # Errors
/// The kernel cannot start a thread, for instance because the user has too many.
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
            suspend();
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
