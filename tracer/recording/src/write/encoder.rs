//! Entries → the bytes of a pcapng file.
//!
//! What Wireshark shows is an Enhanced Packet Block. Everything else goes into an option of the next such block, or, where
//! none comes soon, of a Name Resolution Block without names, which is not shown. A record that is too long for an option is in
//! a Custom Block, which Wireshark shows as a line of its own, at the time 0. The layout is in docs/recording.md.

use super::comment;
use super::interfaces::{DeviceName, Interfaces};
use super::shown::{ShownFlows, ShownPacket, ShownSightings};
use super::sockets::OpenSockets;
use crate::packet::build;
use crate::pcapng::{
    BlockBuffer, ByteOrder, CapturePoint, SectionHeader, block, custom, option, secrets,
};
use crate::record::{Entry, Note, PacketMetadata, RecordBuffer};
use crate::wire::{WireValue, put_unsigned};
use wirelap_events::{Body, Count, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook};

/// Records of so many bytes do not wait for a packet.
const FULL: usize = 32 << 10;

/// The most bytes of records in an option beside the packet's own: an option has 64 KiB at most.
const MAX_IN_OPTION: usize = 65_000;

/// Settings for writing entries.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncoderSettings {
    /// Sightings of a packet that Wireshark sees.
    pub shown: ShownSightings,
    /// Captured payload is kept.
    pub payload: bool,
}

