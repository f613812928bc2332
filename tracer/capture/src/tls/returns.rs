//! Places where a function returns. A probe at each return sees what a uretprobe sees, and changes nothing on the program's stack.
//!
//! Instructions are followed from the entry on, through branches, and through jumps to other functions, which return for this
//! one. What is behind a jump to an address in a register is not followed: a return that is not found is not probed.

use super::code::Code;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};
use object::Architecture;
use std::collections::BTreeSet;
use std::ops::Range;

/// Instructions that are looked at in one function.
const INSTRUCTIONS: usize = 10_000;

/// Returns that are probed in one function.
const RETURNS: usize = 64;

/// The instruction, or the end, that follows an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The instruction at this address.
    Next(u64),
    /// The same, unless a function that was called does not return.
    Call(u64),
    /// The same; it does nothing, and may fill the space to the next function.
    Padding(u64),
    /// One of these two.
    Either(u64, u64),
    /// The instruction at another address.
    Jump(u64),
    /// The function returns.
    Return,
    /// Nothing that is known.
    End,
}

/// The addresses of the returns of the function at these addresses; `None` if there are none, or too many.
pub fn find(code: &mut Code<'_>, function: Range<u64>) -> Option<BTreeSet<u64>> {
    let then = match code.architecture() {
        Architecture::X86_64 => after_x86,
        Architecture::Aarch64 => after_arm64,
        _ => return None,
    };
    let (mut returns, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut branches = vec![function.start];
    while let Some(mut at) = branches.pop() {
        let mut is_behind_call = false;
        while seen.insert(at) {
            if seen.len() > INSTRUCTIONS {
                return None;
            }
            let Some(bytes) = code.at(at) else { break };
            let next = then(bytes, at);
            at = match next {
                // A function does not go on in the next one, and a call before the space between them does not return.
                Then::Next(to) | Then::Call(to) if to == function.end => break,
                Then::Padding(_) if is_behind_call => break,
                Then::Next(to) | Then::Call(to) | Then::Padding(to) | Then::Jump(to) => to,
                Then::Either(to, next) => {
                    branches.push(to);
                    next
                }
                Then::Return => {
                    returns.insert(at);
                    break;
                }
                Then::End => break,
            };
            is_behind_call = matches!(next, Then::Call(_));
        }
    }
    (!returns.is_empty() && returns.len() <= RETURNS).then_some(returns)
}

fn after_x86(bytes: &[u8], at: u64) -> Then {
    let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
    let next = instruction.next_ip();
    match instruction.flow_control() {
        _ if instruction.is_invalid() => Then::End,
        _ if instruction.mnemonic() == Mnemonic::Nop => Then::Padding(next),
        FlowControl::Next | FlowControl::XbeginXabortXend => Then::Next(next),
        FlowControl::Call | FlowControl::IndirectCall => Then::Call(next),
        FlowControl::ConditionalBranch => Then::Either(instruction.near_branch_target(), next),
        FlowControl::UnconditionalBranch => Then::Jump(instruction.near_branch_target()),
        FlowControl::Return => Then::Return,
        _ => Then::End,
    }
}

/// "Arm Architecture Reference Manual", C4.1.66: branches, exception generating and system instructions.
fn after_arm64(bytes: &[u8], at: u64) -> Then {
    let Some(word) = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else {
        return Then::End;
    };
    let next = at.wrapping_add(4);
    // An offset in words of `bits` bits that begin at bit `low`.
    let target = |low: u32, bits: u32| {
        let unused = 32 - bits;
        let signed = ((word >> low) << unused).cast_signed() >> unused;
        at.wrapping_add_signed(i64::from(signed) * 4)
    };
    match word {
        0xd503_201f => Then::Padding(next),
        // RET, RETAA, RETAB
        _ if word & 0xffff_fc1f == 0xd65f_0000 || matches!(word, 0xd65f_0bff | 0xd65f_0fff) => {
            Then::Return
        }
        // BR and its authenticated forms; BRK; UDF
        _ if word & 0xfeff_f000 == 0xd61f_0000
            || word & 0xffe0_001f == 0xd420_0000
            || word >> 16 == 0 =>
        {
            Then::End
        }
        // B
        _ if word >> 26 == 0b00_0101 => Then::Jump(target(0, 26)),
        // B.cond, BC.cond; CBZ, CBNZ
        _ if word >> 24 == 0x54 || word & 0x7e00_0000 == 0x3400_0000 => {
            Then::Either(target(5, 19), next)
        }
        // TBZ, TBNZ
        _ if word & 0x7e00_0000 == 0x3600_0000 => Then::Either(target(5, 14), next),
        _ => Then::Next(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_of_x86() {
        let at = 0x1000;
        for (bytes, then) in [
            (&[0xc3][..], Then::Return),
            (&[0xf3, 0xc3], Then::Return),
            (&[0x90], Then::Padding(0x1001)),
            (&[0x53], Then::Next(0x1001)),
            (&[0xe8, 0, 0, 0, 0], Then::Call(0x1005)),
            (&[0xeb, 0x10], Then::Jump(0x1012)),
            (&[0x74, 0xfe], Then::Either(0x1000, 0x1002)),
            (&[0xff, 0xe0], Then::End),
            (&[0xcc], Then::End),
            (&[0x0f, 0x0b], Then::End),
            (&[0xe8, 0], Then::End),
            (&[], Then::End),
        ] {
            assert_eq!(after_x86(bytes, at), then, "{bytes:x?}");
        }
    }

    #[test]
    fn branches_of_arm64() {
        let at = 0x1000;
        for (word, then) in [
            (0xd65f_03c0, Then::Return),
            (0xd65f_0bff, Then::Return),
            // br x16; blr x8
            (0xd61f_0200, Then::End),
            (0xd63f_0100, Then::Next(0x1004)),
            // b .+8; b .-4; bl .+4
            (0x1400_0002, Then::Jump(0x1008)),
            (0x17ff_ffff, Then::Jump(0x0ffc)),
            (0x9400_0001, Then::Next(0x1004)),
            // b.ne .+16; cbz x0, .-8; tbnz w1, #3, .+12
            (0x5400_0081, Then::Either(0x1010, 0x1004)),
            (0xb4ff_ffc0, Then::Either(0x0ff8, 0x1004)),
            (0x3718_0061, Then::Either(0x100c, 0x1004)),
            // nop; brk #1; udf #0
            (0xd503_201f, Then::Padding(0x1004)),
            (0xd420_0020, Then::End),
            (0, Then::End),
        ] {
            assert_eq!(after_arm64(&u32::to_le_bytes(word), at), then, "{word:x}");
        }
    }
}
