//! wirelap as a user who is not root, with some capabilities.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Enough for anything here, on a busy machine.
const LONG: Duration = Duration::from_mins(1);

pub const THREE: &str = "+bpf,+perfmon,+net_admin";

/// Asks again and again until there is an answer.
pub fn poll<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wirelap_test_support::poll(what, LONG, ask)
}

/// A folder of nobody's, with a copy of the program where nobody can reach it.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Place(folder);
        fs::copy(env!("CARGO_BIN_EXE_wirelap"), place.program()).unwrap();
        fs::create_dir(place.own()).unwrap();
        std::os::unix::fs::chown(place.own(), Some(NOBODY), Some(NOBODY)).unwrap();
        place
    }

    pub fn program(&self) -> PathBuf {
        self.0.path().join("wirelap")
    }

    /// The folder that nobody can write.
    pub fn own(&self) -> PathBuf {
        self.0.path().join("own")
    }

    /// A command of nobody's with these capabilities alone (setpriv(1)).
    pub fn wirelap(&self, capabilities: &str, words: &[&str]) -> Command {
        let sets = format!("-all{}{capabilities}", if capabilities.is_empty() { "" } else { "," });
        // With a umask that would let everybody read.
        let mut command = Command::new("sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\"", "setpriv"]);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        for set in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
            command.arg(format!("{set}={sets}"));
        }
        command.arg(self.program()).args(words).current_dir(self.own());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("SUDO_UID").env_remove("SUDO_GID");
        command
    }

    /// The JSON of doctor.
    fn doctor(&self, capabilities: &str) -> Value {
        let output = self.wirelap(capabilities, &["doctor", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
    }
}

pub fn told(output: &Output) -> String {
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

/// Waits until wirelap traces, and no thread of it has a capability, and returns its threads' names.
pub fn until_tracing_without_rights(child: &mut Child) -> Vec<String> {
    let folder = format!("/proc/{}/task", child.id());
    poll("a trace without rights", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        let threads = fs::read_dir(&folder).ok()?.flatten();
        let threads: Vec<String> = threads
            .filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok())
            .collect();
        let field = |status: &str, name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim().to_owned()
        };
        let is_free = |status: &String| {
            ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"]
                .iter()
                .all(|set| u64::from_str_radix(&field(status, set), 16) == Ok(0))
                && field(status, "NoNewPrivs:") == "1"
        };
        let names: Vec<String> = threads.iter().map(|status| field(status, "Name:")).collect();
        (names.iter().any(|name| name == "capture") && threads.iter().all(is_free)).then_some(names)
    })
}

pub fn end(mut child: Child) -> Output {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    poll("the end of wirelap", || child.try_wait().unwrap());
    child.wait_with_output().unwrap()
}

fn missing<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["missing"].as_array().unwrap().iter().find(|one| one["name"] == name)
}

fn hook<'a>(report: &'a Value, observation: &str) -> &'a Value {
    let all = report["observations"].as_array().unwrap();
    &all.iter().find(|one| one["observation"] == observation).unwrap()["hook"]
}

