//! How values stand in a record: one byte after the other, independent of any byte order.
//!
//! ```text
//! unsigned   LEB128: seven bits a byte, the lowest first, the top bit set if more follow
//! signed     zigzag (0, -1, 1, -2 …), then as unsigned
//! Option     0 or 1, then the value
//! enum       its number, one byte, then its fields
//! struct     its fields in order
//! Seq        4 bytes; PacketId 8 bytes; the lowest first
//! Comm       its length, then so many bytes
//! address    4 or 6, then 4 or 16 bytes, then the port
//! ```
//!
//! The same list of fields writes and reads, so the two cannot differ; a field that is added to an
//! event does not compile until it is added here.

mod sched;

use std::net::{IpAddr, SocketAddr};
use wirelap_events::{
    CgroupId, Comm, Cpu, Doing, DropCause, DroppedPacket, FlowKey, Holder, IfIndex, Lost, Nagle,
    Nanos, NetNs, OffCpuReason, Origin, PacketHook, PacketId, Pid, Portion, Probe, ReadCall,
    ReadKind, Ready, ReadyKind, Recovery, Retransmit, SendCall, SendKind, Seq, Sleep, Socket,
    SocketId, TaskId, TcpFields, ThreadState, Tid, Transport, TxState,
};

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `len` bytes; `None` if they are not there.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// The next unsigned number; `None` also for one of more than 64 bits.
    pub fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next signed number.
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1).cast_signed() ^ (value & 1).cast_signed().saturating_neg())
    }
}

/// Appends an unsigned number.
pub fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends a signed number.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// A value that stands in a record.
pub trait Wire: Sized {
    /// Appends it.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads it; `None` if the bytes end before it does, or are none.
    fn take(from: &mut Bytes<'_>) -> Option<Self>;
}

macro_rules! unsigned {
    ($($type:ty),*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                put_unsigned(out, u64::from(*self));
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                <$type>::try_from(from.unsigned()?).ok()
            }
        }
    )* };
}
unsigned!(u8, u16, u32, u64);

macro_rules! newtypes {
    ($($type:ident),*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                Wire::take(from).map($type)
            }
        }
    )* };
}
newtypes!(CgroupId, Cpu, IfIndex, Nanos, NetNs, Pid, SocketId, Tid);

/// A difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed(pub i64);

impl Wire for Signed {
    fn put(&self, out: &mut Vec<u8>) {
        put_signed(out, self.0);
    }

    fn take(from: &mut Bytes<'_>) -> Option<Signed> {
        from.signed().map(Signed)
    }
}

/// Values that are as likely large as small: all their bytes, the lowest first.
macro_rules! fixed {
    ($($type:ident($number:ty)),*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0.to_le_bytes());
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                from.array().map(<$number>::from_le_bytes).map($type)
            }
        }
    )* };
}
fixed!(PacketId(u64), Seq(u32));

/// Fields in the order in which they stand in the record.
macro_rules! fields {
    ($($type:ident { $($field:ident),* })*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                Some($type { $($field: Wire::take(from)?),* })
            }
        }
    )* };
}

pub(crate) use fields;

/// Variants by number, with their fields.
macro_rules! variants {
    ($($type:ident { $($number:literal => $variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* })*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($type::$variant $({ $($field),* })? $(($inner))? => {
                        out.push($number);
                        $($($field.put(out);)*)?
                        $($inner.put(out);)?
                    })*
                }
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                let [number] = from.array()?;
                Some(match number {
                    $($number => $type::$variant
                        $({ $($field: Wire::take(from)?),* })?
                        $(({ let $inner = Wire::take(from)?; $inner }))?,)*
                    _ => return None,
                })
            }
        }
    )* };
}

fields! {
    TaskId { pid, tid }
    Socket { id, netns, transport, local, remote, task, comm, origin, tx_next, rx_next }
    SendCall { socket, task, kind }
    ReadCall { socket, task, kind }
    Ready { socket, kind }
    TcpFields { seq, ack, flags, window }
    Holder { task, comm, held }
    Lost { probe, count }
    ThreadState { task, doing }
    FlowKey { transport, src, dst, scope }
}

