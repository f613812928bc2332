//! The captures and recordings that are committed for tests.

use std::io::Read as _;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 9] = [
    "correlate/tests/why",
    "cli/tests/hosts",
    "protocols/tests/captured/captures",
    "protocols/tests/dissectors/captures",
    "protocols/tests/kafka/captures",
    "protocols/tests/opcua/captures",
    "protocols/tests/rtps/captures",
    "protocols/tests/xrce/captures",
    "report/fuzz/regressions",
];

fn files() -> Vec<PathBuf> {
    let tracer =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|path| path.ends_with("tracer"));
    let tracer = tracer.expect("this is below tracer/");
    let mut files: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(tracer.join(folder)).ok())
        .flat_map(|folder| folder.filter_map(Result::ok).map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    files.sort();
    files
}

/// Name and bytes of each, up to `most` of these.
pub fn all(most: u64) -> Vec<(String, Vec<u8>)> {
    let read = |path: &PathBuf| {
        let mut bytes = Vec::new();
        wirelap_recording::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
        Some((path.file_name()?.to_string_lossy().into_owned(), bytes))
    };
    files().iter().filter_map(read).collect()
}
