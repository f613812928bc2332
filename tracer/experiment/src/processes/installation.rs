//! The installation of the workloads' program, which the steward has prepared and starts.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::rights;
use wirelap_process::steward::{StartedProcess, Steward};

/// The workloads' program, which the steward starts.
#[derive(Clone, Debug)]
pub struct WorkloadInstallation {
    /// The path of the program, as messages name it.
    pub program: String,
    /// The steward that starts the program.
    pub steward: Arc<Steward>,
    /// Another host that it is on; `None` for this one.
    pub elsewhere: Option<Elsewhere>,
}

/// Another host on which the program is started, through a command of the steward's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Name of the host.
    pub host: String,
    /// Place of the command among those that were declared.
    pub command: usize,
}

/// Output of the program when it has ended.
#[derive(Debug, Default)]
pub struct ProgramAnswer {
    /// Output on stdout.
    pub stdout: Vec<u8>,
    /// The last line on stderr.
    pub said: String,
    /// Exit status; `None` if it was killed, or did not end in time.
    pub status: Option<i32>,
}

/// The exit status of a shell for a program that is not there (POSIX.1-2024, 2.8.2).
const NOT_FOUND: i32 = 127;

/// Exit status of the program for arguments that it does not know.
const USAGE: i32 = 2;

/// The most bytes of an answer.
const MAX_ANSWER: u64 = 4 << 20;

impl ProgramAnswer {
    /// Why an answer is not what was asked for, with what helps.
    pub fn why_not(&self, program: &str) -> String {
        let same = "install the same version of wirelap on both hosts, or use --push";
        let is_missing = self.status == Some(NOT_FOUND) || self.said.contains("No such file");
        match (self.status, self.said.as_str()) {
            _ if is_missing => {
                format!("{program} is not in the PATH of a login without terminal there: {same}")
            }
            (Some(USAGE), _) => format!("{program} is of another version there: {same}"),
            (None, "") => "nothing has answered in time".into(),
            (_, "") => format!("what answers there is not {program}: {same}"),
            (_, said) => said.to_owned(),
        }
    }
}

impl WorkloadInstallation {
    /// Makes the steward find the program and create a folder for it. `programs` are environment variables that tell the
    /// workloads where the programs of other projects are.
    ///
    /// # Errors
    /// The program is not found, or the temporary folder cannot be created.
    pub fn open(
        steward: Arc<Steward>,
        programs: &[(&str, PathBuf)],
    ) -> Result<WorkloadInstallation, Failure> {
        let variables = programs.iter().map(|(name, path)| (name.into(), path.into()));
        let program = steward
            .prepare(variables.collect())
            .map_err(|error| Failure::Machine(remedy::with(&error)))?;
        Ok(WorkloadInstallation { program, steward, elsewhere: None })
    }

    /// Starts the program; with a truth file if `truth` is set, which is one of the process's files on this host, and in lines of its output on
    /// another one.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn start(&self, mut args: Vec<OsString>, truth: bool) -> io::Result<StartedProcess> {
        let Some(elsewhere) = &self.elsewhere else {
            return self.steward.start_workload(args, truth);
        };
        if truth {
            args.extend(["--truth".into(), "-".into()]);
        }
        self.steward.start_command_with(elsewhere.command, args)
    }

    /// Runs the program with these words until it ends by itself, or until a time is over.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn answer(&self, words: &[&str], limit: Duration) -> io::Result<ProgramAnswer> {
        let words = words.iter().map(OsString::from).collect();
        let StartedProcess { pid, files } = self.start(words, false)?;
        let mut files = files.into_iter();
        // The first file is its stdin, which is closed at once.
        drop(files.next());
        let (Some(stdout), Some(stderr), Some(process)) =
            (files.next(), files.next(), files.next())
        else {
            return Err(io::Error::other("the steward sent no pipes"));
        };
        let read = |from: OwnedFd| {
            rights::spawn("answer", move || {
                let mut bytes = Vec::new();
                let _ = File::from(from).take(MAX_ANSWER).read_to_end(&mut bytes);
                bytes
            })
        };
        let (stdout, stderr) = (read(stdout)?, read(stderr)?);
        let limit = Timespec::try_from(limit).ok();
        // A pidfd becomes readable when its process has ended.
        let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], limit.as_ref());
        let status = self.steward.reap_workload(pid);
        let is_over = ended.is_ok_and(|count| count > 0);
        // One that is still there although it was killed keeps its pipes open.
        let all =
            |from: JoinHandle<Vec<u8>>| status.and_then(|_| from.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&all(stderr)).into_owned();
        let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let last = lines.next_back().unwrap_or_default();
        Ok(ProgramAnswer {
            stdout: all(stdout),
            said: last.strip_prefix("wirelap-workload: ").unwrap_or(last).to_owned(),
            status: status.filter(|_| is_over).and_then(|status| status.code()),
        })
    }

    /// Returns the output of the program on stdout when it is called with one argument.
    ///
    /// # Errors
    /// The program cannot be executed, or its output cannot be read.
    pub fn output_of(&self, word: &str) -> io::Result<Vec<u8>> {
        let StartedProcess { pid, files } = self.start(vec![word.into()], false)?;
        let mut output = Vec::new();
        let mut files = files.into_iter().map(File::from);
        // The first file is its stdin, which is closed at once.
        drop(files.next());
        let read = files.next().map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        self.steward.reap_workload(pid);
        read.map(|_| output)
    }
}

/// Why the workloads' program, called `title`, could not be started.
pub fn not_started(title: &str, program: &str, error: &io::Error) -> Failure {
    Failure::Machine(format!("cannot start {title}: {program}: {}", remedy::with(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_program_elsewhere_is_said() {
        let why = |status, said: &str| {
            let answer = ProgramAnswer { stdout: Vec::new(), said: said.into(), status };
            answer.why_not("wirelap-workload")
        };
        assert!(why(Some(127), "sh: 1: wirelap-workload: not found").contains("not in the PATH"));
        let exec = "exec of \"wirelap-workload\" failed: No such file or directory";
        assert!(why(Some(255), exec).contains("not in the PATH"));
        assert!(why(Some(2), "error: invalid value 'host'").contains("of another version"));
        let refused = "ssh: connect to host hub port 22: Connection refused";
        assert_eq!(why(Some(255), refused), refused);
        assert!(why(None, "").contains("in time"));
    }
}
