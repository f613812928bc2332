//! Marks of the datagrams of one flow.

mod queue;
mod way;

use crate::ids::{AssemblyId, Direction};
use crate::threads::Chain;
use std::collections::VecDeque;
use wirelap_events::{
    ByteRange, Hop, IfIndex, Nanos, NetNs, Offset, Packet, PacketHook, PacketId, Saturate,
    SocketId, TaskId,
};
use wirelap_limits::network::LONGEST_DATAGRAM_PATH;

/// The hook, namespace and device at which a packet was seen.
type HookPoint = (PacketHook, NetNs, IfIndex);

/// The call that sent a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Entry of the call, where a hook for that was found.
    pub entered: Option<Nanos>,
    /// The thread that sent it.
    pub task: TaskId,
}

/// The use of a datagram's memory at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// For this datagram, which was first seen then.
    This(Nanos),
    /// For an earlier one, if that is known.
    Earlier(Option<(Direction, u64)>),
}

/// One datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// The address of its memory in the kernel.
    pub id: PacketId,
    /// The bytes that it has among those of the flow.
    pub range: ByteRange,
    /// Time at which it was seen for the first time.
    since: Nanos,
    /// The datagram that had its memory before it.
    before: Option<(Direction, u64)>,
    first: HookPoint,
    last: HookPoint,
    /// Time at which it came to the qdisc.
    pub queued: Option<Nanos>,
    /// Time at which it was handed to the device.
    pub xmit: Option<Nanos>,
    rx: Option<Nanos>,
    /// Since when `ksoftirqd`, to which it was left, had been woken; 0 if that is not known.
    deferred: Option<Nanos>,
    /// The call that sent it, if that was seen.
    pub sending: Option<Sending>,
}

/// A socket that got a datagram.
#[derive(Clone, Debug)]
struct DatagramReceipt {
    number: u64,
    socket: SocketId,
    ready: Option<Nanos>,
    read: Option<(Nanos, TaskId)>,
    led: Chain,
}

/// Fragments of a message that a datagram carries.
#[derive(Clone, Copy, Debug)]
struct Carries {
    number: u64,
    assembly: AssemblyId,
    first: u32,
    count: u32,
}

/// The arrival of a datagram at one socket.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'m> {
    /// Time at which it came in.
    pub rx: Option<Nanos>,
    /// Since when `ksoftirqd`, to which it was left, had been woken; 0 if that is not known.
    pub deferred: Option<Nanos>,
    /// Time at which the socket reported it.
    pub ready: Option<Nanos>,
    /// Time at which it was read, and by which thread.
    pub read: Option<(Nanos, TaskId)>,
    /// The wakeups that led to the read.
    pub led: &'m [Hop],
}

/// The wakeups that led the thread that sent a datagram to send.
#[derive(Clone, Debug)]
struct Led {
    number: u64,
    led: Chain,
}

/// The datagrams of one flow, numbered and laid end to end in the order in which they were first seen.
#[derive(Debug)]
pub struct UdpMarks {
    datagrams: VecDeque<Datagram>,
    /// The number of the first of `datagrams`.
    first: u64,
    /// Start of the next datagram.
    next: Offset,
    /// Sorted by number.
    receipts: VecDeque<DatagramReceipt>,
    /// Sorted by number.
    leds: VecDeque<Led>,
    /// Sorted by number.
    carries: VecDeque<Carries>,
    /// The newest datagram that was read, and when.
    read_to: Option<(u64, Nanos)>,
    /// The shortest time that a datagram took from its driver to where it came in.
    distance: Option<Nanos>,
    limit: usize,
    /// Nobody asks about bytes before this one any more.
    floor: Offset,
    evicted: u64,
    /// By how much times at the receiver may lie before those at the sender: the error of two hosts' clocks.
    slack: Nanos,
}

/// Datagrams that may be under way at once between two hooks.
const RECENT: usize = 64;

impl UdpMarks {
    /// No datagrams yet; `limit` are kept at most.
    pub fn new(limit: usize) -> UdpMarks {
        UdpMarks {
            datagrams: VecDeque::new(),
            first: 0,
            next: Offset::START,
            receipts: VecDeque::new(),
            leds: VecDeque::new(),
            carries: VecDeque::new(),
            read_to: None,
            distance: None,
            limit,
            floor: Offset(0),
            evicted: 0,
            slack: Nanos(0),
        }
    }

    /// Sets by how much times at the receiver may lie before those at the sender.
    pub fn set_slack(&mut self, slack: Nanos) {
        self.slack = slack;
    }

