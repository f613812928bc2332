//! A block → its entries: the records in it, then the packet that it is.

use super::packets::{CapturedEvent, CapturedPacket, OwnOption, PacketBlock, PacketPlace};
use super::problem::{FileCounts, Problems};
use super::section::CurrentSection;
use super::stated::{self, StatedLosses};
use super::subflows::Subflows;
use crate::packet::UnreadablePacket;
use crate::packet::fragments::{FragmentTable, IncompleteDatagrams};
use crate::pcapng::classic::PacketHeader;
use crate::pcapng::{BlockFields, ByteOrder, custom, option, secrets};
use crate::record::{self, LocatedEntry, RecordCursor};
use crate::wire::WireValue;
use std::ops::Range;
use wirelap_events::{Body, Cpu, Event, LossCause, LostEvents, Nanos, PacketHook, Probe, Saturate};

/// Reads what a block says. The bytes stay with whoever has the block.
#[derive(Debug, Default)]
pub struct EntryReader {
    /// The records of the block at hand, if it has any left.
    records: Option<RecordCursor>,
    /// The packet of the block at hand, which comes behind the records.
    packet: Option<CapturedEvent>,
    fragments: FragmentTable,
    /// Datagrams that were given up because fragments are missing, and when, until an entry says so.
    incomplete: Option<(Nanos, u64)>,
    /// Times of the first and the last packet.
    seen: Option<(Nanos, Nanos)>,
    /// Range of the TLS keys in the block at hand, if it has any.
    keys: Option<Range<usize>>,
    /// Losses of interfaces that the section states.
    stated: StatedLosses,
    subflows: Subflows,
    /// Losses that the block at hand states, which come before its packet.
    lost: u64,
    counts: FileCounts,
}

impl EntryReader {
    /// Counts of what was read so far.
    pub fn counts(&self) -> FileCounts {
        self.counts
    }

    /// Begins to read a packet's block. Returns where options have their place in it; `None` if the block cannot be
    /// read, or is of an interface that was not described.
    pub fn packet_block(
        &mut self,
        kind: PacketBlock,
        block: &[u8],
        order: ByteOrder,
        section: &CurrentSection,
    ) -> Option<PacketPlace> {
        let mut fields = BlockFields::of_block(block, order);
        let captured = CapturedPacket::read(&mut fields, kind, section)?;
        let place = PacketPlace { at: Nanos(captured.at), options: fields.position() };
        let mut own = None;
        let mut direction = None;
        let mut dropped = captured.dropped;
        for found in fields.options() {
            match found.number {
                option::CUSTOM if own.is_none() => {
                    own = section.own().and_then(|section| {
                        OwnOption::read(&found, order, captured.at, section.wall)
                    });
                }
                option::DROP_COUNT => dropped.grow(stated::number(found.value, order)),
                option::FLAGS => {
                    let bits = found.value.first_chunk().map_or(0, |&bytes| order.u32(bytes) & 3);
                    direction =
                        [None, Some(PacketHook::Rx), Some(PacketHook::Xmit), None][bits as usize];
                }
                _ => {}
            }
        }
        if dropped > 0 {
            self.lost = self.stated.before_packet(captured.number, dropped);
        }
        self.packet(&captured, block, own.as_ref(), direction);
        self.records = own.and_then(|own| own.records);
        Some(place)
    }

    /// Begins to read a packet of a classic file.
    pub fn classic_packet(
        &mut self,
        header: &PacketHeader,
        block: &[u8],
        section: &CurrentSection,
    ) -> Option<PacketPlace> {
        let captured = CapturedPacket::classic(header, section)?;
        self.packet(&captured, block, None, None);
        Some(PacketPlace { at: Nanos(captured.at), options: block.len() })
    }

    /// Begins to read the records in an option of a block of names; `None` if they are there and cannot be read.
    pub fn names_block(&mut self, block: &[u8], order: ByteOrder) -> Option<()> {
        let mut fields = BlockFields::of_block(block, order);
        // Names have the layout of options, and end as options do (§4.5).
        fields.options().for_each(drop);
        let own = fields.options().find_map(|found| {
            let custom = (found.number == option::CUSTOM).then_some(found.value)?;
            Some((custom::own_value(custom, order)?, found.start.saturating_add(custom.len())))
        });
        if let Some((records, end)) = own {
            self.records = Some(RecordCursor::with_base(records, end)?);
        }
        Some(())
    }

    /// Begins to read the records in a custom block; `None` if they are there and cannot be read.
    pub fn custom_block(&mut self, block: &[u8], order: ByteOrder) -> Option<()> {
        let fields = BlockFields::of_block(block, order);
        let Some(mut from) = custom::own_value(fields.rest(), order) else { return Some(()) };
        let len = usize::try_from(from.unsigned()?).ok()?;
        let base = Nanos::take(&mut from)?;
        let end = block.len().saturating_sub(4);
        let start = end.saturating_sub(from.0.len());
        from.take(len)?;
        self.records = Some(RecordCursor::new(start..start.saturating_add(len), base));
        Some(())
    }

