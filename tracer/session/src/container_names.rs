//! The names of containers that files on this host tell, without asking a runtime.
//!
//! | file | of | tells |
//! |---|---|---|
//! | `/var/log/containers/POD_NAMESPACE_NAME-ID.log` | Kubernetes: the kubelet links the log of each container so | pod, namespace, name |
//! | `/var/lib/docker/containers/ID/config.v2.json` | Docker | name |
//! | `/var/lib/containers/storage/overlay-containers/containers.json` | Podman, root's | name |
//!
//! Each has the whole id, so the name is the container's. Where a host keeps these elsewhere, the id alone is shown.

use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use wirelap_correlate::{ContainerKind, ContainerNames, container_of};

/// The longest file that is read.
const LONGEST: u64 = 4 << 20;

/// The most links to logs that are looked at.
const MOST_LOGS: usize = 4_096;

/// Containers whose names are kept; of those beyond, the ids are shown.
const MOST_KEPT: usize = 4_096;

/// The names of the container that a process's cgroups tell.
pub fn of(cgroups: &str, known: &mut HashMap<String, ContainerNames>) -> ContainerNames {
    let found = container_of(cgroups);
    let Some(id) = found.id else { return ContainerNames::default() };
    if let Some(names) = known.get(&id) {
        return names.clone();
    }
    let names = match (found.pod, found.kind) {
        (Some(_), kind) if kind != ContainerKind::Podman => {
            of_pod(Path::new("/var/log/containers"), &id)
        }
        (None, ContainerKind::Docker) => of_docker(Path::new("/var/lib/docker/containers"), &id),
        (_, ContainerKind::Podman) => {
            of_podman(Path::new("/var/lib/containers/storage/overlay-containers"), &id)
        }
        _ => None,
    };
    let names = names.unwrap_or_default();
    if known.len() < MOST_KEPT {
        known.insert(id, names.clone());
    }
    names
}

fn of_pod(folder: &Path, id: &str) -> Option<ContainerNames> {
    let end = format!("-{id}.log");
    let logs = fs::read_dir(folder).ok()?.flatten().take(MOST_LOGS);
    let mut names = logs.filter_map(|log| log.file_name().into_string().ok());
    let name = names.find(|name| name.ends_with(&end))?;
    // None of the three names can have a `_` (they are DNS labels or subdomains).
    let mut parts = name.strip_suffix(&end)?.split('_').map(str::to_owned);
    let (pod, namespace, container) = (parts.next(), parts.next()?, parts.next()?);
    let (container, namespace) = (Some(container), Some(namespace));
    Some(ContainerNames { container, pod, namespace, network: None })
}

fn of_docker(folder: &Path, id: &str) -> Option<ContainerNames> {
    let config = json(&folder.join(id).join("config.v2.json"))?;
    named(config["Name"].as_str()?.trim_start_matches('/'))
}

fn of_podman(folder: &Path, id: &str) -> Option<ContainerNames> {
    let containers = json(&folder.join("containers.json"))?;
    let found = containers.as_array()?.iter().find(|one| one["id"].as_str() == Some(id))?;
    named(found["names"].as_array()?.first()?.as_str()?)
}

fn named(name: &str) -> Option<ContainerNames> {
    let container = Some(name.to_owned()).filter(|name| !name.is_empty())?;
    Some(ContainerNames { container: Some(container), ..ContainerNames::default() })
}

fn json(path: &Path) -> Option<Value> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names_are_read_from_the_files_of_the_runtimes() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::write(at.join(format!("cart-1_shop_app-{ID}.log")), "").unwrap();
        fs::create_dir(at.join(ID)).unwrap();
        fs::write(at.join(ID).join("config.v2.json"), r#"{"ID":"x","Name":"/web"}"#).unwrap();
        let podman = format!(r#"[{{"id":"00"}},{{"id":"{ID}","names":["broker"]}}]"#);
        fs::write(at.join("containers.json"), podman).unwrap();
        let pod = of_pod(at, ID).unwrap();
        assert_eq!(
            [pod.container, pod.pod, pod.namespace].map(Option::unwrap),
            ["app", "cart-1", "shop"]
        );
        assert_eq!(of_docker(at, ID).unwrap().container.as_deref(), Some("web"));
        assert_eq!(of_podman(at, ID).unwrap().container.as_deref(), Some("broker"));
    }

    #[test]
    fn what_is_not_there_or_not_as_expected_gives_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!((of_pod(at, ID), of_docker(at, ID), of_podman(at, ID)), (None, None, None));
        fs::write(at.join(format!("x-{ID}.log")), "").unwrap();
        fs::write(at.join("containers.json"), r#"{"names":7}"#).unwrap();
        fs::create_dir(at.join(ID)).unwrap();
        fs::write(at.join(ID).join("config.v2.json"), "{").unwrap();
        assert_eq!((of_pod(at, ID), of_docker(at, ID), of_podman(at, ID)), (None, None, None));
    }

    #[test]
    fn each_container_is_looked_up_once() {
        let mut known = HashMap::new();
        let cgroups = format!("0::/system.slice/docker-{ID}.scope\n");
        assert_eq!(of(&cgroups, &mut known), ContainerNames::default());
        assert_eq!(known.len(), 1);
        assert_eq!(of("0::/a.service\n", &mut known), ContainerNames::default());
        assert_eq!(known.len(), 1);
    }
}
