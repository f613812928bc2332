//! Asks the steward.

use super::duty::{Duty, WORD};
use super::wire::{self, Answer, Request};
use crate::failure::Failure;
use crate::remedy;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The process. When the last one who knows of it is gone, it ends, and whatever it has started.
#[derive(Debug)]
pub struct Steward {
    socket: Mutex<Option<OwnedFd>>,
    process: Mutex<Child>,
}

/// A workload that was started.
#[derive(Debug)]
pub struct Started {
    /// Its id.
    pub pid: u32,
    /// Its stdin, stdout, stderr, a descriptor of the process and perhaps its records.
    pub files: Vec<OwnedFd>,
}

impl Steward {
    /// Starts the process. To be called first, with all rights and without other threads.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(duty: Duty) -> Result<Arc<Steward>, Failure> {
        let failed = |error: io::Error| {
            let error = remedy::with(&error);
            Failure::Machine(format!("cannot start a process for what needs rights: {error}"))
        };
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| failed(error.into()))?;
        let process = Command::new("/proc/self/exe")
            .args([WORD, duty.word()])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            // A Ctrl-C on the terminal reaches wirelap alone.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Arc::new(Steward { socket: Mutex::new(Some(ours)), process: Mutex::new(process) }))
    }

    /// Finds the workloads' program and makes a folder for it. Returns the program for messages.
    ///
    /// # Errors
    /// The program is nowhere, or the folder cannot be made.
    pub fn prepare(&self, variables: Vec<(OsString, OsString)>) -> io::Result<String> {
        match self.ask(&Request::Prepare { variables }, &[])?.0 {
            Answer::Prepared { program } => Ok(program),
            _ => Err(misunderstood()),
        }
    }

    /// Starts the workloads' program.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn start_workload(&self, args: Vec<OsString>, truth: bool) -> io::Result<Started> {
        match self.ask(&Request::Start { args, truth }, &[])? {
            (Answer::Started { pid }, files) => Ok(Started { pid, files }),
            _ => Err(misunderstood()),
        }
    }

    /// Tells a workload to end.
    pub fn end_workload(&self, pid: u32) {
        // One that is gone has ended.
        let _ = self.ask(&Request::End { pid }, &[]);
    }

    /// Kills what is left of a workload.
    pub fn reap_workload(&self, pid: u32) -> Option<ExitStatus> {
        match self.ask(&Request::Reap { pid }, &[]).ok()?.0 {
            Answer::Ended { status } => Some(ExitStatus::from_raw(status)),
            _ => None,
        }
    }

    /// From now on nothing is allowed that was not allowed before.
    ///
    /// # Errors
    /// The process is gone.
    pub fn seal(&self) -> io::Result<()> {
        self.ask(&Request::Seal, &[]).map(drop)
    }

    /// Lets a name be written in a folder.
    ///
    /// # Errors
    /// It is there already.
    pub fn allow(
        &self,
        path: &Path,
        folder: BorrowedFd<'_>,
        name: OsString,
        (force, numbered): (bool, bool),
    ) -> io::Result<()> {
        let path = path.as_os_str().to_owned();
        self.ask(&Request::Allow { path, name, force, numbered }, &[folder]).map(drop)
    }

    /// Creates a file.
    ///
    /// # Errors
    /// It cannot be created, or its name is not allowed.
    pub fn create(&self, path: &Path) -> io::Result<OwnedFd> {
        self.file(&Request::Create { path: path.into() })
    }

    /// Begins a file that has no name yet.
    ///
    /// # Errors
    /// As [`Steward::create`].
    pub fn begin(&self, path: &Path) -> io::Result<OwnedFd> {
        self.file(&Request::Begin { path: path.into() })
    }

    /// Names a file that was begun.
    ///
    /// # Errors
    /// There is one of that name now.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        self.ask(&Request::Keep { path: path.into() }, &[]).map(drop)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It is not there.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(&Request::Remove { path: path.into() }, &[]).map(drop)
    }

    fn file(&self, request: &Request) -> io::Result<OwnedFd> {
        self.ask(request, &[])?.1.pop().ok_or_else(misunderstood)
    }

    fn ask(
        &self,
        request: &Request,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<(Answer, Vec<OwnedFd>)> {
        let gone = || io::Error::new(ErrorKind::NotConnected, "wirelap's second process has ended");
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = socket.as_ref().ok_or_else(gone)?.as_fd();
        wire::send(socket, request, files).map_err(|_| gone())?;
        match wire::receive(socket)?.ok_or_else(gone)? {
            (Answer::Refused { code: Some(code), .. }, _) => {
                Err(io::Error::from_raw_os_error(code))
            }
            (Answer::Refused { text, .. }, _) => Err(io::Error::other(text)),
            answer => Ok(answer),
        }
    }
}

impl Drop for Steward {
    fn drop(&mut self) {
        *self.socket.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.process.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

fn misunderstood() -> io::Error {
    io::Error::other("wirelap's second process answers something else: this is a defect of wirelap")
}
