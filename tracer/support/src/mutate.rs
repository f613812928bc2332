//! Files with some of their bytes changed.

use crate::random::Random;

/// Number of mutations that the environment variable `name` asks for, or `usual`.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A file with up to a dozen changes: bits and bytes, numbers, parts left out, repeated or moved, an end that is cut off.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(12) {
        let at = random.below(out.len());
        let end = out.len().min(at + 1 + random.below(64));
        change(&mut out, at, end, random);
    }
    if random.one_in(8) {
        out.truncate(random.below(out.len()));
    }
    out
}

/// One change at `at`, of the bytes up to `end` or fewer.
fn change(out: &mut Vec<u8>, at: usize, end: usize, random: &mut Random) {
    match random.below(8) {
        0 => out.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        1 => out.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.byte()),
        2 | 3 => {
            let number = random.extreme().to_le_bytes();
            let number = &number[..[1, 2, 4, 8][random.below(4)]];
            let is_turned = random.one_in(2);
            for (index, byte) in out.iter_mut().skip(at).take(number.len()).enumerate() {
                *byte = number[if is_turned { number.len() - 1 - index } else { index }];
            }
        }
        // A number of variable length, as long as can be.
        4 => out.iter_mut().skip(at).take(9).for_each(|byte| *byte |= 0x80),
        5 => drop(out.drain(at..end)),
        6 => {
            let again = out[at..end].to_vec();
            let to = random.below(out.len());
            drop(out.splice(to..to, again));
        }
        _ => {
            let again = out[at..end].to_vec();
            let to = random.below(out.len());
            out.iter_mut().skip(to).zip(again).for_each(|(byte, other)| *byte = other);
        }
    }
}
