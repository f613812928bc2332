//! The values of one record, coded by those that stood in the same places before.

use super::coder::{BitCoder, BitDecoder, BitEncoder, tree};
use super::history::Part;
use super::model::{Head, Model, SUBJECT_BITS};
use super::number::{Anywhere, Field, Place};
use crate::wire::{WireReader, WireValue, WireWriter};
use wirelap_events::{Comm, Tid};

/// The most bytes of a text. Those beyond are cut off.
const MAX_TEXT: usize = 1 << 24;

/// Up to so many bytes of a text are coded by how often each byte was.
const MAX_LEARNT: usize = 24;

/// The first of the fields that tell the parts of a text, and the number of parts with fields of their own.
const TEXT_FIELDS: usize = 48;
const TEXT_PARTS: usize = 6;

/// The place of a thread's name, in records of all kinds.
const NAMES: u32 = 1;

/// Earlier values by which one is told.
struct Known<'a> {
    field: &'a mut Field,
    anywhere: &'a mut Anywhere,
}

/// The values of a record.
pub struct Values<'a, C> {
    pub model: &'a mut Model,
    pub coder: &'a mut C,
    head: Head,
    /// Number of the next value.
    index: usize,
    /// The variants and the number of values before, as a hash.
    path: u32,
    /// Time from the last time in the record to the record's, without the durations between.
    remaining: u64,
}

impl<'a, C: BitCoder> Values<'a, C> {
    pub fn new(model: &'a mut Model, coder: &'a mut C, head: Head) -> Values<'a, C> {
        let path = mix(0, u64::from(head.kind));
        Values { model, coder, head, index: 0, path, remaining: 0 }
    }

    /// Codes the next value by what is known of its place.
    fn code<T>(&mut self, code: impl FnOnce(&mut Place, &mut C, Known<'_>) -> T) -> T {
        let index = self.index;
        self.index = index.wrapping_add(1);
        self.path = mix(self.path, 0);
        let Model { subjects, places, anywhere, .. } = &mut *self.model;
        let field = subjects[self.head.subject].field(index);
        code(places.place(self.path), self.coder, Known { field, anywhere })
    }

    fn code_unsigned(&mut self, value: u64) -> u64 {
        self.code(|place, coder, Known { field, anywhere }| {
            place.unsigned(coder, field, &mut anywhere.numbers, value)
        })
    }

    fn code_signed(&mut self, value: i64) -> i64 {
        self.code(|place, coder, _| place.signed(coder, value))
    }

    fn code_variant(&mut self, number: u8) -> u8 {
        let number = self.code_unsigned(number.into());
        self.path = mix(self.path, number);
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    fn code_time(&mut self, value: u64) -> u64 {
        let (at, mut remaining) = (self.head.at.0, self.remaining);
        let times = (at, &mut remaining);
        let value = self.code(|place, coder, known| place.time(coder, known.field, times, value));
        self.remaining = remaining;
        value
    }

    fn code_sequence(&mut self, value: u32) -> u32 {
        let value = self.code(|place, coder, Known { field, anywhere }| {
            let recent = (&mut anywhere.sequences, &mut anywhere.numbers);
            place.shared(coder, field, recent, value.into())
        });
        u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default()
    }

    fn code_address(&mut self, value: u64) -> u64 {
        self.code(|place, coder, Known { field, anywhere }| {
            let recent = (&mut anywhere.addresses, &mut anywhere.numbers);
            place.shared(coder, field, recent, value)
        })
    }

    /// Codes a part of a text of which `left` bytes are left.
    fn code_part(&mut self, number: usize, part: Part, on: u64, left: usize) -> Part {
        let number = number.min(TEXT_PARTS - 1);
        self.index = TEXT_FIELDS.wrapping_add(number.wrapping_mul(4));
        self.path = mix(mix(0, u64::from(self.head.kind)), self.index as u64);
        let own = self.code_unsigned(part.own as u64);
        let own = usize::try_from(own).unwrap_or(usize::MAX);
        if own >= left {
            return Part { own, ..Part::default() };
        }
        let matched = usize::try_from(self.code_unsigned(part.matched as u64));
        let end = self.model.history.end();
        let on = on.wrapping_add(own as u64);
        let goes_on = self.code_variant(u8::from(part.place == on)) == 1;
        let place = if goes_on {
            on
        } else {
            end.wrapping_sub(self.code_unsigned(end.wrapping_sub(part.place)))
        };
        Part { own, matched: matched.unwrap_or(usize::MAX), place }
    }

    /// Codes values by those of a thread, beside those of the record.
    fn about<T>(&mut self, thread: Tid, code: impl FnOnce(&mut Self) -> T) -> T {
        let (subject, index, path) = (self.head.subject, self.index, self.path);
        self.head.subject = (mix(0, thread.0.into()) >> (32 - SUBJECT_BITS)) as usize;
        (self.index, self.path) = (0, NAMES);
        let coded = code(self);
        (self.head.subject, self.index, self.path) = (subject, index, path);
        coded
    }

    fn code_byte(&mut self, byte: u8) -> u8 {
        let byte = tree(self.coder, &mut self.model.own_bytes, 8, byte.into());
        u8::try_from(byte).unwrap_or_default()
    }

    /// Remembers a text that was coded.
    fn remember(&mut self, text: &[u8], is_encoder: bool) {
        self.model.subjects[self.head.subject].text = self.model.history.end();
        self.model.history.push(text, is_encoder);
    }
}

fn mix(path: u32, number: u64) -> u32 {
    let low = u32::try_from(number & 0xFFFF).unwrap_or_default();
    (path.rotate_left(5) ^ low.wrapping_add(1)).wrapping_mul(0x9E37_79B1)
}

/// Eight bytes at a time, the first ones the lowest.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

impl WireWriter for Values<'_, BitEncoder> {
    fn unsigned(&mut self, value: u64) {
        self.code_unsigned(value);
    }

    fn signed(&mut self, value: i64) {
        self.code_signed(value);
    }

    fn variant(&mut self, number: u8) {
        self.code_variant(number);
    }

    fn time(&mut self, value: u64) {
        self.code_time(value);
    }

    fn sequence(&mut self, value: u32) {
        self.code_sequence(value);
    }

    fn address(&mut self, value: u64) {
        self.code_address(value);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            self.code_unsigned(word(bytes));
        }
    }

    fn text(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(MAX_TEXT)];
        self.code_unsigned(text.len() as u64);
        let mut on = self.model.subjects[self.head.subject].text;
        let (mut left, mut number) = (text, 0);
        while !left.is_empty() {
            let part = self.model.history.next_part(left, on);
            self.code_part(number, part, on, left.len());
            let (own, rest) = left.split_at(part.own);
            if own.len() <= MAX_LEARNT {
                for byte in own {
                    self.code_byte(*byte);
                }
            } else {
                self.coder.literals.extend_from_slice(own);
            }
            left = &rest[part.matched..];
            on = part.place.wrapping_add(part.matched as u64);
            number = number.saturating_add(1);
        }
        self.remember(text, true);
    }

    fn name(&mut self, thread: Tid, name: &Comm) {
        self.about(thread, |values| name.put(values));
    }

    fn end(&mut self, is_end: bool) {
        self.code_variant(u8::from(is_end));
    }
}

