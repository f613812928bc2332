//! Processes that serve clients over Unix sockets, where no probe follows messages.

use crate::places::comm;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, UnixConnection};
use wirelap_correlate::snapshot::SERVER_ROLE;
use wirelap_correlate::{Snapshot, UnixClients, UnixServer};
use wirelap_events::{Pid, Saturate, Total};

/// Interval at which the open files of all processes are walked.
const EVERY: Duration = Duration::from_secs(5);

/// The same at first, when programs are started to be looked at.
const AT_FIRST: Duration = Duration::from_millis(500);

/// The most servers that are remembered, with those that are gone.
const MAX_SERVERS: usize = 4_096;

/// Servers in no row that are named.
const MAX_NAMED: usize = 3;

/// The most ancestors of a process that are looked at.
const MAX_ANCESTORS: usize = 64;

/// Parts of the names of middlewares' servers, or of their sockets.
const MIDDLEWARES: [&str; 18] = [
    "mqtt",
    "mosquitto",
    "mochi",
    "nats",
    "amqp",
    "rabbit",
    "beam.smp",
    "zenoh",
    "zmq",
    "zeromq",
    "nng",
    "kafka",
    "redis",
    "valkey",
    "opcua",
    "stomp",
    "broker",
    "artemis",
];

/// Beginnings of the names of services that every system has, and whose Unix sockets nobody asks about.
const SYSTEM: [&str; 21] = [
    "systemd",
    "dbus",
    "(",
    "init",
    "X",
    "gnome",
    "kwin",
    "pulseaudio",
    "pipewire",
    "wireplumber",
    "containerd",
    "dockerd",
    "podman",
    "conmon",
    "crio",
    "kubelet",
    "ssh",
    "gpg-agent",
    "tmux",
    "screen",
    "snapd",
];

/// The Unix clients of all processes.
#[derive(Debug, Default)]
pub struct UnixServers {
    /// The processes that are traced with their children; empty for all.
    watched: Vec<Pid>,
    begun: Option<Instant>,
    walked: Option<Instant>,
    by_pid: HashMap<u32, UnixServer>,
}

impl UnixServers {
    /// Those among these processes and their children; all if there are none.
    pub fn among(watched: &[Pid]) -> UnixServers {
        UnixServers { watched: watched.to_vec(), ..UnixServers::default() }
    }

    /// Walks again when it is time. A kernel that refuses leaves what was known before.
    pub fn refresh(&mut self, capture: &mut Capture) {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let every = begun.elapsed().checked_div(2).unwrap_or(EVERY).clamp(AT_FIRST, EVERY);
        if self.walked.is_some_and(|walked| walked.elapsed() < every) {
            return;
        }
        self.walked = Some(Instant::now());
        match capture.unix_connections() {
            Ok(connections) => self.learn(by_server(connections)),
            Err(error) => tracing::debug!(%error, "the Unix connections cannot be listed"),
        }
    }

    /// Takes in who is connected now. What others sent that are gone is in no figure either.
    fn learn(&mut self, now: HashMap<u32, UnixClients>) {
        for (pid, clients) in now {
            if let Some(known) = self.by_pid.get_mut(&pid) {
                if known.clients.connections < clients.connections {
                    known.clients = clients;
                }
            } else if self.by_pid.len() < MAX_SERVERS && self.is_watched(pid) {
                let comm = comm(Pid(pid)).map_or_else(String::new, |name| name.as_str().to_owned());
                self.by_pid.insert(pid, UnixServer { pid: Pid(pid), comm, clients });
            }
        }
    }

    fn is_watched(&self, pid: u32) -> bool {
        let mut ancestors = std::iter::successors(Some(pid), |&pid| parent(pid));
        self.watched.is_empty()
            || ancestors.by_ref().take(MAX_ANCESTORS).any(|pid| self.watched.contains(&Pid(pid)))
    }

    /// The clients of a process; `None` where it has none.
    pub fn of(&self, pid: u32) -> Option<&UnixClients> {
        self.by_pid.get(&pid).map(|server| &server.clients)
    }

    /// The servers that are named beside a snapshot, because they are in no row as servers: those whose names have to do with
    /// middlewares and, where the user has chosen processes or no message is seen at all, also others.
    pub fn beside(&self, snapshot: &Snapshot) -> Vec<UnixServer> {
        let rows = &snapshot.groups;
        let is_silent =
            rows.iter().all(|row| row.messages.sent.saturating_add(row.messages.delivered) == 0);
        let processes = rows.iter().flat_map(|row| &row.processes);
        let servers = processes.filter(|process| process.role == SERVER_ROLE);
        let known: HashSet<Pid> = servers.map(|process| process.pid).collect();
        let may_be_asked = |server: &UnixServer| {
            (is_silent || !self.watched.is_empty()) && !is_of_system(&server.comm)
        };
        let unknown = self.by_pid.values().filter(|server| !known.contains(&server.pid));
        let mut named: Vec<(bool, &UnixServer)> =
            unknown.map(|server| (is_middleware(server), server)).collect();
        named.retain(|&(is_middleware, server)| is_middleware || may_be_asked(server));
        named.sort_unstable_by_key(|&(is_middleware, server)| {
            (!is_middleware, u64::MAX.saturating_sub(server.clients.connections), server.pid)
        });
        named.into_iter().take(MAX_NAMED).map(|(_, server)| server.clone()).collect()
    }
}

