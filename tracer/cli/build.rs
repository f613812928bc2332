//! Finds out which commit is compiled, for `wirelap --version`. Only this crate asks, so that a new commit recompiles no other.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // For builds that have no git folder, as those of distributions.
    println!("cargo::rerun-if-env-changed=WIRELAP_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let given = env::var("WIRELAP_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = match given.or_else(checked_out) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=WIRELAP_VERSION={version}");
}

/// The commit of this clone and its date; `None` in another project's clone, and where there is none.
fn checked_out() -> Option<String> {
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    if top.canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    // Git writes a line there whenever the checked-out commit changes. A file that does not exist would be taken as changed
    // each time.
    let log = PathBuf::from(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&["show", "--no-patch", "--abbrev=12", "--format=%h %cs", "HEAD"])
}

/// Returns the output of git, without the line's end; `None` if git fails or prints nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
