//! The files and the user that workloads are started with: their program, a folder of their own, and the user that they run as.

use crate::remedy;
use crate::user::{self, User};
use rustix::fs::{
    FlockOperation, Gid, MemfdFlags, Mode, OFlags, Uid, fchmod, fchown, flock, fstat, memfd_create,
};
use rustix::io::{Errno, dup};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PROGRAM: &str = "wirelap-workload";

/// Beginning of the names of the temporary folders of workloads.
const PREFIX: &str = "wirelap-run-";

/// The program, the user and the folder of the workloads. The folder is removed when this value is dropped.
#[derive(Debug)]
pub struct Installation {
    /// The path of the program, as messages name it.
    pub shown: PathBuf,
    /// The user that the program runs as; `None` for the user of this process.
    user: Option<User>,
    /// The path that is executed.
    program: PathBuf,
    /// Environment variables that tell the workloads where the programs of other projects are.
    variables: Vec<(OsString, OsString)>,
    folder: TempDir,
    /// The folder's lock tells other instances of wirelap that it is in use.
    _lock: File,
    /// The opened program, where the workloads' user cannot reach it by its path.
    _opened: Option<OwnedFd>,
}

impl Installation {
    /// Finds the program and creates the folder. Removes folders that a killed wirelap has left behind.
    ///
    /// # Errors
    /// The program is not found, a capability is missing, or the temporary folder cannot be created.
    pub fn open(variables: Vec<(OsString, OsString)>) -> io::Result<Installation> {
        let shown = find()?;
        let user = user::for_workloads();
        if let Some(missing) = user.and_then(|_| remedy::missing_for_workloads()) {
            return Err(missing);
        }
        remove_abandoned(&env::temp_dir(), user);
        let opened = if user.is_none_or(|user| can_reach(&shown, user)) {
            None
        } else {
            let file = executable(&shown, user).map_err(|error| {
                let remedy = remedy::of_start(&shown, &error);
                io::Error::other(format!("cannot open {}: {error}: {remedy}", shown.display()))
            })?;
            Some(file)
        };
        let make = || -> io::Result<Installation> {
            let (folder, lock) = make_folder(&env::temp_dir())?;
            let mut program = shown.clone();
            if let Some(file) = &opened {
                // The link has the name of the program because that becomes the name of the process.
                program = folder.path().join(PROGRAM);
                symlink(link_to(file), &program)?;
            }
            user::give(folder.path(), user)?;
            Ok(Installation {
                shown: shown.clone(),
                user,
                program,
                variables,
                folder,
                _lock: lock,
                _opened: opened,
            })
        };
        make().map_err(|error| {
            let temp = env::temp_dir();
            let temp = temp.display();
            io::Error::other(format!(
                "cannot create a folder for the workloads in {temp}: {error}: {}",
                remedy::of_temporary_folder(&error)
            ))
        })
    }

    /// The command that starts the program as the workloads' user, with the environment of this process.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir("/").env("TMPDIR", self.folder.path()).env_remove("RUST_LOG");
        command.envs(self.variables.iter().map(|(name, folder)| (name, folder)));
        if let Some(user) = self.user {
            let home = user.home().unwrap_or_else(|| self.folder.path().to_owned());
            command.uid(user.uid).gid(user.gid).env("HOME", home);
        }
        command
    }

    /// Creates a nameless file for a process that is started next, which inherits it. Returns the file, and the path under
    /// which that process can open it.
    ///
    /// # Errors
    /// The file cannot be created, for instance because the disk is full.
    pub fn truth_file(&self) -> io::Result<(OwnedFd, OsString)> {
        self.make_truth_file().map_err(|error| {
            let folder = self.folder.path().display();
            let remedy = remedy::of_temporary_folder(&error);
            io::Error::other(format!("cannot create a file in {folder}: {error}: {remedy}"))
        })
    }

    fn make_truth_file(&self) -> io::Result<(OwnedFd, OsString)> {
        let file: OwnedFd = tempfile::tempfile_in(self.folder.path())?.into();
        fchmod(&file, Mode::from_raw_mode(0o600))?;
        if let Some(user) = self.user {
            fchown(&file, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)))?;
        }
        // Unlike the original, a duplicate is not closed when a program is executed.
        let inherited = dup(&file)?;
        let path = link_to(&inherited).into_os_string();
        Ok((inherited, path))
    }
}

