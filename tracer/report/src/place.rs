//! The place where processes run, in words: container, pod or unit, and network namespace.

use crate::process::ReportedProcess;
use crate::{RunResult, explain};
use wirelap_correlate::ContainerKind;

/// The most processes that the line of a result lists.
const MOST: usize = 6;

impl ReportedProcess {
    /// The place where it runs, in a few words: `docker 0f3a9c2b7d11, network namespace blue`; `None` if nothing is worth a word.
    pub fn runs_in(&self) -> Option<String> {
        let mut parts = Vec::new();
        let found = self.container.as_ref();
        if let Some(found) = found.filter(|one| one.kind != ContainerKind::Root.name()) {
            let moved = if found.moved { " (moved there)" } else { "" };
            parts.push(format!("{}{moved}", explain::clean(&found.label)));
        }
        parts.extend(self.container_unknown.as_deref().map(|why| match why {
            "ended" => "an unknown container (it had ended before its cgroup was read)".to_owned(),
            _ => "an unknown container (its cgroup may not be read)".to_owned(),
        }));
        let namespace = self.network_namespace.as_ref().filter(|namespace| !namespace.own);
        parts.extend(namespace.map(|seen| {
            let name = seen.name.as_deref().map_or_else(|| seen.id.to_string(), explain::clean);
            format!("network namespace {name}")
        }));
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// True if it runs elsewhere than what a person starts on this host.
    fn is_contained(&self) -> bool {
        let found = self.container.as_ref();
        let kind = found.map(|one| one.kind.as_str());
        let mut containers = ContainerKind::ALL.into_iter().filter(|one| one.is_container());
        let unit = found.and_then(|one| one.unit.as_deref());
        containers.any(|one| Some(one.name()) == kind)
            || unit.is_some_and(|unit| unit.ends_with(".service"))
            || self.network_namespace.as_ref().is_some_and(|namespace| !namespace.own)
    }
}

/// The line of a result on where its processes run; `None` if none of them is in a container, a service or another network namespace.
pub fn line(result: &RunResult) -> Option<String> {
    if !result.processes.iter().any(ReportedProcess::is_contained) {
        return None;
    }
    let mut places: Vec<(String, String, Vec<u32>)> = Vec::new();
    for process in &result.processes {
        let Some(place) = process.runs_in() else { continue };
        let name = explain::clean(&process.name);
        match places.iter_mut().find(|(of, at, _)| *of == name && *at == place) {
            Some((_, _, pids)) => pids.push(process.pid),
            None => places.push((name, place, vec![process.pid])),
        }
    }
    let one = |(name, place, pids): &(String, String, Vec<u32>)| match pids.as_slice() {
        [pid] => format!("{name} (pid {pid}) in {place}"),
        pids => format!("{} {name} in {place}", pids.len()),
    };
    let mut lines: Vec<String> = places.iter().take(MOST).map(one).collect();
    if places.len() > MOST {
        lines.push(format!("{} more in the JSON", places.len().saturating_sub(MOST)));
    }
    Some(lines.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::ReportedNetworkNamespace;
    use wirelap_correlate::container_of;

    fn process(
        name: &str,
        pid: u32,
        cgroup: &str,
        netns: Option<ReportedNetworkNamespace>,
    ) -> ReportedProcess {
        let found = container_of(&format!("0::{cgroup}"));
        ReportedProcess {
            name: name.into(),
            pid,
            container: Some((&found).into()),
            network_namespace: netns,
            ..ReportedProcess::default()
        }
    }

    #[test]
    fn equal_processes_in_one_place_are_counted() {
        let own = Some(ReportedNetworkNamespace { id: 1, name: None, own: true });
        let blue = Some(ReportedNetworkNamespace { id: 2, name: Some("blue".into()), own: false });
        let docker = format!("/docker/{}", "ab".repeat(32));
        let session = "/user.slice/session-3.scope";
        let mut result = RunResult {
            processes: vec![
                process("python3", 7, session, own.clone()),
                process("init", 9, "/", own.clone()),
            ],
            ..RunResult::default()
        };
        assert_eq!(line(&result), None);
        result
            .processes
            .extend([process("mosquitto", 8, &docker, blue), process("python3", 10, session, own)]);
        result.processes.push(ReportedProcess {
            name: "sub".into(),
            pid: 11,
            container_unknown: Some("ended".into()),
            ..ReportedProcess::default()
        });
        let expected = [
            "2 python3 in session-3.scope",
            "mosquitto (pid 8) in docker abababababab, network namespace blue",
            "sub (pid 11) in an unknown container (it had ended before its cgroup was read)",
        ];
        assert_eq!(line(&result).unwrap(), expected.join(" · "));
    }
}
