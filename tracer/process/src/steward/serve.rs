//! The steward's own process: it serves the requests of wirelap.

use super::OTLP_HEADERS;
use super::installation::Installation;
use super::role::{STEWARD_ARGUMENT, StewardRole};
use super::wire::{DeclaredCommand, StewardReply, StewardRequest, receive, send};
use crate::files::OutputNames;
use crate::output;
use crate::remedy;
use crate::rights;
use crate::signals::{self, Signals};
use crate::user;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketType;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Serves requests until wirelap has ended, and returns the exit status; `None` if this process is not a steward.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != STEWARD_ARGUMENT {
        return None;
    }
    let named = args.next();
    let role =
        StewardRole::ALL.into_iter().find(|role| named.as_ref().is_some_and(|t| t == role.word()));
    let socket = io::stdin();
    let is_ours = rustix::net::sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET);
    let (Some(role), true) = (role, is_ours) else {
        output::say(&format!(
            "wirelap: {STEWARD_ARGUMENT} is for internal use (see `wirelap --help`)\n"
        ));
        return Some(ExitCode::from(2));
    };
    let _ = rustix::thread::set_name(c"wirelap-steward");
    match role {
        StewardRole::Outputs => rights::confine(rights::OUTPUTS),
        StewardRole::Workloads => rights::confine(rights::OUTPUTS | rights::WORKLOADS),
        StewardRole::Hosts => {}
    }
    // A signal to all processes stops wirelap, too. The steward must not end before wirelap has sent its last request.
    let _signals = Signals::catch();
    // Whoever sends SIGUSR1 to all processes named wirelap means the first one.
    let _requests = signals::on_request();
    let mut steward = Serving::default();
    loop {
        let served = match receive(socket.as_fd()) {
            Ok(Some((request, files))) => steward.serve(request, files),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        let (answer, files) =
            served.unwrap_or_else(|error| (StewardReply::refused(&error), Vec::new()));
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        if send(socket.as_fd(), &answer, &files).is_err() {
            break;
        }
    }
    Some(ExitCode::SUCCESS)
}

/// The shell of POSIX.1-2024.
const SHELL: &str = "/bin/sh";

/// Time for which the end of a killed process is awaited. One that is blocked in the kernel, on a disk that does not answer perhaps, ends when that does.
const LONGEST_END: Duration = Duration::from_secs(2);

/// The workloads and files that the steward manages. Dropping this value ends the workloads and removes unfinished files.
#[derive(Default)]
struct Serving {
    children: HashMap<u32, Child>,
    /// Declared, and so dropped, after the children, which use its folder.
    installation: Option<Installation>,
    commands: Vec<DeclaredCommand>,
    /// The line that a shell runs for events.
    handler: Option<OsString>,
    names: OutputNames,
    is_sealed: bool,
}

