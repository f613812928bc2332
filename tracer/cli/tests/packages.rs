//! Parts of packages that come from the program itself: its version, manual pages and completions.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

fn wirelap(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).output().unwrap()
}

/// Runs a command that succeeds, and returns what it prints.
fn printed(words: &[&str]) -> String {
    let output = wirelap(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that `wirelap --help` lists.
fn commands() -> BTreeSet<String> {
    let help = printed(&["--help"]);
    let list = help.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let starts = list.lines().filter_map(|line| line.strip_prefix("  "));
    let names = starts.filter(|line| !line.starts_with(' ')).map(|line| line.split(' ').next());
    let names: BTreeSet<_> =
        names.flatten().map(str::to_owned).filter(|name| name != "help").collect();
    assert!(names.contains("live") && names.contains("analyze"), "{names:?}");
    names
}

#[test]
fn the_version_has_the_commit_where_it_is_known() {
    let version = printed(&["--version"]);
    let rest = version.trim().strip_prefix(concat!("wirelap ", env!("CARGO_PKG_VERSION"))).unwrap();
    assert!(version.contains(env!("WIRELAP_VERSION")), "{version}");
    let git = |words: &[&str]| {
        Command::new("git").args(words).output().is_ok_and(|git| git.status.success())
    };
    match rest.strip_prefix(" (").and_then(|rest| rest.split(' ').next()) {
        // Not always the newest: somebody may commit while tests are compiled.
        Some(commit) => assert!(git(&["merge-base", "--is-ancestor", commit, "HEAD"]), "{version}"),
        None => assert_eq!(rest, ""),
    }
}

#[test]
fn a_manual_page_is_written_for_every_command_and_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    printed(&["manual", "--to", to]);
    let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    let files: BTreeSet<_> = files.map(|name| name.into_string().unwrap()).collect();
    let mut expected: BTreeSet<_> =
        commands().iter().map(|name| format!("wirelap-{name}.1")).collect();
    expected.insert("wirelap.1".to_owned());
    assert_eq!(files, expected);
    let again = wirelap(&["manual", "--to", to]);
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(2) && message.contains("is there already"), "{message}");
    printed(&["manual", "--force", "--to", to]);
}

#[test]
fn completions_name_every_command_in_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        let missing: Vec<_> =
            commands().into_iter().filter(|name| !script.contains(name)).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
    let bash = tempfile::NamedTempFile::new().unwrap();
    fs::write(bash.path(), printed(&["completions", "bash"])).unwrap();
    let checked = Command::new("bash").arg("-n").arg(bash.path()).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
