//! The names of output files in folders that are held open, and the files that are written under these names.

use crate::user;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown,
    flock, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use wirelap_recording::numbered;

/// The mode of a file that only its owner can read and write.
const PRIVATE: u32 = 0o600;

/// Beginning and end of the names of unfinished files on file systems where a file cannot be without a name.
const UNFINISHED: [&str; 2] = [".wirelap-", ".tmp"];

/// The treatment of files that have the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Existing {
    /// The name is refused.
    Refuse,
    /// They are replaced.
    Replace,
    /// Numbered files stay, and the new ones have higher numbers.
    Continue,
}

/// The file names that may be written, and the files that are being written under them.
#[derive(Debug, Default)]
pub struct OutputNames {
    allowed: Vec<AllowedName>,
    begun: Vec<UnnamedFile>,
    /// Makes the temporary names of this process different from each other.
    count: u32,
    /// Never creates a file without a name: for tests of file systems that know none.
    only_named: bool,
}

#[derive(Debug)]
struct AllowedName {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    existing: Existing,
    numbered: bool,
    /// The file that was kept under this name last: it may be replaced by the next one.
    kept: Option<FileIdentity>,
}

/// The device and the inode of a file.
type FileIdentity = (u64, u64);

/// A file that is being written and does not have its final name yet.
#[derive(Debug)]
struct UnnamedFile {
    path: PathBuf,
    file: OwnedFd,
    /// The file's temporary name, on file systems where a file cannot be without a name.
    name: Option<OsString>,
}

impl OutputNames {
    /// Allows a name in a folder to be written from now on.
    ///
    /// # Errors
    /// `EEXIST` if a file has the name and is to be refused; any error of creating a file in the folder.
    pub fn allow(
        &mut self,
        path: &Path,
        folder: OwnedFd,
        name: OsString,
        existing: Existing,
        numbered: bool,
    ) -> io::Result<()> {
        let kept = None;
        let allowed = AllowedName { path: path.to_owned(), folder, name, existing, numbered, kept };
        if existing == Existing::Refuse && allowed.is_there()? {
            return Err(Errno::EXIST.into());
        }
        remove_unfinished(&allowed.folder);
        let unused = self.unnamed(&allowed.folder)?;
        if let Some(name) = unused.1 {
            unlinkat(&allowed.folder, name, AtFlags::empty())?;
        }
        self.allowed.retain(|other| other.path != path);
        self.allowed.push(allowed);
        Ok(())
    }

    /// Creates an empty file under its final name.
    ///
    /// # Errors
    /// `EEXIST` if a file has the name and must not be replaced; any error of creating the file.
    pub fn create(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let count = self.next();
        let (allowed, name) = find(&self.allowed, path)?;
        let folder = &allowed.folder;
        let Some(replaced) = replaced(folder, &name)? else {
            let file = new_file(folder, &name)?;
            give(&file, &Replaced::NOTHING)?;
            return Ok(file);
        };
        if allowed.existing != Existing::Replace {
            return Err(Errno::EXIST.into());
        }
        // The old file is not truncated: a program that has it open keeps its contents.
        let own = own_name(count);
        let file = new_file(folder, &own)?;
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        give(&file, &replaced)?;
        rename_over(folder, &own, &name)?;
        Ok(file)
    }

    /// Creates a file that gets its name later, by [`OutputNames::keep`].
    ///
    /// # Errors
    /// Any error of creating the file.
    pub fn begin(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let folder = find(&self.allowed, path)?.0.folder.try_clone()?;
        let (file, name) = self.unnamed(&folder)?;
        let handed = file.try_clone()?;
        let (given_up, begun) = std::mem::take(&mut self.begun)
            .into_iter()
            .partition(|begun: &UnnamedFile| begun.path == path);
        self.begun = begun;
        for name in given_up.iter().filter_map(|one: &UnnamedFile| one.name.as_ref()) {
            let _ = unlinkat(&folder, name, AtFlags::empty());
        }
        self.begun.push(UnnamedFile { path: path.to_owned(), file, name });
        Ok(handed)
    }

