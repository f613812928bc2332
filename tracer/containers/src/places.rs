//! The place in which each process runs, as far as the caller has read it.

use super::container::{Container, Pod};
use super::path::container_of;
use rustc_hash::FxHashMap;
use wirelap_events::human::clean;
use wirelap_events::{NetNs, Pid};

/// Processes whose place is kept; the place of those beyond is not known.
const PROCESSES: usize = 65_536;

/// Processes that wait for being read.
const NEWCOMERS: usize = 4_096;

/// The longest text of a `/proc/PID/cgroup` that is looked at: some ten of the longest paths.
const LONGEST: usize = 65_536;

/// The longest name that a file may give a container, in bytes.
const LONGEST_NAME: usize = 512;

/// The result of reading a process's `/proc/PID/cgroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupRead {
    /// The text of the file.
    Text(String),
    /// The process had ended.
    Ended,
    /// The file may not be read.
    Refused,
}

/// Names that files on the host give a container, and the network namespace of its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerNames {
    /// The container's own name.
    pub container: Option<String>,
    /// The name of the container's pod.
    pub pod: Option<String>,
    /// The Kubernetes namespace of its pod.
    pub namespace: Option<String>,
    /// The name for `ip netns` of the network namespace.
    pub network: Option<String>,
}

/// The place in which a process runs, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nothing was read, as from a recording of an earlier version or a capture of another program, or because there were too many
    /// processes.
    #[default]
    NotRead,
    /// The process had ended before its cgroup was read.
    Ended,
    /// The process's cgroup may not be read.
    Refused,
    /// The process's cgroup was read.
    In(Box<Container>),
}

impl Place {
    /// The container, pod or unit; `None` if it is not known.
    pub fn container(&self) -> Option<&Container> {
        match self {
            Place::In(container) => Some(container),
            Place::NotRead | Place::Ended | Place::Refused => None,
        }
    }
}

/// A network namespace that a process has sockets in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkNamespace {
    /// The inode number of the namespace.
    pub id: NetNs,
    /// The namespace's name for `ip netns`, if it had one when the process came into view.
    pub name: Option<String>,
    /// True if wirelap was in this namespace.
    pub is_own: bool,
}

impl NetworkNamespace {
    /// The namespace's name, or else its number.
    pub fn label(&self) -> String {
        let name = self.name.as_deref().map(clean);
        name.unwrap_or_else(|| self.id.0.to_string())
    }
}

/// The place in which each process runs.
#[derive(Debug, Default)]
pub struct Places {
    processes: FxHashMap<Pid, Place>,
    /// Seen, and not read yet.
    newcomers: Vec<(Pid, NetNs)>,
    /// The network namespace of the socket by which a process came into view.
    netns: FxHashMap<Pid, NetNs>,
    /// The name that the namespace of each process had when it was first seen: the number may be
    /// another namespace's later.
    netns_names: FxHashMap<Pid, String>,
    /// Names of namespaces at the time when a process came into view last.
    named: FxHashMap<NetNs, String>,
    /// The namespace of wirelap, on each host.
    own: Vec<NetNs>,
    /// The owner of each label.
    labels: FxHashMap<String, (String, Option<String>)>,
}

impl Places {
    /// A process came into view, with a socket in this namespace; or another one with its number.
    pub fn arrive(&mut self, pid: Pid, netns: NetNs) {
        if self.newcomers.len() < NEWCOMERS {
            self.newcomers.push((pid, netns));
        }
        if netns != NetNs(0) && (self.netns.len() < PROCESSES || self.netns.contains_key(&pid)) {
            // Another process has the number.
            if self.netns.insert(pid, netns).is_some_and(|before| before != netns) {
                self.netns_names.remove(&pid);
            }
        }
    }

    /// At most so many of the processes that came into view and were not read yet, with the namespace of a socket.
    pub fn take_newcomers(&mut self, most: usize) -> Vec<(Pid, NetNs)> {
        let rest = self.newcomers.split_off(self.newcomers.len().min(most));
        std::mem::replace(&mut self.newcomers, rest)
    }

