//! Names in folders that are held open, and the files that are written under them.

use crate::user;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock,
    linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use wirelap_recording::numbered;

/// Read and written by the owner alone.
const PRIVATE: u32 = 0o600;

/// What the names of unfinished files begin and end with, where a file cannot be without one.
const UNFINISHED: [&str; 2] = [".wirelap-", ".tmp"];

/// Names that may be written.
#[derive(Debug, Default)]
pub struct Names {
    allowed: Vec<Allowed>,
    begun: Vec<Begun>,
    /// Makes names of our own different.
    count: u32,
    /// Does without nameless files, as on file systems that have none.
    only_named: bool,
}

#[derive(Debug)]
struct Allowed {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    force: bool,
    numbered: bool,
}

/// A file that has no name yet.
#[derive(Debug)]
struct Begun {
    path: PathBuf,
    file: OwnedFd,
    /// Its name until then, on file systems that have no files without.
    name: Option<OsString>,
}

impl Names {
    /// Allows a name.
    ///
    /// # Errors
    /// It is there already and is not to be replaced, or nothing can be written there.
    pub fn allow(
        &mut self,
        path: &Path,
        folder: OwnedFd,
        name: OsString,
        force: bool,
        numbered: bool,
    ) -> io::Result<()> {
        let allowed = Allowed { path: path.to_owned(), folder, name, force, numbered };
        if !force && allowed.is_there()? {
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

    /// A new, empty file of that name.
    ///
    /// # Errors
    /// It is there already and is not to be replaced, or cannot be created.
    pub fn create(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let count = self.next();
        let (allowed, name) = find(&self.allowed, path)?;
        let folder = &allowed.folder;
        let replaced = mode_of(folder, &name)?;
        if replaced.is_none() {
            let file = new_file(folder, &name)?;
            give(&file, PRIVATE)?;
            return Ok(file);
        }
        if !allowed.force {
            return Err(Errno::EXIST.into());
        }
        // Whoever has the old one open keeps the old one.
        let own = own_name(count);
        let file = new_file(folder, &own)?;
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        give(&file, replaced.unwrap_or(PRIVATE))?;
        rename_over(folder, &own, &name)?;
        Ok(file)
    }

    /// A file that has no name yet.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn begin(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let folder = find(&self.allowed, path)?.0.folder.try_clone()?;
        let (file, name) = self.unnamed(&folder)?;
        let handed = file.try_clone()?;
        self.begun.retain(|begun| begun.path != path);
        self.begun.push(Begun { path: path.to_owned(), file, name });
        Ok(handed)
    }

    /// Names a file that was begun.
    ///
    /// # Errors
    /// There is one of that name now that is not to be replaced.
    pub fn keep(&mut self, path: &Path) -> io::Result<()> {
        let count = self.next();
        let (allowed, name) = find(&self.allowed, path)?;
        let found = self.begun.iter().position(|begun| begun.path == path);
        let begun = self.begun.swap_remove(found.ok_or(Errno::NOENT)?);
        let folder = &allowed.folder;
        let replaced = mode_of(folder, &name)?;
        let named = match (&begun.name, allowed.force) {
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
        give(&begun.file, replaced.unwrap_or(PRIVATE))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It is not there.
    pub fn remove(&mut self, path: &Path) -> io::Result<()> {
        let (allowed, name) = find(&self.allowed, path)?;
        Ok(unlinkat(&allowed.folder, name, AtFlags::empty())?)
    }

    /// A file without a name, or with one of ours.
    fn unnamed(&mut self, folder: &OwnedFd) -> io::Result<(OwnedFd, Option<OsString>)> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(PRIVATE);
        let nameless =
            if self.only_named { Err(Errno::OPNOTSUPP) } else { openat(folder, ".", flags, mode) };
        let (file, name) = match nameless {
            // What file systems say that do not know it.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = own_name(self.next());
                (new_file(folder, &name)?, Some(name))
            }
            file => (file?, None),
        };
        set_mode(&file, PRIVATE)?;
        // As long as it is locked it is in use.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok((file, name))
    }

    fn next(&mut self) -> u32 {
        self.count = self.count.wrapping_add(1);
        self.count
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for begun in &self.begun {
            let Ok((allowed, _)) = find(&self.allowed, &begun.path) else { continue };
            if let Some(name) = &begun.name {
                let _ = unlinkat(&allowed.folder, name, AtFlags::empty());
            }
        }
    }
}

impl Allowed {
    /// Whether the name is taken, or one of those with numbers.
    fn is_there(&self) -> io::Result<bool> {
        if !self.numbered {
            return Ok(mode_of(&self.folder, &self.name)?.is_some());
        }
        let readable = openat(&self.folder, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let names = Dir::new(readable)?.flatten();
        Ok(names
            .into_iter()
            .any(|entry| self.is_numbered(OsStr::from_bytes(entry.file_name().to_bytes()))))
    }

    /// Whether this is the name with a number in it.
    fn is_numbered(&self, name: &OsStr) -> bool {
        let own = Path::new(&self.name);
        let number = name.to_str().and_then(|name| {
            let end = own.extension().map_or(String::new(), |end| format!(".{}", end.display()));
            name.strip_suffix(&end)?.rsplit_once('-')?.1.parse().ok()
        });
        number.is_some_and(|number| numbered(own, number).as_os_str() == name)
    }
}

/// What is allowed under this path, and the name in its folder.
fn find<'a>(allowed: &'a [Allowed], path: &Path) -> io::Result<(&'a Allowed, OsString)> {
    for allowed in allowed {
        if allowed.path == path && !allowed.numbered {
            return Ok((allowed, allowed.name.clone()));
        }
        if allowed.numbered
            && allowed.path.parent() == path.parent()
            && let Some(name) = path.file_name().filter(|name| allowed.is_numbered(name))
        {
            return Ok((allowed, name.to_owned()));
        }
    }
    Err(io::Error::other("nobody has asked for it: this is a defect of wirelap"))
}

/// The mode of what has this name, as far as it is not widened by being replaced; `None` if nothing has it.
fn mode_of(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<u32>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink() => {
            Ok(Some(PRIVATE))
        }
        Ok(stat) => Ok(Some(stat.st_mode & PRIVATE)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn new_file(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(PRIVATE))?)
}

/// Root's file in a user's folder would be in the way: it is given to whoever called sudo. That it stays so is no harm.
fn give(file: &OwnedFd, mode: u32) -> io::Result<()> {
    set_mode(file, mode)?;
    if let (true, Some(user)) = (rustix::process::geteuid().is_root(), user::invoking()) {
        let _ = fchown(file, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)));
    }
    Ok(())
}

fn set_mode(file: &OwnedFd, mode: u32) -> io::Result<()> {
    match fchmod(file, Mode::from_raw_mode(mode)) {
        // Of file systems without modes: whoever mounted one has said who may read what is on it.
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

/// A name of our own, in a folder of others.
fn own_name(count: u32) -> OsString {
    let [begin, end] = UNFINISHED;
    format!("{begin}{}-{count}-{:08x}{end}", std::process::id(), fastrand::u32(..)).into()
}

/// Removes what was left behind by a wirelap that was killed: files of ours that nobody has locked.
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

    fn names(folder: &Path, force: bool) -> (Names, PathBuf) {
        let mut names = Names::default();
        names.only_named = true;
        let path = folder.join("out");
        let folder = fs::File::open(folder).unwrap().into();
        names.allow(&path, folder, "out".into(), force, false).unwrap();
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