    /// The datagram with this number, while it is kept.
    pub fn get(&self, number: u64) -> Option<&Datagram> {
        self.datagrams.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Datagram> {
        self.datagrams.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// A datagram is seen for the first time, in memory that was `before`'s. Returns its number and its bytes' place in
    /// the flow.
    pub fn add(
        &mut self,
        packet: &Packet<'_>,
        at: Nanos,
        before: Option<(Direction, u64)>,
    ) -> (u64, ByteRange) {
        let place = (packet.hook, packet.netns, packet.device);
        let range = ByteRange::new(self.next, u64::from(packet.datagram_len()));
        self.next = range.end;
        let is_xmit = packet.hook == PacketHook::Xmit;
        if self.datagrams.len() >= self.limit {
            self.evicted.grow(u64::from(self.datagrams[0].range.end > self.floor));
            self.pop();
        }
        self.datagrams.push_back(Datagram {
            id: packet.id,
            range,
            since: at,
            before,
            first: place,
            last: place,
            queued: packet.queued.filter(|_| is_xmit),
            xmit: is_xmit.then_some(at),
            rx: (!is_xmit).then_some(at),
            deferred: packet.deferred_since(),
            sending: None,
        });
        (self.first.saturating_add(self.datagrams.len() as u64).saturating_sub(1), range)
    }

    /// True if `packet`, in the same memory as datagram `number`, is that datagram at a later hook. The first transmission and the
    /// last reception are kept. A datagram to a group is followed further after a reader of this host has taken it: the kernel hands
    /// that reader a copy before the device gets it.
    pub fn again(&mut self, number: u64, packet: &Packet<'_>, at: Nanos) -> bool {
        let place = (packet.hook, packet.netns, packet.device);
        let is_done = self.was_read(number) && !packet.flow.dst.ip().is_multicast();
        let Some(datagram) = self.get_mut(number) else { return false };
        let seen = datagram.xmit.or(datagram.rx).unwrap_or_default();
        let same = datagram.range.len() == u64::from(packet.datagram_len())
            && place != datagram.first
            && place != datagram.last
            && at.since(seen + LONGEST_DATAGRAM_PATH).is_none()
            && !is_done;
        if same {
            datagram.last = place;
            match packet.hook {
                PacketHook::Rx => {
                    datagram.rx = Some(at);
                    datagram.deferred = packet.deferred_since();
                }
                PacketHook::Xmit if datagram.xmit.is_none() => {
                    datagram.xmit = Some(at);
                    datagram.queued = packet.queued;
                }
                PacketHook::Xmit => {}
            }
        }
        same
    }

    /// A later fragment of datagram `number`, whose last byte goes where its last fragment goes. Its
    /// bytes if this is where the datagram was first seen: there they count.
    pub fn fragment(&mut self, number: u64, packet: &Packet<'_>, at: Nanos) -> Option<ByteRange> {
        let datagram = self.get_mut(number)?;
        let place = (packet.hook, packet.netns, packet.device);
        let is_first = place == datagram.first;
        match packet.hook {
            PacketHook::Xmit if is_first => {
                datagram.xmit = Some(at);
                datagram.queued = packet.queued;
            }
            PacketHook::Xmit => {}
            PacketHook::Rx => {
                datagram.rx = Some(at);
                datagram.deferred = packet.deferred_since();
            }
        }
        is_first.then_some(datagram.range)
    }

    /// `led` is how the sender came to send.
    pub fn sent(&mut self, number: u64, sending: Sending, led: &Chain) {
        let Some(datagram) = self.get_mut(number) else { return };
        datagram.sending = Some(sending);
        if !led.is_empty() {
            let index = self.leds.partition_point(|led| led.number < number);
            self.leds.insert(index, Led { number, led: led.clone() });
        }
    }

    /// Datagram `number` carries fragments `first..first + count` of a message.
    pub fn carries(&mut self, number: u64, assembly: AssemblyId, first: u32, count: u32) {
        let index = self.carries.partition_point(|carries| carries.number <= number);
        let last = index.checked_sub(1).and_then(|last| self.carries.get_mut(last));
        match last {
            Some(last)
                if (last.number, last.assembly) == (number, assembly)
                    && last.first.checked_add(last.count) == Some(first) =>
            {
                last.count = last.count.saturating_add(count);
            }
            _ => self.carries.insert(index, Carries { number, assembly, first, count }),
        }
    }

    /// The fragments that datagram `number` carries: of which message, the first, and how many.
    pub fn carried(&self, number: u64) -> impl Iterator<Item = (AssemblyId, u32, u32)> + '_ {
        let from = self.carries.partition_point(|carries| carries.number < number);
        let carried = self.carries.range(from..).take_while(move |c| c.number == number);
        carried.map(|carries| (carries.assembly, carries.first, carries.count))
    }

    /// `socket` is told of datagram `number`; its reader may have taken it already.
    pub fn ready(&mut self, number: u64, socket: SocketId, at: Nanos) {
        let way = self.get(number).and_then(|datagram| datagram.rx?.since(datagram.xmit?));
        self.distance = self.distance.into_iter().chain(way).min();
        let receipt = self.receipt(number, socket);
        if receipt.read.is_none_or(|(read, _)| at <= read) {
            receipt.ready.get_or_insert(at);
        }
    }

    /// A thread read a datagram from `socket`, which the wakeups in `led` led to.
    pub fn read(&mut self, number: u64, socket: SocketId, at: Nanos, task: TaskId, led: Chain) {
        let receipt = self.receipt(number, socket);
        receipt.read = Some((at, task));
        receipt.ready = receipt.ready.filter(|&ready| ready <= at);
        receipt.led = led;
        if self.read_to.is_none_or(|(newest, _)| number > newest) {
            self.read_to = Some((number, at));
        }
    }

    fn receipt(&mut self, number: u64, socket: SocketId) -> &mut DatagramReceipt {
        let from = self.receipts.partition_point(|receipt| receipt.number < number);
        let to = self.receipts.partition_point(|receipt| receipt.number <= number);
        let index = (from..to).find(|&i| self.receipts[i].socket == socket).unwrap_or_else(|| {
            let new =
                DatagramReceipt { number, socket, ready: None, read: None, led: Chain::default() };
            self.receipts.insert(to, new);
            to
        });
        &mut self.receipts[index]
    }

    fn receipts_of(&self, number: u64) -> impl Iterator<Item = &DatagramReceipt> {
        let from = self.receipts.partition_point(|receipt| receipt.number < number);
        self.receipts.range(from..).take_while(move |receipt| receipt.number == number)
    }

    fn was_read(&self, number: u64) -> bool {
        self.receipts_of(number).any(|receipt| receipt.read.is_some())
    }

    /// The datagram with the byte at `at`.
    pub fn number_of(&self, at: Offset) -> Option<u64> {
        let index = self.datagrams.partition_point(|datagram| datagram.range.end <= at);
        let datagram = self.datagrams.get(index)?;
        datagram.range.contains(at).then_some(self.first.saturating_add(index as u64))
    }

    /// The oldest datagram of `len` bytes that was sent within reach of `at` and not received: what
    /// a packet is that was copied on its way.
    pub fn unreceived(&self, len: u32, at: Nanos) -> Option<u64> {
        let is_it = |datagram: &Datagram| {
            datagram.rx.is_none()
                && datagram.range.len() == u64::from(len)
                && datagram
                    .xmit
                    .is_some_and(|xmit| at.since(xmit + LONGEST_DATAGRAM_PATH).is_none())
        };
        let recent = self.datagrams.len().saturating_sub(RECENT);
        let index = self.datagrams.range(recent..).position(is_it)?;
        Some(self.first.saturating_add(recent.saturating_add(index) as u64))
    }

    /// Notes that `packet`, which leaves a host, is a datagram that came in at another one before that, as far as their clocks tell, whose
    /// error is `slack`. Returns its number: the oldest of its length of which that can be.
    pub fn leaves_late(&mut self, packet: &Packet<'_>, at: Nanos, slack: Nanos) -> Option<u64> {
        let host = packet.netns.host();
        let is_it = |datagram: &Datagram| {
            let (hook, netns, _) = datagram.first;
            datagram.xmit.is_none()
                && hook == PacketHook::Rx
                && netns.host() != host
                && datagram.range.len() == u64::from(packet.datagram_len())
                && at <= datagram.since + slack
        };
        let recent = self.datagrams.len().saturating_sub(RECENT);
        let index = recent.saturating_add(self.datagrams.range(recent..).position(is_it)?);
        let datagram = self.datagrams.get_mut(index)?;
        (datagram.xmit, datagram.queued) = (Some(at), packet.queued);
        Some(self.first.saturating_add(index as u64))
    }

    fn pop(&mut self) {
        self.datagrams.pop_front();
        self.first.grow(1);
        while self.receipts.front().is_some_and(|receipt| receipt.number < self.first) {
            self.receipts.pop_front();
        }
        while self.leds.front().is_some_and(|led| led.number < self.first) {
            self.leds.pop_front();
        }
        while self.carries.front().is_some_and(|carries| carries.number < self.first) {
            self.carries.pop_front();
        }
    }

    /// Nobody asks about messages that end before `floor` any more; datagrams before it that are older
    /// than `limit` are forgotten.
    pub fn prune(&mut self, floor: Offset, limit: Nanos) {
        self.floor = floor;
        while let Some(oldest) = self.datagrams.front()
            && oldest.range.end <= floor
            && oldest.xmit.or(oldest.rx).is_none_or(|at| at < limit)
        {
            self.pop();
        }
    }

    /// Start of the next datagram.
    pub fn next(&self) -> Offset {
        self.next
    }

    /// Frees what is kept for speed.
    pub fn shrink(&mut self) {
        self.datagrams.shrink_to_fit();
        self.receipts.shrink_to_fit();
        self.leds.shrink_to_fit();
        self.carries.shrink_to_fit();
    }

    /// Takes the number of datagrams that were thrown away while their bytes were still of interest.
    pub fn take_evicted(&mut self) -> u64 {
        std::mem::take(&mut self.evicted)
    }
}