impl Wire for TxState {
    fn put(&self, out: &mut Vec<u8>) {
        let TxState { in_flight, unsent, window, mss, cwnd, segments_out, .. } = self;
        for number in [in_flight, unsent, window, mss, cwnd, segments_out] {
            number.put(out);
        }
        self.nagle.put(out);
        self.send_buffer.put(out);
        self.pacing.put(out);
    }

    fn take(from: &mut Bytes<'_>) -> Option<TxState> {
        Some(TxState {
            in_flight: Wire::take(from)?,
            unsent: Wire::take(from)?,
            window: Wire::take(from)?,
            mss: Wire::take(from)?,
            cwnd: Wire::take(from)?,
            segments_out: Wire::take(from)?,
            nagle: Wire::take(from)?,
            // The first recordings end here.
            send_buffer: Wire::take(from).unwrap_or_default(),
            pacing: Wire::take(from).unwrap_or_default(),
        })
    }
}

impl Wire for Retransmit {
    fn put(&self, out: &mut Vec<u8>) {
        let Retransmit { socket, start, len, recovery } = self;
        socket.put(out);
        start.put(out);
        len.put(out);
        recovery.put(out);
    }

    fn take(from: &mut Bytes<'_>) -> Option<Retransmit> {
        Some(Retransmit {
            socket: Wire::take(from)?,
            start: Wire::take(from)?,
            len: Wire::take(from)?,
            // The first recordings end here.
            recovery: Wire::take(from).unwrap_or_default(),
        })
    }
}

impl Wire for ReadKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            ReadKind::Stream { end, len } => {
                out.push(0);
                end.put(out);
                len.put(out);
            }
            ReadKind::Datagram { packet, seen, flow, len } => {
                out.push(1);
                packet.put(out);
                flow.put(out);
                len.put(out);
                seen.put(out);
            }
        }
    }

    fn take(from: &mut Bytes<'_>) -> Option<ReadKind> {
        Some(match from.array()? {
            [0] => ReadKind::Stream { end: Wire::take(from)?, len: Wire::take(from)? },
            [1] => ReadKind::Datagram {
                packet: Wire::take(from)?,
                flow: Wire::take(from)?,
                len: Wire::take(from)?,
                // The first recordings end here.
                seen: Wire::take(from).unwrap_or_default(),
            },
            _ => return None,
        })
    }
}

impl Wire for ReadyKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            ReadyKind::Stream(end) => {
                out.push(0);
                end.put(out);
            }
            ReadyKind::Datagram { packet, seen } => {
                out.push(1);
                packet.put(out);
                seen.put(out);
            }
        }
    }

    fn take(from: &mut Bytes<'_>) -> Option<ReadyKind> {
        Some(match from.array()? {
            [0] => ReadyKind::Stream(Wire::take(from)?),
            [1] => ReadyKind::Datagram {
                packet: Wire::take(from)?,
                // The first recordings end here.
                seen: Wire::take(from).unwrap_or_default(),
            },
            _ => return None,
        })
    }
}

impl Wire for DroppedPacket {
    fn put(&self, out: &mut Vec<u8>) {
        let DroppedPacket { flow, cause, reason, len, outward, queued, tcp } = self;
        flow.put(out);
        cause.put(out);
        reason.put(out);
        len.put(out);
        outward.put(out);
        queued.put(out);
        tcp.put(out);
    }

    fn take(from: &mut Bytes<'_>) -> Option<DroppedPacket> {
        Some(DroppedPacket {
            flow: Wire::take(from)?,
            cause: Wire::take(from)?,
            reason: Wire::take(from)?,
            len: Wire::take(from)?,
            // The first recordings end here.
            outward: Wire::take(from).unwrap_or_default(),
            queued: Wire::take(from).unwrap_or_default(),
            tcp: Wire::take(from).unwrap_or_default(),
        })
    }
}

