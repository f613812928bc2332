//! Access to the text of a process's TLS: whether it can be read, and why not.

use super::files::{CodeFile, ProcessCode};
use memchr::memmem;
use object::read::{Object, ObjectSection, ReadCache};
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The most bytes of a program that are searched for names.
const SEARCHED: u64 = 64 << 20;

/// Access to the text of a process's TLS: the file that is probed, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsAccess {
    /// The probes are attached to this file.
    Attached(String),
    /// This file has functions of TLS, and the kernel refuses the probes.
    Refused {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The process runs Java.
    Java,
    /// The process is written in Rust, with rustls, whose functions have no symbols, or none of their own.
    Rustls,
    /// The process is written in Go, and has no symbols.
    StrippedGo,
    /// The process contains this library, without symbols.
    NoSymbols(&'static str),
    /// Nothing of it is known to be TLS.
    NoLibrary,
}

impl fmt::Display for TlsAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsAccess::Attached(file) => write!(
                f,
                "no text came from {}: a program may encrypt in memory, and send and receive elsewhere",
                short(file)
            ),
            TlsAccess::Refused { file, reason } => {
                write!(f, "{} cannot be probed: {reason}", short(file))
            }
            TlsAccess::Java => f.write_str("Java has TLS of its own, compiled while it runs"),
            TlsAccess::Rustls => f.write_str(
                "has rustls inside, without symbols: build it with `strip = false` and `lto = \"off\"`",
            ),
            TlsAccess::StrippedGo => f.write_str("a Go program without symbols"),
            TlsAccess::NoSymbols(library) => write!(f, "has {library} inside, without symbols"),
            TlsAccess::NoLibrary => f.write_str("no library of TLS is known in it"),
        }
    }
}

/// A file's name, without its folder. A replaced file's ends with ` (deleted)`.
fn short(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(" (deleted)")
        .map_or_else(|| name.to_owned(), |name| format!("{name} (replaced on disk)"))
}

/// Why a process without functions that can be probed cannot be read.
pub fn why_not(code: &ProcessCode) -> TlsAccess {
    if code.is_java {
        return TlsAccess::Java;
    }
    code.program.as_ref().and_then(of_program).unwrap_or(TlsAccess::NoLibrary)
}

/// Reads from names in a program's data why nothing of it can be probed. Names of source files are in programs in Rust, those of
/// functions in programs in Go.
fn of_program(program: &CodeFile) -> Option<TlsAccess> {
    let file = File::open(&program.path).ok()?;
    let cache = ReadCache::new(&file);
    let elf = object::File::parse(&cache).ok()?;
    let has = |section: &str, name: &str| {
        let range = elf.section_by_name(section).and_then(|section| section.file_range());
        range.is_some_and(|(start, len)| contains(&file, start, len, name.as_bytes()))
    };
    if has(".gopclntab", "crypto/tls.(*Conn).Write")
        || has(".data.rel.ro.gopclntab", "crypto/tls.(*Conn).Write")
    {
        return Some(TlsAccess::StrippedGo);
    }
    let libraries = [
        ("/rustls-", TlsAccess::Rustls),
        ("BoringSSL", TlsAccess::NoSymbols("BoringSSL")),
        ("OpenSSL 1.", TlsAccess::NoSymbols("OpenSSL")),
        ("OpenSSL 3.", TlsAccess::NoSymbols("OpenSSL")),
        ("mbedtls", TlsAccess::NoSymbols("Mbed TLS")),
        ("wolfSSL", TlsAccess::NoSymbols("wolfSSL")),
    ];
    libraries.into_iter().find(|(name, _)| has(".rodata", name)).map(|(_, access)| access)
}

/// True if a part of a file has these bytes.
fn contains(file: &File, start: u64, len: u64, bytes: &[u8]) -> bool {
    const CHUNK: u64 = 1 << 20;
    let mut buffer = Vec::new();
    let (mut at, end) = (start, start.saturating_add(len.min(SEARCHED)));
    while at < end {
        buffer.clear();
        let wanted = (end - at).min(CHUNK);
        let mut part = file;
        let sought = part.seek(SeekFrom::Start(at)).is_ok();
        if !sought || part.take(wanted).read_to_end(&mut buffer).unwrap_or(0) == 0 {
            return false;
        }
        if memmem::find(&buffer, bytes).is_some() {
            return true;
        }
        // What is searched for may lie across two chunks.
        at += wanted.saturating_sub(bytes.len() as u64).max(1);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_name_is_found_wherever_it_stands() {
        let mut file = tempfile::tempfile().unwrap();
        let mut bytes = vec![b'.'; (1 << 20) - 3];
        bytes.extend_from_slice(b"/rustls-0.23/src");
        file.write_all(&bytes).unwrap();
        let len = bytes.len() as u64;
        assert!(contains(&file, 0, len, b"/rustls-"));
        assert!(contains(&file, 1 << 10, u64::MAX, b"/rustls-"));
        assert!(!contains(&file, 0, len, b"OpenSSL 3."));
        assert!(!contains(&file, 0, 1 << 10, b"/rustls-"));
    }

    #[test]
    fn the_reason_is_said() {
        let replaced = TlsAccess::Attached("/usr/lib/libssl.so.3 (deleted)".into()).to_string();
        assert!(replaced.contains("libssl.so.3 (replaced on disk):"), "{replaced}");
        let java = ProcessCode { is_java: true, ..ProcessCode::default() };
        assert_eq!(why_not(&java), TlsAccess::Java);
        assert_eq!(why_not(&ProcessCode::default()), TlsAccess::NoLibrary);
    }
}
