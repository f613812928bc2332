//! Starts `wirelap` in a folder of its own and looks at what it leaves behind. Each test has a process and a network of its own
//! (`.ci/test-runner`), and other tests run meanwhile.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

pub use wirelap_test_support::poll;

/// `$WIRELAP_WORKLOAD`, or the program beside `wirelap`.
pub fn workload() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_wirelap")).with_file_name("wirelap-workload");
    let program = std::env::var_os("WIRELAP_WORKLOAD").map_or(beside, PathBuf::from);
    let path = program.display();
    assert!(program.is_file(), "{path} is missing: cargo build -p wirelap-workload");
    program
}

/// A mosquitto that listens on `port` of 127.0.0.1.
pub fn mosquitto(port: u16) -> Child {
    let child = Command::new("mosquitto")
        .args(["-p", &port.to_string()])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mosquitto is installed");
    let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop);
    poll("mosquitto's start", Duration::from_secs(10), listens);
    child
}

/// A folder for temporary files and one for results.
pub struct Bench {
    temp: TempDir,
    out: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let bench = Bench { temp: TempDir::new().unwrap(), out: TempDir::new().unwrap() };
        for folder in [&bench.temp, &bench.out] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        bench
    }

    /// A command line, words separated by spaces.
    pub fn wirelap(&self, words: &str) -> Call {
        // Where an unprivileged user can reach it too.
        let program = self.out.path().join("wirelap");
        if !program.exists() {
            fs::copy(env!("CARGO_BIN_EXE_wirelap"), &program).unwrap();
        }
        let is_run = words.starts_with("run ") && !words.contains("--measure-cost");
        let mut command = Command::new(program);
        command
            .args(words.split(' '))
            // Runs once more for it, which only the test of that wants.
            .args(is_run.then_some("--measure-cost=false"))
            .env("TMPDIR", self.temp.path())
            .env("WIRELAP_WORKLOAD", workload())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Call { command, json: self.json() }
    }

    /// The same in a network of its own in which everybody may ping. After its output come the kernel's ICMP counters
    /// (`/proc/net/snmp`).
    pub fn wirelap_alone(&self, words: &str) -> Call {
        self.wirelap_in(
            "ip link set lo up && \
             echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range && \
             \"$0\" \"$@\" && grep '^Icmp:' /proc/net/snmp",
            words,
        )
    }

    /// The same in a network of its own that `setup` has changed, and in which nobody else says a word. Its output is
    /// between two lines of `/proc/net/dev`.
    pub fn wirelap_counted(&self, words: &str, setup: &str) -> Call {
        // Cyclone DDS joins a group on whatever device it is told, and the kernel reports that.
        let script = format!(
            "for off in /proc/sys/net/ipv6/conf/all/disable_ipv6; do [ ! -e $off ] || echo 1 > $off; done; \
             ip link set lo up && nft 'add table ip wirelap; \
             add chain ip wirelap out {{ type filter hook output priority 0 ; }}; \
             add rule ip wirelap out ip protocol igmp drop' && {setup} \
             grep lo: /proc/net/dev && \"$0\" \"$@\" && grep lo: /proc/net/dev",
            setup = if setup.is_empty() { String::new() } else { format!("{setup} &&") },
        );
        self.wirelap_in(&script, words)
    }

    /// Run by a script, as its `"$0" "$@"`, in a network of its own.
    fn wirelap_in(&self, script: &str, words: &str) -> Call {
        let Call { command, json } = self.wirelap(words);
        let mut alone = Command::new("unshare");
        alone.args(["--net", "sh", "-c", script]).arg(command.get_program());
        alone.args(command.get_args());
        for (name, value) in command.get_envs() {
            alone.env(name, value.unwrap_or_default());
        }
        let path = std::env::var("PATH").unwrap_or_default();
        alone.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        alone.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Call { command: alone, json }
    }

    /// Run by a script, as its `"$0" "$@"`.
    pub fn wirelap_by(&self, script: &str, words: &str) -> Call {
        let Call { command, json } = self.wirelap(words);
        let mut by = Command::new("sh");
        by.args(["-c", script]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            by.env(name, value.unwrap_or_default());
        }
        let path = std::env::var("PATH").unwrap_or_default();
        by.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        by.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Call { command: by, json }
    }

    /// The same with a small file system on `folder`, whose files are left beside it as `kept.*`.
    pub fn wirelap_in_tmpfs(&self, words: &str, folder: &Path, size: &str) -> Call {
        const SCRIPT: &str = "mount -t tmpfs -o size=\"$SIZE\" none \"$FOLDER\" || exit 9; \
            \"$0\" \"$@\"; status=$?; \
            for file in \"$FOLDER\"/*; do cp \"$file\" \"${FOLDER%/*}/kept.${file##*.}\"; done; exit $status";
        let Call { command, json } = self.wirelap(words);
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "sh", "-c", SCRIPT]).arg(command.get_program());
        inside.args(command.get_args());
        for (name, value) in command.get_envs() {
            inside.env(name, value.unwrap_or_default());
        }
        inside.env("SIZE", size).env("FOLDER", folder);
        inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Call { command: inside, json }
    }

    /// A file among the results.
    pub fn file(&self, name: &str) -> PathBuf {
        self.out.path().join(name)
    }

    fn json(&self) -> PathBuf {
        self.out.path().join("out.json")
    }

    pub fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.json()).expect("a report")).expect("valid JSON")
    }

    /// Until the sender has slept between messages a few hundred times.
    pub fn until_messages_flow(run: &Running, time: Duration) {
        poll("traffic", time, || {
            assert!(run.is_running(), "wirelap ended before there was traffic");
            let sender =
                run.descendants().into_iter().find(|&pid| words_of(pid).contains(&"pub".into()));
            sender.filter(|&pid| sleeps(pid) > 500).map(drop)
        });
    }

    /// Returns the paths in the folder for temporary files.
    pub fn temporary(&self) -> Vec<PathBuf> {
        fs::read_dir(self.temp.path()).unwrap().flatten().map(|entry| entry.path()).collect()
    }

    /// No temporary file is left.
    pub fn assert_clean(&self) {
        let left = self.temporary();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Names the folder below which the screen remembers how it was left. Without it, a screen of a test remembers nothing.
const STATE: &str = "XDG_STATE_HOME";

/// A command line that has not been started.
pub struct Call {
    command: Command,
    json: PathBuf,
}

impl Call {
    /// With the report in a file, in place of an earlier one.
    pub fn json(mut self) -> Call {
        self.command.arg("--force").arg("--json").arg(&self.json);
        self
    }

    /// With further words, which may have spaces in them.
    #[cfg(feature = "parquet")]
    pub fn add(&mut self, words: &[&str]) {
        self.command.args(words);
    }

    /// With a variable of its environment.
    pub fn set(&mut self, name: &str, value: &str) {
        self.command.env(name, value);
    }

    /// With a screen that remembers how it was left, below this folder.
    pub fn remembering(mut self, folder: &Path) -> Call {
        self.command.env(STATE, folder).env_remove("SUDO_UID");
        self
    }

    fn remembers(&self) -> bool {
        self.command.get_envs().any(|(name, _)| name == STATE)
    }

    pub fn by_nobody(mut self) -> Call {
        self.command.uid(65_534).gid(65_534);
        self
    }

    fn spawn(mut self) -> Child {
        // A child that another test forks while the copy is made holds it open for writing until it
        // executes its own program.
        poll("the copy's release", Duration::from_secs(10), || match self.command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => None,
            started => Some(started.unwrap()),
        })
    }

    /// With a terminal as all three standard streams; as its controlling one if asked for.
    pub fn on_terminal(mut self, terminal: &fs::File, is_controlling: bool) -> Child {
        let is_live = self.command.get_args().any(|word| word == "live");
        if is_live && !self.remembers() {
            self.command.arg("--no-state");
        }
        if is_controlling {
            let mut leader = Command::new("setsid");
            leader.arg("--ctty").arg(self.command.get_program()).args(self.command.get_args());
            for (name, value) in self.command.get_envs() {
                leader.env(name, value.unwrap_or_default());
            }
            self.command = leader;
        }
        let stream = || Stdio::from(terminal.try_clone().unwrap());
        self.command.stdin(stream()).stdout(stream()).stderr(stream());
        self.spawn()
    }

    pub fn start(self) -> Running {
        let mut child = self.spawn();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let printed = Arc::new(AtomicBool::new(false));
        let read = |mut from: Box<dyn Read + Send>| {
            let printed = Arc::clone(&printed);
            thread::spawn(move || {
                let mut text = vec![0];
                let first = from.read(&mut text).unwrap();
                printed.fetch_or(first > 0, Ordering::Relaxed);
                text.truncate(first);
                from.read_to_end(&mut text).unwrap();
                String::from_utf8(text).unwrap()
            })
        };
        let readers = [read(Box::new(stdout)), read(Box::new(stderr))];
        Running { child, readers, printed }
    }

    pub fn end(self, time: Duration) -> Ended {
        self.start().end(time)
    }
}

