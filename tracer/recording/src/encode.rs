//! Entries → the bytes of a pcapng file.
//!
//! What Wireshark shows are Enhanced Packet Blocks. Everything else goes into an option of the next one, or, where
//! none comes soon, of a Name Resolution Block without names, which is not shown. What is too long for an option is a Custom
//! Block, which Wireshark shows as a line of its own, and at the time 0. Layout: docs/recording.md.

use crate::block::{self, Blocks, ByteOrder, option};
use crate::hold::ShownPacket;
use crate::record::{Beside, Entry, Note, Records};
use crate::wire::{Wire, put_signed};
use crate::{ENTERPRISE, TAG, comment, headers};
use rustc_hash::FxHashMap;
use wirelap_events::Saturate;
use wirelap_events::{
    Body, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, Socket, SocketId,
};

/// Records of so many bytes do not wait for a packet. An option has 64 KiB at most.
const FULL: usize = 32 << 10;

/// … and no more than this can be in an option beside the packet's own.
const MOST: usize = 65_000;

/// Flows whose shown place is remembered; when there are more, all are forgotten.
const FLOWS: usize = 65_536;

/// Devices that were named.
const PLACES: usize = 65_536;

/// Open sockets that a file of a ring tells again.
const SOCKETS: usize = 65_536;

/// Before the host's name in a section's comment.
pub(crate) const RECORDED_ON: &str = "recorded on ";

/// `LINKTYPE_RAW`: an IP packet without a link header, its version in the first four bits.
const RAW_IP: u16 = 101;

/// Which sightings of a packet are packets for Wireshark. The others go into custom blocks: nothing is lost to
/// [`crate::Recording`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// One sighting a packet: where its flow is sent, or else where it is received first. Wireshark takes
    /// a second one for a retransmission.
    #[default]
    Once,
    /// At this hook.
    At(PacketHook),
    /// All.
    All,
}

/// What stands at the front of a file.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The machine, e.g. its processor.
    pub hardware: String,
    /// The operating system.
    pub os: String,
    /// The program that writes, with its version.
    pub application: String,
    /// The host's name.
    pub host: String,
    /// From the monotonic clock to the wall clock, in nanoseconds, when recording began.
    pub wall: i64,
}

/// How entries are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// What Wireshark sees.
    pub shown: Shown,
    /// Whether captured payload is kept.
    pub payload: bool,
}

/// Where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    hook: PacketHook,
    netns: NetNs,
    device: IfIndex,
}

/// Names a device; `None` if it is not known.
pub type DeviceName = Box<dyn FnMut(NetNs, IfIndex) -> Option<String> + Send>;

/// Puts entries into blocks.
pub struct Encoder {
    section: Section,
    settings: Settings,
    device_name: DeviceName,
    blocks: Blocks,
    records: Records,
    names: FxHashMap<(NetNs, IfIndex), String>,
    interfaces: FxHashMap<Place, u32>,
    shown: FxHashMap<FlowKey, Place>,
    sockets: FxHashMap<SocketId, Event<'static>>,
    /// Something other than ticks waits for a block.
    has_news: bool,
    /// Notes that each file has.
    standing: Vec<(String, String)>,
    scratch: Vec<u8>,
    /// Blocks of this file that Wireshark lists.
    frames: u64,
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
    pub fn new(section: Section, settings: Settings, device_name: DeviceName) -> Encoder {
        let mut encoder = Encoder {
            section,
            settings,
            device_name,
            blocks: Blocks::default(),
            records: Records::default(),
            names: FxHashMap::default(),
            interfaces: FxHashMap::default(),
            shown: FxHashMap::default(),
            sockets: FxHashMap::default(),
            has_news: false,
            standing: Vec::new(),
            scratch: Vec::new(),
            frames: 0,
            last: None,
        };
        encoder.begin_section();
        encoder
    }

    /// Names a device that nothing here could name: the events are another machine's.
    pub fn name_device(&mut self, netns: NetNs, device: IfIndex, name: &str) {
        if self.names.len() < PLACES {
            self.names.insert((netns, device), name.to_owned());
        }
    }

    /// Complete blocks that were not taken yet. Call [`Encoder::complete`] first to have all entries in them.
    pub fn bytes(&self) -> &[u8] {
        &self.blocks.bytes
    }

