//! The captures and recordings that are committed for tests.

use crate::pcap;
use std::io::Read;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 10] = [
    "tracer/correlate/tests/why",
    "tracer/cli/tests/hosts",
    "tracer/protocols/tests/captured/captures",
    "tracer/protocols/tests/dissectors/captures",
    "tracer/protocols/tests/kafka/captures",
    "tracer/protocols/tests/opcua/captures",
    "tracer/protocols/tests/rtps/captures",
    "tracer/protocols/tests/xrce/captures",
    "tracer/replay/tests/captures",
    "tracer/report/fuzz/regressions",
];

/// A file or folder of the repository whose tests run. Cargo says where their package is: one that was known when the tests were compiled
/// may be another, because clones can share a target directory.
pub fn repository(path: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let is_top = |folder: &&Path| folder.join("tracer/support/src/committed.rs").is_file();
    let top = package.ancestors().find(is_top).unwrap_or(&package);
    top.join(path)
}

/// A file among the tests of the decoders, such as `kafka/captures/kcat.pcap`.
pub fn of_protocols(path: &str) -> PathBuf {
    repository("tracer/protocols/tests").join(path)
}

/// Paths of the captures and recordings that are committed.
pub fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(repository(folder)).ok())
        .flat_map(|folder| folder.filter_map(Result::ok).map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    files.sort();
    files
}

/// Name and bytes of each, decompressed, up to `most` of these.
pub fn all(most: u64) -> Vec<(String, Vec<u8>)> {
    let named = |path: &PathBuf| {
        let mut bytes = Vec::new();
        pcap::open(path).take(most).read_to_end(&mut bytes).ok()?;
        Some((path.file_name()?.to_string_lossy().into_owned(), bytes))
    };
    files().iter().filter_map(named).collect()
}
