//! Reader of processes' cgroups, of their names where nothing else tells them, and of the names of network namespaces, for the
//! correlator and for the recording.

use crate::container_names;
use crate::place_notes::{self, PlaceNotes};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use wirelap_correlate::{CgroupRead, ContainerNames, Correlator};
use wirelap_events::{Comm, NetNs, Pid};

/// The most processes that are read in one tick; others wait for the next one.
const PER_TICK: usize = 64;

/// Interval at which processes are read again, because they move.
const EVERY: Duration = Duration::from_secs(5);

/// The most processes that are read again at once.
const READ_AGAIN: usize = 256;

/// The longest text of a process's cgroups that is read.
const LONGEST: u64 = 65_536;

/// The folder with the names of network namespaces (`ip-netns(8)`).
const NAMED_NAMESPACES: &str = "/run/netns";

/// The most names of network namespaces that are read.
const MOST_NAMES: usize = 1_024;

/// Reads where processes run.
#[derive(Debug, Default)]
pub struct PlaceReader {
    /// Time at which the processes of all rows were read last.
    read: Option<Instant>,
    namespaces: NamespaceNames,
    /// Names of containers by their ids, so that no file is read twice.
    names: HashMap<String, ContainerNames>,
    /// Processes that each file of a recording repeats.
    repeated: usize,
    /// Processes whose names were read.
    named: usize,
}

impl PlaceReader {
    /// Reads those processes that have come into view. Those of other hosts are handed to `elsewhere`.
    pub fn meet(
        &mut self,
        correlator: &mut Correlator,
        notes: &mut PlaceNotes<'_>,
        mut elsewhere: impl FnMut(Pid),
    ) {
        if self.read.is_none() {
            self.read = Some(Instant::now());
            if let Some(own) = own_namespace() {
                correlator.note_own_namespace(own);
                place_notes::note_own_namespace(notes, own);
            }
        }
        let newcomers = correlator.newcomers(PER_TICK);
        if !newcomers.is_empty() {
            self.namespaces.refresh(Path::new(NAMED_NAMESPACES));
            let names = self.namespaces.names.iter();
            correlator.name_namespaces(names.map(|(&netns, name)| (netns, name.clone())));
        }
        for (pid, netns) in newcomers {
            if pid.host() != 1 {
                elsewhere(pid);
                continue;
            }
            if correlator.process_name(pid).is_none()
                && let Some(name) = comm(pid)
            {
                self.named = self.named.saturating_add(1);
                correlator.call(pid, name);
                place_notes::note_name(notes, pid, name, self.named);
            }
            let network = self.namespaces.names.get(&netns).cloned();
            self.locate(pid, network, correlator, notes);
        }
    }

    /// Reads these processes again, if that was long ago.
    pub fn refresh(
        &mut self,
        pids: impl Iterator<Item = Pid>,
        correlator: &mut Correlator,
        notes: &mut PlaceNotes<'_>,
    ) {
        if self.read.is_some_and(|read| read.elapsed() < EVERY) {
            return;
        }
        self.read = Some(Instant::now());
        for pid in pids.filter(|pid| pid.host() == 1).take(READ_AGAIN) {
            self.locate(pid, None, correlator, notes);
        }
    }

    /// Cgroup and container of a process of this host.
    fn describe(&mut self, pid: Pid, network: Option<String>) -> (CgroupRead, ContainerNames) {
        let read = cgroup(pid);
        let names = match &read {
            CgroupRead::Text(text) => container_names::of(text, &mut self.names),
            CgroupRead::Ended | CgroupRead::Refused => ContainerNames::default(),
        };
        (read, ContainerNames { network, ..names })
    }

    /// Cgroup and container of a process of this host, with the name of its network namespace.
    pub fn describe_anew(&mut self, pid: Pid) -> (CgroupRead, ContainerNames) {
        self.namespaces.refresh(Path::new(NAMED_NAMESPACES));
        let netns = namespace_of(&pid.0.to_string());
        let network = netns.and_then(|netns| self.namespaces.names.get(&netns).cloned());
        self.describe(pid, network)
    }

