//! Ways to reach a host.

use std::ffi::OsString;
use std::sync::Arc;
use wirelap_process::steward::{DeclaredCommand, FurtherArguments, quoted};

/// Way to reach a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostTarget {
    /// This host itself.
    Here,
    /// Another host, by ssh: what ssh takes for a destination.
    Ssh(String),
    /// Through a command, which gets `wirelap agent …` as further arguments: `docker exec -i NAME`.
    Via {
        /// The host's name.
        name: String,
        /// The command and its arguments.
        command: Vec<String>,
    },
    /// All hosts of a fleet, through the command that collects what their agents send. It is the last of all targets.
    Fleet {
        /// The fleet's name.
        name: String,
        /// The command and its arguments.
        command: Vec<OsString>,
    },
}

/// Command in a shell of the other host: root needs no sudo, and may not have it.
const AS_ROOT: &str = "if [ \"$(id -u)\" = 0 ]; then exec \"$@\"; else exec sudo -n -- \"$@\"; fi";

/// Command in a shell of the other host that gets the program first, unless this version of it is there: it asks for so many bytes,
/// and removes them. A part of them is not run. Its first arguments are the version and the number of bytes.
const PUSHED: &str = r#"v=$1; n=$2; shift 2
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -- "$@"; fi; }
if [ "$(wirelap --version 2>/dev/null)" = "wirelap $v" ]; then as_root wirelap "$@"; exit; fi
f=$(mktemp -t wirelap.XXXXXX) || exit
trap 'rm -f "$f"' EXIT HUP INT PIPE TERM
echo "wirelap push $(uname -m)" || exit
head -c "$n" > "$f" && [ "$(wc -c < "$f")" -eq "$n" ] && chmod 700 "$f" && as_root "$f" "$@" --remove-program"#;

/// Command in a shell of the other host that has the workloads' program there while its stdin is open. It says what the program is called, and asks for
/// it first unless this version is there. Its arguments are the version and the number of bytes.
const HELD: &str = r#"v=$1; n=$2; f=wirelap-workload
if [ "$($f --version 2>/dev/null)" != "$f $v" ]; then
d=$(mktemp -d -t wirelap.XXXXXX) || exit
trap 'rm -rf "$d"' EXIT HUP INT PIPE TERM
f=$d/$f
echo "wirelap push $(uname -m)" || exit
head -c "$n" > "$f" && [ "$(wc -c < "$f")" -eq "$n" ] && chmod 700 "$f" || exit
fi
echo "wirelap workload $f"
cat > /dev/null"#;

/// Options of ssh: no terminal and no questions; a host that has gone is noticed after half a minute.
const SSH: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

