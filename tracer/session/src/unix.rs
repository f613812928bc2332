//! Processes that also serve clients over Unix sockets, where no probe follows messages.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, UnixConnection};
use wirelap_correlate::UnixClients;
use wirelap_events::{Saturate, Total};

/// Interval at which the open files of all processes are walked.
const EVERY: Duration = Duration::from_secs(5);

/// The Unix clients of all processes, as of the last walk.
#[derive(Debug, Default)]
pub struct UnixServers {
    walked: Option<Instant>,
    by_pid: HashMap<u32, UnixClients>,
}

impl UnixServers {
    /// Walks again when it is time. A kernel that refuses leaves what was known before.
    pub fn refresh(&mut self, capture: &mut Capture) {
        if self.walked.is_some_and(|walked| walked.elapsed() < EVERY) {
            return;
        }
        self.walked = Some(Instant::now());
        match capture.unix_connections() {
            Ok(connections) => self.by_pid = by_server(connections),
            Err(error) => tracing::debug!(%error, "the Unix connections cannot be listed"),
        }
    }

    /// The clients of a process; `None` where it has none.
    pub fn of(&self, pid: u32) -> Option<&UnixClients> {
        self.by_pid.get(&pid)
    }
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
    use wirelap_events::Pid;

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
}
