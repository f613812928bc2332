//! Mutations of committed captures, through the program: whatever a file has, an exit status and no panic.
//!
//! `WIRELAP_MUTATIONS=N` tries N of each capture, `WIRELAP_SEED=N` begins with another one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wirelap_test_support::committed;
use wirelap_test_support::mutate::{mutate, number};
use wirelap_test_support::random::Random;

/// Bytes at the beginning of a long capture that are mutated.
const MOST_BYTES: u64 = 32 << 10;

/// A run that takes longer hangs.
const LONG: Duration = Duration::from_mins(1);

/// Runs the program. What is wrong with how it ended, if anything.
fn ends_badly(words: &[&str], folder: &Path) -> Option<String> {
    let complaints = folder.join("stderr");
    let mut child = Command::new(env!("CARGO_BIN_EXE_wirelap"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&complaints).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LONG;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Some(format!("{words:?} hangs"));
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let said = fs::read_to_string(&complaints).unwrap_or_default();
    let is_fine = matches!(status.code(), Some(0..=3)) && !said.contains("panicked");
    (!is_fine).then(|| format!("{words:?}: {status}: {said}"))
}

#[test]
fn mutated_captures_break_no_command() {
    let (mutations, first) = (number("WIRELAP_MUTATIONS", 1), number("WIRELAP_SEED", 0));
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let commands: [&[&str]; 5] = [
        &["analyze", "in.pcapng", "--json", "out.json"],
        &["analyze", "in.pcapng", "--explain"],
        &["analyze", "in.pcapng", "--annotate", "told.pcapng"],
        &["analyze", "told.pcapng"],
        &["export", "--perfetto", "in.pcapng", "-o", "trace.json", "--force"],
    ];
    let mut wrong = Vec::new();
    for (name, bytes) in committed::all(MOST_BYTES) {
        for seed in first..first + mutations {
            let file = mutate(&bytes, &mut Random::new(seed + 77));
            fs::write(path.join("in.pcapng"), file).unwrap();
            let _ = fs::remove_file(path.join("told.pcapng"));
            for words in commands {
                wrong.extend(
                    ends_badly(words, path).map(|how| format!("{name}, seed {seed}: {how}")),
                );
            }
            if path.join("out.json").exists() {
                wrong.extend(ends_badly(&["explain", "out.json"], path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
