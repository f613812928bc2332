//! Paths as the runtimes make them, and paths that nobody should make.

use super::*;
use proptest::prelude::*;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const POD: &str = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
const POD_SLICE: &str = "1b4e28ba_2fa1_11d2_883f_0016d3cca427";

/// The label of a path with `ID`, `POD` and `UID` (as in a slice's name) in it.
fn says(path: &str) -> String {
    let path = path.replace("ID", ID).replace("POD", POD).replace("SLICED", POD_SLICE);
    let found = container_of(&format!("0::{path}\n"));
    assert_eq!(found.cgroup, path.strip_suffix(REMOVED).unwrap_or(&path));
    assert!(found.id.as_deref().is_none_or(|id| id == ID));
    found.label()
}

#[test]
fn the_layouts_of_the_runtimes() {
    for (path, expected) in [
        // Docker: cgroupfs driver, systemd driver, systemd inside, rootless, below a slice of the user's.
        ("/docker/ID", "docker 0123456789ab"),
        ("/system.slice/docker-ID.scope", "docker 0123456789ab"),
        ("/system.slice/docker-ID.scope/init.scope", "init.scope in docker 0123456789ab"),
        ("/docker/ID/system.slice/mosquitto.service", "mosquitto.service in docker 0123456789ab"),
        (
            "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-ID.scope",
            "docker 0123456789ab",
        ),
        ("/brokers.slice/docker-ID.scope", "docker 0123456789ab"),
        // containerd, with and without Kubernetes, with both drivers.
        (
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podSLICED.slice/cri-containerd-ID.scope",
            "containerd 0123456789ab in pod 1b4e28ba",
        ),
        (
            "/kubepods.slice/kubepods-podSLICED.slice/cri-containerd-ID.scope",
            "containerd 0123456789ab in pod 1b4e28ba",
        ),
        ("/kubepods/besteffort/podPOD/ID", "container 0123456789ab in pod 1b4e28ba"),
        ("/kubepods/podPOD/ID", "container 0123456789ab in pod 1b4e28ba"),
        (
            "/system.slice/containerd.service/kubepods-burstable-podSLICED.slice:cri-containerd:ID",
            "containerd 0123456789ab",
        ),
        ("/system.slice/nerdctl-ID.scope", "containerd 0123456789ab"),
        ("/default/ID", "container 0123456789ab"),
        // Docker below Kubernetes, and Kubernetes in Docker (kind).
        (
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podSLICED.slice/docker-ID.scope",
            "docker 0123456789ab in pod 1b4e28ba",
        ),
        (
            "/docker/ID/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podSLICED.slice/cri-containerd-ID.scope",
            "containerd 0123456789ab in pod 1b4e28ba",
        ),
        // A pod that a file on the host declares, and a pod without a container.
        (
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/crio-ID.scope",
            "cri-o 0123456789ab in pod 01234567",
        ),
        ("/kubepods/burstable/podPOD", "pod 1b4e28ba"),
        ("/kubepods.slice/kubepods-podSLICED.slice", "pod 1b4e28ba"),
        // CRI-O, its monitors.
        (
            "/kubepods.slice/kubepods-podSLICED.slice/crio-ID.scope/container",
            "cri-o 0123456789ab in pod 1b4e28ba",
        ),
        ("/kubepods/podPOD/crio-ID", "cri-o 0123456789ab in pod 1b4e28ba"),
        (
            "/system.slice/crio-conmon-ID.scope",
            "crio-conmon-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
        ),
        // Podman: root's, a user's, in a pod, its monitor.
        ("/machine.slice/libpod-ID.scope", "podman 0123456789ab"),
        ("/machine.slice/libpod-ID.scope/container", "podman 0123456789ab"),
        (
            "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container",
            "podman 0123456789ab",
        ),
        (
            "/machine.slice/machine-libpod_pod_ID.slice/libpod-ID.scope",
            "podman 0123456789ab in pod 01234567",
        ),
        ("/libpod_parent/libpod-ID", "podman 0123456789ab"),
        // LXC, machines.
        ("/lxc/web", "lxc web"),
        ("/lxc.payload.web/system.slice/mosquitto.service", "mosquitto.service in lxc web"),
        ("/lxc.payload/web", "lxc web"),
        ("/lxc.monitor.web", "lxc.monitor.web (unknown layout)"),
        ("/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "machine qemu-1-vm"),
        ("/machine.slice/systemd-nspawn@web.service/payload", "machine web"),
        // Units.
        ("/system.slice/mosquitto.service", "mosquitto.service"),
        ("/system.slice/system-mosquitto.slice/mosquitto@blue.service", "mosquitto@blue.service"),
        ("/system.slice/my\\x2dbroker.service", "my-broker.service"),
        ("/system.slice/mosquitto.service/worker", "mosquitto.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/broker.service",
            "broker.service",
        ),
        ("/user.slice", "user.slice"),
        ("/init.scope", "init.scope"),
        // Removed, outside of a cgroup namespace, nothing, and layouts that are not known.
        ("/system.slice/docker-ID.scope (deleted)", "docker 0123456789ab"),
        ("/../docker-ID.scope", "docker 0123456789ab"),
        ("/../../mosquitto.service", "mosquitto.service"),
        ("/../..", "? (unknown layout)"),
        ("/", "the root cgroup"),
        ("/jobs/42/payload", "payload (unknown layout)"),
        ("/docker/buildkit/k3j2h1", "k3j2h1 (unknown layout)"),
        ("/system/docker-0123.scope", "docker-0123.scope"),
        ("/kubepods/podnonsense/x", "x (unknown layout)"),
        ("//", "? (unknown layout)"),
    ] {
        assert_eq!(says(path), expected, "{path}");
    }
}

#[test]
fn ids_are_whole_and_pods_have_dashes() {
    let path = format!("/kubepods.slice/kubepods-burstable-pod{POD_SLICE}.slice/crio-{ID}.scope");
    let found = container_of(&format!("0::{path}"));
    assert_eq!((found.id.as_deref(), found.pod.map(|pod| pod.uid)), (Some(ID), Some(POD.into())));
}

/// A host with both versions, where Docker has its containers in the hierarchies of version 1.
#[test]
fn a_line_that_names_a_container_counts_before_the_others() {
    let hybrid = format!(
        "12:memory:/docker/{ID}\n1:name=systemd:/system.slice/containerd.service\n0::/system.slice/containerd.service\n"
    );
    assert_eq!(container_of(&hybrid).label(), "docker 0123456789ab");
    let unit = "9:name=systemd:/user.slice/user-0.slice/session-1.scope\n4:memory:/jobs/a\n0::/\n";
    assert_eq!(container_of(unit).label(), "session-1.scope");
    // A limit of one resource is no place; the same path in several hierarchies is one.
    assert_eq!(container_of("4:memory:/jobs/a\n1:cpu:/\n0::/\n").kind, ContainerKind::Root);
    let placed = "4:memory:/jobs/a\n1:cpu:/jobs/a\n0::/\n";
    assert_eq!(container_of(placed).label(), "a (unknown layout)");
    assert_eq!(container_of("4:memory:/jobs/a\n").label(), "a (unknown layout)");
    assert_eq!(container_of("4:memory:/\n0::/\n").kind, ContainerKind::Root);
}

#[test]
fn what_is_no_such_text_is_unknown() {
    for text in ["", "\n", "0::", "0::relative", "no colons", "0:\u{0}", ":::::", "0::/..\n"] {
        assert_eq!(container_of(text).kind, ContainerKind::Unknown, "{text:?}");
    }
}

proptest! {
    /// Any text gives a label that can be printed, and a path that is in the text.
    #[test]
    fn any_text_is_read(text in any_text()) {
        let found = container_of(&text);
        let label = found.label();
        prop_assert!(!label.is_empty() && !label.chars().any(char::is_control), "{label:?}");
        prop_assert!(text.contains(&found.cgroup));
        prop_assert!(found.id.is_none_or(|id| text.contains(&id)));
    }

    /// Whatever lies above a container's directory, and whatever plain directory below (not `lxc`, which would have containers of its
    /// own), it is that container's.
    #[test]
    fn a_container_is_found_in_any_place(above in "(/[a-z.@_\\\\-]{1,12}){0,6}", below in "(/[a-km-z][a-z]{0,7}){0,2}") {
        let found = container_of(&format!("0::{above}/docker-{ID}.scope{below}"));
        prop_assert_eq!((found.kind, found.id.as_deref()), (ContainerKind::Docker, Some(ID)));
    }
}

/// Texts of lines, separators and words of the layouts, in any order.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("0::".to_owned()),
        Just("1:name=systemd:".to_owned()),
        Just("/".to_owned()),
        Just("..".to_owned()),
        Just("\n".to_owned()),
        Just("docker-".to_owned()),
        Just("-pod".to_owned()),
        Just("kubepods".to_owned()),
        Just(".slice:".to_owned()),
        Just(".scope".to_owned()),
        Just("lxc".to_owned()),
        Just("\\x2d".to_owned()),
        Just(ID.to_owned()),
        Just(POD.to_owned()),
        ".{0,6}",
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.concat())
}
