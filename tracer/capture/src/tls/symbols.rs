//! Where in an ELF file the functions stand that write text into TLS.

use object::read::{Object, ObjectSegment, ObjectSymbol, ReadCache};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// How a function gets its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallingConvention {
    /// As a C function: the library, the text, its length.
    C,
    /// As a method of Go: the connection, the text, its length.
    Go,
}

impl CallingConvention {
    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            CallingConvention::C => "C",
            CallingConvention::Go => "Go",
        }
    }
}

/// A function to attach to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteFunction {
    /// How it gets its arguments.
    pub convention: CallingConvention,
    /// Where it stands in the file.
    pub offset: u64,
}

/// OpenSSL and its forks, `GnuTLS`, Go.
const FUNCTIONS: [(&[u8], CallingConvention); 4] = [
    (b"SSL_write", CallingConvention::C),
    (b"SSL_write_ex", CallingConvention::C),
    (b"gnutls_record_send", CallingConvention::C),
    (b"crypto/tls.(*Conn).Write", CallingConvention::Go),
];

/// The functions in a file; none if it is no ELF file, or stripped.
pub fn find(path: &Path) -> BTreeSet<WriteFunction> {
    let Ok(file) = File::open(path) else { return BTreeSet::new() };
    let cache = ReadCache::new(file);
    let Ok(elf) = object::File::parse(&cache) else { return BTreeSet::new() };
    let offset_of = |address: u64| {
        elf.segments().find_map(|segment| {
            let into = address.checked_sub(segment.address())?;
            let (start, len) = segment.file_range();
            (into < len).then(|| start.saturating_add(into))
        })
    };
    let convention_of = |name: &[u8]| {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, convention)| convention)
    };
    let symbols = elf.dynamic_symbols().chain(elf.symbols());
    let found = symbols.filter(ObjectSymbol::is_definition).filter_map(|symbol| {
        let convention = convention_of(symbol.name_bytes().ok()?)?;
        Some(WriteFunction { convention, offset: offset_of(symbol.address())? })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_no_program_has_no_functions() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"\x7fELF but no more").unwrap();
        assert!(find(file.path()).is_empty());
        assert!(find(Path::new("/nowhere")).is_empty());
    }
}