    /// A process's cgroup was read. Returns whether that tells something new.
    pub fn put(&mut self, pid: Pid, read: &CgroupRead, names: &ContainerNames) -> bool {
        let is_named = self.name_namespace(pid, names.network.as_deref());
        let known = self.processes.get(&pid);
        if known.is_none() && self.processes.len() >= PROCESSES {
            return false;
        }
        let before = known.and_then(Place::container);
        let place = match read {
            CgroupRead::Text(text) => {
                let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
                let mut found = container_of(text);
                name(&mut found, names);
                found.moved = before
                    .is_some_and(|before| before.moved || before.identity() != found.identity());
                Place::In(Box::new(found))
            }
            // What was known of it stays true.
            CgroupRead::Ended | CgroupRead::Refused if before.is_some() => return is_named,
            CgroupRead::Ended => Place::Ended,
            CgroupRead::Refused => Place::Refused,
        };
        if let Some(found) = place.container() {
            let label = on_host(pid, found.label());
            if self.labels.len() < PROCESSES && !self.labels.contains_key(&label) {
                self.labels.insert(label, found.identity());
            }
        }
        let is_news = is_named || known != Some(&place);
        self.processes.insert(pid, place);
        is_news
    }

    /// Wirelap is in this network namespace.
    pub fn note_own_namespace(&mut self, own: NetNs) {
        if !self.own.contains(&own) && self.own.len() < usize::from(u8::MAX) {
            self.own.push(own);
        }
    }

    /// Names the network namespace of a process; true if the name is new.
    fn name_namespace(&mut self, pid: Pid, name: Option<&str>) -> bool {
        let Some(name) = shortened(name) else { return false };
        let is_new = !self.netns_names.contains_key(&pid);
        if is_new && self.netns_names.len() < PROCESSES {
            self.netns_names.insert(pid, name);
        }
        is_new
    }

    /// The place of a process, as far as it is known.
    pub fn of(&self, pid: Pid) -> Place {
        self.processes.get(&pid).cloned().unwrap_or_default()
    }

    /// The container, pod or unit of a process; `None` if it is not known.
    pub fn container(&self, pid: Pid) -> Option<&Container> {
        self.processes.get(&pid)?.container()
    }

    /// The label of a process's container, unit or cgroup, which no other one has; `None` if it is
    /// not known.
    pub fn label(&self, pid: Pid) -> Option<String> {
        let found = self.container(pid)?;
        let label = on_host(pid, found.label());
        let is_it = self.labels.get(&label).is_none_or(|first| *first == found.identity());
        let path = || clean(&found.cgroup);
        Some(if is_it { label } else { format!("{label} {}", path()) })
    }

    /// Name of a network namespace, if it is known.
    pub fn namespace(&self, id: NetNs) -> Option<String> {
        let named = self.named.get(&id);
        let own = || {
            let (pid, _) = self.netns.iter().find(|&(_, &netns)| netns == id)?;
            self.netns_names.get(pid)
        };
        named.or_else(own).cloned()
    }

    /// The names that network namespaces have now.
    pub fn name_namespaces(&mut self, names: impl Iterator<Item = (NetNs, String)>) {
        self.named.clear();
        self.named.extend(names.take(PROCESSES));
    }

    /// The network namespace of a process's sockets.
    pub fn namespace_of(&self, pid: Pid) -> Option<NetworkNamespace> {
        let id = *self.netns.get(&pid)?;
        let name = self.netns_names.get(&pid).cloned();
        Some(NetworkNamespace { id, name, is_own: self.own.contains(&id) })
    }
}

/// A label that says which host it is of, where several are put together.
fn on_host(pid: Pid, label: String) -> String {
    match pid.host() {
        0 | 1 => label,
        host => format!("{label}, host {host}"),
    }
}

/// Adds the names that files give.
fn name(found: &mut Container, names: &ContainerNames) {
    found.name = found.name.take().or_else(|| shortened(names.container.as_deref()));
    if names.pod.is_some() {
        let pod = found.pod.get_or_insert_with(Pod::default);
        pod.name = shortened(names.pod.as_deref());
        pod.namespace = shortened(names.namespace.as_deref());
    }
}

