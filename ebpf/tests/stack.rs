//! The stacks of a program and of all functions that it calls have 512 bytes together, of which each takes a multiple of 32
//! (`check_max_stack_depth`, kernel/bpf/verifier.c of 6.1; newer kernels ask for less). The kernel looks at what
//! can be reached with the settings of one trace, so that a chain which is too long shows itself on some machines, with some
//! options: here all of it counts.

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

const MOST: u64 = 512;
const STEP: u64 = 32;

/// The frame pointer.
const R10: u8 = 10;

/// Opcodes (`Documentation/bpf/standardization/instruction-set.rst`).
const CLASS: u8 = 0x07;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const MOV: u8 = 0xbf;
const ADD: u8 = 0x07;
const CALL: u8 = 0x85;
const LOAD_WIDE: u8 = 0x18;
/// In the source register of a call: of a function of the object.
const LOCAL: u8 = 1;

/// Section and address.
type Place = (usize, u64);

#[derive(Debug, Default)]
struct Function {
    name: String,
    stack: u64,
    calls: BTreeSet<Place>,
}

fn functions(object: &object::File<'_>) -> BTreeMap<Place, Function> {
    let symbols = object.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let read = |symbol: object::Symbol<'_, '_>| {
        let section = symbol.section_index()?;
        let place = (section.0, symbol.address());
        // Labels have no size.
        (symbol.size() > 0).then(|| (place, function(object, &symbol, section)))
    };
    symbols.filter_map(read).collect()
}

fn function(
    object: &object::File<'_>,
    symbol: &object::Symbol<'_, '_>,
    index: SectionIndex,
) -> Function {
    let section = object.section_by_index(index).unwrap();
    let targets: BTreeMap<u64, Place> = section
        .relocations()
        .filter_map(|(at, relocation)| {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let symbol = object.symbol_by_index(symbol).unwrap();
            Some((at, (symbol.section_index()?.0, symbol.address())))
        })
        .collect();
    let mut found = Function { name: symbol.name().unwrap().to_owned(), ..Function::default() };
    // How far below the frame pointer a register points.
    let mut below = [None::<i64>; 11];
    let bytes = section.data().unwrap();
    let mut at = symbol.address();
    while at < symbol.address() + symbol.size() {
        let here = &bytes[usize::try_from(at).unwrap()..];
        let [opcode, registers, rest @ ..] = *here.first_chunk::<8>().unwrap();
        let (to, from) = (registers & 0xf, registers >> 4);
        let offset = i64::from(i16::from_le_bytes([rest[0], rest[1]]));
        let number = i64::from(i32::from_le_bytes([rest[2], rest[3], rest[4], rest[5]]));
        let mut used = |offset: i64| {
            found.stack = found.stack.max(u64::try_from(-offset).unwrap_or_default());
        };
        match opcode {
            _ if opcode & CLASS == LDX && from == R10 => used(offset),
            _ if matches!(opcode & CLASS, ST | STX) && to == R10 => used(offset),
            MOV if from == R10 => below[usize::from(to)] = Some(0),
            ADD if let Some(points_to) = below[usize::from(to)].take() => used(points_to + number),
            CALL if from == LOCAL => {
                let (section, address) = targets.get(&at).copied().unwrap_or((index.0, at));
                // Of another section the number counts from the symbol on, of this one from the next instruction.
                let target = address.wrapping_add_signed((number + 1) * 8);
                found.calls.insert((section, target));
            }
            _ => {}
        }
        at += if opcode == LOAD_WIDE { 16 } else { 8 };
    }
    found
}

/// The deepest stack from a function on, and the way there.
fn deepest(of: Place, functions: &BTreeMap<Place, Function>) -> (u64, String) {
    let function = functions.get(&of).unwrap_or_else(|| panic!("no function at {of:?}"));
    let own = function.stack.max(1).next_multiple_of(STEP);
    let below = function.calls.iter().map(|call| deepest(*call, functions)).max();
    let (depth, way) = below.unwrap_or_default();
    (own + depth, format!("{} ({own}) {way}", function.name))
}

#[test]
fn no_chain_of_calls_needs_more_stack_than_there_is() {
    let object = object::File::parse(wirelap_ebpf::OBJECT).unwrap();
    let functions = functions(&object);
    let chains: BTreeSet<_> = functions.keys().map(|place| deepest(*place, &functions)).collect();
    let (depth, way) = chains.last().unwrap();
    println!("{depth} bytes: {way}");
    let finds_programs = chains.iter().any(|(_, way)| way.contains("packet_xmit"));
    assert!(chains.len() > 20 && finds_programs, "{chains:#?}");
    assert!(*depth <= MOST, "{depth} bytes: {way}");
}
