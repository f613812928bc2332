//! The container, pod or unit that a process runs in, and its network namespace, as in JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate as correlate;
use wirelap_correlate::Place;

/// What a process runs in, by the path of its cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Container")]
pub struct ReportedContainer {
    /// What people call it, with ids cut to 12 characters.
    pub label: String,
    /// `docker`, `containerd`, `cri-o`, `podman`, `lxc`, `machine` (of systemd-machined), `container` (the path does not say of what),
    /// `pod`, `unit` (of systemd), `root` or `unknown` (no layout that wirelap knows).
    pub kind: String,
    /// The whole id of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The container's name, where the path or a file on the host tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The pod that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<ReportedPod>,
    /// The unit of systemd: inside the container, or on the host if there is no container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The path of the cgroup.
    pub cgroup: String,
    /// Whether the process was in another cgroup before; what it did there counts here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Pod")]
pub struct ReportedPod {
    /// Its whole id.
    pub uid: String,
    /// Its name, where a file on the host tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The Kubernetes namespace of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NetworkNamespace")]
pub struct ReportedNetworkNamespace {
    /// Its inode number, as in `/proc/PID/ns/net`.
    pub id: u32,
    /// Its name for `ip netns`, if it had one when the process came into view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether wirelap was in it.
    pub own: bool,
}

impl From<&correlate::Container> for ReportedContainer {
    fn from(found: &correlate::Container) -> ReportedContainer {
        ReportedContainer {
            label: found.label(),
            kind: found.kind.name().to_owned(),
            id: found.id.clone(),
            name: found.name.clone(),
            pod: found.pod.clone().map(ReportedPod::from),
            unit: found.unit.clone(),
            cgroup: found.cgroup.clone(),
            moved: found.moved,
        }
    }
}

impl From<correlate::Pod> for ReportedPod {
    fn from(pod: correlate::Pod) -> ReportedPod {
        let correlate::Pod { uid, name, namespace } = pod;
        ReportedPod { uid, name, namespace }
    }
}

impl From<&correlate::NetworkNamespace> for ReportedNetworkNamespace {
    fn from(seen: &correlate::NetworkNamespace) -> ReportedNetworkNamespace {
        ReportedNetworkNamespace { id: seen.id.0, name: seen.name.clone(), own: seen.is_own }
    }
}

/// Why it is not known what a process runs in, as in JSON; `None` if that is known, or was not asked for.
pub fn unknown(place: &Place) -> Option<String> {
    match place {
        Place::Ended => Some("ended".into()),
        Place::Refused => Some("refused".into()),
        Place::NotRead | Place::In(_) => None,
    }
}
