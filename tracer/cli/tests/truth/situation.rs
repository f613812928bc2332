//! A folder with a script and an expectation.

use crate::cell::Cell;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wirelap_test_support::committed::repository;

/// A situation that can be arranged.
pub struct Situation {
    /// The name of the folder.
    pub name: String,
    /// The script that arranges it.
    pub script: PathBuf,
    /// Statements that must be made about it.
    pub expectation: Expectation,
}

/// Statements that must be made about a situation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in the file")]
pub struct Expectation {
    /// The situation in a sentence.
    pub about: String,
    /// The row that is judged; `none` where no messages can be seen.
    pub middleware: String,
    /// Programs beside Python's libraries.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The cells that the situation makes sense in.
    #[serde(default = "all_cells")]
    pub cells: Vec<Cell>,
    /// The cells that every test run tries.
    #[serde(default)]
    pub ci: Vec<Cell>,
    /// Causes that make messages slow or lost. Nothing is wrong if there is none.
    #[serde(default, rename = "cause")]
    pub causes: Vec<Cause>,
    /// Kinds of problems that are true as well.
    #[serde(default)]
    pub allow: Vec<String>,
    /// True if the programs count their messages.
    #[serde(default = "yes")]
    pub counts: bool,
    /// By how many messages the counts may differ, where the programs cannot know better.
    #[serde(default)]
    pub tolerance: u64,
    /// True if the verdicts are judged.
    #[serde(default = "yes")]
    pub why: bool,
    /// True if the one-way times are compared with the programs' own, on a quiet machine.
    #[serde(default)]
    pub latency: bool,
    /// Number of the middleware's rows.
    pub rows: Option<usize>,
    /// There are too few messages for a verdict.
    #[serde(default)]
    pub too_few: bool,
    /// The value `any` if a cause may be a note instead of a problem.
    #[serde(default)]
    pub severity: String,
    /// Text that the screen, or the report, must have.
    pub page: Option<String>,
    /// Text that the screen must have while a state holds.
    #[serde(default)]
    pub looks: BTreeMap<String, String>,
}

/// A cause, as far as it can be named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The verdict's kind.
    pub kind: String,
    /// The verdict's leg, if it has one.
    pub leg: Option<u64>,
    /// A part of its process's name, if it names one.
    pub process: Option<String>,
    /// A part of its row's name: no other row has such a problem then.
    pub row: Option<String>,
}

fn yes() -> bool {
    true
}

fn all_cells() -> Vec<Cell> {
    Cell::ALL.to_vec()
}

/// The folder of the lab.
pub fn folder() -> PathBuf {
    repository("tracer/cli/tests/truth")
}

/// All situations, by name.
pub fn all() -> Vec<Situation> {
    let entries = fs::read_dir(folder().join("situations")).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders.iter().map(|folder| read(folder)).collect()
}

/// The one of this name.
pub fn named(name: &str) -> Situation {
    read(&folder().join("situations").join(name))
}

/// Those of a list that is separated by commas: a situation's name, or what is a part of several names.
pub fn chosen(list: &str) -> Vec<Situation> {
    let all = all();
    let is_name = |part: &str| all.iter().any(|situation| situation.name == part);
    let (names, parts): (Vec<&str>, Vec<&str>) = list.split(',').partition(|part| is_name(part));
    let wanted = |situation: &Situation| {
        names.contains(&situation.name.as_str())
            || parts.iter().any(|part| situation.name.contains(part))
    };
    let wanted: Vec<bool> = all.iter().map(wanted).collect();
    all.into_iter().zip(wanted).filter_map(|(one, is_wanted)| is_wanted.then_some(one)).collect()
}

fn read(folder: &Path) -> Situation {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(folder.join("expect.toml"))
        .unwrap_or_else(|error| panic!("{name}/expect.toml: {error}"));
    let expectation =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{name}/expect.toml: {error}"));
    let script = folder.join("arrange");
    assert!(script.is_file(), "{name}: the script `arrange` is missing");
    Situation { name, script, expectation }
}
