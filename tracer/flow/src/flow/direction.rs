//! One direction of a conversation.

use super::control::{FlowControl, NO_CONTROL};
use super::flow_messages::FlowMessages;
use super::flow_start::FlowStart;
use super::packets::FlowPackets;
use super::pieces::Pieces;
use super::reader_pauses::ReaderPauses;
use super::reassembly::Reassembly;
use super::round_trips::{RoundTrips, UnreadReply};
use super::unwrap::Unwrap;
use super::window::Window;
use crate::config::Config;
use crate::marks::Marks;
use wirelap_events::{
    ByteRange, FlowKey, LegHosts, Nanos, Offset, Seq, SocketId, TcpFields, tcp_flags,
};
use wirelap_protocols::stream::Stream;

/// One direction of a conversation.
#[derive(Debug)]
pub struct Flow {
    /// Transport and addresses.
    pub key: FlowKey,
    /// From sequence numbers to offsets.
    pub unwrap: Unwrap,
    /// The bytes, put in order.
    pub bytes: Reassembly,
    /// Observations of the bytes.
    pub marks: Marks,
    /// Counts of the packets, and the devices that they pass.
    pub packets: FlowPackets,
    /// The messages that were found and wait for something.
    pub messages: FlowMessages,
    /// The beginning, by which its protocol is recognised.
    pub start: FlowStart,
    /// One past the last byte, once a FIN was seen: the kernel's counters run one further.
    pub end: Option<Offset>,
    /// The sending socket, once known.
    pub sender: Option<SocketId>,
    /// The receiving socket, once known; the last one that received, for a multicast flow.
    pub receiver: Option<SocketId>,
    /// The hosts at its ends, as they were last looked up.
    pub hosts: LegHosts,
    /// UDP: the datagram that is coming in fragments.
    pub pieces: Pieces,
    /// True if a send was ever seen: then a message without one is not complete.
    pub has_sends: bool,
    /// The loss count of the ready probe when this flow last reported ready.
    pub ready_losses: u64,
    /// TCP: where its receiver is.
    pub window: Window,
    /// Times in which the receiver does not read.
    pub reader_pauses: ReaderPauses,
    /// Observation was interrupted since the last packet.
    pub interrupted: bool,
    /// Control messages that its sender sent; many flows have none.
    control: Option<Box<FlowControl>>,
    /// Open requests, and replies that are not read yet; most flows have none.
    pub round_trips: Option<Box<RoundTrips>>,
    /// Cuts PDUs, once the protocol is known (TCP).
    pub stream: Option<Stream>,
}

impl Flow {
    /// A direction of which nothing was seen yet.
    pub fn new(key: FlowKey, config: &Config) -> Flow {
        Flow {
            key,
            unwrap: Unwrap::default(),
            bytes: Reassembly::new(config.max_flow_bytes),
            marks: Marks::new(key.transport, config.max_marks),
            packets: FlowPackets::default(),
            messages: FlowMessages::default(),
            start: FlowStart::default(),
            end: None,
            sender: None,
            receiver: None,
            hosts: LegHosts::default(),
            pieces: Pieces::default(),
            has_sends: false,
            ready_losses: 0,
            window: Window::default(),
            reader_pauses: ReaderPauses::default(),
            interrupted: false,
            control: None,
            round_trips: None,
            stream: None,
        }
    }

    /// The control messages that its sender sent.
    pub fn control(&self) -> &FlowControl {
        self.control.as_deref().unwrap_or(&NO_CONTROL)
    }

    /// Returns the control messages that its sender sent, to add to them.
    pub fn control_mut(&mut self) -> &mut FlowControl {
        self.control.get_or_insert_default()
    }

    /// The control messages that its sender sent, if there were any.
    pub fn known_control_mut(&mut self) -> Option<&mut FlowControl> {
        self.control.as_deref_mut()
    }

    /// The numbers of the hosts that send and receive it, as far as sockets or packets tell.
    pub fn ends_on(&self) -> [Option<u8>; 2] {
        let [sender, receiver] = self.packets.devices.hosts();
        [self.sender.map(SocketId::host).or(sender), self.receiver.map(SocketId::host).or(receiver)]
    }

    /// Notes the hosts at its ends, and the error of times between them.
    pub fn set_hosts(&mut self, hosts: LegHosts) {
        self.hosts = hosts;
        match &mut self.marks {
            Marks::Tcp(marks) => marks.set_slack(hosts.slack()),
            Marks::Udp(marks) => marks.set_slack(hosts.slack()),
        }
    }

    /// Notes that all bytes before `end` were read at `at`: control messages may be among them.
    pub fn note_read(&mut self, end: Offset, at: Nanos) {
        if let Some(control) = &mut self.control {
            control.note_read(&self.marks, end, at);
        }
    }