/// A name, or the beginning of one that is too long.
fn shortened(name: Option<&str>) -> Option<String> {
    let name = name?;
    Some(name.get(..name.floor_char_boundary(LONGEST_NAME))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> CgroupRead {
        CgroupRead::Text(format!("0::{path}\n"))
    }

    fn put(places: &mut Places, pid: u32, path: &str) -> bool {
        places.put(Pid(pid), &text(path), &ContainerNames::default())
    }

    #[test]
    fn a_process_that_moves_is_where_it_is_now() {
        let mut places = Places::default();
        assert!(put(&mut places, 1, "/system.slice/a.service"));
        assert!(!put(&mut places, 1, "/system.slice/a.service"));
        assert!(put(&mut places, 1, "/system.slice/b.service"));
        let found = places.container(Pid(1)).unwrap();
        assert!(found.moved && found.unit.as_deref() == Some("b.service"));
        assert!(put(&mut places, 1, "/system.slice/b.service/below"));
        assert!(!places.put(Pid(1), &CgroupRead::Ended, &ContainerNames::default()));
        assert_eq!(places.label(Pid(1)).as_deref(), Some("b.service"));
    }

    #[test]
    fn why_a_place_is_not_known_is_kept() {
        let mut places = Places::default();
        places.put(Pid(1), &CgroupRead::Ended, &ContainerNames::default());
        places.put(Pid(2), &CgroupRead::Refused, &ContainerNames::default());
        let all = [1, 2, 3].map(|pid| places.of(Pid(pid)));
        assert_eq!(all, [Place::Ended, Place::Refused, Place::NotRead]);
        assert_eq!(places.label(Pid(1)), None);
    }

    #[test]
    fn what_has_the_same_label_is_told_apart_by_its_path() {
        let mut places = Places::default();
        for (pid, path) in [(1, "/jobs/a/run"), (2, "/jobs/b/run"), (3, "/jobs/a/run")] {
            put(&mut places, pid, path);
        }
        let labels = [1, 2, 3].map(|pid| places.label(Pid(pid)).unwrap());
        assert_eq!(
            labels,
            ["run (unknown layout)", "run (unknown layout) /jobs/b/run", "run (unknown layout)"]
        );
        for (pid, path) in
            [(4, "/a.slice/b.service"), (5, "/a.slice/b.service/worker"), (6, "/c.slice/b.service")]
        {
            put(&mut places, pid, path);
        }
        let labels = [4, 5, 6].map(|pid| places.label(Pid(pid)).unwrap());
        assert_eq!(labels, ["b.service", "b.service", "b.service /c.slice/b.service"]);
        let elsewhere = Pid(1).on_host(2);
        places.put(elsewhere, &text("/jobs/a/run"), &ContainerNames::default());
        assert_eq!(places.label(elsewhere).as_deref(), Some("run (unknown layout), host 2"));
    }

    #[test]
    fn a_namespace_keeps_the_name_that_it_had() {
        let mut places = Places::default();
        places.note_own_namespace(NetNs(7));
        for (pid, netns) in [(1, 7), (2, 8), (3, 9), (4, 0)] {
            places.arrive(Pid(pid), NetNs(netns));
        }
        let mut call = |name: &str| {
            let network = Some(name.to_owned());
            places.put(
                Pid(2),
                &CgroupRead::Ended,
                &ContainerNames { network, ..ContainerNames::default() },
            )
        };
        assert_eq!((call("blue"), call("red")), (true, false));
        let of = |pid| places.namespace_of(Pid(pid)).map(|one| (one.label(), one.is_own));
        assert_eq!(of(1), Some(("7".into(), true)));
        assert_eq!(of(2), Some(("blue".into(), false)));
        assert_eq!((of(3), of(4)), (Some(("9".into(), false)), None));
        let newcomers = [(1, 7), (2, 8), (3, 9)].map(|(pid, netns)| (Pid(pid), NetNs(netns)));
        assert_eq!(places.take_newcomers(3), newcomers);
        assert_eq!(places.take_newcomers(3), [(Pid(4), NetNs(0))]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut places = Places::default();
        let network = Some("n".repeat(9_999));
        let names = ContainerNames { network, ..ContainerNames::default() };
        for pid in 0..70_000 {
            places.arrive(Pid(pid), NetNs(1));
            places.put(Pid(pid), &text("/a.service"), &names);
            places.note_own_namespace(NetNs(pid));
        }
        assert_eq!((places.processes.len(), places.netns.len()), (PROCESSES, PROCESSES));
        assert_eq!((places.newcomers.len(), places.labels.len()), (NEWCOMERS, 1));
        assert_eq!((places.netns_names.len(), places.own.len()), (PROCESSES, 255));
        assert!(places.netns_names.values().all(|name| name.len() == LONGEST_NAME));
    }
}
