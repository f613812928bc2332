//! The inputs of the filter: ports, process trees and cgroups.

use crate::AttachError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A cgroup as the probes identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cgroup {
    /// The id, which is the inode number of its directory.
    pub id: u64,
    /// The number of cgroups above it; 0 for the root.
    pub level: u32,
}

/// The cgroup of a directory.
pub(crate) fn cgroup(path: &Path) -> Result<Cgroup, AttachError> {
    let bad = |source| AttachError::BadCgroup { path: path.to_owned(), source };
    let real = path.canonicalize().map_err(bad)?;
    let root = cgroup_root()
        .filter(|root| real.starts_with(root) && real.join("cgroup.procs").exists())
        .ok_or_else(|| bad(std::io::ErrorKind::NotFound.into()))?;
    let below = real.strip_prefix(&root).map_or(0, |rest| rest.components().count());
    let id = fs::metadata(&real).map_err(bad)?.ino();
    Ok(Cgroup { id, level: u32::try_from(below).unwrap_or(u32::MAX) })
}

/// The mount point of the cgroup v2 hierarchy; `None` if it is not mounted.
pub(crate) fn cgroup_root() -> Option<PathBuf> {
    parse_cgroup_root(&fs::read_to_string("/proc/self/mounts").ok()?)
}

/// Finds the mount point in `/proc/self/mounts`, whose fields are device, mount point, type, options (fstab(5)).
fn parse_cgroup_root(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, point, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(point.replace("\\040", " ")))
    })
}

/// A process and all its present descendants.
pub(crate) fn process_tree(root: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parse_parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    descendants(root, &children)
}

fn descendants(root: u32, children: &BTreeMap<u32, Vec<u32>>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        if found.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// The parent in `/proc/PID/stat`, whose fields are pid, name in parentheses, state, parent (proc(5)). The name can contain any
/// character, also parentheses.
fn parse_parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The element of the map `ports` for a port, and its bit in this element.
pub(crate) fn port_bit(port: u16) -> (u32, u64) {
    (u32::from(port / 64), 1 << (port % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_v2_mount_is_found_among_others() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/a\\040b cgroup2 rw 0 0\n";
        assert_eq!(parse_cgroup_root(mounts), Some("/sys/fs/cgroup/a b".into()));
        assert_eq!(parse_cgroup_root("proc /proc proc rw 0 0"), None);
    }

    #[test]
    fn a_process_name_cannot_fake_its_parent() {
        assert_eq!(parse_parent("7 (a) S 1 (x) ) S 42 7 7"), Some(42));
        assert_eq!(parse_parent(""), None);
    }

    #[test]
    fn descendants_are_followed_and_cycles_end() {
        let children = [(1, vec![2, 3]), (3, vec![4]), (4, vec![1]), (9, vec![10])].into();
        assert_eq!(descendants(1, &children), [1, 2, 3, 4].into());
    }

    #[test]
    fn every_port_has_a_bit_of_its_own() {
        let all: BTreeSet<_> = (0..=u16::MAX).map(port_bit).collect();
        assert_eq!(all.len(), 65_536);
        assert_eq!(port_bit(65_535), (1023, 1 << 63));
    }
}