/// Puts entries into blocks.
pub struct Encoder {
    section: SectionHeader,
    settings: EncoderSettings,
    blocks: BlockBuffer,
    interfaces: Interfaces,
    /// Records that wait for a block.
    records: RecordBuffer,
    /// A record other than a tick waits for a block.
    has_news: bool,
    flows: ShownFlows,
    sockets: OpenSockets,
    /// Notes that each file repeats: subject and text.
    repeated_notes: Vec<(String, String)>,
    scratch: Vec<u8>,
    /// Blocks of this file that Wireshark lists.
    frames: Count,
    /// The packet that was shown last.
    last: Option<ShownPacket>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Encoder {
    /// Begins with a section.
    pub fn new(
        section: SectionHeader,
        settings: EncoderSettings,
        device_name: DeviceName,
    ) -> Encoder {
        let mut encoder = Encoder {
            section,
            settings,
            blocks: BlockBuffer::default(),
            interfaces: Interfaces::new(device_name),
            records: RecordBuffer::default(),
            has_news: false,
            flows: ShownFlows::new(settings.shown),
            sockets: OpenSockets::default(),
            repeated_notes: Vec::new(),
            scratch: Vec::new(),
            frames: Count(0),
            last: None,
        };
        encoder.section.put(&mut encoder.blocks);
        encoder
    }

    /// Names a device that nothing here could name: the events are another machine's.
    pub fn name_device(&mut self, netns: NetNs, device: IfIndex, name: &str) {
        self.interfaces.name_device(netns, device, name);
    }

    /// Complete blocks that were not taken yet. Call [`Encoder::complete`] first to have all entries in them.
    pub fn bytes(&self) -> &[u8] {
        &self.blocks.bytes
    }

    /// Blocks of this file that Wireshark lists.
    pub(super) fn frames(&self) -> u64 {
        self.frames.0
    }

    /// True if something other than ticks waits for a block.
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// The packet among the bytes, if the last event was one and is shown.
    pub(crate) fn take_shown(&mut self) -> Option<ShownPacket> {
        self.last.take()
    }

    /// The bytes have been written.
    pub fn clear(&mut self) {
        self.blocks.bytes.clear();
    }

    /// Begins a new file: a section that can be read alone. Take the bytes of the old one before.
    pub fn restart(&mut self) {
        self.interfaces.clear();
        self.frames = Count(0);
        self.section.put(&mut self.blocks);
        self.has_news = !self.repeated_notes.is_empty() || !self.sockets.is_empty();
        for (subject, text) in &self.repeated_notes {
            self.records.note(Note { subject, text });
        }
        for event in &self.sockets.in_order() {
            self.records.event(event, true);
            if self.records.len() >= FULL {
                self.complete();
            }
        }
    }

    /// Takes one entry.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Event(event) => self.event(event),
            Entry::Known(event) => {
                if let Body::Socket(socket) = event.body {
                    self.sockets.open(event, socket);
                    self.records.event(event, true);
                    self.complete_if_full();
                }
            }
            Entry::Tick(at) => self.tick(*at),
            Entry::Note(note) => self.note(*note),
            Entry::TlsKeys(text) => self.tls_keys(text),
        }
    }

    /// Writes keys of TLS connections, in front of the packets that come after them.
    fn tls_keys(&mut self, text: &[u8]) {
        self.complete();
        self.interfaces.have_one(&mut self.blocks);
        secrets::put_tls_keys(&mut self.blocks, text);
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        match &event.body {
            Body::Packet(packet) => return self.packet(event, packet),
            Body::Socket(socket) => self.sockets.open(event, *socket),
            Body::Closed(socket) => self.sockets.close(*socket),
            // What was encrypted is not written, nor what is in no packet.
            Body::Plain(_) | Body::Written(_) => return,
            _ => {}
        }
        self.records.event(event, false);
        self.complete_if_full();
    }

    /// All events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        self.records.tick(at);
        if self.records.len() >= FULL {
            self.complete();
        }
    }

    /// Writes something down.
    pub fn note(&mut self, note: Note<'_>) {
        self.records.note(note);
        self.complete_if_full();
    }

    /// Writes something down that each file of a ring has.
    pub fn standing_note(&mut self, note: Note<'_>) {
        self.repeated_notes.push((note.subject.to_owned(), note.text.to_owned()));
        self.note(note);
    }

    /// Puts what is not in a block yet into one.
    pub fn complete(&mut self) {
        self.has_news = false;
        if self.records.is_empty() {
            return;
        }
        self.interfaces.have_one(&mut self.blocks);
        if self.records.len() <= MAX_IN_OPTION {
            self.put_names_block();
        } else {
            self.put_custom_block();
        }
    }

    /// Puts the records into an option of a block of names that has none.
    fn put_names_block(&mut self) {
        self.scratch.clear();
        custom::put_prefix(&mut self.scratch);
        self.records.move_to(&mut self.scratch);
        let blocks = &mut self.blocks;
        blocks.begin(block::NAMES);
        // The end of the names.
        blocks.u32(0);
        blocks.option(option::CUSTOM, &self.scratch);
        blocks.end_of_options();
        blocks.end();
    }

    /// Puts the records into a custom block, which Wireshark lists.
    fn put_custom_block(&mut self) {
        self.frames += 1;
        let blocks = &mut self.blocks;
        blocks.begin(block::CUSTOM);
        custom::put_prefix(&mut blocks.bytes);
        put_unsigned(&mut blocks.bytes, self.records.len() as u64);
        self.records.move_to(&mut blocks.bytes);
        blocks.pad();
        blocks.end();
    }

    fn complete_if_full(&mut self) {
        self.has_news = true;
        if self.records.len() >= FULL {
            self.complete();
        }
    }

    fn packet(&mut self, event: &Event<'_>, packet: &Packet<'_>) {
        let point = CapturePoint { hook: packet.hook, netns: packet.netns, device: packet.device };
        let first = !self.flows.is_known(&packet.flow);
        if !self.flows.is_shown(packet.flow, point) || !self.show(event, packet, point, first) {
            self.records
                .event(&if self.settings.payload { *event } else { without_payload(event) }, false);
            self.complete_if_full();
        }
    }

    /// Writes a packet as one; false if no headers can be what it says, which none from a probe does. `first`: its flow was
    /// not seen before.
    fn show(
        &mut self,
        event: &Event<'_>,
        packet: &Packet<'_>,
        point: CapturePoint,
        first: bool,
    ) -> bool {
        let Some(original) = build::original_len(packet) else { return false };
        self.scratch.clear();
        if !headers_say_all(packet) || !build::build(packet, &mut self.scratch) {
            return false;
        }
        if self.records.len() > MAX_IN_OPTION {
            self.interfaces.have_one(&mut self.blocks);
            self.put_custom_block();
        }
        self.scratch.truncate(build::known_len(packet));
        if self.settings.payload {
            self.scratch.extend_from_slice(packet.payload);
        }
        let interface = self.interfaces.number(point, &mut self.blocks);
        self.frames += 1;
        let start = self.blocks.bytes.len();
        let time = event.at.0.wrapping_add_signed(self.section.wall);
        self.blocks.begin_packet(interface, time, original, &self.scratch);
        self.put_options(event, packet, first);
        self.blocks.end();
        let end = self.blocks.bytes.len();
        self.last = Some(ShownPacket {
            start,
            end,
            // More options go before the mark of their end and the block's length, 4 bytes each.
            options: end.saturating_sub(start).saturating_sub(8),
            order: ByteOrder::Little,
            frame: self.frames.0,
            at: event.at,
            queue: Some(packet.queue),
        });
        true
    }

    /// The options of a packet: its direction, a comment, and what its headers do not say, with the records before it.
    fn put_options(&mut self, event: &Event<'_>, packet: &Packet<'_>, first: bool) {
        let direction: u32 = if packet.hook == PacketHook::Xmit { 2 } else { 1 };
        self.blocks.option(option::FLAGS, &direction.to_le_bytes());
        let socket = packet.socket.and_then(|id| self.sockets.get(id));
        if let Some(comment) = comment::of(event, packet, socket, first) {
            self.blocks.option(option::COMMENT, comment.as_bytes());
        }
        self.scratch.clear();
        custom::put_prefix(&mut self.scratch);
        event.cpu.put(&mut self.scratch);
        PacketMetadata::of(packet, event.at).put(&mut self.scratch);
        self.has_news = false;
        if !self.records.is_empty() {
            self.records.move_to(&mut self.scratch);
        }
        self.blocks.option(option::CUSTOM, &self.scratch);
        self.blocks.end_of_options();
    }
}

/// True if headers can tell the packet's flow and length.
fn headers_say_all(packet: &Packet<'_>) -> bool {
    let flow = packet.flow;
    flow == FlowKey::new(flow.transport, flow.src, flow.dst, packet.netns)
        && packet.payload.len() as u64 <= u64::from(packet.payload_len)
}

fn without_payload<'a>(event: &Event<'a>) -> Event<'a> {
    let mut event = *event;
    if let Body::Packet(packet) = &mut event.body {
        packet.payload = &[];
    }
    event
}
