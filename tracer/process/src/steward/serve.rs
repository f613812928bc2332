//! What the steward does.

use super::duty::{Duty, WORD};
use super::installation::Installation;
use super::wire::{Answer, Request, receive, send};
use crate::files::Names;
use crate::output;
use crate::remedy;
use crate::rights;
use crate::signals::Signals;
use rustix::net::SocketType;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};

/// Serves until wirelap is gone, if this process is a steward. Otherwise `None`.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != WORD {
        return None;
    }
    let told = args.next();
    let duty = Duty::ALL.into_iter().find(|duty| told.as_ref().is_some_and(|t| t == duty.word()));
    let socket = io::stdin();
    let is_ours = rustix::net::sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET);
    let (Some(duty), true) = (duty, is_ours) else {
        output::say(&format!("wirelap: {WORD} is for internal use (see `wirelap --help`)\n"));
        return Some(ExitCode::from(2));
    };
    let _ = rustix::thread::set_name(c"wirelap-steward");
    rights::confine(match duty {
        Duty::Outputs => rights::OUTPUTS,
        Duty::Workloads => rights::OUTPUTS | rights::WORKLOADS,
    });
    // Who stops a whole group of processes stops wirelap, and that ends us when it has no more to ask.
    let _signals = Signals::catch();
    let mut steward = Serving::default();
    loop {
        let served = match receive(socket.as_fd()) {
            Ok(Some((request, files))) => steward.serve(request, files),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        let (answer, files) = served.unwrap_or_else(|error| (Answer::refused(&error), Vec::new()));
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        if send(socket.as_fd(), &answer, &files).is_err() {
            break;
        }
    }
    Some(ExitCode::SUCCESS)
}

/// What it has in its care. Dropping it ends all of that.
#[derive(Default)]
struct Serving {
    children: HashMap<u32, Child>,
    /// After the children, which use its folder.
    installation: Option<Installation>,
    names: Names,
    is_sealed: bool,
}

impl Serving {
    fn serve(
        &mut self,
        request: Request,
        mut files: Vec<OwnedFd>,
    ) -> io::Result<(Answer, Vec<OwnedFd>)> {
        let done = |result: io::Result<()>| result.map(|()| (Answer::Done, Vec::new()));
        let file = |result: io::Result<OwnedFd>| result.map(|file| (Answer::Done, vec![file]));
        match request {
            Request::Prepare { .. } | Request::Allow { .. } if self.is_sealed => Err(sealed()),
            Request::Prepare { variables } => {
                let installation = self.installation.insert(Installation::open(variables)?);
                let program = installation.shown.display().to_string();
                Ok((Answer::Prepared { program }, Vec::new()))
            }
            Request::Start { args, truth } => self.start(args, truth),
            Request::End { pid } => {
                self.signal(pid, Signal::TERM);
                done(Ok(()))
            }
            Request::Reap { pid } => {
                let status = self.reap(pid).ok_or(io::ErrorKind::NotFound)?;
                Ok((Answer::Ended { status }, Vec::new()))
            }
            Request::Allow { path, name, force, numbered } => {
                let folder = files.pop().ok_or(io::ErrorKind::InvalidInput)?;
                done(self.names.allow(Path::new(&path), folder, name, force, numbered))
            }
            Request::Seal => {
                self.is_sealed = true;
                done(Ok(()))
            }
            Request::Create { path } => file(self.names.create(Path::new(&path))),
            Request::Begin { path } => file(self.names.begin(Path::new(&path))),
            Request::Keep { path } => done(self.names.keep(Path::new(&path))),
            Request::Remove { path } => done(self.names.remove(Path::new(&path))),
        }
    }

    /// Starts the workloads' program as the workloads' user.
    fn start(
        &mut self,
        mut args: Vec<OsString>,
        truth: bool,
    ) -> io::Result<(Answer, Vec<OwnedFd>)> {
        let installation = self.installation.as_ref().ok_or_else(sealed)?;
        let records = truth.then(|| installation.records()).transpose()?;
        if let Some((_, path)) = &records {
            args.extend(["--truth".into(), path.clone()]);
        }
        let mut child = installation
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(&installation.shown, &error))?;
        let mut files: Vec<OwnedFd> = Vec::new();
        files.extend(child.stdin.take().map(Into::into));
        files.extend(child.stdout.take().map(Into::into));
        files.extend(child.stderr.take().map(Into::into));
        let pid = child.id();
        let id = id(pid).ok_or(io::ErrorKind::NotFound)?;
        self.children.insert(pid, child);
        files.push(pidfd_open(id, PidfdFlags::empty())?);
        files.extend(records.map(|(file, _)| file));
        Ok((Answer::Started { pid }, files))
    }

    /// Only before it is waited for: afterwards its id can be another process's.
    fn signal(&self, pid: u32, signal: Signal) {
        if let (true, Some(id)) = (self.children.contains_key(&pid), id(pid)) {
            let _ = kill_process_group(id, signal);
        }
    }

    fn reap(&mut self, pid: u32) -> Option<i32> {
        // Its own children are in its group and may outlive it.
        self.signal(pid, Signal::KILL);
        let status = self.children.remove(&pid)?.wait();
        Some(status.ok()?.into_raw())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let all: Vec<u32> = self.children.keys().copied().collect();
        for &pid in &all {
            self.signal(pid, Signal::KILL);
        }
        for pid in all {
            self.reap(pid);
        }
    }
}

fn id(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Why the workloads' program could not be started. What to do about it is known here, where its file can be looked at.
fn not_started(program: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{error}: {}", remedy::of_start(program, error)))
}

fn sealed() -> io::Error {
    io::Error::other("that was not prepared: this is a defect of wirelap")
}
