//! How wirelap and its steward talk: one packet of JSON each way, with open files beside it.

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

/// Files beside one packet.
const FILES: usize = 5;

/// The longest packet.
const LONGEST: usize = 128 << 10;

/// What the steward is asked.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// To find the workloads' program and make a folder for it. Then `variables` are in its environment.
    Prepare { variables: Vec<(OsString, OsString)> },
    /// To start the workloads' program. Beside the answer: its stdin, stdout, stderr, a descriptor of the process and, if
    /// asked for, the file that `--truth` names.
    Start { args: Vec<OsString>, truth: bool },
    /// To tell a process, and its children, that it shall end.
    End { pid: u32 },
    /// To kill what is left of a process and its children.
    Reap { pid: u32 },
    /// To let a name be written in a folder, which is beside this.
    Allow { path: OsString, name: OsString, force: bool, numbered: bool },
    /// To allow no other names from now on, and to start nothing but the workloads that were prepared.
    Seal,
    /// To create a file of that name, which is beside the answer.
    Create { path: OsString },
    /// The same for a file that has no name yet.
    Begin { path: OsString },
    /// To name the file that was begun.
    Keep { path: OsString },
    /// To remove a file.
    Remove { path: OsString },
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// The workloads' program.
    Prepared { program: String },
    /// A process was started.
    Started { pid: u32 },
    /// It has ended so: as wait(2) tells.
    Ended { status: i32 },
    /// It cannot be done.
    Refused { code: Option<i32>, text: String },
}

impl Answer {
    /// That it cannot be done.
    pub fn refused(error: &io::Error) -> Answer {
        Answer::Refused { code: error.raw_os_error(), text: error.to_string() }
    }
}

/// Sends one packet.
///
/// # Errors
/// Nobody is there any more.
pub fn send(
    socket: BorrowedFd<'_>,
    packet: &impl Serialize,
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(packet)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(Errno::TOOBIG.into());
    }
    loop {
        match sendmsg(socket, &[IoSlice::new(&text)], &mut beside, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop).map_err(Into::into),
        }
    }
}

/// Waits for a packet; `None` when nobody is there any more.
///
/// # Errors
/// It is not what was expected.
pub fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let slices = &mut [IoSliceMut::new(&mut text)];
        match recvmsg(socket, slices, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            // The kernel leaves out what we may have open no more, and says only that.
            Ok(got) if got.flags.contains(ReturnFlags::CTRUNC) => return Err(Errno::MFILE.into()),
            got => break got?.bytes,
        }
    };
    let mut files = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            files.extend(sent);
        }
    }
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&text[..length])?, files)))
}
