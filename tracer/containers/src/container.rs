//! The container, pod or unit that the path of a cgroup names.

use super::unit::unit;
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_events::human::clean;

/// Characters of a container's id in a name, as the runtimes' own commands show it.
const SHORT_ID: usize = 12;

/// Characters of a pod's id in a name.
const SHORT_POD: usize = 8;

/// The kind of a cgroup: of which container runtime, pod or unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ContainerKind {
    /// A container of Docker.
    Docker,
    /// A container of containerd.
    Containerd,
    /// A container of CRI-O.
    CriO,
    /// A container of Podman.
    Podman,
    /// A container of LXC, LXD or Incus.
    Lxc,
    /// A container or virtual machine that systemd-machined knows.
    Machine,
    /// A container whose path does not say what runs it.
    Container,
    /// A pod, and none of its containers.
    Pod,
    /// A unit of systemd: no container.
    Unit,
    /// The root of the hierarchy: neither container nor unit.
    Root,
    /// A path of no layout that wirelap knows.
    #[default]
    Unknown,
}

impl ContainerKind {
    /// Every kind.
    pub const ALL: [ContainerKind; ContainerKind::VARIANTS.len()] = all_variants();

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for a container or a pod, false for what is just a part of the host.
    pub fn is_container(self) -> bool {
        !matches!(self, ContainerKind::Unit | ContainerKind::Root | ContainerKind::Unknown)
    }
}

/// A pod of Kubernetes, or of Podman.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// The whole id, with `-` between the parts of a UUID.
    pub uid: String,
    /// The pod's name, if a file on this host tells it.
    pub name: Option<String>,
    /// The Kubernetes namespace of its name.
    pub namespace: Option<String>,
}

/// The container, pod or unit in the path of a process's cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The kind of the cgroup.
    pub kind: ContainerKind,
    /// The whole id of the container.
    pub id: Option<String>,
    /// The name of the container: where the path has one, or a file on this host tells it.
    pub name: Option<String>,
    /// The pod that it is in.
    pub pod: Option<Pod>,
    /// The unit of systemd: the innermost one inside the container, or on the host if there is no container.
    pub unit: Option<String>,
    /// The path that this was read from; relative to wirelap's own cgroup namespace, and with `/..` at its beginning if the cgroup is
    /// outside of it.
    pub cgroup: String,
    /// True if the process was in another cgroup before.
    pub moved: bool,
}

impl Container {
    /// The container's label for people, without control characters: `docker 0f3a9c2b7d11`, `web (docker 0f3a9c2b7d11)`,
    /// `shop/cart-1/app (containerd 0f3a9c2b7d11)`, `mosquitto.service`.
    pub fn label(&self) -> String {
        let inside = match (&self.unit, self.kind.is_container()) {
            (Some(unit), true) => format!("{} in ", clean(unit)),
            _ => String::new(),
        };
        let label = match self.kind {
            ContainerKind::Root => "the root cgroup".into(),
            ContainerKind::Unit => clean(self.unit.as_deref().unwrap_or_default()),
            ContainerKind::Unknown => format!("{} (unknown layout)", clean(self.last_part())),
            _ => self.container_label(),
        };
        format!("{inside}{label}")
    }

    fn container_label(&self) -> String {
        let kind = self.kind.name();
        let id = self.id.as_deref().map(|id| format!("{kind} {}", short(id, SHORT_ID)));
        let pod = self.pod.as_ref().map(|pod| format!("pod {}", short(&pod.uid, SHORT_POD)));
        match (self.full_name(), id, pod) {
            (Some(name), Some(id), _) => format!("{name} ({id})"),
            (Some(name), None, _) => format!("{kind} {name}"),
            (None, Some(id), Some(pod)) => format!("{id} in {pod}"),
            (None, Some(id), None) => id,
            (None, None, Some(pod)) => pod,
            (None, None, None) => kind.into(),
        }
    }

