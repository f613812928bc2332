//! The types of the running kernel (BTF), by which the probes find the fields of its structures.
//!
//! The kernel itself has them in `/sys/kernel/btf/vmlinux`. Where that is missing, a file can have them: BTF as it is, or an ELF file
//! with a section `.BTF`, such as a `vmlinux`. A file gives the places of fields, and the numbers of types. It does not give the kernel
//! itself types that it was built without: all of wirelap's hooks are programs whose arguments the kernel checks by its own BTF
//! (`kernel/bpf/verifier.c`, `check_attach_btf_id()`).

use crate::AttachError;
use aya::{Btf, Endianness};
use object::read::{Object, ObjectSection, ReadCache};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use wirelap_process::remedy::has_room;

/// The file with the kernel's own types.
pub const OWN: &str = "/sys/kernel/btf/vmlinux";

/// Places where a `vmlinux` of a kernel release may be: before the release, and behind it. libbpf looks at the same places
/// (`btf__load_vmlinux_btf()`).
const PLACES: [(&str, &str); 6] = [
    ("/boot/vmlinux-", ""),
    ("/lib/modules/", "/vmlinux-"),
    ("/lib/modules/", "/build/vmlinux"),
    ("/usr/lib/modules/", "/kernel/vmlinux"),
    ("/usr/lib/debug/boot/vmlinux-", ""),
    ("/usr/lib/debug/lib/modules/", "/vmlinux"),
];

/// First bytes of BTF (`include/uapi/linux/btf.h`, `BTF_MAGIC`), in the byte order of the host.
const MAGIC: u16 = 0xeb9f;
/// Bytes of the header.
const HEADER: usize = 24;
/// The longest BTF that is read. Those of distributions' kernels have 5 MB to 10 MB.
const MOST_BYTES: u64 = 256 << 20;

/// So many times its bytes are taken at most while BTF is parsed and the probes are fitted to it. Measured with the 5.8 MB of Linux
/// 6.18: 5.5 times as many.
const PARSED: usize = 7;

/// The running kernel's types, and where they are from.
#[derive(Debug)]
pub struct KernelTypes {
    /// The types.
    pub btf: Btf,
    /// The file that they are from.
    pub source: PathBuf,
}

impl KernelTypes {
    /// True if they are from the kernel itself.
    pub fn is_own(&self) -> bool {
        self.source == Path::new(OWN)
    }
}

/// The kernel's types: from a file if one is named; otherwise from the kernel itself, or from a file where kernels have them.
///
/// # Errors
/// The named file cannot be used, or no types are found; the sentence tells why, and the remedy.
pub fn find(file: Option<&Path>) -> Result<KernelTypes, AttachError> {
    if let Some(path) = file {
        return of_file(path);
    }
    match fs::read(OWN) {
        Ok(bytes) => parse(Path::new(OWN), &bytes),
        Err(source) if source.kind() == ErrorKind::NotFound => {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let found = places(&release).into_iter().filter(|path| path.exists());
            found
                .map(|path| of_file(&path))
                .find(Result::is_ok)
                .unwrap_or(Err(AttachError::NoBtf { source }))
        }
        Err(source) if source.kind() == ErrorKind::OutOfMemory => Err(no_room()),
        Err(source) => Err(AttachError::NoBtf { source }),
    }
}

fn no_room() -> AttachError {
    AttachError::NoRoom { source: rustix::io::Errno::NOMEM.into() }
}

/// The files that a kernel release may have its types in.
pub(crate) fn places(release: &str) -> Vec<PathBuf> {
    let place = |(before, behind): &(&str, &str)| {
        // The name of some files ends with the release, too.
        let again = if behind.ends_with('-') { release } else { "" };
        PathBuf::from(format!("{before}{release}{behind}{again}"))
    };
    PLACES.iter().map(place).collect()
}

/// The types in a file of the running kernel.
fn of_file(path: &Path) -> Result<KernelTypes, AttachError> {
    let bad = |what: String| AttachError::BtfFile { path: path.to_owned(), what };
    let bytes = read(path).map_err(bad)?;
    if let Ok(own) = fs::read(OWN)
        && own != bytes
    {
        return Err(bad(format!(
            "its types are not those of the running kernel, which has its own in {OWN}: leave the option out"
        )));
    }
    parse(path, &bytes)
}

/// The BTF in a file, as it is or in an ELF file.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("it cannot be read: {error}");
    let mut file = File::open(path).map_err(cannot)?;
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start).map_err(cannot)?;
    file.rewind().map_err(cannot)?;
    if start.starts_with(&MAGIC.to_ne_bytes()) {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
        return Ok(bytes);
    }
    if start != *b"\x7fELF" {
        return Err("it is neither BTF nor an ELF file: name a vmlinux, uncompressed, or a file like /sys/kernel/btf/vmlinux".into());
    }
    let cache = ReadCache::new(&file);
    let elf = object::File::parse(&cache)
        .map_err(|error| format!("its ELF headers cannot be read: {error}"))?;
    if let (Ok(Some(id)), Some(running)) = (elf.build_id(), running_build_id())
        && id != running
    {
        return Err("it is of another build than the running kernel (their build ids differ): name the vmlinux of this kernel".into());
    }
    let section = elf.section_by_name(".BTF").ok_or(
        "it has no section .BTF: name a vmlinux of a kernel built with CONFIG_DEBUG_INFO_BTF=y, or add the section with pahole -J",
    )?;
    if section.size() > MOST_BYTES {
        return Err("its section .BTF is too long to be one".into());
    }
    let data =
        section.data().map_err(|error| format!("its section .BTF cannot be read: {error}"))?;
    Ok(data.to_vec())
}

