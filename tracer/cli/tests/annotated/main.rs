//! Messages as packets tell of them: tshark, with our dissector, must read of each message what the correlator
//! says of it, beside the packet that the leg's stages name.
//!
//! Needs tshark: `cargo test -p wirelap --features privileged --test annotated`.

#![cfg(feature = "privileged")]
#![allow(missing_docs, reason = "a test")]

mod others;
mod ours;
mod told;
mod truth;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wirelap_test_support::committed::repository;

fn root() -> PathBuf {
    repository("")
}

fn analyze(files: &[&Path], to: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelap"));
    command
        .args(["analyze", "--force"])
        .args(files)
        .args([Path::new("--annotate"), to])
        .output()
        .unwrap()
}

fn annotate(file: &Path, to: &Path) {
    let output = analyze(&[file], to);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