    fn locate(
        &mut self,
        pid: Pid,
        network: Option<String>,
        correlator: &mut Correlator,
        notes: &mut PlaceNotes<'_>,
    ) {
        let (read, names) = self.describe(pid, network);
        if correlator.locate(pid, &read, &names) {
            self.repeated = self.repeated.saturating_add(1);
            place_notes::note_process(notes, (pid, &read, &names), self.repeated);
        }
    }
}

/// The names of network namespaces. A number is given again to another namespace as soon as one has ended, so they are read each
/// time that a process comes into view, as far as that takes no more than a twentieth of the time.
#[derive(Debug, Default)]
struct NamespaceNames {
    names: HashMap<NetNs, String>,
    /// Time at which the names were read last, and how long that took.
    read: Option<(Instant, Duration)>,
}

impl NamespaceNames {
    fn refresh(&mut self, folder: &Path) {
        if self.read.is_some_and(|(read, took)| read.elapsed() < took.saturating_mul(20)) {
            return;
        }
        let begun = Instant::now();
        self.names = named_namespaces(folder);
        self.read = Some((begun, begun.elapsed()));
    }
}

/// The name of a process (`proc(5)`, `/proc/pid/comm`).
pub fn comm(pid: Pid) -> Option<Comm> {
    let name = fs::read_to_string(format!("/proc/{}/comm", pid.0)).ok()?;
    Some(Comm::from_name(name.trim_end_matches('\n'))).filter(|name| !name.as_str().is_empty())
}

/// The text of a process's cgroups.
fn cgroup(pid: Pid) -> CgroupRead {
    if pid.is_outside() {
        return CgroupRead::Refused;
    }
    let mut text = Vec::new();
    let read = File::open(format!("/proc/{}/cgroup", pid.0))
        .and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    match read {
        // It ended while it was read.
        Ok(0) => CgroupRead::Ended,
        // In hierarchies of version 1, it is in the root once it has ended (`kernel/cgroup/cgroup.c`, `proc_cgroup_show()`).
        Ok(_) if text.split(|&byte| byte == b'\n').count() > 2 && has_ended(pid) => {
            CgroupRead::Ended
        }
        Ok(_) => CgroupRead::Text(String::from_utf8_lossy(&text).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => CgroupRead::Refused,
        Err(_) => CgroupRead::Ended,
    }
}

/// True if a process is gone, or only its entry is left for its parent.
fn has_ended(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.0)).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_none_or(|state| matches!(state, 'Z' | 'X'))
}

/// The network namespace that wirelap is in.
pub fn own_namespace() -> Option<NetNs> {
    namespace_of("self")
}

/// The network namespace of a process, by its name in /proc.
fn namespace_of(process: &str) -> Option<NetNs> {
    let inode = fs::metadata(format!("/proc/{process}/ns/net")).ok()?.ino();
    u32::try_from(inode).ok().map(NetNs)
}

/// The names of namespaces in a folder. A file there that no namespace is mounted on has a number of another file system.
fn named_namespaces(folder: &Path) -> HashMap<NetNs, String> {
    let Ok(own) = fs::metadata("/proc/self/ns/net") else { return HashMap::new() };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| {
        let there = fs::metadata(entry.path()).ok().filter(|there| there.dev() == own.dev())?;
        let netns = NetNs(u32::try_from(there.ino()).ok()?);
        Some((netns, entry.file_name().to_string_lossy().into_owned()))
    };
    entries.take(MOST_NAMES).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_cgroup_and_a_namespace() {
        let CgroupRead::Text(text) = cgroup(Pid(std::process::id())) else { panic!() };
        assert!(text.contains(':'), "{text}");
        assert!(own_namespace().is_some());
        assert_eq!(cgroup(Pid(4_194_305)), CgroupRead::Ended);
        assert_eq!(cgroup(Pid(5_000_001)), CgroupRead::Refused);
    }

    #[test]
    fn a_plain_file_names_no_namespace() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("left-over"), "").unwrap();
        std::os::unix::fs::symlink("/proc/self/ns/net", folder.path().join("here")).unwrap();
        let named = named_namespaces(folder.path());
        assert_eq!(named.into_values().collect::<Vec<_>>(), ["here"]);
        assert!(named_namespaces(Path::new("/nowhere")).is_empty());
    }
}