    /// The shortest name that tells it from others: its own, or the beginning of its id. `None` if it is no container.
    pub fn short(&self) -> Option<String> {
        if !self.kind.is_container() {
            return None;
        }
        let id = self.id.as_deref().map(|id| short(id, SHORT_ID));
        let pod = self.pod.as_ref().map(|pod| format!("pod {}", short(&pod.uid, SHORT_POD)));
        self.full_name().or(id).or(pod)
    }

    /// The container's name, after those of its namespace and pod; `None` if it has no name.
    fn full_name(&self) -> Option<String> {
        let name = clean(self.name.as_deref()?);
        let pod = self.pod.as_ref();
        let parts =
            [pod.and_then(|pod| pod.namespace.as_ref()), pod.and_then(|pod| pod.name.as_ref())];
        let parts = parts.into_iter().flatten().map(|part| clean(part)).chain([name]);
        Some(parts.collect::<Vec<_>>().join("/"))
    }

    /// A key that differs between any two containers, units or cgroups, however alike their labels
    /// are.
    pub(super) fn identity(&self) -> (String, Option<String>) {
        let of_container = || self.id.clone().or_else(|| self.name.clone());
        let of_pod = || self.pod.as_ref().map(|pod| pod.uid.clone());
        match self.kind {
            ContainerKind::Unit => (self.unit_path().to_owned(), None),
            ContainerKind::Root | ContainerKind::Unknown => (self.cgroup.clone(), None),
            _ => {
                let id = of_container().or_else(of_pod).unwrap_or_else(|| self.cgroup.clone());
                (id, self.unit.clone())
            }
        }
    }

    /// The path up to the directory of the unit, which may have others below it.
    fn unit_path(&self) -> &str {
        let mut end = self.cgroup.len();
        while let Some(path) = self.cgroup.get(..end) {
            let Some((above, directory)) = path.rsplit_once('/') else { break };
            if unit(directory) == self.unit {
                return path;
            }
            end = above.len();
        }
        &self.cgroup
    }

    fn last_part(&self) -> &str {
        self.cgroup.rsplit('/').find(|part| !part.is_empty() && *part != "..").unwrap_or("?")
    }
}

fn short(id: &str, most: usize) -> String {
    clean(id).chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docker() -> Container {
        Container {
            kind: ContainerKind::Docker,
            id: Some("0123456789abcdef".repeat(4)),
            ..Container::default()
        }
    }

    #[test]
    fn labels_are_what_people_say() {
        let pod = Pod { uid: "1b4e28ba-2fa1-11d2-883f-0016d3cca427".into(), ..Pod::default() };
        let bare =
            Container { pod: Some(pod.clone()), kind: ContainerKind::Containerd, ..docker() };
        let pod = Pod { name: Some("cart-1".into()), namespace: Some("shop".into()), ..pod };
        let named = Container { pod: Some(pod), name: Some("app".into()), ..bare.clone() };
        let unit = Container { unit: Some("mosquitto.service".into()), ..docker() };
        let all = [docker(), Container { name: Some("web".into()), ..docker() }, bare, named, unit];
        assert_eq!(
            all.map(|one| (one.label(), one.short().unwrap_or_default())),
            [
                ("docker 0123456789ab", "0123456789ab"),
                ("web (docker 0123456789ab)", "web"),
                ("containerd 0123456789ab in pod 1b4e28ba", "0123456789ab"),
                ("shop/cart-1/app (containerd 0123456789ab)", "shop/cart-1/app"),
                ("mosquitto.service in docker 0123456789ab", "0123456789ab"),
            ]
            .map(|(label, short)| (label.to_owned(), short.to_owned()))
        );
    }

    #[test]
    fn what_steers_a_terminal_is_in_no_label() {
        let cgroup = "/a/\u{1b}[2Jx".to_owned();
        let unknown = Container { cgroup, ..Container::default() };
        assert_eq!((unknown.label(), unknown.short()), ("·[2Jx (unknown layout)".into(), None));
        let named = Container {
            name: Some("\u{9b}\r".into()),
            kind: ContainerKind::Lxc,
            ..Container::default()
        };
        assert_eq!(named.label(), "lxc ··");
    }
}