fn parse(path: &Path, bytes: &[u8]) -> Result<KernelTypes, AttachError> {
    let source = path.to_owned();
    if !is_whole(bytes) {
        let what = "its BTF is damaged or cut off: its header does not fit its length".to_owned();
        return Err(AttachError::BtfFile { path: source, what });
    }
    if !has_room(bytes.len().saturating_mul(PARSED)) {
        return Err(no_room());
    }
    let parsed = Btf::parse(bytes, Endianness::default());
    match parsed {
        Ok(btf) => Ok(KernelTypes { btf, source }),
        Err(error) if path == Path::new(OWN) => Err(AttachError::BadBtf(error)),
        Err(error) => {
            let what = format!("its BTF cannot be parsed: {error}");
            Err(AttachError::BtfFile { path: source, what })
        }
    }
}

/// True if types and names are where the header says (`struct btf_header`), so that nothing is read beyond the end.
fn is_whole(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let found = bytes.get(at..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_ne_bytes(*found)))
    };
    let fits = || {
        let header = number(4)?;
        let ends =
            [(8, 12), (16, 20)].map(|(offset, len)| Some(header + number(offset)? + number(len)?));
        let ends = [ends[0]?, ends[1]?];
        let len = bytes.len() as u64;
        Some(header >= HEADER as u64 && ends.iter().all(|end| *end <= len))
    };
    bytes.starts_with(&MAGIC.to_ne_bytes()) && fits() == Some(true)
}

/// The build id of the running kernel, from its ELF notes; `None` if it does not tell.
fn running_build_id() -> Option<Vec<u8>> {
    build_id(&fs::read("/sys/kernel/notes").ok()?)
}

/// The build id among ELF notes (elf(5), "Notes"; type 3 of the owner GNU).
fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    loop {
        let (head, behind) = rest.split_first_chunk::<12>()?;
        let number = |at: usize| {
            let bytes = head.get(at..)?.first_chunk::<4>()?;
            usize::try_from(u32::from_ne_bytes(*bytes)).ok()
        };
        let (name_len, len) = (number(0)?, number(4)?);
        let padded = |len: usize| len.checked_next_multiple_of(4);
        let (name, behind) = (behind.get(..name_len)?, behind.get(padded(name_len)?..)?);
        let text = behind.get(..len)?;
        if number(8)? == 3 && name == b"GNU\0" {
            return Some(text.to_vec());
        }
        rest = behind.get(padded(len)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &Path) -> String {
        find(Some(path)).map(|found| found.source).unwrap_err().to_string()
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        assert!(error(Path::new("/nonexistent")).contains("/nonexistent: it cannot be read"));
        assert!(error(file(b"#!/bin/sh").path()).contains("neither BTF nor an ELF file"));
        assert!(error(file(b"\x7fELFxxxx").path()).contains("ELF headers"));
        let program = fs::read("/proc/self/exe").unwrap();
        let program = error(file(&program).path());
        assert!(
            program.contains("another build") || program.contains("no section .BTF"),
            "{program}"
        );
    }

    #[test]
    fn damaged_btf_is_no_panic() {
        let own = fs::read(OWN).unwrap_or_default();
        for len in [4, 12, 23, 24, 100, own.len() / 2] {
            let bytes = own.get(..len).unwrap_or_default();
            assert!(!is_whole(bytes));
            assert!(parse(Path::new("/a"), bytes).is_err());
        }
        let mut wrong = own;
        if let Some(number) = wrong.get_mut(16..20) {
            number.copy_from_slice(&[0xff; 4]);
        }
        assert!(!is_whole(&wrong));
    }

    #[test]
    fn the_places_are_those_of_libbpf() {
        let expected = [
            "/boot/vmlinux-6.1",
            "/lib/modules/6.1/vmlinux-6.1",
            "/lib/modules/6.1/build/vmlinux",
            "/usr/lib/modules/6.1/kernel/vmlinux",
            "/usr/lib/debug/boot/vmlinux-6.1",
            "/usr/lib/debug/lib/modules/6.1/vmlinux",
        ];
        assert_eq!(places("6.1"), expected.map(PathBuf::from));
    }

    #[test]
    fn a_build_id_is_found_among_other_notes() {
        let note = |name: &[u8], kind: u32, text: &[u8]| {
            let numbers = [name.len(), text.len()].map(|len| u32::try_from(len).unwrap());
            let mut out: Vec<u8> =
                [numbers[0], numbers[1], kind].into_iter().flat_map(u32::to_ne_bytes).collect();
            for part in [name, text] {
                out.extend(part);
                out.resize(out.len().next_multiple_of(4), 0);
            }
            out
        };
        let notes = [note(b"Xen\0", 3, b"12345"), note(b"GNU\0", 3, b"\x01\x02\x03")].concat();
        assert_eq!(build_id(&notes), Some(vec![1, 2, 3]));
        for len in 0..notes.len() - 1 {
            assert_eq!(build_id(&notes[..len]), None);
        }
    }
}