    /// True if nobody is seen to read `extent`: its reader is on another host, or left out by a filter. A datagram that came
    /// in here may yet be for a socket that has not shown itself.
    pub fn ends_unseen(&self, extent: ByteRange) -> bool {
        let is_stream = matches!(self.marks, Marks::Tcp(_));
        self.receiver.is_none() && (is_stream || !self.marks.was_received(extent))
    }

    /// True if a stream's sender is seen and its receiver is no socket of this host, though bytes have come there: a program that
    /// speaks TCP itself has them, or another host.
    pub fn leads_elsewhere(&self) -> bool {
        let Marks::Tcp(marks) = &self.marks else { return false };
        self.sender.is_some() && self.receiver.is_none() && marks.hears()
    }

    /// True if TCP had to send the last bytes that came, or those before them, again.
    pub fn was_last_resent(&self) -> bool {
        let Some(end) = self.bytes.next() else { return false };
        let seen = self.marks.path(ByteRange::last_before(end), 0).circumstances;
        seen.loss.resent || seen.loss.behind
    }

    /// Time at which the last bytes that came were there for their reader.
    pub fn last_arrived(&self) -> Option<Nanos> {
        let end = self.bytes.next()?;
        self.arrived(end).or_else(|| self.marks.passed_at(ByteRange::last_before(end)))
    }

    /// Time at which the last bytes were there for a reader on another host, as far as its acknowledgements tell.
    pub fn last_reached(&self) -> Option<Nanos> {
        let Marks::Tcp(marks) = &self.marks else { return None };
        marks.reached(ByteRange::last_before(self.bytes.next()?))
    }

    /// The first reply in it that is not read yet.
    pub fn first_reply(&self) -> Option<&UnreadReply> {
        self.round_trips.as_ref()?.first_reply()
    }

    /// True if the bytes before `end` have come, or it is not known which come next.
    pub fn has_arrived(&self, end: Offset) -> bool {
        self.bytes.next().is_none_or(|next| next >= end)
    }

    /// True if the next byte in order is known not to have arrived.
    pub fn lacks_next(&self) -> bool {
        let Marks::Tcp(marks) = &self.marks else { return false };
        self.bytes.next().is_some_and(|next| marks.lacks(next))
    }

    /// Frees what is kept for speed.
    pub fn shrink(&mut self) {
        self.packets.shrink();
        self.messages.shrink();
        if self.round_trips.as_ref().is_some_and(|trips| !trips.is_waiting()) {
            self.round_trips = None;
        }
        self.bytes.shrink();
        match &mut self.marks {
            Marks::Tcp(marks) => marks.shrink(),
            Marks::Udp(marks) => marks.shrink(),
        }
    }

    /// True if nothing was carried yet.
    pub fn is_fresh(&self) -> bool {
        self.start.isn.is_none() && self.bytes.next().is_none() && self.packets.carried.is_empty()
    }

    /// The SYN with this sequence number opens this direction.
    pub fn open(&mut self, isn: Seq) {
        self.start.isn = Some(isn);
        self.start.boundary = None;
        self.unwrap = Unwrap::default();
        self.unwrap.offset(isn.plus(1));
        self.bytes.start_at(Offset::START);
        self.packets.begin_at(Offset::START);
    }

    /// Notes that observation is interrupted: what was asked and answered meanwhile is not known.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.packets.interrupt();
        if let Some(control) = &mut self.control {
            control.interrupt();
        }
        if let Some(trips) = &mut self.round_trips {
            trips.interrupt();
        }
    }

    /// Forgets the flow's place, because it was not looked at for any time: the next packet tells
    /// where it is.
    pub fn lose_place(&mut self) {
        self.interrupt();
        self.unwrap.lose();
        self.window = Window::default();
    }

    /// The range of a packet's payload in the flow; `None` for a sequence number that cannot be
    /// this flow's.
    pub fn payload_range(&mut self, tcp: &TcpFields, len: u32) -> Option<ByteRange> {
        let syn = u32::from(tcp.flags & tcp_flags::SYN != 0);
        let range = ByteRange::new(self.unwrap.offset(tcp.seq.plus(syn))?, u64::from(len));
        if tcp.flags & tcp_flags::FIN != 0 {
            self.end = Some(range.end);
        }
        Some(range)
    }

    /// An offset from one of the kernel's counters, which count the FIN as a byte.
    pub fn counter(&mut self, seq: Seq) -> Option<Offset> {
        let offset = self.unwrap.offset(seq)?;
        Some(self.end.map_or(offset, |end| offset.min(end)))
    }
}
