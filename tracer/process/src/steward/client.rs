//! The side of wirelap that sends requests to the steward.

use super::role::{STEWARD_ARGUMENT, StewardRole};
use super::wire::{self, DeclaredCommand, StewardReply, StewardRequest};
use crate::failure::Failure;
use crate::files::Existing;
use crate::remedy;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The steward process. It ends, together with the workloads that it has started, when the last reference is dropped.
#[derive(Debug)]
pub struct Steward {
    socket: Mutex<Option<OwnedFd>>,
    process: Mutex<Child>,
}

/// A process that the steward has started.
#[derive(Debug)]
pub struct StartedProcess {
    /// The process id.
    pub pid: u32,
    /// Its stdin, stdout, stderr, a pidfd and, if asked for, its truth file.
    pub files: Vec<OwnedFd>,
}

impl Steward {
    /// Starts the steward. Must be called before rights are given up. The steward and what it starts are in the network
    /// namespace of the calling thread.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(role: StewardRole) -> Result<Arc<Steward>, Failure> {
        let failed = |error: io::Error| {
            let error = remedy::with(&error);
            Failure::Machine(format!(
                "cannot start the steward, the process that keeps root's rights: {error}"
            ))
        };
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| failed(error.into()))?;
        let process = Command::new("/proc/self/exe")
            .args([STEWARD_ARGUMENT, role.word()])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            // In a process group of its own, the steward does not get the SIGINT of a Ctrl-C on the terminal.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Arc::new(Steward { socket: Mutex::new(Some(ours)), process: Mutex::new(process) }))
    }

    /// Makes the steward find the workloads' program and create a folder for it. Returns the path of the program.
    ///
    /// # Errors
    /// The program is not found, or the folder cannot be created.
    pub fn prepare(&self, variables: Vec<(OsString, OsString)>) -> io::Result<String> {
        match self.ask(&StewardRequest::Prepare { variables }, &[])?.0 {
            StewardReply::Prepared { program } => Ok(program),
            _ => Err(misunderstood()),
        }
    }

    /// Starts the workloads' program; with a truth file if `truth` is set.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn start_workload(&self, args: Vec<OsString>, truth: bool) -> io::Result<StartedProcess> {
        match self.ask(&StewardRequest::Start { args, truth }, &[])? {
            (StewardReply::Started { pid }, files) => Ok(StartedProcess { pid, files }),
            _ => Err(misunderstood()),
        }
    }

    /// Makes the steward remember commands, which [`Steward::start_command`] starts by their place.
    ///
    /// # Errors
    /// The steward has ended.
    pub fn declare_commands(&self, commands: Vec<DeclaredCommand>) -> io::Result<()> {
        self.ask(&StewardRequest::Declare { commands }, &[]).map(drop)
    }

    /// Starts the command at this place. Its process is ended and reaped as those of workloads are.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn start_command(&self, index: usize) -> io::Result<StartedProcess> {
        self.start_command_with(index, Vec::new())
    }

    /// The same with further arguments, which the command must take.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn start_command_with(
        &self,
        index: usize,
        further: Vec<OsString>,
    ) -> io::Result<StartedProcess> {
        match self.ask(&StewardRequest::Connect { index, further }, &[])? {
            (StewardReply::Started { pid }, files) => Ok(StartedProcess { pid, files }),
            _ => Err(misunderstood()),
        }
    }

    /// Makes the steward remember the line that a shell runs for events.
    ///
    /// # Errors
    /// The steward has ended.
    pub fn declare_handler(&self, line: OsString) -> io::Result<()> {
        self.ask(&StewardRequest::DeclareHandler { line }, &[]).map(drop)
    }

    /// Starts that line: as the user of this process or, if that is root, as the one who called sudo or `nobody`. Its process is ended and
    /// reaped as those of workloads are.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn start_handler(&self) -> io::Result<StartedProcess> {
        match self.ask(&StewardRequest::Handle, &[])? {
            (StewardReply::Started { pid }, files) => Ok(StartedProcess { pid, files }),
            _ => Err(misunderstood()),
        }
    }

    /// Sends SIGTERM to a workload.
    pub fn end_workload(&self, pid: u32) {
        // An error means that the steward has ended, which ends all workloads.
        let _ = self.ask(&StewardRequest::End { pid }, &[]);
    }

    /// Kills what is left of a workload and its children. Returns its exit status if it was not reaped before.
    pub fn reap_workload(&self, pid: u32) -> Option<ExitStatus> {
        match self.ask(&StewardRequest::Reap { pid }, &[]).ok()?.0 {
            StewardReply::Ended { status } => Some(ExitStatus::from_raw(status)),
            _ => None,
        }
    }

    /// Makes the steward refuse to allow further names and to prepare workloads again.
    ///
    /// # Errors
    /// The steward has ended.
    pub fn seal(&self) -> io::Result<()> {
        self.ask(&StewardRequest::Seal, &[]).map(drop)
    }

    /// Allows a name in a folder to be written.
    ///
    /// # Errors
    /// A file has the name and is to be refused, or the folder cannot be written.
    pub fn allow(
        &self,
        path: &Path,
        folder: BorrowedFd<'_>,
        name: OsString,
        (existing, numbered): (Existing, bool),
    ) -> io::Result<()> {
        let path = path.as_os_str().to_owned();
        self.ask(&StewardRequest::Allow { path, name, existing, numbered }, &[folder]).map(drop)
    }

    /// Creates a file under its final name.
    ///
    /// # Errors
    /// The file cannot be created, or its name is not allowed.
    pub fn create(&self, path: &Path) -> io::Result<OwnedFd> {
        self.file(&StewardRequest::Create { path: path.into() })
    }

    /// Creates a file that gets its name by [`Steward::keep`].
    ///
    /// # Errors
    /// The file cannot be created, or its name is not allowed.
    pub fn begin(&self, path: &Path) -> io::Result<OwnedFd> {
        self.file(&StewardRequest::Begin { path: path.into() })
    }

    /// Gives a file of [`Steward::begin`] its name.
    ///
    /// # Errors
    /// Another file has the name by now and must not be replaced.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        self.ask(&StewardRequest::Keep { path: path.into() }, &[]).map(drop)
    }

    /// Removes a file whose name is allowed.
    ///
    /// # Errors
    /// No file has the name.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(&StewardRequest::Remove { path: path.into() }, &[]).map(drop)
    }

    fn file(&self, request: &StewardRequest) -> io::Result<OwnedFd> {
        self.ask(request, &[])?.1.pop().ok_or_else(misunderstood)
    }

    fn ask(
        &self,
        request: &StewardRequest,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<(StewardReply, Vec<OwnedFd>)> {
        let gone = || {
            io::Error::new(
                ErrorKind::NotConnected,
                "the steward, wirelap's second process, has ended",
            )
        };
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = socket.as_ref().ok_or_else(gone)?.as_fd();
        wire::send(socket, request, files).map_err(|_| gone())?;
        match wire::receive(socket)?.ok_or_else(gone)? {
            (StewardReply::Refused { code: Some(code), .. }, _) => {
                Err(io::Error::from_raw_os_error(code))
            }
            (StewardReply::Refused { text, .. }, _) => Err(io::Error::other(text)),
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
    io::Error::other(
        "the steward, wirelap's second process, sent an unexpected answer: this is a defect of wirelap",
    )
}
