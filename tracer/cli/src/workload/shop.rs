//! Where workloads get what they need: their program and a folder of their own.

use super::user::{self, User};
use crate::args::ProgramArgs;
use crate::failure::Failure;
use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PROGRAM: &str = "wirelap-workload";

/// The program, the user and the folder of the workloads. The folder goes away with this.
#[derive(Debug)]
pub struct Shop {
    /// The program that is started.
    pub program: PathBuf,
    /// Whom it is started as; `None` for ourselves.
    pub user: Option<User>,
    /// What tells the workloads where programs of others are.
    variables: Vec<(&'static str, PathBuf)>,
    folder: TempDir,
}

impl Shop {
    /// Finds the program and makes the folder.
    ///
    /// # Errors
    /// The program is nowhere, or the temporary folder cannot be made.
    pub fn open(programs: &ProgramArgs) -> Result<Shop, Failure> {
        let found = find()?;
        let user = user::for_workloads();
        let make = || -> std::io::Result<Shop> {
            let private = fs::Permissions::from_mode(0o700);
            let folder =
                tempfile::Builder::new().prefix("wirelap-").permissions(private).tempdir()?;
            let reachable = user.is_none_or(|user| can_reach(&found, user));
            let program = if reachable { found.clone() } else { folder.path().join(PROGRAM) };
            if !reachable {
                fs::copy(&found, &program)?;
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
            }
            user::give(folder.path(), user)?;
            Ok(Shop { program, user, variables: programs.variables(), folder })
        };
        make().map_err(|error| {
            let temp = env::temp_dir();
            let temp = temp.display();
            Failure::Machine(format!(
                "cannot prepare a folder for the workloads under {temp}: {error}: set TMPDIR to a \
                 folder with room"
            ))
        })
    }

    /// The program, to be started as the workloads' user with nothing of ours but the environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir("/").env("TMPDIR", self.folder()).env_remove("RUST_LOG");
        command.envs(self.variables.iter().map(|(name, folder)| (name, folder)));
        if let Some(user) = self.user {
            let home = user.home().unwrap_or_else(|| self.folder().to_owned());
            command.uid(user.uid).gid(user.gid).env("HOME", home);
        }
        command
    }

    /// The folder, which belongs to the workloads' user.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// `$WIRELAP_WORKLOAD`, or the file beside our own program.
fn find() -> Result<PathBuf, Failure> {
    if let Some(told) = env::var_os("WIRELAP_WORKLOAD") {
        let told = PathBuf::from(told);
        if told.is_file() {
            return Ok(told);
        }
        let told = told.display();
        return Err(Failure::Machine(format!("$WIRELAP_WORKLOAD names {told}, which is no file")));
    }
    let beside = env::current_exe().map(|exe| exe.with_file_name(PROGRAM)).unwrap_or_default();
    if beside.is_file() {
        return Ok(beside);
    }
    Err(Failure::Machine(format!(
        "there is no {PROGRAM} at {}: build it with `cargo build -p {PROGRAM}`, or name it in \
         $WIRELAP_WORKLOAD",
        beside.display()
    )))
}

/// Whether the user may execute the file and search every folder above it. Answers no when in doubt,
/// which only costs a copy.
fn can_reach(program: &Path, user: User) -> bool {
    let Ok(program) = program.canonicalize() else { return false };
    program.ancestors().all(|path| {
        fs::metadata(path).is_ok_and(|meta| {
            let shift = match () {
                () if meta.uid() == user.uid => 6,
                () if meta.gid() == user.gid => 3,
                () => 0,
            };
            meta.mode() >> shift & 0o1 != 0
        })
    })
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
}
