//! The file in which a program remembers something for its user: below the folder that XDG calls state.
//!
//! The user is whoever called sudo. Root looks the file up, and makes its folders, in a thread that has the rights of that user
//! and no others, and follows no link below the user's home folder: a link that another program of the user has made leads to
//! nothing that the user could not reach. From then on the folder is held open. The file is replaced in this folder, never
//! written through a name, by [`Outputs`].

use crate::outputs::Outputs;
use crate::user::{self, User};
use rustix::fs::{CWD, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The folders below the user's home folder, if the environment names no other folder for state.
const BELOW_HOME: [&str; 2] = [".local", "state"];
/// The folder of this program's files.
const FOLDER: &str = "wirelap";
/// The most bytes of a file that is read.
const MAX: u64 = 65_536;

/// A remembered text, and where the next one is kept.
#[derive(Debug)]
pub struct RememberedText {
    path: PathBuf,
    text: Option<String>,
    outputs: Option<Outputs>,
}

/// The folder and text that were found below a base folder.
struct FoundText {
    folder: OwnedFd,
    text: Option<String>,
}

impl RememberedText {
    /// Looks up the file of this name and reads it. Must be called before rights are given up. With `outputs`, it is allowed to be
    /// replaced later.
    ///
    /// # Errors
    /// The user has no home folder, or a folder or the file cannot be opened, belongs to somebody else, or is a link.
    pub fn open(name: &str, outputs: Option<&Outputs>) -> io::Result<RememberedText> {
        let user = if rustix::process::geteuid().is_root() { user::invoking() } else { None };
        let (base, below) = base(user).ok_or(Errno::NOENT)?;
        let found = as_user(user, || find(&base, &below, name))?;
        let path = below.iter().fold(base, |path, folder| path.join(folder)).join(name);
        if let Some(outputs) = outputs {
            outputs.allow_in(&path, found.folder, OsString::from(name))?;
        }
        Ok(RememberedText { path, text: found.text, outputs: outputs.cloned() })
    }

    /// The path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text that was remembered; `None` if there is none.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Remembers a text, if it is another one than before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, text: &str) -> io::Result<()> {
        let Some(outputs) = self.outputs.as_ref().filter(|_| self.text() != Some(text)) else {
            return Ok(());
        };
        let mut file = outputs.begin(&self.path)?;
        file.write_all(text.as_bytes())?;
        outputs.keep(&self.path, &file)?;
        self.text = Some(text.to_owned());
        Ok(())
    }
}

/// The folder that must exist, and the folders below it that are made if they do not. The environment is asked only if it is that
/// of the user.
fn base(user: Option<User>) -> Option<(PathBuf, Vec<&'static str>)> {
    let below_home = || BELOW_HOME.into_iter().chain([FOLDER]).collect();
    if let Some(user) = user {
        return Some((user.home()?, below_home()));
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match folder("XDG_STATE_HOME") {
        Some(state) => Some((state, vec![FOLDER])),
        None => Some((folder("HOME")?, below_home())),
    }
}

/// Does something in a thread with the rights of a user, if there is one.
fn as_user<T: Send>(
    user: Option<User>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(user) = user else { return act() };
    let become_user = move || {
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        // These calls concern the calling thread only, which ends after them.
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_res_gid(gid, gid, gid)?;
        rustix::thread::set_thread_res_uid(uid, uid, uid)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("user".into()).spawn_scoped(scope, || {
            become_user()?;
            act()
        })?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread failed")))
    })
}

/// Opens the folder below a base, and reads the file in it.
fn find(base: &Path, below: &[&str], name: &str) -> io::Result<FoundText> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, base, flags, Mode::empty())?;
    for name in below {
        folder = folder_in(&folder, name)?;
    }
    if fstat(&folder)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("its folder belongs to another user"));
    }
    let text = read(&folder, name)?;
    Ok(FoundText { folder, text })
}

/// Opens a folder that is no link; makes it if it is not there.
fn folder_in(folder: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            match mkdirat(folder, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(openat(folder, name, flags, Mode::empty())?)
        }
        opened => Ok(opened?),
    }
}

/// The text of a regular file that is no link; `None` if there is no file.
fn read(folder: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder.as_fd(), name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => File::from(opened?),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    const BELOW: [&str; 3] = [".local", "state", "wirelap"];

    fn memory(base: &Path, outputs: &Outputs) -> io::Result<RememberedText> {
        let found = find(base, &BELOW, "screen.toml")?;
        let path = BELOW.iter().fold(base.to_owned(), |path, name| path.join(name));
        let path = path.join("screen.toml");
        outputs.allow_in(&path, found.folder, "screen.toml".into())?;
        Ok(RememberedText { path, text: found.text, outputs: Some(outputs.clone()) })
    }

    #[test]
    fn a_text_is_there_the_next_time() {
        let base = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(false, None);
        let mut first = memory(base.path(), &outputs).unwrap();
        assert_eq!(first.text(), None);
        first.keep("one").unwrap();
        let mut second = memory(base.path(), &outputs).unwrap();
        assert_eq!(second.text(), Some("one"));
        second.keep("two").unwrap();
        assert_eq!(std::fs::read_to_string(second.path()).unwrap(), "two");
        let mode = std::fs::metadata(second.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = memory(base.path(), &outputs).unwrap();
        assert_eq!(again.text(), Some("two"));
    }

    #[test]
    fn what_has_not_changed_is_not_written() {
        let base = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(false, None);
        memory(base.path(), &outputs).unwrap().keep("one").unwrap();
        let mut same = memory(base.path(), &outputs).unwrap();
        let before = std::fs::metadata(same.path()).unwrap().ino();
        same.keep("one").unwrap();
        assert_eq!(std::fs::metadata(same.path()).unwrap().ino(), before);
    }

    #[test]
    fn no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join(".local/state")).unwrap();
        symlink(elsewhere.path(), base.path().join(".local/state/wirelap")).unwrap();
        assert!(find(base.path(), &BELOW, "screen.toml").is_err());
        std::fs::remove_file(base.path().join(".local/state/wirelap")).unwrap();
        std::fs::create_dir(base.path().join(".local/state/wirelap")).unwrap();
        std::fs::write(elsewhere.path().join("secret"), "secret").unwrap();
        let link = base.path().join(".local/state/wirelap/screen.toml");
        symlink(elsewhere.path().join("secret"), link).unwrap();
        assert!(find(base.path(), &BELOW, "screen.toml").is_err());
    }

    #[test]
    fn root_has_no_more_rights_there_than_the_user() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let user = User { uid: 54_321, gid: 54_321 };
        let base = tempfile::tempdir().unwrap();
        let look = || as_user(Some(user), || find(base.path(), &BELOW, "screen.toml"));
        assert_eq!(look().err().unwrap().kind(), io::ErrorKind::PermissionDenied);
        std::os::unix::fs::chown(base.path(), Some(user.uid), Some(user.gid)).unwrap();
        look().unwrap();
        let made = std::fs::metadata(base.path().join(".local/state/wirelap")).unwrap();
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o777), (54_321, 54_321, 0o700));
        assert!(rustix::process::geteuid().is_root(), "this thread is what it was");
    }
}
