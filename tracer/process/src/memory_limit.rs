//! The memory that the control groups of this process leave to it. The kernel ends a process that takes more.

use procfs::ProcessCGroup;
use procfs::process::{MountInfo, Process};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a hierarchy that limits memory.
struct LimitFiles {
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the bytes of files that are cached, which the kernel drops first.
    cached: &'static str,
}

/// The files of version 2 (`Documentation/admin-guide/cgroup-v2.rst`, "Memory Interface Files").
const VERSION_2: LimitFiles =
    LimitFiles { limit: "memory.max", usage: "memory.current", cached: "file" };

/// The files of version 1 (`Documentation/admin-guide/cgroup-v1/memory.rst`).
const VERSION_1: LimitFiles = LimitFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: "total_cache",
};

/// The memory limit of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The most bytes that all processes of the group may use.
    pub bytes: u64,
    /// The bytes of them that nobody uses.
    pub free: u64,
}

/// The smallest limit and the smallest free memory of the groups that this process is in; `None` if no group has a limit.
pub fn memory_limit() -> Option<MemoryLimit> {
    let process = Process::myself().ok()?;
    let (groups, mounts) = (process.cgroups().ok()?, process.mountinfo().ok()?);
    let limits = groups.into_iter().flat_map(|group| {
        let files = if group.controllers.is_empty() { VERSION_2 } else { VERSION_1 };
        let folders = mounts.0.iter().find_map(|mount| folders(&group, mount));
        folders.into_iter().flatten().filter_map(move |folder| files.read(&folder))
    });
    limits.reduce(|one, other| MemoryLimit {
        bytes: one.bytes.min(other.bytes),
        free: one.free.min(other.free),
    })
}

/// The folders of a group and of those above it, as far as this mount shows them; `None` if the mount is of another hierarchy.
fn folders(group: &ProcessCGroup, mount: &MountInfo) -> Option<Vec<PathBuf>> {
    let limits_memory = match group.controllers.as_slice() {
        [] => mount.fs_type == "cgroup2",
        names => {
            let memory = "memory";
            mount.fs_type == "cgroup"
                && names.iter().any(|name| name == memory)
                && mount.super_options.contains_key(memory)
        }
    };
    if !limits_memory {
        return None;
    }
    // In a container, the mount may begin at the container's own group.
    let path = Path::new(&group.pathname);
    let below = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).ok()?;
    let above = below.ancestors().map(|below| mount.mount_point.join(below));
    Some(above.collect())
}

impl LimitFiles {
    /// The limit of the group with this folder; `None` if it has none.
    fn read(&self, folder: &Path) -> Option<MemoryLimit> {
        let text = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
        // Without a limit, version 2 has the word `max` there.
        let bytes = text(self.limit).trim().parse().ok()?;
        let used: u64 = text(self.usage).trim().parse().ok()?;
        let stat = text("memory.stat");
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        let cached = lines.find(|(name, _)| *name == self.cached);
        let cached: u64 = cached.and_then(|(_, bytes)| bytes.parse().ok()).unwrap_or(0);
        let kept = used.saturating_sub(cached);
        Some(MemoryLimit { bytes, free: u64::saturating_sub(bytes, kept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(controllers: &[&str], pathname: &str) -> ProcessCGroup {
        let controllers = controllers.iter().map(|&name| name.to_owned()).collect();
        ProcessCGroup { hierarchy: 0, controllers, pathname: pathname.to_owned() }
    }

    fn mount(line: &str) -> MountInfo {
        MountInfo::from_line(line).unwrap()
    }

    #[test]
    fn groups_above_limit_too() {
        let here = tempfile::tempdir().unwrap();
        let write = |folder: &str, limit: &str, used: &str| {
            let folder = here.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("memory.max"), limit).unwrap();
            fs::write(folder.join("memory.current"), used).unwrap();
            fs::write(folder.join("memory.stat"), "anon 1\nfile 300\nfile_mapped 5\n").unwrap();
        };
        write("a/b", "max\n", "400\n");
        write("a", "1000\n", "900\n");
        let line = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw", here.path().display());
        let folders = folders(&group(&[], "/a/b"), &mount(&line)).unwrap();
        let limits: Vec<_> = folders.iter().map(|folder| VERSION_2.read(folder)).collect();
        assert_eq!(limits, [None, Some(MemoryLimit { bytes: 1000, free: 400 }), None]);
    }

    #[test]
    fn the_group_of_a_container_is_found_where_it_is_mounted() {
        let memory = group(&["memory"], "/docker/c0");
        let of = |line: &str| folders(&memory, &mount(line));
        let own = of("35 31 0:32 /docker/c0 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
        assert_eq!(own.unwrap(), [PathBuf::from("/sys/fs/cgroup/memory/")]);
        let all = of("35 31 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory").unwrap();
        assert_eq!(all[0], Path::new("/sys/fs/cgroup/memory/docker/c0"));
        assert_eq!(all.len(), 3);
        assert_eq!(of("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
        assert_eq!(of("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"), None);
    }
}