    /// Whether something other than ticks waits for a block.
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// The packet among the bytes, if the last event was one and is shown.
    pub(crate) fn take_shown(&mut self) -> Option<ShownPacket> {
        self.last.take()
    }

    /// They have been written.
    pub fn clear(&mut self) {
        self.blocks.bytes.clear();
    }

    /// Begins a new file: a section that can be read alone. Take the bytes of the old one before.
    pub fn restart(&mut self) {
        self.interfaces.clear();
        self.frames = 0;
        self.begin_section();
        self.has_news = !self.standing.is_empty() || !self.sockets.is_empty();
        for (subject, text) in &self.standing {
            self.records.note(Note { subject, text });
        }
        let mut sockets: Vec<_> = self.sockets.values().copied().collect();
        sockets.sort_unstable_by_key(|event| event.at);
        for event in &sockets {
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
                    self.opened(event, socket);
                    self.records.event(event, true);
                    self.complete_if_full();
                }
            }
            Entry::Tick(at) => self.tick(*at),
            Entry::Note(note) => self.note(*note),
        }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        match &event.body {
            Body::Packet(packet) => return self.packet(event, packet),
            Body::Socket(socket) => self.opened(event, *socket),
            Body::Closed(socket) => drop(self.sockets.remove(socket)),
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
        self.standing.push((note.subject.to_owned(), note.text.to_owned()));
        self.note(note);
    }

    /// Puts what is not in a block yet into one.
    pub fn complete(&mut self) {
        self.has_news = false;
        if self.records.is_empty() {
            return;
        }
        let blocks = &mut self.blocks;
        if self.records.len() <= MOST {
            self.scratch.clear();
            self.scratch.extend(ENTERPRISE.to_le_bytes());
            self.scratch.extend(TAG);
            self.records.move_to(&mut self.scratch);
            blocks.begin(block::NAMES);
            // No names.
            blocks.u32(0);
            blocks.option(option::CUSTOM, &self.scratch);
            blocks.end_of_options();
            blocks.end();
            return;
        }
        self.frames.grow(1);
        blocks.begin(block::CUSTOM);
        blocks.u32(ENTERPRISE);
        blocks.bytes.extend(TAG);
        crate::wire::put_unsigned(&mut blocks.bytes, self.records.len() as u64);
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

    fn opened(&mut self, event: &Event<'_>, socket: Socket) {
        if self.sockets.len() < SOCKETS || self.sockets.contains_key(&socket.id) {
            let event = Event { at: event.at, cpu: event.cpu, body: Body::Socket(socket) };
            self.sockets.insert(socket.id, event);
        }
    }

    fn begin_section(&mut self) {
        let (blocks, section) = (&mut self.blocks, &self.section);
        blocks.begin(block::SECTION);
        blocks.section_head();
        let host = format!("{RECORDED_ON}{}", section.host);
        for (number, text) in [
            (option::HARDWARE, &section.hardware),
            (option::OS, &section.os),
            (option::APPLICATION, &section.application),
            (option::COMMENT, &host),
        ] {
            blocks.option(number, text.as_bytes());
        }
        let mut clock = ours();
        put_signed(&mut clock, section.wall);
        blocks.option(option::CUSTOM, &clock);
        blocks.end_of_options();
        blocks.end();
    }

    fn packet(&mut self, event: &Event<'_>, packet: &Packet<'_>) {
        let place = Place { hook: packet.hook, netns: packet.netns, device: packet.device };
        let first = !self.shown.contains_key(&packet.flow);
        if !self.is_shown(packet.flow, place) || !self.show(event, packet, place, first) {
            self.records
                .event(&if self.settings.payload { *event } else { without_payload(event) }, false);
            self.complete_if_full();
        }
    }

    fn is_shown(&mut self, flow: FlowKey, place: Place) -> bool {
        if self.shown.len() >= FLOWS {
            self.shown.clear();
        }
        let known = self.shown.entry(flow).or_insert(place);
        match self.settings.shown {
            Shown::All => true,
            Shown::At(hook) => hook == place.hook,
            Shown::Once => {
                if (known.hook, place.hook) == (PacketHook::Rx, PacketHook::Xmit) {
                    // It was in the middle of its way when recording began.
                    *known = place;
                }
                *known == place
            }
        }
    }

    /// Writes a packet as one; false if no headers can be what it says, which none from a probe does.
    fn show(&mut self, event: &Event<'_>, packet: &Packet<'_>, place: Place, first: bool) -> bool {
        let flow = packet.flow;
        let tells_itself = flow == FlowKey::new(flow.transport, flow.src, flow.dst, packet.netns)
            && packet.payload.len() as u64 <= u64::from(packet.payload_len);
        let Some(original) = headers::original_len(packet) else { return false };
        self.scratch.clear();
        if !tells_itself || !headers::build(packet, &mut self.scratch) {
            return false;
        }
        if self.records.len() > MOST {
            self.complete();
        }
        let interface = self.interface(place);
        self.scratch.truncate(headers::known_len(packet));
        if self.settings.payload {
            self.scratch.extend_from_slice(packet.payload);
        }
        self.frames.grow(1);
        let blocks = &mut self.blocks;
        let start = blocks.bytes.len();
        blocks.begin(block::PACKET);
        blocks.u32(interface);
        let time = event.at.0.wrapping_add_signed(self.section.wall);
        blocks.time(time);
        blocks.u32(u32::try_from(self.scratch.len()).unwrap_or(u32::MAX));
        blocks.u32(original);
        blocks.bytes.extend_from_slice(&self.scratch);
        blocks.pad();
        let direction: u32 = if place.hook == PacketHook::Xmit { 2 } else { 1 };
        blocks.option(option::FLAGS, &direction.to_le_bytes());
        let socket = packet.socket.and_then(|id| self.sockets.get(&id));
        if let Some(comment) = comment::of(event, packet, socket, first) {
            blocks.option(option::COMMENT, comment.as_bytes());
        }
        self.scratch.clear();
        self.scratch.extend(ENTERPRISE.to_le_bytes());
        self.scratch.extend(TAG);
        event.cpu.put(&mut self.scratch);
        Beside::of(packet, event.at).put(&mut self.scratch);
        self.has_news = false;
        if !self.records.is_empty() {
            self.records.move_to(&mut self.scratch);
        }
        blocks.option(option::CUSTOM, &self.scratch);
        blocks.end_of_options();
        blocks.end();
        let end = blocks.bytes.len();
        self.last = Some(ShownPacket {
            start,
            end,
            // Before the end of the options, and the block's length.
            options: end.saturating_sub(start).saturating_sub(8),
            order: ByteOrder::Little,
            frame: self.frames,
            at: event.at,
            queue: Some(packet.queue),
        });
        true
    }

    /// The number of a place's interface, described before its first packet.
    fn interface(&mut self, place: Place) -> u32 {
        if let Some(&number) = self.interfaces.get(&place) {
            return number;
        }
        let number = u32::try_from(self.interfaces.len()).unwrap_or(u32::MAX);
        self.interfaces.insert(place, number);
        let known = self.names.get(&(place.netns, place.device)).cloned();
        let device = known
            .or_else(|| (self.device_name)(place.netns, place.device))
            .unwrap_or_else(|| format!("if{}@{}", place.device.0, place.netns.0));
        let (hook, where_to) = match place.hook {
            PacketHook::Xmit => ("tx-queue", "handed to the device's queue"),
            PacketHook::Rx => ("rx", "received from the device"),
        };
        let description =
            format!("{device}, packets {where_to}, network namespace {}", place.netns.0);
        let mut custom = ours();
        place.hook.put(&mut custom);
        place.netns.put(&mut custom);
        place.device.put(&mut custom);
        let blocks = &mut self.blocks;
        blocks.begin(block::INTERFACE);
        blocks.u16(RAW_IP);
        blocks.u16(0);
        blocks.u32(0);
        blocks.option(option::NAME, format!("{device} {hook}").as_bytes());
        blocks.option(option::DESCRIPTION, description.as_bytes());
        blocks.option(option::RESOLUTION, &[9]);
        blocks.option(option::CUSTOM, &custom);
        blocks.end_of_options();
        blocks.end();
        number
    }
}

/// The front of what is in an option of ours.
fn ours() -> Vec<u8> {
    let mut bytes = ENTERPRISE.to_le_bytes().to_vec();
    bytes.extend(TAG);
    bytes
}

fn without_payload<'a>(event: &Event<'a>) -> Event<'a> {
    let mut event = *event;
    if let Body::Packet(packet) = &mut event.body {
        packet.payload = &[];
    }
    event
}