/// A running wirelap.
pub struct Running {
    child: Child,
    readers: [thread::JoinHandle<String>; 2],
    printed: Arc<AtomicBool>,
}

/// Exit status and output of a wirelap that has ended.
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// True if these words are in its stdout, wherever its lines break.
    pub fn says(&self, words: &str) -> bool {
        let lines: Vec<_> = self.stdout.split_whitespace().collect();
        lines.join(" ").contains(words)
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the number of times that its threads have gone to sleep by themselves.
    pub fn switches(&self) -> u64 {
        sleeps(self.pid())
    }

    pub fn is_running(&self) -> bool {
        state(self.child.id()).is_some_and(|state| state != 'Z')
    }

    /// True if it has printed anything yet.
    pub fn has_printed(&self) -> bool {
        assert!(self.is_running(), "wirelap ended early");
        self.printed.load(Ordering::Relaxed)
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Returns the process's children, their children, and so on.
    pub fn descendants(&self) -> Vec<u32> {
        let mut found = vec![self.child.id()];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(processes().into_iter().filter(|&pid| parent_of(pid) == Some(parent)));
            next += 1;
        }
        found.remove(0);
        found
    }

    /// Kills the descendant with this program name or first argument.
    pub fn kill_descendant(&self, name: &str) {
        let found = self.descendants().into_iter().find(|&pid| {
            let words = words_of(pid);
            let program = words.first().is_some_and(|word| word.rsplit('/').next() == Some(name));
            program || words.get(1).is_some_and(|word| word == name)
        });
        kill(found.unwrap_or_else(|| panic!("no descendant {name}")), Signal::KILL);
    }

    pub fn end(mut self, time: Duration) -> Ended {
        let status = poll("the end of wirelap", time, || self.child.try_wait().unwrap());
        let [stdout, stderr] = self.readers.map(|reader| reader.join().unwrap());
        Ended { status: status.code(), stdout, stderr }
    }
}

/// Those of the processes that still run.
pub fn alive(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|&pid| state(pid).is_some_and(|state| state != 'Z')).collect()
}

pub fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// `proc_pid_stat(5)`: state and parent follow the name in parentheses.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

pub fn state(pid: u32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

pub fn words_of(pid: u32) -> Vec<String> {
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    cmdline.split(|&b| b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Ids of the BPF links that a process holds.
pub fn links_of(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let ids = texts.filter_map(|text| {
        text.lines().find(|line| line.starts_with("link_id:")).map(ToOwned::to_owned)
    });
    ids.collect()
}

/// Returns the number of times that a process's threads have gone to sleep by themselves.
pub fn sleeps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let status = threads.filter_map(|t| fs::read_to_string(t.path().join("status")).ok());
    let count = |status: String| -> Option<u64> {
        let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    status.filter_map(count).sum()
}

/// Returns the process's children.
pub fn children(pid: u32) -> Vec<u32> {
    processes().into_iter().filter(|&child| parent_of(child) == Some(pid)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    stat(pid).map(|(_, parent)| parent)
}
