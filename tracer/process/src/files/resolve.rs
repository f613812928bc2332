//! Finds the folder and the name that an output path leads to.
//!
//! The path is walked one component at a time, and each folder is held open, so that the folder that was checked is the one
//! that is used. With root's rights, a link is followed only if root or the user who called sudo has made it: otherwise
//! anybody who can write to a folder could choose which file root writes.

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

/// The most links in one path: as many as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const LINKS: usize = 40;

/// The target of an output path.
#[derive(Debug)]
pub enum Destination {
    /// A regular file in a folder; the file need not exist.
    File {
        /// The folder, opened with `O_PATH`.
        folder: OwnedFd,
        /// The name of the file in this folder.
        name: OsString,
    },
    /// A device, a pipe, or a file that is open already (`/dev/stdout`), opened for writing.
    Special(File),
}

/// Looks up the destination of an output path.
///
/// # Errors
/// A folder of the path does not exist; the path names a folder, a socket or a block device; or, with root's rights, it
/// leads through a link or a pipe that another user has made.
pub fn resolve(path: &Path) -> io::Result<Destination> {
    // The descriptor is duplicated because a socket on stdout could not be opened again by its name.
    if path == Path::new("/dev/stdout") {
        return Ok(Destination::Special(io::stdout().as_fd().try_clone_to_owned()?.into()));
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
                // The file is not truncated: it may hold what others wrote before.
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOCTTY;
                let opened = openat(&walk.folder, &name, flags, Mode::empty())?;
                return Ok(Destination::Special(opened.into()));
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

/// The state of walking along a path: the folder reached and the components that are left.
struct Walk {
    folder: OwnedFd,
    left: VecDeque<OsString>,
    links: usize,
}

impl Walk {
    /// Puts the components of a path in front of the components that are left.
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

/// The destination for a path whose last component is a file. A final link is replaced itself, not the file behind it.
fn file(folder: OwnedFd, name: OsString, link: Option<(OwnedFd, OsString)>) -> Destination {
    let (folder, name) = link.unwrap_or((folder, name));
    Destination::File { folder, name }
}

fn special(folder: &OwnedFd, name: &OsStr, kind: FileType, stat: &Stat) -> io::Result<Destination> {
    match kind {
        FileType::CharacterDevice => {}
        FileType::Fifo => trust(stat, "a pipe")?,
        FileType::BlockDevice => return Err(io::Error::other("it is a block device")),
        _ => return Err(io::Error::other("it is a socket")),
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(Destination::Special(openat(folder, name, flags, Mode::empty())?.into()))
}

/// True if the links in this folder are the open files of a process (`/proc/PID/fd`).
fn is_open_file(folder: &OwnedFd) -> bool {
    // Only /proc/PID/fd has no `fdinfo` inside and one beside it; /proc/self and similar links stand in other folders.
    fstatfs(folder).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC)
        && statat(folder, "../fdinfo", AtFlags::empty()).is_ok()
        && statat(folder, "fdinfo", AtFlags::empty()).is_err()
}

/// Refuses a link or a pipe of another user when wirelap runs as root.
///
/// # Errors
/// Another user owns it.
fn trust(stat: &Stat, what: &str) -> io::Result<()> {
    let own = rustix::process::geteuid();
    let invoking = user::invoking().map(|user| user.uid);
    let is_trusted =
        stat.st_uid == 0 || stat.st_uid == own.as_raw() || Some(stat.st_uid) == invoking;
    if own.is_root() && !is_trusted {
        return Err(io::Error::other(format!(
            "its path leads through {what} that another user has made"
        )));
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
