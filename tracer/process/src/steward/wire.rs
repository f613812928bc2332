//! The messages between wirelap and its steward: one packet of JSON for the request and one for the reply, each with open
//! files as ancillary data.

use crate::files::Existing;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The most files that one packet carries.
const MAX_FILES: usize = 5;

/// The size of the longest packet in bytes.
const MAX_PACKET: usize = 128 << 10;

/// A request to the steward.
#[derive(Debug, Serialize, Deserialize)]
pub enum StewardRequest {
    /// Find the workloads' program and create a folder for it. Workloads get `variables` in their environment.
    Prepare { variables: Vec<(OsString, OsString)> },
    /// Start the workloads' program. The reply carries its stdin, stdout, stderr, a pidfd and, with `truth`, the file that
    /// the option `--truth` names.
    Start { args: Vec<OsString>, truth: bool },
    /// Send SIGTERM to a workload and its children.
    End { pid: u32 },
    /// Kill what is left of a workload and its children, and wait for it.
    Reap { pid: u32 },
    /// Remember these commands, which [`StewardRequest::Connect`] starts by their place.
    Declare { commands: Vec<DeclaredCommand> },
    /// Start a command, with further arguments if it takes some. The reply carries its stdin, stdout, stderr and a pidfd.
    Connect { index: usize, further: Vec<OsString> },
    /// Remember the line that a shell runs for events.
    DeclareHandler { line: OsString },
    /// Run that line, with no more rights than workloads have. The reply carries its stdin, stdout, stderr and a pidfd.
    Handle,
    /// Allow a name in a folder to be written. The request carries the folder.
    Allow { path: OsString, name: OsString, existing: Existing, numbered: bool },
    /// Refuse `Allow`, `Declare`, `DeclareHandler` and `Prepare` from now on.
    Seal,
    /// Create a file under its final name. The reply carries the file.
    Create { path: OsString },
    /// Create a file that gets its name later, by `Keep`. The reply carries the file.
    Begin { path: OsString },
    /// Give a file of `Begin` its name.
    Keep { path: OsString },
    /// Remove a file whose name is allowed.
    Remove { path: OsString },
}

/// A command that the steward starts each time that it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredCommand {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// The command runs as the user who called sudo, if somebody did.
    pub as_user: bool,
    /// Arguments that it gets each time that it is started.
    pub further: FurtherArguments,
}

/// Place of the arguments that a command gets when it is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FurtherArguments {
    /// The command takes none.
    #[default]
    None,
    /// After the others.
    Appended,
    /// In the last argument, which is a line for a shell.
    InShellLine,
}

impl DeclaredCommand {
    /// Program and arguments, with further ones; `None` if there are some and the command takes none.
    pub fn with(&self, further: &[OsString]) -> Option<Vec<OsString>> {
        let mut words = self.words.clone();
        match self.further {
            FurtherArguments::None if further.is_empty() => {}
            FurtherArguments::None => return None,
            FurtherArguments::Appended => words.extend_from_slice(further),
            FurtherArguments::InShellLine => {
                let line = words.last_mut()?;
                for word in further {
                    line.push(" ");
                    line.push(quoted(&word.to_string_lossy()));
                }
            }
        }
        Some(words)
    }
}

/// A word as a shell reads it again (POSIX.1-2024, 2.2.2 single quotes).
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The steward's reply to a request.
#[derive(Debug, Serialize, Deserialize)]
pub enum StewardReply {
    /// The request was carried out.
    Done,
    /// The path of the workloads' program.
    Prepared { program: String },
    /// The workload or command runs, with this process id.
    Started { pid: u32 },
    /// The workload has ended, with this status of wait(2).
    Ended { status: i32 },
    /// The request failed, with this `errno` and text.
    Refused { code: Option<i32>, text: String },
}

impl StewardReply {
    /// The reply to a request that failed with `error`.
    pub fn refused(error: &io::Error) -> StewardReply {
        StewardReply::Refused { code: error.raw_os_error(), text: error.to_string() }
    }
}

/// Sends one packet and the files that it carries.
///
/// # Errors
/// The other process has ended, or there are more than [`MAX_FILES`] files.
pub fn send(
    socket: BorrowedFd<'_>,
    packet: &impl Serialize,
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(packet)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(Errno::TOOBIG.into());
    }
    loop {
        match sendmsg(socket, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop).map_err(Into::into),
        }
    }
}

/// Waits for a packet and the files that it carries; `None` when the other process has ended.
///
/// # Errors
/// The packet cannot be parsed, or this process may not open as many files.
pub fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; MAX_PACKET];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let slices = &mut [IoSliceMut::new(&mut text)];
        match recvmsg(socket, slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            // The kernel drops the files that exceed this process's limit of open files, and sets this flag.
            Ok(got) if got.flags.contains(ReturnFlags::CTRUNC) => return Err(Errno::MFILE.into()),
            got => break got?.bytes,
        }
    };
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            files.extend(sent);
        }
    }
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&text[..length])?, files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_the_arguments_that_it_takes() {
        let words = ["ssh", "robot", "exec sh"].map(OsString::from).to_vec();
        let of = |further| DeclaredCommand { words: words.clone(), as_user: true, further };
        let with = |further, given: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            let words = of(further).with(&given)?.into_iter();
            Some(words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join("|"))
        };
        let sub = ["sub", "it's; $x"];
        assert_eq!(with(FurtherArguments::None, &[]).unwrap(), "ssh|robot|exec sh");
        assert_eq!(with(FurtherArguments::None, &sub), None);
        let appended = with(FurtherArguments::Appended, &sub).unwrap();
        assert_eq!(appended, "ssh|robot|exec sh|sub|it's; $x");
        let line = with(FurtherArguments::InShellLine, &sub).unwrap();
        assert_eq!(line, r"ssh|robot|exec sh 'sub' 'it'\''s; $x'");
    }
}
