//! Search for programs of others that are installed here.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wirelap_contract::Availability;

/// Folders of programs that a user's search path may leave out: Debian puts services into the first, `go install` and `cargo
/// install` put theirs into the user's home.
const USUAL_PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
const PLACES_AT_HOME: [&str; 3] = ["go/bin", ".cargo/bin", ".local/bin"];

/// The program `name`, on the search path or where such programs usually are.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    env::split_paths(&path)
        .chain(USUAL_PLACES.map(PathBuf::from))
        .chain(PLACES_AT_HOME.map(|place| home.join(place)))
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// Tells whether the program `name`, which tells its version when called with `flag`, is there, and otherwise how to get it.
pub fn availability(name: &str, flag: &str, remedy: &str) -> Availability {
    match find(name) {
        Some(program) => Availability::Installed { version: version(&program, flag) },
        None => Availability::Missing { remedy: remedy.into() },
    }
}

/// The first thing that looks like a version in what the program says when called with `flag`.
pub fn version(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).stdin(Stdio::null()).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&said))
}

fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .map(|word| word.trim_start_matches('v').trim_end_matches([',', ';', ')']))
        // A time in a log line that comes first is none.
        .filter(|word| !word.contains(':'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let said = |text| version_in(text).unwrap_or_default();
        assert_eq!(said("mosquitto version 2.0.11\n\nmosquitto is an MQTT v5.0 broker."), "2.0.11");
        assert_eq!(said("nats-server: v2.15.2"), "2.15.2");
        assert_eq!(said("iperf 3.12 (cJSON 1.7.15)"), "3.12");
        let zenohd =
            "2026-11-20T14:04:23.365513Z INFO zenohd: zenohd v1.10.2 built with rustc 1.95";
        assert_eq!(said(zenohd), "1.10.2");
        assert_eq!(version_in("usage: x [-v]"), None);
    }

    #[test]
    fn programs_are_found_or_not() {
        assert!(find("sh").is_some());
        let missing = availability("no-such-program-here", "-h", "build it");
        assert_eq!(missing.remedy(), Some("build it"));
    }
}
