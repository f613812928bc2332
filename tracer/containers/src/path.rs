//! The text of `/proc/PID/cgroup` → what the process runs in.
//!
//! ```text
//! 0::/system.slice/docker-0f3a….scope      the hierarchy of version 2
//! 1:name=systemd:/docker/0f3a…             one of version 1: number, controllers, path
//! ```
//! (`cgroups(7)`, "/proc files"). A host with both versions has several lines, of which some may say less than others: those that
//! name a container count before all others, then those of a unit.

use super::container::{Container, ContainerKind, Pod};
use super::layout::{Directory, directory};
use super::unit::{is_slice, unit};

/// The most lines that are looked at; the kernel has some fifteen controllers.
const LINES: usize = 64;

/// Text that the kernel puts behind the path of a cgroup that was removed.
const REMOVED: &str = " (deleted)";

/// The last rank of the hierarchies that tell where a process belongs, not which limits it has.
const LAST_OF_PLACES: u8 = 1;

/// Reads the text of a `/proc/PID/cgroup`, in which anything may be.
pub fn container_of(text: &str) -> Container {
    let paths = text.lines().take(LINES).filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let rank = match (number, controllers) {
            ("0", "") => 0,
            (_, "name=systemd") => 1,
            _ => 2,
        };
        path.starts_with('/').then_some((rank, path))
    });
    let mut paths: Vec<(u8, &str)> = paths.collect();
    paths.sort_by_key(|&(rank, _)| rank);
    // Whoever contains a process places it in all hierarchies; in a single one, processes share a limit of one resource.
    let at_root = paths.iter().any(|&(rank, path)| rank <= LAST_OF_PLACES && path == "/");
    let is_limit = |rank: u8, path: &str| {
        at_root
            && rank > LAST_OF_PLACES
            && paths.iter().filter(|(_, other)| *other == path).count() < 2
    };
    let all = paths.iter().map(|&(rank, path)| (rank, of_path(path)));
    let places = all
        .filter(|(rank, one)| one.kind != ContainerKind::Unknown || !is_limit(*rank, &one.cgroup))
        .map(|(_, one)| one);
    places.min_by_key(|one| certainty(one.kind)).unwrap_or_default()
}

/// Rank of a path by how much it says; less is better.
fn certainty(kind: ContainerKind) -> u8 {
    match kind {
        kind if kind.is_container() && kind != ContainerKind::Pod => 0,
        ContainerKind::Pod => 1,
        ContainerKind::Unit => 2,
        ContainerKind::Unknown => 3,
        _ => 4,
    }
}

/// Reads one path of a cgroup, in which the innermost of several containers counts.
fn of_path(path: &str) -> Container {
    let path = path.strip_suffix(REMOVED).unwrap_or(path);
    let mut found = Container { cgroup: path.to_owned(), ..Container::default() };
    let mut parent = "";
    let mut is_empty = true;
    for part in path.split('/').filter(|part| !part.is_empty() && *part != "..") {
        is_empty = false;
        match directory(parent, part) {
            Some(Directory::Pod(uid)) => {
                found = Container {
                    kind: ContainerKind::Pod,
                    pod: Some(Pod { uid, ..Pod::default() }),
                    cgroup: found.cgroup,
                    ..Container::default()
                };
            }
            Some(Directory::Id(kind, id)) => contained(&mut found, kind, Some(id), None),
            Some(Directory::Named(kind, name)) => contained(&mut found, kind, None, Some(name)),
            None => take_unit(&mut found, part),
        }
        parent = part;
    }
    if found.kind == ContainerKind::Unknown && found.unit.is_some() {
        found.kind = ContainerKind::Unit;
    }
    if is_empty && path == "/" {
        found.kind = ContainerKind::Root;
    }
    found
}

/// A container begins here. It is in the pod whose directory came before it, unless another container lies between.
fn contained(found: &mut Container, kind: ContainerKind, id: Option<String>, name: Option<String>) {
    let pod = found.pod.take().filter(|_| found.kind == ContainerKind::Pod);
    let cgroup = std::mem::take(&mut found.cgroup);
    *found = Container { kind, id, name, pod, cgroup, ..Container::default() };
}

/// The innermost unit counts, and slices only where nothing else is.
fn take_unit(found: &mut Container, part: &str) {
    let Some(unit) = unit(part) else { return };
    let is_better = !is_slice(&unit) || found.unit.as_deref().is_none_or(is_slice);
    if is_better && !(is_slice(&unit) && found.kind.is_container()) {
        found.unit = Some(unit);
    }
}

#[cfg(test)]
mod tests;