/// The path of an open file in the process that has it open.
fn link_to(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Opens the program so that child processes inherit it and need not reach it by its path. If the user may not execute the
/// file either, this is a copy of it in memory.
fn executable(program: &Path, user: Option<User>) -> io::Result<OwnedFd> {
    let file = File::open(program)?;
    let meta = file.metadata()?;
    if user.is_none_or(|user| may(&meta, user, 0o5)) {
        return Ok(dup(&file)?);
    }
    let memory = File::from(memfd_create(PROGRAM, MemfdFlags::CLOEXEC)?);
    io::copy(&mut &file, &mut &memory)?;
    fchmod(&memory, Mode::from_raw_mode(0o755))?;
    // The kernel does not execute a file that is open for writing, so the copy is opened again for reading.
    let read = File::open(format!("/proc/self/fd/{}", memory.as_raw_fd()))?;
    Ok(dup(&read)?)
}

/// Creates a folder and locks it.
fn make_folder(temp: &Path) -> io::Result<(TempDir, File)> {
    let private = fs::Permissions::from_mode(0o700);
    loop {
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(private.clone())
            .tempdir_in(temp)?;
        let lock = File::open(folder.path())?;
        // The umask may have removed rights of the owner.
        fs::set_permissions(folder.path(), private.clone())?;
        let is_locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Before it was locked, another wirelap may have removed the folder as one that nobody uses.
        if is_locked && fstat(&lock)?.st_nlink > 0 {
            return Ok((folder, lock));
        }
    }
}

/// Removes folders that no process uses: their locks have ended with the processes that held them.
fn remove_abandoned(temp: &Path, user: Option<User>) {
    let own = rustix::process::geteuid().as_raw();
    let is_ours = |uid: u32| uid == own || user.is_some_and(|user| user.uid == uid);
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(folder) = rustix::fs::open(entry.path(), flags, Mode::empty()) else { continue };
        let owner = fstat(&folder).map(|stat| stat.st_uid);
        if owner.is_ok_and(is_ours)
            && flock(&folder, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
        {
            // A folder that cannot be removed is left to the system's clean-up of temporary files.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True if the workloads' program is there.
pub fn is_installed() -> bool {
    find().is_ok()
}

/// The path of the program: `$WIRELAP_WORKLOAD`, or the file beside wirelap's own program.
fn find() -> io::Result<PathBuf> {
    if let Some(named) = env::var_os("WIRELAP_WORKLOAD") {
        let named = PathBuf::from(named);
        if named.is_file() {
            return std::path::absolute(named);
        }
        let named = named.display();
        return Err(io::Error::other(format!(
            "$WIRELAP_WORKLOAD names {named}, which is not a file"
        )));
    }
    let beside = env::current_exe().map(|exe| exe.with_file_name(PROGRAM)).unwrap_or_default();
    if beside.is_file() {
        return Ok(beside);
    }
    Err(io::Error::other(format!(
        "there is no {PROGRAM} at {}: build it with `cargo build -p {PROGRAM}`, or set $WIRELAP_WORKLOAD to \
         its path",
        beside.display()
    )))
}

/// True if the user may execute the file and search every folder above it. False when in doubt, because the program can then
/// still be executed through an open file.
fn can_reach(program: &Path, user: User) -> bool {
    let Ok(program) = program.canonicalize() else { return false };
    program.ancestors().all(|path| fs::metadata(path).is_ok_and(|meta| may(&meta, user, 0o1)))
}

/// True if the mode of a file gives the user all of these rights.
fn may(meta: &fs::Metadata, user: User, rights: u32) -> bool {
    let shift = match () {
        () if meta.uid() == user.uid => 6,
        () if meta.gid() == user.gid => 3,
        () => 0,
    };
    meta.mode() >> shift & rights == rights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_folder_is_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let program = folder.path().join("p");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let stranger = User { uid: 4_000_000, gid: 4_000_000 };
        assert!(!can_reach(&program, stranger), "the folder is its owner's alone");
        let owner = fs::metadata(&program).unwrap();
        assert!(can_reach(&program, User { uid: owner.uid(), gid: owner.gid() }));
        assert!(!can_reach(Path::new("/nonexistent"), stranger));
    }

    #[test]
    fn a_folder_that_nobody_uses_is_removed_and_one_in_use_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let (used, _lock) = make_folder(temp.path()).unwrap();
        let (abandoned, lock) = make_folder(temp.path()).unwrap();
        fs::create_dir(abandoned.path().join("data")).unwrap();
        let other = temp.path().join("wirelap-other");
        fs::create_dir(&other).unwrap();
        let (abandoned, used) = (abandoned.keep(), used.path().to_owned());
        remove_abandoned(temp.path(), None);
        assert!(abandoned.exists() && used.exists());
        drop(lock);
        remove_abandoned(temp.path(), None);
        assert!(!abandoned.exists(), "nobody uses it any more");
        assert!(used.exists() && other.exists());
    }
}