    /// Gives a file of [`OutputNames::begin`] its name. It replaces the file that was kept under this name before.
    ///
    /// # Errors
    /// `EEXIST` if another file has the name by now and must not be replaced.
    pub fn keep(&mut self, path: &Path) -> io::Result<()> {
        let count = self.next();
        let (allowed, name) = find(&self.allowed, path)?;
        let own = allowed.kept.is_some() && allowed.kept == identity_at(&allowed.folder, &name);
        let force = allowed.existing == Existing::Replace || own;
        let found = self.begun.iter().position(|begun| begun.path == path);
        let begun = self.begun.swap_remove(found.ok_or(Errno::NOENT)?);
        let folder = &allowed.folder;
        let replaced = replaced(folder, &name)?;
        let named = match (&begun.name, force) {
            (Some(own), true) => rename_over(folder, own, &name),
            (Some(own), false) => {
                let renamed = renameat_with(folder, own, folder, &name, RenameFlags::NOREPLACE);
                if renamed.is_err() {
                    let _ = unlinkat(folder, own, AtFlags::empty());
                }
                renamed.map_err(Into::into)
            }
            (None, false) => link(&begun.file, folder, &name),
            (None, true) if replaced.is_none() => link(&begun.file, folder, &name),
            (None, true) => {
                let own = own_name(count);
                link(&begun.file, folder, &own).and_then(|()| rename_over(folder, &own, &name))
            }
        };
        named?;
        give(&begun.file, &replaced.unwrap_or(Replaced::NOTHING))?;
        write_back(folder);
        let kept = rustix::fs::fstat(&begun.file).ok().map(|stat| identity(&stat));
        for allowed in self.allowed.iter_mut().filter(|allowed| allowed.path == path) {
            allowed.kept = kept;
        }
        Ok(())
    }

    /// Removes a file whose name is allowed.
    ///
    /// # Errors
    /// `ENOENT` if no file has the name.
    pub fn remove(&mut self, path: &Path) -> io::Result<()> {
        let (allowed, name) = find(&self.allowed, path)?;
        Ok(unlinkat(&allowed.folder, name, AtFlags::empty())?)
    }

    /// Creates a file without a name, or with a temporary one where the file system knows no files without.
    fn unnamed(&mut self, folder: &OwnedFd) -> io::Result<(OwnedFd, Option<OsString>)> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(PRIVATE);
        let nameless =
            if self.only_named { Err(Errno::OPNOTSUPP) } else { openat(folder, ".", flags, mode) };
        let (file, name) = match nameless {
            // These are the errors of file systems that do not support O_TMPFILE.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = own_name(self.next());
                (new_file(folder, &name)?, Some(name))
            }
            file => (file?, None),
        };
        set_mode(&file, PRIVATE)?;
        // The lock tells other instances of wirelap that this file is in use and not left over.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok((file, name))
    }

    fn next(&mut self) -> u32 {
        self.count = self.count.wrapping_add(1);
        self.count
    }
}

impl Drop for OutputNames {
    fn drop(&mut self) {
        for begun in &self.begun {
            let Ok((allowed, _)) = find(&self.allowed, &begun.path) else { continue };
            if let Some(name) = &begun.name {
                let _ = unlinkat(&allowed.folder, name, AtFlags::empty());
            }
        }
    }
}

impl AllowedName {
    /// True if a file has this name or, for numbered files, this name with a number.
    fn is_there(&self) -> io::Result<bool> {
        if !self.numbered {
            return Ok(replaced(&self.folder, &self.name)?.is_some());
        }
        Ok(!numbers(&self.folder, &self.name)?.is_empty())
    }
}

/// The numbers of the files in a folder that have this name with a number in it, in ascending order.
///
/// # Errors
/// The folder cannot be read.
pub fn numbers(folder: &OwnedFd, name: &OsStr) -> io::Result<Vec<u64>> {
    let readable = openat(folder, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let entries = Dir::new(readable)?.flatten();
    let number = |bytes: &[u8]| number_in(OsStr::from_bytes(bytes), name);
    let mut found: Vec<u64> =
        entries.filter_map(|entry| number(entry.file_name().to_bytes())).collect();
    found.sort_unstable();
    Ok(found)
}

/// The number in a file name; `None` if it is not `own` with a number in it.
fn number_in(name: &OsStr, own: &OsStr) -> Option<u64> {
    let own = Path::new(own);
    let end = own.extension().map_or(String::new(), |end| format!(".{}", end.display()));
    let number = name.to_str()?.strip_suffix(&end)?.rsplit_once('-')?.1.parse().ok()?;
    (numbered(own, number).as_os_str() == name).then_some(number)
}

/// The allowed name that a path refers to, and its last component.
fn find<'a>(allowed: &'a [AllowedName], path: &Path) -> io::Result<(&'a AllowedName, OsString)> {
    for allowed in allowed {
        if allowed.path == path && !allowed.numbered {
            return Ok((allowed, allowed.name.clone()));
        }
        if allowed.numbered
            && allowed.path.parent() == path.parent()
            && let Some(name) =
                path.file_name().filter(|name| number_in(name, &allowed.name).is_some())
        {
            return Ok((allowed, name.to_owned()));
        }
    }
    Err(io::Error::other(
        "its name was not reserved before wirelap gave up its rights: this is a defect of wirelap",
    ))
}

/// The mode and owner that a new file takes over from the one that it replaces.
struct Replaced {
    /// The mode of the old file: never more than [`PRIVATE`].
    mode: u32,
    /// The old file's user and group; `None` if the new file belongs to whoever called wirelap.
    owner: Option<(u32, u32)>,
}

impl Replaced {
    /// For a new file.
    const NOTHING: Replaced = Replaced { mode: PRIVATE, owner: None };
}

