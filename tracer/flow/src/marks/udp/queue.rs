//! The place of a datagram at some time: in its memory, and in its socket's queue.

use super::{Datagram, DatagramReceipt, MemoryUse, UdpMarks};
use wirelap_events::{Nanos, Packet, PacketHook, SocketId};

impl UdpMarks {
    /// True if `packet`, in the same memory as datagram `number`, is that datagram on its way on through this host: the
    /// one that came in last in this namespace goes out again, and no socket sends it.
    pub fn goes_on(&self, number: u64, packet: &Packet<'_>) -> bool {
        let came_in = |datagram: &Datagram| {
            datagram.last.0 == PacketHook::Rx && datagram.last.1 == packet.netns
        };
        packet.hook == PacketHook::Xmit
            && packet.socket.is_none()
            && self.get(number).is_some_and(came_in)
    }

    /// The use of datagram `number`'s memory at `seen`; `None` if it is not known any more.
    pub fn use_at(&self, number: u64, seen: Nanos) -> Option<MemoryUse> {
        let datagram = self.get(number)?;
        Some(if datagram.since <= seen {
            MemoryUse::This(datagram.since)
        } else {
            MemoryUse::Earlier(datagram.before)
        })
    }

    /// True if a read of `len` bytes at `socket` can have taken datagram `number`: it was not read there yet, and is not
    /// shorter.
    pub fn can_be_read(&self, number: u64, socket: SocketId, len: u32) -> bool {
        let is_read =
            |receipt: &DatagramReceipt| receipt.socket == socket && receipt.read.is_some();
        self.get(number)
            .is_some_and(|datagram| datagram.rx.is_some() && datagram.range.len() >= u64::from(len))
            && !self.receipts_of(number).any(is_read)
    }

    /// Time at which datagram `number` came in, or left, if nobody saw that.
    pub fn came_at(&self, number: u64) -> Option<Nanos> {
        let datagram = self.get(number)?;
        datagram.rx.or(datagram.xmit)
    }

    /// True if datagram `number` was in the queue of `socket` at `then`, or before: it was announced, or came in `apart`
    /// before that.
    pub fn was_in_queue(&self, number: u64, socket: SocketId, then: Nanos, apart: Nanos) -> bool {
        let mut its = self.receipts_of(number).filter(|receipt| receipt.socket == socket);
        its.any(|receipt| receipt.ready.is_some_and(|ready| ready <= then))
            || self.came_at(number).is_some_and(|came| came + apart < then)
    }

    /// True if `socket` will not read datagram `number` any more: it has, or it has read one that came in at `came` and was
    /// behind it in the queue. A datagram that came `apart` or more before that was in the queue before it, or was thrown
    /// away.
    pub fn is_over(
        &self,
        number: u64,
        socket: SocketId,
        came: Option<Nanos>,
        apart: Nanos,
    ) -> bool {
        if self.get(number).is_none() {
            return true;
        }
        let receipt = self.receipts_of(number).find(|receipt| receipt.socket == socket);
        if receipt.is_some_and(|receipt| receipt.read.is_some()) {
            return true;
        }
        let Some(came) = came else { return false };
        receipt.and_then(|receipt| receipt.ready).is_some_and(|ready| ready < came)
            || self.came_at(number).is_some_and(|its| its + apart < came)
    }
}
