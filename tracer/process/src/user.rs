//! The user that workloads run as, which is never root.

use std::fs;
use std::path::{Path, PathBuf};

/// An unprivileged user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl User {
    /// The user's home folder; `None` if it does not exist (that of `nobody` usually does not).
    pub fn home(self) -> Option<PathBuf> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        home_of(&passwd, self.uid).map(PathBuf::from).filter(|home| home.is_dir())
    }
}

/// The user that workloads run as when this process is root: the user who called sudo, otherwise `nobody`. `None` when
/// this process is not root: workloads run as its own user then.
pub fn for_workloads() -> Option<User> {
    rustix::process::geteuid().is_root().then(|| invoking().unwrap_or_else(nobody))
}

/// The user who called sudo; `None` without sudo, or if root called it.
pub fn invoking() -> Option<User> {
    let id = |name| std::env::var(name).ok()?.parse::<u32>().ok().filter(|&id| id != 0);
    Some(User { uid: id("SUDO_UID")?, gid: id("SUDO_GID")? })
}

fn nobody() -> User {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    user_named(&passwd, "nobody").unwrap_or(User { uid: 65_534, gid: 65_534 })
}

/// Finds a user by name in passwd(5): `name:password:uid:gid:…`.
fn user_named(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        Some(User { uid: fields.nth(1)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    })
}

/// Finds the home folder of a user id, which is the sixth field of passwd(5).
fn home_of(passwd: &str, uid: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()?.parse() == Ok(uid)).then_some(())?;
        fields.nth(2)
    })
}

/// Makes a user the owner of a file or folder; with `None`, does nothing.
pub fn give(path: &Path, user: Option<User>) -> std::io::Result<()> {
    match user {
        Some(user) => std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(user_named(passwd, "nobody"), Some(User { uid: 65_534, gid: 65_533 }));
        assert_eq!(home_of(passwd, 0), Some("/root"));
        assert_eq!(home_of(passwd, 7), None);
        assert_eq!(user_named(passwd, "body"), None);
        assert_eq!(user_named("nobody:x", "nobody"), None);
    }
}