variants! {
    Transport { 6 => Tcp, 17 => Udp }
    Origin { 0 => Existing, 1 => Connected, 2 => Accepted, 3 => FirstSeen }
    SendKind { 0 => Stream { start, len, state }, 1 => Datagram { len, entered } }
    Nagle { 0 => On, 1 => Off, 2 => Corked }
    PacketHook { 0 => Xmit, 1 => Rx }
    Doing { 0 => Stopped, 1 => Asleep, 2 => Blocked, 3 => Running }
    OffCpuReason { 0 => Asleep, 1 => Blocked, 2 => Stopped, 3 => Preempted }
    Sleep { 0 => Unknown, 1 => Lock, 2 => Timer, 3 => Call }
    DropCause { 0 => SocketBuffer, 1 => Queue, 2 => NoSocket, 3 => Other, 4 => Filter, 5 => Duplicate }
    Recovery { 0 => Timeout, 1 => Fast, 2 => TailProbe, 3 => Retry }
    Portion { 0 => Whole, 1 => Fragment { start, of }, 2 => Refusal }
    Probe {
        0 => Socket, 1 => Send, 2 => Read, 3 => Ready, 4 => Xmit, 5 => Rx, 6 => Sched,
        7 => Retransmit, 8 => Drop
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut Bytes<'_>) -> Option<bool> {
        match from.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut Bytes<'_>) -> Option<Option<T>> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

/// Its length without the NULs, then so many bytes: names are short, and nothing follows the first NUL.
/// A name with bytes after a NUL keeps them.
impl Wire for Comm {
    fn put(&self, out: &mut Vec<u8>) {
        let len =
            self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        put_unsigned(out, len as u64);
        out.extend_from_slice(&self.0[..len]);
    }

    fn take(from: &mut Bytes<'_>) -> Option<Comm> {
        let len = usize::from(u8::take(from)?);
        let mut comm = Comm::default();
        comm.0.get_mut(..len)?.copy_from_slice(from.take(len)?);
        Some(comm)
    }
}

impl Wire for SocketAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self.ip() {
            IpAddr::V4(ip) => {
                out.push(4);
                out.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out.push(6);
                out.extend_from_slice(&ip.octets());
            }
        }
        out.extend_from_slice(&self.port().to_be_bytes());
    }

    fn take(from: &mut Bytes<'_>) -> Option<SocketAddr> {
        let ip = match from.array()? {
            [4] => IpAddr::from(from.array::<4>()?),
            [6] => IpAddr::from(from.array::<16>()?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(from.array()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_no_more_bytes_than_they_need() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
            let mut out = Vec::new();
            put_unsigned(&mut out, value);
            assert_eq!(out.len(), bytes, "{value}");
            assert_eq!(Bytes(&out).unsigned(), Some(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX, -1_000_000] {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            assert_eq!(Bytes(&out).signed(), Some(value));
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_none() {
        assert_eq!(Bytes(&[0xFF; 20]).unsigned(), None);
        let mut most = [0xFF; 10];
        most[9] = 1;
        assert_eq!(Bytes(&most).unsigned(), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(Bytes(&most).unsigned(), None);
        assert_eq!(u16::take(&mut Bytes(&[0x80, 0x80, 0x04])), None);
    }

    /// The first recordings do not say when a datagram's memory was its.
    #[test]
    fn calls_for_datagrams_of_the_first_recordings_are_read() {
        let (packet, seen) = (Some(PacketId(3)), Some(Nanos(1)));
        let read = ReadKind::Datagram { packet, seen, flow: None, len: 64 };
        let ready = ReadyKind::Datagram { packet, seen };
        let (mut as_read, mut as_ready) = (Vec::new(), Vec::new());
        read.put(&mut as_read);
        ready.put(&mut as_ready);
        assert_eq!(ReadKind::take(&mut Bytes(&as_read)), Some(read));
        assert_eq!(ReadyKind::take(&mut Bytes(&as_ready)), Some(ready));
        let old = |bytes: &[u8]| bytes[..bytes.len() - 2].to_vec();
        let read = ReadKind::Datagram { packet, seen: None, flow: None, len: 64 };
        let ready = ReadyKind::Datagram { packet, seen: None };
        assert_eq!(ReadKind::take(&mut Bytes(&old(&as_read))), Some(read));
        assert_eq!(ReadyKind::take(&mut Bytes(&old(&as_ready))), Some(ready));
    }

    #[test]
    fn a_name_longer_than_the_kernels_is_none() {
        let mut bytes = vec![17];
        bytes.extend([b'x'; 17]);
        assert_eq!(Comm::take(&mut Bytes(&bytes)), None);
    }
}
