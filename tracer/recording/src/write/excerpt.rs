//! A part of a recording or capture, as a file of its own.
//!
//! A recording of wirelap is written again from its events, so that what the chosen packets have in their options is of chosen events
//! alone. The blocks of other captures are copied as they are.

use super::encoder::{Encoder, EncoderSettings};
use crate::pcapng::block;
use crate::read::{Block, BlockOrEntry, Recording};
use crate::record::Entry;
use std::io::Read;
use std::ops::Range;
use wirelap_events::{Body, Event, Saturate};

/// Range of the section's length in a section header.
const SECTION_LEN: Range<usize> = 16..24;

/// The parts of recordings and captures, one after the other: the bytes of a pcapng file.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Packets in it, as Wireshark lists them: once, though a recording has where each was sent and where it was received.
    pub packets: u64,
    /// Events other than packets in it.
    pub events: u64,
    /// The most bytes that it may have.
    most: usize,
}

/// Choice of events from a file.
pub trait EventChoice {
    /// True if an event is in the excerpt.
    fn takes(&mut self, event: &Event<'_>) -> bool;

    /// True if no later event will be in the excerpt.
    fn is_over(&self) -> bool;
}

/// The excerpt would have more bytes than it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {0} bytes were chosen")]
pub struct TooLarge(usize);

impl Excerpt {
    /// An empty excerpt, which may have so many bytes.
    pub fn new(most: usize) -> Excerpt {
        Excerpt { most, ..Excerpt::default() }
    }

    /// Adds what is chosen of a file. Nothing is added if nothing is chosen.
    ///
    /// # Errors
    /// More bytes were chosen than the excerpt may have.
    pub fn add<R: Read>(
        &mut self,
        recording: &mut Recording<R>,
        choice: &mut dyn EventChoice,
    ) -> Result<(), TooLarge> {
        let (packets, events, len) = (self.packets, self.events, self.bytes.len());
        if recording.is_own() {
            self.add_events(recording, choice)?;
        } else {
            self.add_blocks(recording, choice)?;
        }
        if (packets, events) == (self.packets, self.events) {
            self.bytes.truncate(len);
        }
        Ok(())
    }

    fn add_events<R: Read>(
        &mut self,
        recording: &mut Recording<R>,
        choice: &mut dyn EventChoice,
    ) -> Result<(), TooLarge> {
        let section = recording.section().cloned().unwrap_or_default();
        let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
        let mut encoder = Encoder::new(section, settings, Box::new(|_, _| None));
        while !choice.is_over() {
            let Some(entry) = recording.next() else { break };
            match entry {
                Entry::Event(event) if choice.takes(&event) => {
                    self.count(&event);
                    encoder.event(&event);
                }
                Entry::Known(event) if choice.takes(&event) => encoder.entry(&entry),
                Entry::Note(note) => encoder.note(note),
                // Keys are of no use without the handshake, which is not among the packets of a message.
                Entry::Event(_) | Entry::Known(_) | Entry::Tick(_) | Entry::TlsKeys(_) => {}
            }
            for (netns, device, name) in recording.take_named() {
                encoder.name_device(netns, device, &name);
            }
            if self.bytes.len().saturating_add(encoder.bytes().len()) > self.most {
                return Err(TooLarge(self.most));
            }
        }
        encoder.complete();
        self.packets.grow(encoder.frames());
        self.bytes.extend_from_slice(encoder.bytes());
        Ok(())
    }

    fn add_blocks<R: Read>(
        &mut self,
        recording: &mut Recording<R>,
        choice: &mut dyn EventChoice,
    ) -> Result<(), TooLarge> {
        let (mut packet, mut chosen) = (Vec::new(), false);
        while !choice.is_over() {
            match recording.next_block_or_entry() {
                Some(BlockOrEntry::Block(block)) => {
                    self.packet(&packet, std::mem::take(&mut chosen));
                    packet.clear();
                    self.block(&block, &mut packet);
                }
                Some(BlockOrEntry::Entry(Entry::Event(event))) => chosen |= choice.takes(&event),
                Some(BlockOrEntry::Entry(_)) => {}
                None => break,
            }
            if self.bytes.len() > self.most {
                return Err(TooLarge(self.most));
            }
        }
        self.packet(&packet, chosen);
        Ok(())
    }

    /// Takes a block that packets need, and keeps the bytes of a packet until its event is known.
    fn block(&mut self, block: &Block<'_>, packet: &mut Vec<u8>) {
        use block::{INTERFACE, NAMES, OLD_PACKET, PACKET, SECTION, SIMPLE};
        match block.kind {
            PACKET | OLD_PACKET | SIMPLE => packet.extend_from_slice(block.bytes),
            SECTION => {
                let begin = self.bytes.len();
                self.bytes.extend_from_slice(block.bytes);
                let length =
                    begin.saturating_add(SECTION_LEN.start)..begin.saturating_add(SECTION_LEN.end);
                if let Some(length) = self.bytes.get_mut(length) {
                    length.fill(0xFF);
                }
            }
            INTERFACE | NAMES => self.bytes.extend_from_slice(block.bytes),
            _ => {}
        }
    }

    fn packet(&mut self, bytes: &[u8], chosen: bool) {
        if chosen && !bytes.is_empty() {
            self.packets.grow(1);
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn count(&mut self, event: &Event<'_>) {
        if !matches!(event.body, Body::Packet(_) | Body::Socket(_)) {
            self.events.grow(1);
        }
    }
}
