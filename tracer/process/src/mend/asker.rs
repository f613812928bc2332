//! The process that asks for a remedy.

use std::path::Path;

/// The process that asks for a remedy; the command that helps depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// True for root, which lacks capabilities nevertheless (a container).
    pub is_root: bool,
    /// setcap(8) is installed.
    pub has_setcap: bool,
    /// The path of wirelap's own program.
    pub program: String,
}

impl Asker {
    /// This process.
    pub fn here() -> Asker {
        let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        let has = |folder: &&str| Path::new(folder).join("setcap").exists();
        let program = std::env::current_exe().unwrap_or_else(|_| "wirelap".into());
        Asker {
            is_root: rustix::process::geteuid().is_root(),
            has_setcap: folders.iter().any(has),
            program: program.display().to_string(),
        }
    }
}