impl Serving {
    fn serve(
        &mut self,
        request: StewardRequest,
        mut files: Vec<OwnedFd>,
    ) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let done = |result: io::Result<()>| result.map(|()| (StewardReply::Done, Vec::new()));
        let file =
            |result: io::Result<OwnedFd>| result.map(|file| (StewardReply::Done, vec![file]));
        match request {
            StewardRequest::Prepare { .. }
            | StewardRequest::Declare { .. }
            | StewardRequest::DeclareHandler { .. }
            | StewardRequest::Allow { .. }
                if self.is_sealed =>
            {
                Err(sealed())
            }
            StewardRequest::Prepare { variables } => {
                let installation = self.installation.insert(Installation::open(variables)?);
                let program = installation.shown.display().to_string();
                Ok((StewardReply::Prepared { program }, Vec::new()))
            }
            StewardRequest::Start { args, truth } => self.start(args, truth),
            StewardRequest::Declare { commands } => {
                self.commands = commands;
                done(Ok(()))
            }
            StewardRequest::DeclareHandler { line } => {
                self.handler = Some(line);
                done(Ok(()))
            }
            StewardRequest::Handle => self.handle(),
            StewardRequest::Connect { index, further } => self.connect(index, &further),
            StewardRequest::End { pid } => {
                self.signal(pid, Signal::TERM);
                done(Ok(()))
            }
            StewardRequest::Reap { pid } => {
                let status = self.reap(pid, Instant::now() + LONGEST_END)?;
                Ok((StewardReply::Ended { status }, Vec::new()))
            }
            StewardRequest::Allow { path, name, existing, numbered } => {
                let folder = files.pop().ok_or(io::ErrorKind::InvalidInput)?;
                done(self.names.allow(Path::new(&path), folder, name, existing, numbered))
            }
            StewardRequest::Seal => {
                self.is_sealed = true;
                done(Ok(()))
            }
            StewardRequest::Create { path } => file(self.names.create(Path::new(&path))),
            StewardRequest::Begin { path } => file(self.names.begin(Path::new(&path))),
            StewardRequest::Keep { path } => done(self.names.keep(Path::new(&path))),
            StewardRequest::Remove { path } => done(self.names.remove(Path::new(&path))),
        }
    }

    /// Starts the workloads' program as the workloads' user.
    fn start(
        &mut self,
        mut args: Vec<OsString>,
        truth: bool,
    ) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let installation = self.installation.as_ref().ok_or_else(sealed)?;
        let truth_file = truth.then(|| installation.truth_file()).transpose()?;
        if let Some((_, path)) = &truth_file {
            args.extend(["--truth".into(), path.clone()]);
        }
        let mut command = installation.command();
        command.args(args);
        let child = spawn(command).map_err(|error| not_started(&installation.shown, &error))?;
        let (reply, mut files) = self.take_in(child)?;
        files.extend(truth_file.map(|(file, _)| file));
        Ok((reply, files))
    }

    /// Starts a command that was declared.
    fn connect(
        &mut self,
        index: usize,
        further: &[OsString],
    ) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let declared = self.commands.get(index).ok_or_else(sealed)?;
        let words = declared.with(further).ok_or_else(sealed)?;
        let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args);
        if let Some(user) = user::invoking().filter(|_| declared.as_user) {
            command.uid(user.uid).gid(user.gid).envs(user.home().map(|home| ("HOME", home)));
        }
        let program = Path::new(program);
        let child = spawn(command).map_err(|error| not_started(program, &error))?;
        self.take_in(child)
    }

    /// Runs the line for events, never as root.
    fn handle(&mut self) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let line = self.handler.as_ref().ok_or_else(sealed)?;
        let mut command = Command::new(SHELL);
        command.arg("-c").arg(line);
        if let Some(user) = user::for_workloads() {
            let home = user.home().unwrap_or_else(|| "/".into());
            command.current_dir("/").uid(user.uid).gid(user.gid).env("HOME", home);
        }
        let child = spawn(command).map_err(|error| not_started(Path::new(SHELL), &error))?;
        self.take_in(child)
    }

    /// Keeps a process that was started. Returns the reply, with its standard streams and a pidfd.
    fn take_in(&mut self, mut child: Child) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let mut files: Vec<OwnedFd> = Vec::new();
        files.extend(child.stdin.take().map(Into::into));
        files.extend(child.stdout.take().map(Into::into));
        files.extend(child.stderr.take().map(Into::into));
        let pid = child.id();
        let id = id(pid).ok_or(io::ErrorKind::NotFound)?;
        self.children.insert(pid, child);
        files.push(pidfd_open(id, PidfdFlags::empty())?);
        Ok((StewardReply::Started { pid }, files))
    }

    /// Signals a workload and its children, if it was not reaped: after that, its id may belong to another process.
    fn signal(&self, pid: u32, signal: Signal) {
        if let (true, Some(id)) = (self.children.contains_key(&pid), id(pid)) {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Kills what is left of a workload, and waits for its end until `limit` at most. One that has not ended by then stays a child, and may be
    /// reaped later.
    fn reap(&mut self, pid: u32, limit: Instant) -> io::Result<i32> {
        // The children of a workload are in its process group and may outlive it.
        self.signal(pid, Signal::KILL);
        let child = self.children.get_mut(&pid).ok_or(io::ErrorKind::NotFound)?;
        let status = wait_until(child, limit)?.ok_or_else(|| still_there(pid))?;
        self.children.remove(&pid);
        Ok(status.into_raw())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let all: Vec<u32> = self.children.keys().copied().collect();
        for &pid in &all {
            self.signal(pid, Signal::KILL);
        }
        let limit = Instant::now() + LONGEST_END;
        for pid in all {
            // Whoever does not end is nobody's child once the steward has ended.
            let _ = self.reap(pid, limit);
        }
    }
}

/// The exit status of a process that ends until `limit`; `None` for one that does not.
fn wait_until(child: &mut Child, limit: Instant) -> io::Result<Option<ExitStatus>> {
    let id = id(child.id()).ok_or(io::ErrorKind::NotFound)?;
    let pidfd = pidfd_open(id, PidfdFlags::empty())?;
    loop {
        let left = Timespec::try_from(limit.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return child.try_wait(),
        }
    }
}

fn still_there(pid: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("process {pid} was killed and has not ended: the kernel has blocked it"),
    )
}

/// Starts a command in a process group of its own, with pipes for its standard streams and without what is for wirelap alone.
fn spawn(mut command: Command) -> io::Result<Child> {
    command.env_remove(OTLP_HEADERS);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).spawn()
}

fn id(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Why the workloads' program could not be started, with the remedy. The steward adds the remedy because it has the rights to
/// examine the file.
fn not_started(program: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{error}: {}", remedy::of_start(program, error)))
}

fn sealed() -> io::Error {
    io::Error::other(
        "what is to be started was not named before wirelap gave up its rights: this is a defect of wirelap",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that no signal of the steward's reaches, as it is not in a group of its own: as one that the kernel has blocked, it stays.
    fn lasting() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn who_does_not_end_when_killed_holds_up_nobody() {
        let mut serving = Serving::default();
        let child = lasting();
        let pid = child.id();
        serving.children.insert(pid, child);
        let soon = || Instant::now() + Duration::from_millis(50);
        assert_eq!(serving.reap(pid, soon()).unwrap_err().kind(), io::ErrorKind::TimedOut);
        // It is not forgotten: its number is not given to another process, and its end may come.
        serving.children.get_mut(&pid).unwrap().kill().unwrap();
        let later = Instant::now() + Duration::from_secs(30);
        assert_eq!(serving.reap(pid, later).unwrap(), Signal::KILL.as_raw());
        assert_eq!(serving.reap(pid, soon()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn nobody_who_is_started_gets_the_keys_to_a_collector() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"$OTEL_EXPORTER_OTLP_HEADERS$OTHER\""]);
        command.env(OTLP_HEADERS, "api-key=secret").env("OTHER", "other");
        let output = spawn(command).unwrap().wait_with_output().unwrap();
        assert_eq!(output.stdout, b"other\n");
    }

    #[test]
    fn a_process_that_is_killed_is_reaped_at_once() {
        let mut serving = Serving::default();
        let child = spawn({
            let mut command = Command::new("sleep");
            command.arg("60");
            command
        });
        let child = child.unwrap();
        let pid = child.id();
        serving.children.insert(pid, child);
        let later = Instant::now() + Duration::from_secs(30);
        assert_eq!(serving.reap(pid, later).unwrap(), Signal::KILL.as_raw());
    }
}