impl WireReader for Values<'_, BitDecoder<'_>> {
    fn unsigned(&mut self) -> Option<u64> {
        Some(self.code_unsigned(0))
    }

    fn signed(&mut self) -> Option<i64> {
        Some(self.code_signed(0))
    }

    fn variant(&mut self) -> Option<u8> {
        Some(self.code_variant(0))
    }

    fn time(&mut self) -> Option<u64> {
        Some(self.code_time(0))
    }

    fn sequence(&mut self) -> Option<u32> {
        Some(self.code_sequence(0))
    }

    fn address(&mut self) -> Option<u64> {
        Some(self.code_address(0))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        for bytes in bytes.chunks_mut(8) {
            let word = self.code_unsigned(0).to_le_bytes();
            bytes.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
        Some(())
    }

    fn name(&mut self, thread: Tid) -> Option<Comm> {
        self.about(thread, Comm::take)
    }

    fn is_end(&mut self) -> Option<bool> {
        Some(self.code_variant(0) == 1)
    }
}

impl Values<'_, BitDecoder<'_>> {
    /// Reads a text into an empty buffer; `None` if it is none that was written.
    pub fn read_text(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let len = usize::try_from(self.code_unsigned(0)).ok().filter(|len| *len <= MAX_TEXT)?;
        let mut on = self.model.subjects[self.head.subject].text;
        let mut number = 0_usize;
        while text.len() < len {
            let left = len.saturating_sub(text.len());
            let part = self.code_part(number, Part::default(), on, left);
            let left = left.checked_sub(part.own).filter(|_| !self.coder.is_overrun())?;
            if part.own <= MAX_LEARNT {
                for _ in 0..part.own {
                    let byte = self.code_byte(0);
                    text.push(byte);
                }
            } else {
                text.extend_from_slice(self.coder.literals(part.own)?);
            }
            if left > 0 {
                let is_possible = 0 < part.matched && part.matched <= left;
                let matched = self.model.history.get(part.place, part.matched);
                text.extend_from_slice(matched.filter(|_| is_possible)?);
            }
            on = part.place.wrapping_add(part.matched as u64);
            number = number.saturating_add(1);
        }
        self.remember(text, false);
        Some(())
    }
}
