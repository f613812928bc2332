//! A network namespace of this process's own making.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use wirelap_process::Failure;
use wirelap_process::remedy;

/// A network namespace. The kernel removes it once this value is dropped and no process is in it any more.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new namespace, in which ICMP echo is allowed to every user.
    ///
    /// # Errors
    /// This process may not make namespaces, or the kernel has none left.
    pub fn new() -> Result<Namespace, Failure> {
        // Only a thread moves, and it ends here.
        let made = alone(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")?;
            File::open("/proc/thread-self/ns/net")
        });
        made.map(Namespace).map_err(|error| {
            Failure::Machine(match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "hosts of their own are network namespaces, which only root with all capabilities can make: use \
                     sudo, or run without --hosts"
                        .into()
                }
                _ => format!("cannot make a network namespace: {}", remedy::with(&error)),
            })
        })
    }

    /// The path of the namespace for other programs, while this process keeps it open.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Does some work in the namespace. Programs that it starts are in the namespace, too.
    ///
    /// # Errors
    /// The work failed, or the namespace cannot be entered.
    pub fn within<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        alone(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        })
        .unwrap_or_else(|error| {
            let error = remedy::with(&error);
            Err(Failure::Machine(format!("cannot enter a network namespace: {error}")))
        })
    }
}

/// Does some work on a thread of its own, which has the rights of this one.
fn alone<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
