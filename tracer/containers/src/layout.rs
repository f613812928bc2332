//! The meaning of a directory in the path of a cgroup: the layouts of the container runtimes, with their
//! sources.
//!
//! | directory | of | source |
//! |---|---|---|
//! | `docker/ID`, `docker-ID.scope` | Docker, by its cgroupfs or systemd driver | moby `daemon/oci_linux.go` |
//! | `cri-containerd-ID.scope`, `X.slice:cri-containerd:ID` | containerd below Kubernetes | containerd `internal/cri/server` |
//! | `nerdctl-ID.scope` | containerd without Kubernetes | nerdctl `pkg/cmd/container` |
//! | `crio-ID.scope`, `crio-ID` | CRI-O | cri-o `internal/config/cgmgr` |
//! | `libpod-ID.scope`, `libpod-ID` | Podman; `libpod_pod_ID` is a pod of it | podman `libpod/container_internal_linux.go` |
//! | `podUID`, `kubepods-QOS-podUID.slice` | a pod of Kubernetes | kubelet `pkg/kubelet/cm` |
//! | `lxc/NAME`, `lxc.payload.NAME` | LXC, LXD, Incus | lxc `src/lxc/cgroups/cgfsng.c` |
//! | `machine-NAME.scope`, `systemd-nspawn@NAME.service` | systemd-machined, systemd-nspawn | systemd `src/machine` |
//! | `ID` | a container of a runtime that its path does not say | OCI runtimes with the cgroupfs driver |

use super::container::ContainerKind;
use super::unit::unescaped;

/// The meaning of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory {
    /// A container's, by its id.
    Id(ContainerKind, String),
    /// A container's, by its name.
    Named(ContainerKind, String),
    /// A pod's, by its id.
    Pod(String),
}

/// Before the ids of containers. The monitors of containers (`crio-conmon-`, `libpod-conmon-`) have none behind these.
const BEFORE_ID: [(&str, ContainerKind); 5] = [
    ("docker-", ContainerKind::Docker),
    ("cri-containerd-", ContainerKind::Containerd),
    ("nerdctl-", ContainerKind::Containerd),
    ("crio-", ContainerKind::CriO),
    ("libpod-", ContainerKind::Podman),
];

/// Recognises a directory below `parent`; `None` if it is neither a container's nor a pod's.
pub fn directory(parent: &str, name: &str) -> Option<Directory> {
    of_runtime(name).or_else(|| of_pod(name)).or_else(|| named(parent, name)).or_else(|| {
        let is_docker = parent == "docker";
        let kind = if is_docker { ContainerKind::Docker } else { ContainerKind::Container };
        is_id(name).then(|| Directory::Id(kind, name.to_owned()))
    })
}

fn of_runtime(name: &str) -> Option<Directory> {
    let bare = name.strip_suffix(".scope").unwrap_or(name);
    // What runc's driver for systemd makes of this when it is asked for a plain directory.
    if let Some((_, rest)) = bare.split_once(".slice:")
        && let Some((runtime, id)) = rest.split_once(':')
    {
        let kind = match runtime {
            "cri-containerd" => ContainerKind::Containerd,
            "crio" => ContainerKind::CriO,
            "docker" => ContainerKind::Docker,
            _ => ContainerKind::Container,
        };
        return is_id(id).then(|| Directory::Id(kind, id.to_owned()));
    }
    BEFORE_ID.into_iter().find_map(|(before, kind)| {
        let id = bare.strip_prefix(before)?;
        is_id(id).then(|| Directory::Id(kind, id.to_owned()))
    })
}

fn of_pod(name: &str) -> Option<Directory> {
    let bare = name.strip_suffix(".slice").unwrap_or(name);
    if let Some((_, id)) = bare.split_once("libpod_pod_") {
        return is_id(id).then(|| Directory::Pod(id.to_owned()));
    }
    let uid = match bare.strip_prefix("pod") {
        Some(uid) => uid,
        // A slice's name begins with those above it, which may have any names: `kubelet-kubepods-burstable-podUID.slice`.
        None => bare.rsplit_once("-pod").filter(|(above, _)| above.contains("kubepods"))?.1,
    };
    // A slice's name has `_` where the id has `-`, which stands for slices above.
    let uid = uid.replace('_', "-");
    is_pod_uid(&uid).then_some(Directory::Pod(uid))
}

fn named(parent: &str, name: &str) -> Option<Directory> {
    let lxc = |name: &str| Directory::Named(ContainerKind::Lxc, name.to_owned());
    if let Some(payload) = name.strip_prefix("lxc.payload.") {
        return (!payload.is_empty()).then(|| lxc(payload));
    }
    if parent == "lxc" || parent == "lxc.payload" {
        return Some(lxc(name));
    }
    let machine = name
        .strip_prefix("machine-")
        .and_then(|rest| rest.strip_suffix(".scope"))
        .or_else(|| name.strip_prefix("systemd-nspawn@")?.strip_suffix(".service"))?;
    (!machine.is_empty()).then(|| Directory::Named(ContainerKind::Machine, unescaped(machine)))
}

/// True for the id of a container: 64 hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// True for the id of a pod: a UUID, or, for those that a file on the host declares, 32 hexadecimal digits.
fn is_pod_uid(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = text.bytes().filter(|&byte| byte == b'-').count();
    digits == 32 && (dashes == 4 || dashes == 0) && digits.saturating_add(dashes) == text.len()
}
