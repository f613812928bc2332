//! Arranges a situation and watches it: the script, wirelap, and programs that keep the cores busy.

use crate::cell::Cell;
use crate::situation::{self, Situation};
use procfs::{CpuPressure, Current, CurrentSI, KernelStats};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a script is silent.
const LONG: Duration = Duration::from_secs(100);

/// Blocks that the screen shows before it counts as what it shows of a state.
const BLOCKS_OF_A_STATE: usize = 3;

/// Counts and times of the programs themselves.
#[derive(Clone, Debug, Deserialize)]
pub struct TruthRecord {
    /// Messages published.
    pub sent: u64,
    /// Messages that subscribers took; each subscriber's counts.
    pub delivered: u64,
    /// Median from publishing to the callback, by the programs' clock.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the same time.
    pub p99_ns: Option<u64>,
    /// For how long the threads of each process waited for a CPU, by the kernel's account.
    #[serde(default)]
    pub waited_ns: BTreeMap<u64, u64>,
}

/// Everything that was observed of a cell.
pub struct Observed {
    pub truth: TruthRecord,
    /// wirelap's JSON.
    pub report: Value,
    /// The last block of lines.
    pub screen: String,
    /// The block of lines while each state held.
    pub looks: BTreeMap<String, String>,
    /// Load of this machine meanwhile.
    pub cpu: CpuShares,
}

/// Arranges a situation once.
pub fn observe(situation: &Situation, cell: Cell) -> Result<Observed, String> {
    if let Some(missing) = situation.expectation.needs.iter().find(|need| !is_here(need)) {
        return Err(format!("{missing} is missing: .ci/setup test"));
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let _load = cell.loaded.then(Load::start);
    let mut script = Script::start(situation)?;
    script.hear("hello")?;
    let early = if cell.late { None } else { Some(Watcher::start(script.pid(), folder.path())?) };
    script.tell("start")?;
    script.hear("ready")?;
    let mut watcher = match early {
        Some(watcher) => watcher,
        None => Watcher::start(script.pid(), folder.path())?,
    };
    script.tell("go")?;
    let began = CpuAccount::now()?;
    let mut looks = BTreeMap::new();
    let truth = loop {
        let line = script.line()?;
        if let Some(name) = line.strip_prefix("look ") {
            looks.insert(name.to_owned(), watcher.look()?);
            script.tell("seen")?;
        } else if let Some(json) = line.strip_prefix("truth ") {
            break serde_json::from_str(json).map_err(|error| format!("{line}: {error}"))?;
        }
    };
    let cpu = began.until(&CpuAccount::now()?);
    let (report, screen) = watcher.end()?;
    script.tell("end")?;
    script.end()?;
    Ok(Observed { truth, report, screen, looks, cpu })
}

/// Times that the kernel had counted of all CPUs together when a cell began.
struct CpuAccount {
    at: Instant,
    /// The time in which at least one thread had waited for a CPU (pressure stall information: Documentation/accounting/psi.rst); none where
    /// the kernel keeps no such account.
    stalled: Option<Duration>,
    /// The time in which CPUs had nothing to do, and how many they are.
    idle: Duration,
    cpus: usize,
}

/// Shares of the time of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuShares {
    /// The share of the time in which a thread of this machine waited for a CPU; 0 where the kernel keeps no account.
    pub waited: f64,
    /// The share of the time in which the CPUs were busy.
    pub busy: f64,
}

impl CpuAccount {
    fn now() -> Result<CpuAccount, String> {
        let stat = KernelStats::current().map_err(|error| error.to_string())?;
        let stalled = CpuPressure::current().ok();
        Ok(CpuAccount {
            at: Instant::now(),
            stalled: stalled.map(|pressure| Duration::from_micros(pressure.some.total)),
            idle: stat.total.idle_duration() + stat.total.iowait_duration().unwrap_or_default(),
            cpus: stat.cpu_time.len(),
        })
    }

    fn until(&self, end: &CpuAccount) -> CpuShares {
        let passed = (end.at - self.at).as_secs_f64();
        let stalled = self.stalled.zip(end.stalled);
        let stalled = stalled.map_or(Duration::ZERO, |(from, to)| to.saturating_sub(from));
        let idle = end.idle.saturating_sub(self.idle);
        CpuShares {
            waited: stalled.as_secs_f64() / passed,
            busy: 1.0 - idle.as_secs_f64() / passed / self.cpus as f64,
        }
    }
}

/// True if a program, or what its name stands for, is installed.
fn is_here(need: &str) -> bool {
    match need {
        "kafka" => kafka().is_dir(),
        "cpu groups" => {
            fs::read_to_string("/proc/mounts").is_ok_and(|text| text.contains("cgroup"))
        }
        program => {
            let path = std::env::var("PATH").unwrap_or_default();
            let folders = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/bin"]);
            folders.map(|folder| PathBuf::from(folder).join(program)).any(|path| path.is_file())
        }
    }
}

/// A program that is ended with this value.
struct Program(Child);

