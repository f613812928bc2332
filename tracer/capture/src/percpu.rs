//! Finds the offsets of per-CPU variables in the kernel's BTF.
//!
//! ```text
//! header   magic u16 · version u8 · flags u8 · hdr_len u32 · type_off u32 · type_len u32 ·
//!          str_off u32 · str_len u32
//! type     name_off u32 · info u32 (vlen 0..16, kind 24..29) · size or type u32 · what the kind adds
//! ```
//! Source: Documentation/bpf/btf.rst. The walk ends at an unknown kind; the offsets found before are kept.

use std::iter;

const HEADER_BYTES: usize = 24;
const KIND_DATASEC: u32 = 15;
const KIND_VAR: u32 = 14;

/// The offset of each named variable in the section `.data..percpu`, which stands before or behind its variables: since 7.2 at the
/// latest, types are sorted by name.
pub fn offsets<const N: usize>(btf: &[u8], names: [&str; N]) -> [Option<u32>; N] {
    let Some(blob) = BtfSections::new(btf) else { return [None; N] };
    let mut ids = [None; N];
    let mut section = None;
    for (item, id) in blob.items().zip(1..) {
        if item.kind == KIND_VAR {
            let name = blob.name(item.name);
            if let Some(index) = names.iter().position(|wanted| Some(wanted.as_bytes()) == name) {
                ids[index] = Some(id);
            }
        } else if item.kind == KIND_DATASEC && blob.name(item.name) == Some(b".data..percpu") {
            section = Some(item);
        }
    }
    ids.map(|id| blob.offset_in(section.as_ref()?, id?))
}

/// The two sections of BTF.
struct BtfSections<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

/// The common part of a type.
struct BtfType {
    kind: u32,
    name: u32,
    entries: u32,
    /// Offset of the kind-specific part.
    body: usize,
    /// Offset of the next type; `None` for an unknown kind.
    next: Option<usize>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl<'a> BtfSections<'a> {
    fn new(btf: &'a [u8]) -> Option<BtfSections<'a>> {
        let field = |index: usize| Some(u32_at(btf, 4 + index * 4)? as usize);
        let (header, type_at, type_len) = (field(0)?, field(1)?, field(2)?);
        let (string_at, string_len) = (field(3)?, field(4)?);
        let body = btf.get(header.max(HEADER_BYTES)..)?;
        Some(BtfSections {
            types: body.get(type_at..)?.get(..type_len)?,
            strings: body.get(string_at..)?.get(..string_len)?,
        })
    }

    /// All types in their order, which have the ids from 1 on.
    fn items(&self) -> impl Iterator<Item = BtfType> {
        iter::successors(self.item(0), |item| self.item(item.next?))
    }

    fn item(&self, at: usize) -> Option<BtfType> {
        let info = u32_at(self.types, at + 4)?;
        let entries = info & 0xffff;
        let kind = (info >> 24) & 0x1f;
        let body = at + 12;
        let next = added_bytes(kind, entries as usize).map(|added| body + added);
        Some(BtfType { kind, name: u32_at(self.types, at)?, entries, body, next })
    }

    fn name(&self, at: u32) -> Option<&'a [u8]> {
        self.strings.get(at as usize..)?.split(|&byte| byte == 0).next()
    }

    /// The offset of a variable in a section, whose entries are type id, offset, size.
    fn offset_in(&self, section: &BtfType, id: u32) -> Option<u32> {
        (0..section.entries as usize)
            .map(|index| section.body + index * 12)
            .find(|&entry| u32_at(self.types, entry) == Some(id))
            .and_then(|entry| u32_at(self.types, entry + 4))
    }
}

/// The size of the kind-specific part in bytes; `None` for an unknown kind.
fn added_bytes(kind: u32, entries: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,                            // int, var, decl tag
        2 | 7 | 8 | 9 | 10 | 11 | 12 | 16 | 18 => 0, // pointers and the like, function, float, type tag
        3 => 12,                                     // array
        4 | 5 | 15 | 19 => entries * 12,             // struct, union, section, 64-bit enum
        6 | 13 => entries * 8,                       // enum, function prototype
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(kind: u32, entries: u32) -> u32 {
        kind << 24 | entries
    }

    /// An int, two variables and their section.
    fn sample() -> Vec<u8> {
        of(&[
            &[0, kind(1, 0), 4, 0x20],
            &[1, kind(14, 0), 1, 1],
            &[5, kind(14, 0), 1, 1],
            &[9, kind(15, 2), 64, 3, 0, 4, 2, 48, 4],
        ])
    }

    /// The same, sorted by name.
    fn sorted_sample() -> Vec<u8> {
        of(&[
            &[0, kind(1, 0), 4, 0x20],
            &[9, kind(15, 2), 64, 4, 0, 4, 3, 48, 4],
            &[1, kind(14, 0), 1, 1],
            &[5, kind(14, 0), 1, 1],
        ])
    }

    fn of(types: &[&[u32]]) -> Vec<u8> {
        let strings = b"\0one\0two\0.data..percpu\0";
        let types = types.concat();
        let type_len = u32::try_from(types.len() * 4).unwrap();
        let header = [24, 0, type_len, type_len, u32::try_from(strings.len()).unwrap()];
        let mut out = vec![0x9f, 0xeb, 1, 0];
        out.extend(header.into_iter().chain(types).flat_map(u32::to_ne_bytes));
        out.extend_from_slice(strings);
        out
    }

    #[test]
    fn variables_are_found_by_name() {
        for btf in [sample(), sorted_sample()] {
            assert_eq!(offsets(&btf, ["two", "one", "three"]), [Some(0), Some(48), None]);
        }
    }

    #[test]
    fn every_truncation_is_survived() {
        let whole = sample();
        for end in 0..whole.len() {
            let found = offsets(&whole[..end], ["one", "two"]);
            assert_eq!(found, [None, None], "{end}");
        }
    }
}
