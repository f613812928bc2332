//! Arranges a situation and watches it: the script, wirelap, and programs that keep the cores busy.

use crate::cell::Cell;
use crate::situation::{self, Situation};
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

/// What the programs themselves counted.
#[derive(Clone, Debug, Deserialize)]
pub struct TruthRecord {
    /// Messages published.
    pub sent: u64,
    /// Messages that subscribers took; each subscriber's counts.
    pub delivered: u64,
    /// Median from publishing to the callback, by the programs' clock.
    pub p50_ns: Option<u64>,
    /// Its 99th percentile.
    pub p99_ns: Option<u64>,
}

/// What became of a cell.
pub struct Observed {
    pub truth: TruthRecord,
    /// wirelap's JSON.
    pub report: Value,
    /// The last block of lines.
    pub screen: String,
    /// The block of lines while each state held.
    pub looks: BTreeMap<String, String>,
    /// The share of the time in which a thread of this machine waited for a CPU, by the kernel's own account; none where it keeps none.
    pub cpu_pressure: Option<f64>,
    /// The share of the time in which the CPUs were busy.
    pub cpu_busy: Option<f64>,
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
    let account = CpuAccount::start();
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
    let (cpu_pressure, cpu_busy) = (account.pressure(), account.busy());
    let (report, screen) = watcher.end()?;
    script.tell("end")?;
    script.end()?;
    Ok(Observed { truth, report, screen, looks, cpu_pressure, cpu_busy })
}

/// What the kernel had counted when a cell began.
struct CpuAccount {
    at: Instant,
    stalled: Option<Duration>,
    ticks: Option<[u64; 2]>,
}

impl CpuAccount {
    fn start() -> CpuAccount {
        CpuAccount {
            at: Instant::now(),
            stalled: CpuAccount::stalled(),
            ticks: CpuAccount::ticks(),
        }
    }

    /// The time in which at least one thread has waited for a CPU (pressure stall information: Documentation/accounting/psi.rst).
    fn stalled() -> Option<Duration> {
        let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
        let some = text.lines().find(|line| line.starts_with("some "))?;
        let total = some.rsplit_once("total=")?.1.trim().parse().ok()?;
        Some(Duration::from_micros(total))
    }

    /// Of all CPUs together: the ticks in which they had nothing to do, and all ticks (`/proc/stat`: user, nice, system, idle, iowait, irq,
    /// softirq, steal).
    fn ticks() -> Option<[u64; 2]> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let fields = text.lines().next()?.split_whitespace().skip(1).take(8);
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        Some([ticks.get(3)? + ticks.get(4)?, ticks.iter().sum()])
    }

    /// The share of the time since then in which a thread waited for a CPU.
    fn pressure(&self) -> Option<f64> {
        let stalled = CpuAccount::stalled()?.checked_sub(self.stalled?)?;
        Some(stalled.as_secs_f64() / self.at.elapsed().as_secs_f64())
    }

    /// The share of the time since then in which the CPUs were busy.
    fn busy(&self) -> Option<f64> {
        let ([idle, all], [idle_before, all_before]) = (CpuAccount::ticks()?, self.ticks?);
        let [idle, all] = [idle.checked_sub(idle_before)?, all.checked_sub(all_before)?];
        (all > 0).then(|| 1.0 - idle as f64 / all as f64)
    }
}

/// Whether a program, or what its name stands for, is installed.
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

    /// Whether the line ends a block.
    fn take(&mut self, line: String) -> bool {
        if line.is_empty() {
            self.whole = std::mem::take(&mut self.block).join("\n");
            return true;
        }
        self.block.push(line);
        false
    }

    /// What the screen shows now: blocks that have waited to be read are of the past.
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

/// What `make` keeps between builds.
fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("wirelap")
}

/// Where `wirelap-workload fetch kafka` puts the jars.
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