#[test]
fn with_three_capabilities_every_hook_is_attached_that_root_attaches() {
    let place = Place::new();
    let (nobody, root) = (place.doctor(THREE), {
        let output = Command::new(place.program()).args(["doctor", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    assert_eq!(nobody["can_attach"], true);
    assert_eq!(nobody["observations"], root["observations"]);
    // What only root can do is said, and that it is a right.
    let tls = missing(&nobody, "CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH").unwrap();
    assert_eq!(tls["kind"], "right");
    assert!(missing(&root, "CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH").is_none());
}

#[test]
fn without_net_admin_what_is_lost_is_named_with_the_right_that_is_missing() {
    let place = Place::new();
    let report = place.doctor("+bpf,+perfmon");
    assert_eq!(report["can_attach"], true);
    let lacking = missing(&report, "CAP_NET_ADMIN").unwrap();
    assert_eq!(lacking["kind"], "right");
    assert_eq!(lacking["lost"].as_array().unwrap().len(), 2, "{lacking}");
    for observation in ["sockets", "close (UDP)"] {
        assert!(hook(&report, observation).is_null(), "{observation}");
    }
    for observation in ["packets out", "packets in", "read", "scheduling", "existing sockets"] {
        assert!(hook(&report, observation).is_string(), "{observation}");
    }
    let output = place.wirelap("+bpf,+perfmon", &["live", "--plain", "--duration", "1s"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let said = told(&output);
    assert!(
        said.contains("not observed: sockets, because this process lacks CAP_NET_ADMIN"),
        "{said}"
    );
    let output = place.wirelap(THREE, &["live", "--plain", "--tls", "--duration", "1s"]).output();
    let said = told(&output.unwrap());
    assert!(
        said.contains("not observed: text of TLS, because this process lacks CAP_SYS_ADMIN"),
        "{said}"
    );
}

#[test]
fn without_rights_the_kernel_is_not_blamed() {
    let place = Place::new();
    for capabilities in ["", "+bpf", "+net_admin,+perfmon"] {
        let report = place.doctor(capabilities);
        assert_eq!(report["can_attach"], false, "{capabilities}");
        let first = &report["missing"][0];
        let named = first["name"].as_str().unwrap();
        assert!(first["kind"] == "right" && named.starts_with("CAP_"), "{first}");
        assert_eq!(named.contains("CAP_BPF"), !capabilities.contains("+bpf"), "{first}");
        assert!(report["missing"].as_array().unwrap().iter().all(|one| one["kind"] != "kernel"
            || one["name"] == "tracing of functions"
            || one["name"] == "a newer kernel"));
        let output = place.wirelap(capabilities, &["live", "--plain"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", told(&output));
        assert!(told(&output).contains("sudo wirelap"), "{}", told(&output));
    }
}

/// Root in a user namespace has all capabilities, and may do nothing on the machine.
#[test]
fn in_a_user_namespace_neither_rights_nor_kernel_are_blamed() {
    let place = Place::new();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user"])
        .arg(place.program())
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["can_attach"], false);
    let first = &report["missing"][0];
    assert_eq!(first["name"], "the machine's user namespace", "{first}");
    assert!(first["command"].as_str().unwrap().contains("--userns=host"), "{first}");
}

#[test]
fn a_recording_with_payload_is_its_users_alone_and_is_made_without_rights() {
    let place = Place::new();
    let words = ["record", "--output", "a.pcapng", "--payload"];
    let mut child = place.wirelap(THREE, &words).spawn().unwrap();
    until_tracing_without_rights(&mut child);
    let output = end(child);
    assert!(output.status.success(), "{}", told(&output));
    assert_is(NOBODY, &place.own().join("a.pcapng"));
}

#[test]
fn a_program_with_capabilities_of_its_file_is_enough() {
    let place = Place::new();
    let three = "cap_bpf,cap_perfmon,cap_net_admin=ep";
    let mut set = Command::new("setcap");
    set.env("PATH", "/usr/sbin:/sbin:/usr/bin").arg(three).arg(place.program());
    let set = set.output().unwrap();
    assert!(set.status.success(), "{}", told(&set));
    // The bounding set stays as it was: it bounds what a file can give.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.arg(place.program()).args(["record", "--output", "b.pcapng", "--payload"]);
    command.current_dir(place.own()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    until_tracing_without_rights(&mut child);
    let output = end(child);
    assert!(output.status.success(), "{}", told(&output));
    assert_is(NOBODY, &place.own().join("b.pcapng"));
}

/// Whatever is written while tracing as root: recordings, files of a ring, JSON.
#[test]
fn what_root_writes_belongs_to_whoever_called_sudo() {
    const CALLER: u32 = 4321;
    let place = Place::new();
    // Of a port that nobody uses: other tests' traffic would fill a file of the ring.
    for words in [
        "record --output one.pcapng --payload --ports 9 --duration 500ms",
        "record --output ring.pcapng --payload --ports 9 --rotate-size 1M --duration 500ms",
        "live --plain --json out.json --pcapng live.pcapng --pcapng-payload --ports 9 --duration 500ms",
    ] {
        let output = Command::new("sh")
            .args(["-c", &format!("umask 0; exec \"$0\" {words}")])
            .arg(place.program())
            .env("SUDO_UID", CALLER.to_string())
            .env("SUDO_GID", CALLER.to_string())
            .current_dir(place.own())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words}: {}", told(&output));
    }
    let files: Vec<_> =
        fs::read_dir(place.own()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 4, "{files:?}");
    for file in files {
        assert_is(CALLER, &file);
    }
}

fn assert_is(user: u32, path: &Path) {
    let about = fs::symlink_metadata(path).unwrap();
    let is = (about.uid(), about.gid(), about.mode() & 0o7777);
    assert_eq!(is, (user, user, 0o600), "{}", path.display());
}