    /// Begins to read a block of secrets, of which keys of TLS are an entry, as far as they are there.
    pub fn secrets_block(&mut self, block: &[u8], order: ByteOrder) {
        let mut fields = BlockFields::of_block(block, order);
        if fields.u32() == Some(secrets::TLS_KEY_LOG)
            && let Some(len) = fields.u32()
        {
            let start = fields.position();
            let len = fields.rest().len().min(len as usize);
            self.keys = Some(start..start.saturating_add(len));
        }
    }

    /// A section begins.
    pub fn begin_section(&mut self) {
        self.stated.begin();
    }

    /// Reads what the statistics of an interface say of losses.
    pub fn statistics_block(&mut self, block: &[u8], order: ByteOrder) {
        self.lost = self.stated.statistics(block, order);
    }

    /// The next entry of the block at hand, given its bytes and where it is in the file.
    pub fn next(
        &mut self,
        block: &[u8],
        offset: u64,
        problems: &mut Problems,
    ) -> Option<LocatedEntry> {
        while let Some(records) = &mut self.records {
            let at = records.position();
            match records.next(block) {
                Ok(Some(entry)) => {
                    self.counts.records += 1;
                    return Some(entry);
                }
                Ok(None) => self.records = None,
                Err(record::UnreadableRecord::LaterVersion) => self.counts.unknown_records += 1,
                Err(record::UnreadableRecord::Malformed) => problems.add(
                    offset.saturating_add(at as u64),
                    "a record of wirelap's that cannot be read: left out",
                ),
            }
        }
        if let Some(keys) = self.keys.take() {
            return Some(LocatedEntry::TlsKeys(keys));
        }
        if self.lost > 0 {
            return Some(self.take_lost());
        }
        if let Some((at, count)) = self.incomplete.take() {
            let lost = LostEvents { probe: Probe::Rx, count, cause: LossCause::FragmentMissing };
            let event = Event { at, cpu: Cpu(0), body: Body::Lost(lost) };
            return Some(LocatedEntry::Event { event, payload: 0..0, known: false });
        }
        Some(match self.packet.take()? {
            CapturedEvent::InBlock(event, payload) => {
                LocatedEntry::Event { event, payload, known: false }
            }
            CapturedEvent::Assembled(event, payload) => LocatedEntry::Assembled { event, payload },
        })
    }

    /// The file is at its end: fragments that are missing do not come any more.
    pub fn end(&mut self) {
        self.fragments.give_up(self.seen.unwrap_or_default().1);
        self.note_incomplete();
    }

    /// Counts the datagrams that were given up.
    fn note_incomplete(&mut self) {
        let IncompleteDatagrams { with_ports, without_ports } = self.fragments.take_incomplete();
        let count = with_ports.saturating_add(without_ports);
        if count > 0 {
            self.counts.fragments += count;
            let before = self.incomplete.map_or(0, |(_, before)| before);
            self.incomplete = Some((self.seen.unwrap_or_default().1, before.saturating_add(count)));
        }
    }

    /// The losses that the block at hand states.
    fn take_lost(&mut self) -> LocatedEntry {
        let count = std::mem::take(&mut self.lost);
        self.counts.stated_losses += count;
        let lost = LostEvents { probe: Probe::Rx, count, cause: LossCause::StatedByFile };
        let at = self.packet.as_ref().map_or(self.seen.unwrap_or_default().1, CapturedEvent::at);
        let event = Event { at, cpu: Cpu(0), body: Body::Lost(lost) };
        LocatedEntry::Event { event, payload: 0..0, known: false }
    }

    fn packet(
        &mut self,
        captured: &CapturedPacket<'_>,
        block: &[u8],
        own: Option<&OwnOption>,
        direction: Option<PacketHook>,
    ) {
        let at = Nanos(captured.at);
        if let Some((_, last)) = &mut self.seen {
            *last = at;
        } else {
            self.fragments.begin(at);
            self.seen = Some((at, at));
        }
        let counts = &mut self.counts;
        match captured.event(block, own, direction, counts.packets.0, &mut self.fragments) {
            Ok((mut found, multipath)) => {
                let is_assembled = matches!(found, CapturedEvent::Assembled(..));
                counts.packets += 1;
                counts.own += u64::from(own.is_some());
                if let CapturedEvent::InBlock(event, _) = &mut found
                    && let Body::Packet(packet) = &mut event.body
                    && own.is_none()
                {
                    let is_lost = self.subflows.place(packet, multipath);
                    counts.split_subflows += u64::from(is_lost);
                }
                self.packet = Some(found);
                if is_assembled {
                    self.note_incomplete();
                }
            }
            Err(UnreadablePacket::Protocol) => counts.other += 1,
            Err(UnreadablePacket::Fragment(_)) => self.note_incomplete(),
            Err(UnreadablePacket::Cut) => counts.cut += 1,
            Err(UnreadablePacket::Link) => counts.unknown_link += 1,
        }
    }
}