/// The parent of a process: the second field behind its name, which may have parentheses (proc(5), `/proc/PID/stat`).
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().filter(|&parent| parent != 0)
}

fn is_middleware(server: &UnixServer) -> bool {
    let names = [&server.comm, &server.clients.path].map(|name| name.to_lowercase());
    MIDDLEWARES.iter().any(|word| names.iter().any(|name| name.contains(word)))
}

fn is_of_system(comm: &str) -> bool {
    comm.is_empty() || SYSTEM.iter().any(|name| comm.starts_with(name))
}

fn by_server(connections: Vec<UnixConnection>) -> HashMap<u32, UnixClients> {
    let mut paths: HashMap<u32, BTreeMap<String, u64>> = HashMap::new();
    let mut known = HashSet::new();
    for UnixConnection { socket, server, name, .. } in connections {
        // A descriptor that was duplicated is the same connection.
        if known.insert((server, socket)) {
            paths.entry(server.0).or_default().entry(name).or_default().grow(1);
        }
    }
    paths.into_iter().filter_map(|(pid, paths)| Some((pid, clients(paths)?))).collect()
}

fn clients(paths: BTreeMap<String, u64>) -> Option<UnixClients> {
    let connections = paths.values().total();
    let (path, _) = paths.into_iter().max_by_key(|(_, count)| *count)?;
    Some(UnixClients { path, connections })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::{Counts, Group, Process};

    #[test]
    fn connections_count_once_and_by_the_process_that_accepted_them() {
        let connection = |socket, server, name: &str| UnixConnection {
            socket,
            server: Pid(server),
            client: Pid(99),
            name: name.into(),
        };
        let servers = by_server(vec![
            connection(1, 7, "/run/b"),
            connection(1, 7, "/run/b"),
            connection(2, 7, "/run/b"),
            connection(3, 7, "@a"),
            connection(4, 8, "/run/c"),
        ]);
        assert_eq!(servers[&7], UnixClients { path: "/run/b".into(), connections: 3 });
        assert_eq!(servers[&8], UnixClients { path: "/run/c".into(), connections: 1 });
        assert_eq!(servers.len(), 2);
    }

    fn servers(watched: &[Pid], all: &[(u32, &str, &str, u64)]) -> UnixServers {
        let by_pid = all.iter().map(|&(pid, comm, path, connections)| {
            let clients = UnixClients { path: path.into(), connections };
            (pid, UnixServer { pid: Pid(pid), comm: comm.into(), clients })
        });
        UnixServers { by_pid: by_pid.collect(), ..UnixServers::among(watched) }
    }

    fn row(sent: u64, broker: u32) -> Group {
        let process = Process { role: SERVER_ROLE.into(), pid: Pid(broker), ..Process::default() };
        let messages = Counts { sent, ..Counts::default() };
        Group { messages, processes: vec![process], ..Group::default() }
    }

    #[test]
    fn servers_without_a_row_are_named_if_they_have_to_do_with_messages() {
        let all = [
            (7, "mosquitto", "/run/m.sock", 2),
            (8, "python3", "/tmp/feed.zmq", 3),
            (9, "node", "/tmp/aedes.sock", 5),
            (10, "dbus-daemon", "/run/dbus/system_bus_socket", 40),
            (11, "mosquitto", "/run/n.sock", 1),
        ];
        let named = |servers: &UnixServers, groups: Vec<Group>| -> Vec<u32> {
            let snapshot = Snapshot { groups, ..Snapshot::default() };
            servers.beside(&snapshot).into_iter().map(|server| server.pid.0).collect()
        };
        let everywhere = servers(&[], &all);
        assert_eq!(named(&everywhere, vec![]), [8, 7, 11]);
        assert_eq!(named(&everywhere, vec![row(10, 7), row(0, 8)]), [11]);
        assert_eq!(named(&everywhere, vec![row(0, 7), row(0, 8)]), [11, 9], "no message is seen");
        let chosen = servers(&[Pid(1)], &all);
        assert_eq!(named(&chosen, vec![row(10, 7), row(0, 8)]), [11, 9], "they were chosen");
    }

    #[test]
    fn what_a_server_had_at_a_time_is_remembered() {
        let mut servers = UnixServers::default();
        for connections in [2, 3, 1] {
            let clients = UnixClients { path: "/run/b".into(), connections };
            servers.learn(HashMap::from([(std::process::id(), clients)]));
        }
        servers.learn(HashMap::new());
        let own = servers.of(std::process::id()).unwrap();
        assert_eq!(own.connections, 3);
        let mut none = UnixServers::among(&[Pid(u32::MAX)]);
        none.learn(HashMap::from([(std::process::id(), own.clone())]));
        assert_eq!(none.of(std::process::id()), None, "not chosen");
        let parent = UnixServers::among(&[Pid(parent(std::process::id()).unwrap())]);
        assert!(parent.is_watched(std::process::id()));
    }
}
