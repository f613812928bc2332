//! The files with code that running programs have mapped, through `/proc/PID/root`, so that those of containers are found too.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wirelap_events::Pid;

/// Parts of the names of libraries that TLS may be in.
const NAMES: [&str; 4] = ["ssl", "tls", "crypto", "rdkafka"];

/// The library that Java runs in.
const JAVA: &str = "libjvm.so";

/// Folders with libraries that programs may load later.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
];

/// Device and inode.
pub type FileId = (u64, u64);

/// A file with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Device and inode, which make it one file, however it is called.
    pub id: FileId,
    /// Path by which the file can be opened.
    pub path: PathBuf,
    /// Path that the file's users know it by.
    pub name: String,
}

impl CodeFile {
    fn at(path: PathBuf, name: String) -> Option<CodeFile> {
        let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(CodeFile { id: (about.dev(), about.ino()), path, name })
    }
}

/// The code of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCode {
    /// The program, unless the process has ended.
    pub program: Option<CodeFile>,
    /// The libraries that TLS may be in.
    pub libraries: Vec<CodeFile>,
    /// True if the process runs Java.
    pub is_java: bool,
}

impl ProcessCode {
    /// That of this process; nothing if it has ended.
    pub fn of(pid: Pid) -> ProcessCode {
        let process = Path::new("/proc").join(pid.0.to_string());
        let exe = process.join("exe");
        let name = fs::read_link(&exe).map_or(String::new(), |path| path.display().to_string());
        let program = CodeFile::at(exe, name);
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        let mut code = ProcessCode { program, ..ProcessCode::default() };
        for (range, path) in maps.lines().filter_map(mapped_code) {
            let name = path.rsplit('/').next().unwrap_or(path);
            code.is_java |= name == JAVA;
            if !NAMES.iter().any(|part| name.contains(part)) {
                continue;
            }
            // A library that was replaced is still to be had where it is mapped.
            let place = match path.strip_suffix(" (deleted)") {
                Some(_) => process.join("map_files").join(range),
                None => process.join("root").join(path.trim_start_matches('/')),
            };
            code.libraries.extend(CodeFile::at(place, path.to_owned()));
        }
        code
    }

    /// Returns the libraries and the program.
    pub fn files(&self) -> impl Iterator<Item = &CodeFile> {
        self.libraries.iter().chain(&self.program)
    }
}

/// The libraries that programs may load later.
pub fn usual() -> Vec<CodeFile> {
    let entries = FOLDERS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry));
    let is_library = |name: &str| name.starts_with("libssl") || name.starts_with("libgnutls.");
    named
        .filter(|(name, _)| is_library(name))
        .filter_map(|(name, entry)| CodeFile::at(entry.path(), name))
        .collect()
}

/// All processes but this one.
pub fn processes() -> Vec<Pid> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|&pid| pid != own).map(Pid).collect()
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

    #[test]
    fn a_process_that_has_ended_has_no_code() {
        assert_eq!(ProcessCode::of(Pid(u32::MAX)), ProcessCode::default());
    }

    #[test]
    fn this_process_has_a_program() {
        let code = ProcessCode::of(Pid(std::process::id()));
        assert!(code.program.is_some_and(|program| program.name.contains("wirelap")));
        assert!(!code.is_java);
    }
}