/// The mode and owner that are taken over from the file of this name. `None` if there is no such file.
fn replaced(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Replaced>> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink() {
        return Ok(Some(Replaced::NOTHING));
    }
    let folder = statat(folder, ".", AtFlags::empty())?;
    let owner = keeps_owner(&folder, &stat).then_some((stat.st_uid, stat.st_gid));
    Ok(Some(Replaced { mode: stat.st_mode & PRIVATE, owner }))
}

/// True if the owner of a file is to own the one that replaces it: root, and whoever the folder belongs to if nobody else can make
/// files in it. In a folder like /tmp, anybody can have left a file to get what is written.
fn keeps_owner(folder: &Stat, file: &Stat) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    file.st_uid == 0 || (folder.st_uid == file.st_uid && folder.st_mode & OTHERS_WRITE == 0)
}

fn identity(stat: &Stat) -> FileIdentity {
    (stat.st_dev, stat.st_ino)
}

fn identity_at(folder: &OwnedFd, name: &OsStr) -> Option<FileIdentity> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| identity(&stat))
}

/// Writes the names in a folder back to the disk, so that a new name outlives a loss of power. A file system that cannot do
/// that does it later.
fn write_back(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(readable) = openat(folder, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(readable);
    }
}

fn new_file(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(PRIVATE))?)
}

/// Sets the mode, and gives a file that root has made to the owner of the file that it replaces, or else to the user who called
/// sudo, who could not remove it otherwise. A file that cannot be given away stays root's.
fn give(file: &OwnedFd, replaced: &Replaced) -> io::Result<()> {
    set_mode(file, replaced.mode)?;
    let invoking = || user::invoking().map(|user| (user.uid, user.gid));
    let owner = replaced.owner.or_else(invoking);
    if let (true, Some((uid, gid))) = (rustix::process::geteuid().is_root(), owner) {
        let _ = fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    }
    Ok(())
}

fn set_mode(file: &OwnedFd, mode: u32) -> io::Result<()> {
    match fchmod(file, Mode::from_raw_mode(mode)) {
        // A file system without modes (FAT, for instance) has the access rights of its mount options.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        set => Ok(set?),
    }
}

fn link(file: &OwnedFd, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, path, folder, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn rename_over(folder: &OwnedFd, own: &OsStr, name: &OsStr) -> io::Result<()> {
    let renamed = renameat(folder, own, folder, name);
    if renamed.is_err() {
        let _ = unlinkat(folder, own, AtFlags::empty());
    }
    Ok(renamed?)
}

/// A temporary name that no other file has.
fn own_name(count: u32) -> OsString {
    let [begin, end] = UNFINISHED;
    format!("{begin}{}-{count}-{:08x}{end}", std::process::id(), fastrand::u32(..)).into()
}

/// Removes temporary files that a killed wirelap has left behind: those that no process has locked.
fn remove_unfinished(folder: &OwnedFd) {
    let open = |name: &OsStr, flags| {
        openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    };
    let Ok(readable) = open(OsStr::new("."), OFlags::RDONLY) else { return };
    for entry in Dir::new(readable).into_iter().flatten().flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let [begin, end] = UNFINISHED;
        let is_ours = name.to_str().is_some_and(|n| n.starts_with(begin) && n.ends_with(end));
        let is_file =
            |stat: rustix::fs::Stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
        if !is_ours || !statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(is_file) {
            continue;
        }
        let Ok(file) = open(name, OFlags::RDONLY | OFlags::NONBLOCK) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path, force: bool) -> (OutputNames, PathBuf) {
        let mut names = OutputNames::default();
        names.only_named = true;
        let path = folder.join("out");
        let folder = fs::File::open(folder).unwrap().into();
        let existing = if force { Existing::Replace } else { Existing::Refuse };
        names.allow(&path, folder, "out".into(), existing, false).unwrap();
        (names, path)
    }

    fn there(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn without_nameless_files_an_unfinished_one_has_a_name_of_ours_until_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        for force in [false, true] {
            let (mut names, path) = names(folder.path(), force);
            assert!(there(folder.path()).iter().all(|name| name == "out"), "nothing is begun yet");
            names.begin(&path).unwrap();
            let unfinished = there(folder.path()).into_iter().find(|name| name != "out").unwrap();
            assert!(unfinished.starts_with(".wirelap-"));
            names.keep(&path).unwrap();
            assert_eq!(there(folder.path()), ["out"]);
        }
    }

    #[test]
    fn without_nameless_files_one_that_is_not_kept_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut names, path) = names(folder.path(), false);
        names.begin(&path).unwrap();
        drop(names);
        assert_eq!(there(folder.path()), [""; 0]);
        // A name that was taken meanwhile stays with whoever has it.
        let (mut names, path) = self::names(folder.path(), false);
        names.begin(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(names.keep(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(there(folder.path()), ["out"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
