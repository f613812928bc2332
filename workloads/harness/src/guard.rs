//! Child processes that cannot outlive this one, however it ends.
//!
//! A child asks the kernel for a signal at its parent's death. It has to ask itself, after its user
//! id was changed, which clears the request. So this program is started again as the child, asks, and
//! then becomes the real program by `exec`, which keeps the request and the process id.

use anyhow::{Context, anyhow};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::env;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// First argument of this program when it is such a child; then follow the parent's process id, the
/// program and its arguments.
const WORD: &str = "--become";

/// A command that runs `program` and dies with the calling thread.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD).arg(getpid().as_raw_nonzero().to_string()).arg(program);
    command
}

/// Becomes the real program if this process is such a child. Returns only if it is not (`None`) or cannot.
pub fn exec_if_asked() -> Option<anyhow::Error> {
    let mut args = env::args_os().skip(1);
    if args.next()? != WORD {
        return None;
    }
    let (Some(parent), Some(program)) = (args.next(), args.next()) else {
        return Some(anyhow!("{WORD} is for internal use"));
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Some(anyhow!("cannot ask for a signal at the parent's death: {error}"));
    }
    // The parent may have died before the request was made.
    let alive = getppid().is_some_and(|pid| *parent == *pid.as_raw_nonzero().to_string());
    if !alive {
        return Some(anyhow!("the parent has ended"));
    }
    let error = Command::new(&program).args(args).exec();
    Some(Err::<(), _>(error).context(program.display().to_string()).unwrap_err())
}
