//! Where a path leads.
//!
//! It is walked one component at a time, so that what was looked at is what is used. With root's rights, links are followed
//! only if nobody else has made them: whoever may write in a folder could otherwise choose which of root's files is written.

use crate::user;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstatfs, openat, readlinkat,
    statat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// Links on the way; as many as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug)]
pub enum Place {
    /// To a file, that may be there or not, in a folder.
    File {
        /// The folder; not open for reading.
        folder: OwnedFd,
        /// The name in it.
        name: OsString,
    },
    /// To a device, a pipe, or a file that is open already (`/dev/stdout`).
    Special(File),
}

/// Looks a path up.
///
/// # Errors
/// It leads nowhere, to a folder, or through a link that is not to be followed.
pub fn resolve(path: &Path) -> io::Result<Place> {
    // Whatever it is: a socket could not be opened once more.
    if path == Path::new("/dev/stdout") {
        return Ok(Place::Special(io::stdout().as_fd().try_clone_to_owned()?.into()));
    }
    let mut walk = Walk { folder: open_folder(Path::new("."))?, left: VecDeque::new(), links: 0 };
    walk.enter(path)?;
    let mut link = None;
    while let Some(name) = walk.left.pop_front() {
        if name == ".." {
            walk.folder = folder_in(&walk.folder, &name)?;
            continue;
        }
        let is_last = walk.left.is_empty();
        let stat = match statat(&walk.folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) if is_last => return Ok(file(walk.folder, name, link)),
            stat => stat?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if is_last && is_open_file(&walk.folder) => {
                // Not truncated: what was written to it before is not ours.
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOCTTY;
                let opened = openat(&walk.folder, &name, flags, Mode::empty())?;
                return Ok(Place::Special(opened.into()));
            }
            FileType::Symlink => {
                trust(&stat, "a link")?;
                let target = readlinkat(&walk.folder, &name, Vec::new())?;
                if is_last && link.is_none() {
                    link = Some((walk.folder.try_clone()?, name));
                }
                walk.links = walk.links.saturating_add(1);
                if walk.links > LINKS {
                    return Err(Errno::LOOP.into());
                }
                walk.enter(Path::new(OsStr::from_bytes(target.as_bytes())))?;
            }
            FileType::Directory if is_last => return Err(Errno::ISDIR.into()),
            FileType::Directory => walk.folder = folder_in(&walk.folder, &name)?,
            _ if !is_last => return Err(Errno::NOTDIR.into()),
            FileType::RegularFile => return Ok(file(walk.folder, name, link)),
            kind => return special(&walk.folder, &name, kind, &stat),
        }
    }
    Err(Errno::ISDIR.into())
}

/// How far a path has been followed.
struct Walk {
    folder: OwnedFd,
    left: VecDeque<OsString>,
    links: usize,
}

impl Walk {
    /// Puts the components of a path in front of those that are left.
    fn enter(&mut self, path: &Path) -> io::Result<()> {
        let mut components = Vec::new();
        for component in path.components() {
            match component {
                Component::RootDir => self.folder = open_folder(Path::new("/"))?,
                Component::Normal(name) => components.push(name.to_owned()),
                Component::ParentDir => components.push("..".into()),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT.into());
        }
        for component in components.into_iter().rev() {
            self.left.push_front(component);
        }
        Ok(())
    }
}

/// A link to a file is not followed to it: the link itself has that name.
fn file(folder: OwnedFd, name: OsString, link: Option<(OwnedFd, OsString)>) -> Place {
    let (folder, name) = link.unwrap_or((folder, name));
    Place::File { folder, name }
}

fn special(folder: &OwnedFd, name: &OsStr, kind: FileType, stat: &Stat) -> io::Result<Place> {
    match kind {
        FileType::CharacterDevice => {}
        FileType::Fifo => trust(stat, "a pipe")?,
        FileType::BlockDevice => return Err(io::Error::other("it is a block device")),
        _ => return Err(io::Error::other("it is a socket")),
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(Place::Special(openat(folder, name, flags, Mode::empty())?.into()))
}

/// Whether links in this folder are a process's open files (`/proc/PID/fd`).
fn is_open_file(folder: &OwnedFd) -> bool {
    // The links of /proc/self and the like are in folders with more than links; a folder of open files has numbers alone.
    fstatfs(folder).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC)
        && statat(folder, "../fdinfo", AtFlags::empty()).is_ok()
        && statat(folder, "fdinfo", AtFlags::empty()).is_err()
}

/// With root's rights, what others have made is not used.
fn trust(stat: &Stat, what: &str) -> io::Result<()> {
    let own = rustix::process::geteuid();
    let invoking = user::invoking().map(|user| user.uid);
    let is_trusted =
        stat.st_uid == 0 || stat.st_uid == own.as_raw() || Some(stat.st_uid) == invoking;
    if own.is_root() && !is_trusted {
        return Err(io::Error::other(format!("it leads through {what} of another user's")));
    }
    Ok(())
}

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

fn folder_in(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, FOLDER, Mode::empty())?)
}
