//! The files with code that running programs have mapped, through `/proc/PID/root`, so that those of containers are found too.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Parts of the names of libraries that TLS may be in.
const NAMES: [&str; 4] = ["ssl", "tls", "crypto", "rdkafka"];

/// Folders with libraries that programs may load later.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
];

/// A file with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Where it can be opened.
    pub path: PathBuf,
    /// What its users call it.
    pub name: String,
}

/// Every program that runs, and every library with a likely name, once.
pub fn find() -> Vec<CodeFile> {
    let mut all = BTreeMap::new();
    for folder in FOLDERS {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("libssl") || name.starts_with("libgnutls.") {
                add(&mut all, entry.path(), name);
            }
        }
    }
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id().to_string();
    for process in processes.flatten() {
        let name = process.file_name();
        let is_process = name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        if is_process && name.to_str() != Some(&own) {
            of_process(&process.path(), &mut all);
        }
    }
    all.into_values().collect()
}

/// The files of one process; none if it has ended.
fn of_process(process: &Path, all: &mut BTreeMap<(u64, u64), CodeFile>) {
    let exe = process.join("exe");
    let name = fs::read_link(&exe).map_or(String::new(), |path| path.display().to_string());
    add(all, exe, name);
    let Ok(maps) = fs::read_to_string(process.join("maps")) else { return };
    for (range, path) in maps.lines().filter_map(mapped_code) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if NAMES.iter().any(|part| name.contains(part)) {
            // A library that was replaced is still to be had where it is mapped.
            let place = match path.strip_suffix(" (deleted)") {
                Some(_) => process.join("map_files").join(range),
                None => process.join("root").join(path.trim_start_matches('/')),
            };
            add(all, place, path.to_owned());
        }
    }
}

fn add(all: &mut BTreeMap<(u64, u64), CodeFile>, path: PathBuf, name: String) {
    if let Ok(about) = fs::metadata(&path)
        && about.is_file()
    {
        all.entry((about.dev(), about.ino())).or_insert(CodeFile { path, name });
    }
}

/// The addresses and the path of a line of `/proc/PID/maps` that maps code of a file (`proc(5)`):
/// `address perms offset dev inode path`.
fn mapped_code(line: &str) -> Option<(&str, &str)> {
    let mut rest = line;
    let mut fields = [""; 5];
    for field in &mut fields {
        let (first, after) = rest.split_once(' ')?;
        (*field, rest) = (first, after.trim_start());
    }
    let [range, rights, ..] = fields;
    (rights.contains('x') && rest.starts_with('/')).then_some((range, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_counts() {
        let code = "7f12-7f34 r-xp 00028000 fe:00 1234                       /usr/lib/libssl.so.3";
        assert_eq!(mapped_code(code), Some(("7f12-7f34", "/usr/lib/libssl.so.3")));
        assert_eq!(mapped_code(&code.replace("r-xp", "r--p")), None);
        assert_eq!(mapped_code("7f12-7f34 r-xp 00000000 00:00 0     [vdso]"), None);
        assert_eq!(mapped_code("7f12-7f34 r-xp 00000000 00:00 0"), None);
    }

    #[test]
    fn a_replaced_library_keeps_its_name() {
        let line = "1-2 r-xp 0 fe:00 9 /opt/my app/libssl.so.3 (deleted)";
        assert_eq!(mapped_code(line), Some(("1-2", "/opt/my app/libssl.so.3 (deleted)")));
    }
}
