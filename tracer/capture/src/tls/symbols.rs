//! Places in an ELF file of the functions that TLS is written and read with.

use super::code::Code;
use super::functions::TlsFunction;
use super::returns;
use object::read::{Object, ObjectSymbol, ReadCache};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// A function to attach to. Places are those in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundFunction {
    /// The function of TLS that it is.
    pub function: TlsFunction,
    /// Offset at which the function begins.
    pub entry: u64,
    /// Offsets at which the function returns, if that tells something.
    pub returns: Vec<u64>,
}

/// The functions in a file; none if it is no ELF file, or stripped.
pub fn find(path: &Path) -> BTreeSet<FoundFunction> {
    let Ok(file) = File::open(path) else { return BTreeSet::new() };
    let cache = ReadCache::new(&file);
    let Ok(elf) = object::File::parse(&cache) else { return BTreeSet::new() };
    let mut code = Code::of(&file, &elf);
    let symbols = elf.dynamic_symbols().chain(elf.symbols());
    let found = symbols.filter(ObjectSymbol::is_definition).filter_map(|symbol| {
        let function = TlsFunction::named(symbol.name_bytes().ok()?)?;
        let entry = symbol.address();
        let returns = match function.at_return() {
            // Without its returns, a function tells nothing.
            Some(_) => returns::find(&mut code, entry..entry.saturating_add(symbol.size()))?,
            None => BTreeSet::new(),
        };
        let returns = returns.into_iter().map(|at| code.place(at)).collect::<Option<_>>()?;
        Some(FoundFunction { function, entry: code.place(entry)?, returns })
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
