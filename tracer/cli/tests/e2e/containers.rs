//! The same broker in two containers: cgroups and network namespaces, named as Docker names them, stand in for them.

use crate::bench::{Bench, Running, poll};
use crate::hidden::assert_count;
use crate::{LONG, free_port};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Returns the directory where the hierarchy of version 2 is mounted.
fn cgroup_root() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mount = mounts.find(|fields| fields[2] == "cgroup2").expect("cgroup v2 is mounted");
    PathBuf::from(mount[1])
}

fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split(' ')).status().unwrap().success()
}

/// A cgroup and a network namespace, with a mosquitto in both. Dropping it ends the programs in it and removes them.
struct Container {
    id: String,
    netns: String,
    cgroup: PathBuf,
    port: u16,
    broker: Option<Child>,
}

impl Container {
    fn start(slice: &Path, digit: char, port: u16) -> Container {
        let own = std::process::id();
        let id = format!("{digit}{own:063x}");
        let cgroup = slice.join(format!("docker-{id}.scope"));
        fs::create_dir_all(&cgroup).unwrap();
        let netns = format!("wirelap-{digit}-{own}");
        let mut container = Container { id, netns, cgroup, port, broker: None };
        assert!(ip(&format!("netns add {}", container.netns)));
        assert!(ip(&format!("-n {} link set lo up", container.netns)));
        container.broker = Some(container.run(&["mosquitto", "-p", &port.to_string()]));
        let at = port.to_string();
        poll("mosquitto's start", LONG, || {
            let mut asked = container.run(&["mosquitto_pub", "-p", &at, "-t", "t", "-n"]);
            asked.wait().unwrap().success().then_some(())
        });
        container
    }

    /// A program inside.
    fn run(&self, words: &[&str]) -> Child {
        let script = "echo $$ > \"$0\"/cgroup.procs && exec ip netns exec \"$@\"";
        Command::new("sh")
            .args(["-c", script])
            .arg(&self.cgroup)
            .arg(&self.netns)
            .args(words)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// So many messages from a publisher inside to a subscriber inside.
    fn talk(&self, messages: u32) {
        let (port, count) = (self.port.to_string(), messages.to_string());
        let at = ["-p", &port, "-t", "a/b"];
        // It says at once that it has subscribed only if its lines are not buffered.
        let words = ["stdbuf", "-oL", "mosquitto_sub", "-d", "-C", &count];
        let mut reader = self.run(&[&words[..], &at].concat());
        let mut said = BufReader::new(reader.stdout.take().unwrap()).lines();
        said.find(|line| line.as_ref().unwrap().starts_with("Subscribed")).unwrap().unwrap();
        let mut writer = self.run(&[&["mosquitto_pub", "-l", "-q", "1"][..], &at].concat());
        let mut lines = writer.stdin.take().unwrap();
        for n in 0..messages {
            writeln!(lines, "message {n} of {}", self.id).unwrap();
        }
        drop(lines);
        assert!(writer.wait().unwrap().success());
        said.for_each(|line| drop(line.unwrap()));
        assert!(reader.wait().unwrap().success());
    }

    /// The beginning of the id, as people see it.
    fn short(&self) -> &str {
        &self.id[..12]
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(mut broker) = self.broker.take() {
            let _ = broker.kill();
            let _ = broker.wait();
        }
        ip(&format!("netns del {}", self.netns));
        // Busy until the kernel has removed the last process.
        poll("the end of the cgroup", LONG, || fs::remove_dir(&self.cgroup).ok());
    }
}

/// A slice of the host, removed at the end.
struct Slice(PathBuf);

impl Slice {
    fn new() -> Slice {
        let slice = cgroup_root().join(format!("wirelap{}.slice", std::process::id()));
        fs::create_dir_all(&slice).unwrap();
        Slice(slice)
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn watch(bench: &Bench, words: &str) -> Running {
    let live =
        bench.wirelap(&format!("live --plain --sample off --by container {words}")).json().start();
    poll("the first lines of `live`", LONG, || live.has_printed().then_some(()));
    live
}

fn end(bench: &Bench, live: Running) -> (Value, String) {
    live.signal(Signal::INT);
    let ended = live.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    (bench.report(), ended.stdout)
}

/// The results of both containers, by their counts and the names of all who took part.
fn assert_both(report: &Value, containers: [&Container; 2], counts: [u64; 2]) {
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{results:#?}");
    for (container, count) in containers.into_iter().zip(counts) {
        let broker = format!("mosquitto ({})", container.short());
        let result = results.iter().find(|result| result["broker"] == broker.as_str());
        let result = result.unwrap_or_else(|| panic!("{broker} in {results:#?}"));
        for figure in ["sent", "delivered", "matched"] {
            assert_count(result, &format!("/messages/{figure}"), count);
        }
        let processes = result["processes"].as_array().unwrap();
        assert_eq!(processes.len(), 3, "{processes:#?}");
        for process in processes {
            assert_eq!(process["container"]["kind"], "docker", "{process:#}");
            assert_eq!(process["container"]["id"], container.id.as_str());
            assert_eq!(process["network_namespace"]["name"], container.netns.as_str());
            assert_eq!(process["network_namespace"]["own"], false);
        }
        let rows = report["breakdown"]["rows"].as_array().unwrap();
        let name = format!("docker {}", container.short());
        let row = rows.iter().find(|row| row["names"][0] == name.as_str()).unwrap();
        assert_eq!((&row["sent"], &row["delivered"]), (&count.into(), &count.into()), "{row:#}");
    }
}

#[test]
fn the_same_broker_in_two_containers_is_told_apart_live_and_in_the_recording() {
    let (bench, slice, port) = (Bench::new(), Slice::new(), free_port());
    let [a, b] = ['a', 'b'].map(|digit| Container::start(&slice.0, digit, port));
    let file = bench.file("both.pcapng");
    let live =
        watch(&bench, &format!("--ports {port} --pcapng {} --pcapng-payload", file.display()));
    a.talk(40);
    b.talk(60);
    let (report, text) = end(&bench, live);
    assert_both(&report, [&a, &b], [40, 60]);
    let place = format!("in docker {}, network namespace {}", a.short(), a.netns);
    let words: Vec<_> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&place), "{text}");

    let words = format!("analyze --by container {}", file.display());
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_both(&bench.report(), [&a, &b], [40, 60]);
}

#[test]
fn one_of_two_containers_is_chosen_by_its_cgroup_and_outlived() {
    let (bench, slice, port) = (Bench::new(), Slice::new(), free_port());
    let [a, b] = ['a', 'b'].map(|digit| Container::start(&slice.0, digit, port));
    let live = watch(&bench, &format!("--cgroup {}", b.cgroup.display()));
    a.talk(20);
    b.talk(30);
    let (id, short) = (b.id.clone(), b.short().to_owned());
    // The container and all its processes are gone before the end.
    drop(b);
    let (report, _) = end(&bench, live);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "{results:#?}");
    assert_eq!(results[0]["messages"]["delivered"], 30);
    for process in results[0]["processes"].as_array().unwrap() {
        assert_eq!(process["container"]["id"], id.as_str(), "{process:#}");
    }
    let rows = report["breakdown"]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["names"][0]), (1, &format!("docker {short}").into()));
    drop(a);
}
