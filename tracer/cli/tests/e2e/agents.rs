//! Hosts that are observed by agents: here all of them run on one kernel, so one observes and the others rest.

use crate::LONG;
use crate::bench::{Running, alive, kill, links_of, poll, sleeps, words_of};
use crate::hidden::assert_count;
use crate::islands::{Islands, read_by};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A command for `--via` in a file of this name, which gets the agent's command line.
fn command(islands: &Islands, name: &str, text: &str) -> PathBuf {
    let path = islands.bench.file(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A command that runs an agent, whose process has a name of its own.
fn agent(islands: &Islands, name: &str) -> PathBuf {
    let program = islands.bench.file(&format!("agent-{name}"));
    fs::copy(env!("CARGO_BIN_EXE_wirelap"), &program).unwrap();
    command(islands, name, &format!("shift; exec {} \"$@\"", program.display()))
}

/// Waits until an agent has attached a probe. Returns its process.
fn attached(live: &Running, name: &str, but: u32) -> u32 {
    let name = format!("agent-{name}");
    poll("an agent's start", LONG, || {
        let is_one = |pid: &u32| words_of(*pid).first().is_some_and(|word| word.ends_with(&name));
        let agents = live.descendants().into_iter().filter(|pid| *pid != but).filter(is_one);
        agents.into_iter().find(|pid| !links_of(*pid).is_empty())
    })
}

/// Waits until an agent has sent what it has observed: it does so many times a second, and sleeps in between.
fn has_sent(agent: u32) {
    let before = sleeps(agent);
    poll("an agent's records", LONG, || (sleeps(agent) > before + 100).then_some(()));
}

#[test]
fn one_agent_observes_a_kernel_and_another_goes_on_when_it_is_killed() {
    const MESSAGES: u64 = 300;
    let mut islands = Islands::new();
    let (_, _stdin, said) = islands.client(1, "mosquitto_sub", &[]);
    let (_, mut lines, _) = islands.client(0, "mosquitto_pub", &["-l"]);
    let [robot, hub] = ["robot", "hub"].map(|name| agent(&islands, name));
    let noise = command(&islands, "noise", "echo Welcome; exit 1");
    let words = format!(
        "live --plain --not-here --ports {0} --decode {0}=mqtt --via {1} --via {2} --via {3}",
        islands.port,
        robot.display(),
        hub.display(),
        noise.display()
    );
    let live = islands.bench.wirelap(&words).json().start();
    let first = attached(&live, "robot", 0);
    let second = attached(&live, "hub", 0);
    // The first of the probes is not the last: an agent begins to send when all are attached.
    has_sent(first);
    has_sent(second);
    for number in 0..MESSAGES {
        writeln!(lines, "message {number}").unwrap();
    }
    poll("the messages", LONG, || (read_by(&said) == MESSAGES).then_some(()));
    has_sent(first);
    kill(first, Signal::KILL);
    // It is started again, and rests then.
    let again = attached(&live, "robot", first);
    has_sent(again);
    let all = live.descendants();
    assert!(all.contains(&second) && all.contains(&again), "{all:?}");
    live.signal(Signal::INT);
    let ended = live.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    poll("the end of the agents", LONG, || alive(&all).is_empty().then_some(()));
    let report = islands.bench.report();
    let hosts = report["hosts"].as_array().unwrap();
    let of = |at: usize, field: &str| hosts[at][field].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [of(0, "status"), of(1, "status"), of(2, "status")],
        ["same kernel", "connected", "lost"],
        "{report:#}"
    );
    assert_eq!(hosts[0]["restarts"], 1, "{hosts:?}");
    assert!(of(2, "why").contains("says “Welcome”"), "{hosts:?}");
    let [row] = report["results"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
    // Nothing passed while nobody observed. Of what comes in the first moment, it is not known whether it was sent before.
    let mut row = row.clone();
    let cut = row.pointer("/messages/cut").and_then(Value::as_u64).unwrap_or(0);
    for count in ["sent", "matched"] {
        let whole = &mut row["messages"][count];
        *whole = (whole.as_u64().unwrap() + cut).into();
    }
    assert!(cut <= MESSAGES, "{}", row["messages"]);
    for count in ["sent", "delivered", "matched"] {
        assert_count(&row, &format!("/messages/{count}"), MESSAGES);
    }
}

#[test]
fn what_is_of_one_host_alone_is_refused_beside_others() {
    let islands = Islands::new();
    for (words, why) in [
        ("live --plain --via true --pid 1", "--pid names a process of one host"),
        ("live --plain --via true --tls", "--tls reads text that must not leave its host"),
        ("live --plain --via true --budget 1%", "--budget regulates the probes of one host"),
        (
            "record -o - --via true --sample auto",
            "--sample auto follows what one host keeps up with",
        ),
        ("live --plain --via true --sample 9ms/1s --host-bandwidth 8Mbit", "remove one of them"),
        ("live --plain --host=-oProxyCommand=x", "is not a host that ssh could reach"),
    ] {
        let ended = islands.bench.wirelap(words).end(LONG);
        assert_eq!(ended.status, Some(2), "{words}: {}", ended.stderr);
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(why), "{words}: {said}");
    }
}
