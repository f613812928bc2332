//! The code in an ELF file, as far as it is looked at.

use object::read::{Object, ObjectSegment, ReadRef};
use object::{Architecture, SegmentFlags, elf};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes that are read at once.
const PAGE: u64 = 4096;

/// An instruction that begins in a page may end behind it.
const BEHIND: usize = 16;

/// A part of the file that is executed.
#[derive(Debug)]
struct CodeSegment {
    addresses: Range<u64>,
    /// Offset in the file at which the part starts.
    start: u64,
}

/// The code in a file.
#[derive(Debug)]
pub struct Code<'a> {
    file: &'a File,
    parts: Vec<CodeSegment>,
    pages: BTreeMap<u64, Vec<u8>>,
    architecture: Architecture,
}

impl<'a> Code<'a> {
    /// That of `elf`, which was read from `file`.
    pub fn of<'data, R: ReadRef<'data>>(file: &'a File, elf: &object::File<'data, R>) -> Code<'a> {
        let is_code =
            |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0);
        let parts = elf.segments().filter(|segment| is_code(segment.flags())).map(|segment| {
            let (start, len) = segment.file_range();
            let first = segment.address();
            CodeSegment { addresses: first..first.saturating_add(len), start }
        });
        let parts = parts.collect();
        Code { file, parts, pages: BTreeMap::new(), architecture: elf.architecture() }
    }

    /// Returns the processor that the code is for.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Returns the offset in the file of an address; `None` if no executed part has it.
    pub fn place(&self, address: u64) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.addresses.contains(&address))?;
        Some(part.start.saturating_add(address.saturating_sub(part.addresses.start)))
    }

    /// The bytes from `address` on: enough for one instruction, unless the code ends.
    pub fn at(&mut self, address: u64) -> Option<&[u8]> {
        let place = self.place(address)?;
        let page = place - place % PAGE;
        if !self.pages.contains_key(&page) {
            let mut bytes = vec![0; usize::try_from(PAGE).ok()?.saturating_add(BEHIND)];
            let len = self.file.read_at(&mut bytes, page).ok()?;
            bytes.truncate(len);
            self.pages.insert(page, bytes);
        }
        self.pages.get(&page)?.get(usize::try_from(place % PAGE).ok()?..)
    }
}
