//! Layout of the structs and enums of events in a record.
//!
//! A field behind a semicolon was added later: the first recordings end before it.

use super::WireValue;
use super::value::{fields, variants};
use wirelap_events::{
    DropCause, DroppedPacket, FlowKey, LossCause, LostEvents, Nagle, OffCpuReason, PacketHook,
    PacketKind, Probe, ProcessEnd, ReadCall, ReadKind, Ready, ReadyKind, Recovery, Retransmit,
    SendCall, SendKind, SleepCall, Socket, SocketOrigin, TaskId, TcpFields, ThreadActivity,
    ThreadState, Transport, TxState,
};

fields! {
    TaskId { pid, tid }
    Socket { id, netns, transport, local, remote, task, comm, origin, tx_next, rx_next; is_subflow }
    SendCall { socket, task, kind }
    TxState { in_flight, unsent, window, mss, cwnd, segments_out, nagle; send_buffer, pacing, min_rtt }
    ReadCall { socket, task, kind }
    Ready { socket, kind }
    TcpFields { seq, ack, flags, window }
    Retransmit { socket, start, len; recovery }
    DroppedPacket { flow, cause, reason, len; outward, queued, tcp, netns, mtu }
    LostEvents { probe, count; cause }
    ThreadState { task, activity; cpu_time, waited, ran }
    ProcessEnd { task, status, out_of_memory }
    FlowKey { transport, src, dst, scope }
}

variants! {
    Transport { 6 => Tcp, 17 => Udp }
    SocketOrigin { 0 => Existing, 1 => Connected, 2 => Accepted, 3 => FirstSeen }
    SendKind { 0 => Stream { start, len, state }, 1 => Datagram { len, entered } }
    Nagle { 0 => On, 1 => Off, 2 => Corked }
    PacketHook { 0 => Xmit, 1 => Rx }
    ThreadActivity { 0 => Stopped, 1 => Asleep, 2 => Blocked, 3 => Running, 4 => Runnable }
    OffCpuReason { 0 => Asleep, 1 => Blocked, 2 => Stopped, 3 => Preempted }
    SleepCall { 0 => Unknown, 1 => Lock, 2 => Timer, 3 => Call, 4 => Poll, 5 => TimedPoll }
    DropCause { 0 => SocketBuffer, 1 => Queue, 2 => NoSocket, 3 => Other, 4 => Filter, 5 => Duplicate, 6 => TooBig }
    Recovery { 0 => Timeout, 1 => Fast, 2 => TailProbe, 3 => Retry }
    LossCause { 0 => RingFull, 1 => RunSkipped, 2 => StatedByFile, 3 => FragmentMissing, 4 => TooLate }
    PacketKind { 0 => Whole, 1 => Fragment { start, of }, 2 => IcmpError }
    Probe {
        0 => Socket, 1 => Send, 2 => Read, 3 => Ready, 4 => Xmit, 5 => Rx, 6 => Sched,
        7 => Retransmit, 8 => Drop
    }
    ReadKind { 0 => Stream { end, len }, 1 => Datagram { packet, flow, len; seen } }
    ReadyKind { 0 => Stream(end), 1 => Datagram { packet; seen } }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Bytes;
    use super::*;
    use wirelap_events::{Nanos, PacketId};

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

    /// Earlier recordings do not say for how long threads have waited for a CPU.
    #[test]
    fn states_of_earlier_recordings_have_no_waits() {
        let cpu_time = Some(Nanos(300));
        let (waited, ran) = (Some(Nanos(9)), Some(Nanos(8)));
        let state = ThreadState { cpu_time, waited, ran, ..ThreadState::default() };
        let mut bytes = Vec::new();
        state.put(&mut bytes);
        assert_eq!(ThreadState::take(&mut Bytes(&bytes)), Some(state));
        bytes.truncate(bytes.len() - 4);
        let earlier = ThreadState { waited: None, ran: None, ..state };
        assert_eq!(ThreadState::take(&mut Bytes(&bytes)), Some(earlier));
    }

    /// Earlier recordings do not say why events were lost: nearly always, the ring buffer was full.
    #[test]
    fn losses_of_earlier_recordings_have_no_cause() {
        let lost = LostEvents { probe: Probe::Read, count: 300, cause: LossCause::RunSkipped };
        let mut bytes = Vec::new();
        lost.put(&mut bytes);
        assert_eq!(LostEvents::take(&mut Bytes(&bytes)), Some(lost));
        bytes.pop();
        let earlier = LostEvents { cause: LossCause::RingFull, ..lost };
        assert_eq!(LostEvents::take(&mut Bytes(&bytes)), Some(earlier));
    }
}
