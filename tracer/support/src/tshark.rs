//! Runs tshark.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// tshark without the user's preferences, and without dissectors that are installed.
pub fn command() -> Command {
    let mut tshark = Command::new("tshark");
    tshark.env("HOME", empty_home()).env_remove("XDG_CONFIG_HOME");
    tshark
}

/// The folder of the running test's program: nobody keeps preferences there.
fn empty_home() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows where it is");
    program.parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns the output of a command, which must succeed.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    text(&output)
}

/// Returns the output of a command, which must have nothing to complain about: that is where errors in Lua show up.
pub fn quiet_output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> =
        complaints.lines().filter(|line| !line.starts_with("Running as user")).collect();
    assert!(complaints.is_empty(), "{command:?}: {complaints:#?}");
    text(&output)
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// An attribute of the element on a line of PDML; empty if it has none.
pub fn attribute<'l>(line: &'l str, name: &str) -> &'l str {
    let mut parts = line.split('"');
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        if key.trim_end_matches('=').rsplit(' ').next() == Some(name) {
            return value;
        }
    }
    ""
}