impl Program {
    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn wait(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            if self.0.try_wait().map_err(|error| error.to_string())?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(format!("a program did not end within {LONG:?}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.signal(Signal::TERM);
            if self.wait().is_err() {
                drop(self.0.kill());
                drop(self.0.wait());
            }
        }
    }
}

/// Two programs that want a core each.
struct Load {
    _programs: Vec<Program>,
}

impl Load {
    fn start() -> Load {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let start = |_| {
            let mut yes = Command::new("yes");
            Program(yes.stdout(Stdio::null()).spawn().expect("`yes` is in coreutils"))
        };
        Load { _programs: (0..cores).map(start).collect() }
    }
}

/// Lines of a program's output as they come.
fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The situation's script.
struct Script {
    program: Program,
    lines: Receiver<String>,
    name: String,
}

impl Script {
    fn start(situation: &Situation) -> Result<Script, String> {
        let folder = situation::folder().join("lab");
        let cache = cache();
        let path = std::env::var("PATH").unwrap_or_default();
        let venv = cache.join("truth/bin");
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--"])
            .arg(&situation.script)
            .env("PATH", format!("{}:{path}:/usr/sbin:/sbin", venv.display()))
            .env("PYTHONPATH", folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TRUTH_KAFKA", kafka())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let lines = lines(child.stdout.take().expect("it is piped"));
        Ok(Script { program: Program(child), lines, name: situation.name.clone() })
    }

    fn pid(&self) -> u32 {
        self.program.0.id()
    }

    fn tell(&mut self, word: &str) -> Result<(), String> {
        let stdin = self.program.0.stdin.as_mut().expect("it is piped");
        writeln!(stdin, "{word}").map_err(|error| format!("{} does not listen: {error}", self.name))
    }

    fn line(&self) -> Result<String, String> {
        let ended = |_| format!("{}: the script ended, or was silent for {LONG:?}", self.name);
        self.lines.recv_timeout(LONG).map_err(ended)
    }

    fn hear(&self, word: &str) -> Result<(), String> {
        while self.line()? != word {}
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.program.wait()
    }
}

/// wirelap, watching the script and all that it starts.
struct Watcher {
    program: Program,
    lines: Receiver<String>,
    json: PathBuf,
    complaints: PathBuf,
    block: Vec<String>,
    whole: String,
}

impl Watcher {
    /// Started, and attached: it has shown something.
    fn start(pid: u32, folder: &std::path::Path) -> Result<Watcher, String> {
        let (json, complaints) = (folder.join("out.json"), folder.join("stderr"));
        let stderr = fs::File::create(&complaints).map_err(|error| error.to_string())?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_wirelap"))
            .args(["live", "--plain", "--pid", &pid.to_string(), "--json"])
            .arg(&json)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|error| format!("wirelap: {error}"))?;
        let lines = lines(child.stdout.take().expect("it is piped"));
        let program = Program(child);
        let mut watcher =
            Watcher { program, lines, json, complaints, block: vec![], whole: String::new() };
        watcher.until_block()?;
        Ok(watcher)
    }

    fn complaints(&self) -> String {
        fs::read_to_string(&self.complaints).unwrap_or_default()
    }

    /// Until a block of lines is whole: it ends with an empty line.
    fn until_block(&mut self) -> Result<(), String> {
        loop {
            let line = self
                .lines
                .recv_timeout(LONG)
                .map_err(|_| format!("wirelap shows nothing: {}", self.complaints()))?;
            if self.take(line) {
                return Ok(());
            }
        }
    }

    /// Takes in a line. Returns true if it ends a block.
    fn take(&mut self, line: String) -> bool {
        if line.is_empty() {
            self.whole = std::mem::take(&mut self.block).join("\n");
            return true;
        }
        self.block.push(line);
        false
    }

    /// Returns the block that the screen shows now: blocks that have waited to be read are of the past.
    fn look(&mut self) -> Result<String, String> {
        while let Ok(line) = self.lines.try_recv() {
            self.take(line);
        }
        for _ in 0..BLOCKS_OF_A_STATE {
            self.until_block()?;
        }
        Ok(self.whole.clone())
    }

    fn end(mut self) -> Result<(Value, String), String> {
        self.program.signal(Signal::INT);
        self.program.wait()?;
        while let Ok(line) = self.lines.recv() {
            self.take(line);
        }
        let bytes = fs::read(&self.json)
            .map_err(|error| format!("no report: {error}: {}", self.complaints()))?;
        let report = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok((report, self.whole))
    }
}

/// Returns the folder that `make` keeps between builds.
fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("wirelap")
}

/// Returns the folder into which `wirelap-workload fetch kafka` puts the jars; an empty path if there is none.
fn kafka() -> PathBuf {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let places = home.into_iter().chain([PathBuf::from("/var/cache")]);
    let folders = places.filter_map(|place| fs::read_dir(place.join("wirelap")).ok());
    let entries = folders.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let is_kafka = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kafka-"))
    };
    entries.into_iter().find(is_kafka).unwrap_or_default()
}