impl HostTarget {
    /// The command of `--via`, as a shell would split it at blanks; quotes keep blanks. A first word that ends in a colon names the
    /// host; otherwise, the last word does.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn via(text: &str) -> Result<HostTarget, String> {
        let mut words = split(text).ok_or_else(|| format!("a quote in `{text}` is not closed"))?;
        let named = words.first().and_then(|word| word.strip_suffix(':')).map(str::to_owned);
        if named.is_some() {
            words.remove(0);
        }
        let Some(last) = words.last() else {
            return Err("a command is needed, for instance `docker exec -i NAME`".into());
        };
        Ok(HostTarget::Via { name: named.unwrap_or_else(|| last.clone()), command: words })
    }

    /// The destination of `--host`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn ssh(text: &str) -> Result<HostTarget, String> {
        if text.is_empty() || text.starts_with('-') {
            return Err(format!("`{text}` is not a host that ssh could reach"));
        }
        Ok(HostTarget::Ssh(text.to_owned()))
    }

    /// The host's name until it has told its own: the destination without its user, or the last word of the command.
    pub fn name(&self) -> String {
        match self {
            HostTarget::Here => "here".into(),
            HostTarget::Ssh(to) => to.rsplit_once('@').map_or(to.as_str(), |(_, host)| host).into(),
            HostTarget::Via { name, .. } => name.clone(),
            HostTarget::Fleet { name, .. } => format!("fleet {name}"),
        }
    }

    /// The command that runs an agent there, with these options. By ssh, it takes a program with it if there is one to be pushed.
    pub fn command(&self, options: &[OsString], pushed: Option<&PushedProgram>) -> DeclaredCommand {
        let agent = |program: &str| -> Vec<OsString> {
            let words = [program.into(), "agent".into()].into_iter();
            words.chain(options.iter().cloned()).collect()
        };
        match self {
            // Its agents have options of their own.
            HostTarget::Fleet { command, .. } => declared(command.clone(), true),
            HostTarget::Here => declared(agent("/proc/self/exe"), false),
            HostTarget::Via { command, .. } => {
                let words = command.iter().map(OsString::from);
                declared(words.chain(agent("wirelap")).collect(), false)
            }
            HostTarget::Ssh(to) => {
                // The other host's shell reads one line.
                let script = quoted(pushed.map_or(AS_ROOT, |_| PUSHED));
                let mut line = OsString::from(format!("exec sh -c {script} sh"));
                if let Some(PushedProgram { version, bytes }) = pushed {
                    line.push(format!(" {} {}", quoted(version), bytes.len()));
                }
                let agent = agent("wirelap").into_iter().skip(usize::from(pushed.is_some()));
                for word in agent {
                    line.push(" ");
                    line.push(quoted(&word.to_string_lossy()));
                }
                declared(ssh(to, line), true)
            }
        }
    }

    /// The command that runs the workloads' program there, which gets its arguments each time; `None` for this host, whose steward runs it,
    /// and for a fleet, which only observes.
    pub fn workload_command(&self, program: &str) -> Option<DeclaredCommand> {
        match self {
            HostTarget::Here | HostTarget::Fleet { .. } => None,
            HostTarget::Via { command, .. } => {
                let words = command.iter().map(OsString::from).chain([program.into()]).collect();
                let further = FurtherArguments::Appended;
                Some(DeclaredCommand { words, as_user: false, further })
            }
            HostTarget::Ssh(to) => {
                let words = ssh(to, format!("exec {}", quoted(program)).into());
                let further = FurtherArguments::InShellLine;
                Some(DeclaredCommand { words, as_user: true, further })
            }
        }
    }

    /// The command that takes the workloads' program there unless this version of it is there, says what to call it, and keeps it until
    /// its stdin ends; `None` if the host is not reached by ssh.
    pub fn holder_command(&self, pushed: &PushedProgram) -> Option<DeclaredCommand> {
        let HostTarget::Ssh(to) = self else { return None };
        let PushedProgram { version, bytes } = pushed;
        let (script, version) = (quoted(HELD), quoted(version));
        let line = format!("exec sh -c {script} sh {version} {}", bytes.len());
        Some(declared(ssh(to, line.into()), true))
    }
}

fn declared(words: Vec<OsString>, as_user: bool) -> DeclaredCommand {
    DeclaredCommand { words, as_user, further: FurtherArguments::None }
}

/// The ssh that has a host's shell read a line.
fn ssh(to: &str, line: OsString) -> Vec<OsString> {
    let words = std::iter::once("ssh").chain(SSH).chain(["--", to]).map(OsString::from);
    words.chain([line]).collect()
}

/// The program of this wirelap, which hosts get that do not have it.
#[derive(Clone, PartialEq, Eq)]
pub struct PushedProgram {
    /// Its version, as `wirelap --version` says it.
    pub version: String,
    /// Its file.
    pub bytes: Arc<[u8]>,
}

/// The words of a command line; `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(target: &HostTarget, options: &[&str]) -> Vec<String> {
        let options: Vec<OsString> = options.iter().map(OsString::from).collect();
        let command = target.command(&options, None);
        command.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_command_line_is_split_at_blanks_outside_of_quotes() {
        let command = ["docker", "exec", "-i", "my broker", ""].map(String::from).to_vec();
        let via = HostTarget::via("hub: docker exec  -i 'my broker' \"\"").unwrap();
        assert_eq!(via, HostTarget::Via { name: "hub".into(), command });
        assert!(HostTarget::via("docker 'exec").unwrap_err().contains("not closed"));
        assert!(HostTarget::via(" ").is_err());
        assert!(HostTarget::ssh("-oProxyCommand=x").is_err() && HostTarget::ssh("").is_err());
    }

    #[test]
    fn the_agents_options_pass_the_other_shell_as_they_are() {
        let ssh = HostTarget::ssh("pi@broker").unwrap();
        assert_eq!(ssh.name(), "broker");
        let words = line(&ssh, &["--cgroup", "it's; here"]);
        assert_eq!((words[0].as_str(), words[words.len() - 2].as_str()), ("ssh", "pi@broker"));
        let last = words.last().unwrap();
        assert!(last.ends_with(r"'wirelap' 'agent' '--cgroup' 'it'\''s; here'"), "{last}");
        let via = HostTarget::via("nsenter -n -t 7").unwrap();
        assert_eq!(
            (via.name(), line(&via, &[]).join(" ")),
            ("7".into(), "nsenter -n -t 7 wirelap agent".into())
        );
    }

    #[test]
    fn workloads_get_their_arguments_each_time() {
        let words = |target: &HostTarget| {
            let command = target.workload_command("/tmp/a b/wirelap-workload").unwrap();
            let words = command.with(&["sub".into(), "a b".into()]).unwrap();
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let via = words(&HostTarget::via("hub: docker exec -i broker").unwrap());
        assert_eq!(via[3..], ["broker", "/tmp/a b/wirelap-workload", "sub", "a b"]);
        let ssh = words(&HostTarget::ssh("pi@broker").unwrap());
        assert_eq!(
            ssh[ssh.len() - 2..],
            ["pi@broker", "exec '/tmp/a b/wirelap-workload' 'sub' 'a b'"]
        );
        assert_eq!(HostTarget::Here.workload_command("wirelap-workload"), None);
    }

    #[test]
    fn a_workloads_program_is_there_while_it_is_held() {
        use std::io::{BufRead, BufReader, Write};
        let program = PushedProgram {
            version: "1.2".into(),
            bytes: b"#!/bin/sh\necho ran\n".as_slice().into(),
        };
        let command = HostTarget::ssh("robot").unwrap().holder_command(&program).unwrap();
        let pipe = std::process::Stdio::piped;
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(command.words.last().unwrap()).env("PATH", "/usr/bin:/bin");
        let mut shell = shell.stdin(pipe()).stdout(pipe()).spawn().unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        let mut said = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(said.next().unwrap(), format!("wirelap push {}", std::env::consts::ARCH));
        stdin.write_all(&program.bytes).unwrap();
        let held = said.next().unwrap().strip_prefix("wirelap workload ").unwrap().to_owned();
        assert_eq!(std::process::Command::new(&held).output().unwrap().stdout, b"ran\n");
        drop(stdin);
        assert!(shell.wait().unwrap().success());
        assert!(!std::path::Path::new(&held).parent().unwrap().exists(), "{held}");
    }

    #[test]
    fn where_this_host_is_gone_nothing_is_run_or_left() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let bytes = b"#!/bin/sh\ntouch \"$TMPDIR/ran\"\n# to be continued".as_slice();
        let program = PushedProgram { version: "1.2".into(), bytes: bytes.into() };
        let target = HostTarget::ssh("robot").unwrap();
        let commands =
            [target.command(&[], Some(&program)), target.holder_command(&program).unwrap()];
        // Nobody reads what is said, or the end of the program does not come.
        for (command, is_heard) in commands.iter().flat_map(|one| [(one, false), (one, true)]) {
            let mut shell = std::process::Command::new("sh");
            shell.arg("-c").arg(command.words.last().unwrap());
            shell.env("PATH", "/usr/bin:/bin").env("TMPDIR", folder.path());
            let pipe = std::process::Stdio::piped;
            let mut shell = shell.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
            if !is_heard {
                drop(shell.stdout.take());
            }
            // The shell may be gone by now.
            let _ = shell.stdin.take().unwrap().write_all(&bytes[..bytes.len() - 4]);
            let ended = shell.wait_with_output().unwrap();
            assert!(!ended.status.success(), "{ended:?}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{is_heard}");
        }
    }

    #[test]
    fn a_program_is_asked_for_where_it_is_missing_and_removed_again() {
        let bytes = b"#!/bin/sh\necho \"$0 $*\"; cat\n".as_slice();
        let program = PushedProgram { version: "1.2".into(), bytes: bytes.into() };
        let command = HostTarget::ssh("robot").unwrap().command(&["--snap".into()], Some(&program));
        // The other host's shell, without ssh; nobody is root by `id`, and sudo does what it is asked to.
        let tools = tempfile::tempdir().unwrap();
        let tool = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = tools.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        tool("id", "echo 1000");
        tool("sudo", "shift 2; exec \"$@\"");
        let path = format!("{}:/usr/bin:/bin", tools.path().display());
        let run = |path: &str| {
            use std::io::Write;
            let mut shell = std::process::Command::new("sh");
            let pipe = std::process::Stdio::piped;
            shell.arg("-c").arg(command.words.last().unwrap()).env("PATH", path);
            let mut shell = shell.stdin(pipe()).stdout(pipe()).spawn().unwrap();
            let mut stdin = shell.stdin.take().unwrap();
            stdin.write_all(bytes).unwrap();
            stdin.write_all(b"ping 1\n").unwrap();
            drop(stdin);
            String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap()
        };
        let said = run(&path);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], format!("wirelap push {}", std::env::consts::ARCH));
        let (file, rest) = lines[1].split_once(' ').unwrap();
        assert_eq!((rest, lines[2]), ("agent --snap --remove-program", "ping 1"));
        assert!(!std::path::Path::new(file).exists(), "{file}");
        tool("wirelap", "if [ \"$1\" = --version ]; then echo wirelap 1.2; else echo \"$*\"; fi");
        assert_eq!(run(&path), "agent --snap\n");
    }
}
