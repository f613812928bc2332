//! The times of another host's events, by the first host's clock.

use wirelap_events::{
    Body, DroppedPacket, Event, Holder, Nanos, Packet, ReadCall, ReadKind, Ready, ReadyKind,
    SendCall, SendKind, Wake,
};

/// Moves every time of an event to another clock. All fields are named, so that a field that is added does not compile
/// until it is considered here.
pub fn retime(event: &mut Event<'_>, clock: impl Fn(Nanos) -> Nanos) {
    let seen = event.at;
    event.at = clock(seen);
    let optional = |at: &mut Option<Nanos>| *at = at.map(&clock);
    match &mut event.body {
        Body::Send(SendCall { kind: SendKind::Datagram { entered, len: _ }, .. }) => {
            optional(entered);
        }
        Body::Read(ReadCall {
            kind: ReadKind::Datagram { seen, packet: _, flow: _, len: _ },
            ..
        })
        | Body::Ready(Ready { kind: ReadyKind::Datagram { seen, packet: _ }, .. }) => {
            optional(seen);
        }
        Body::Packet(Packet { queued, .. }) | Body::Drop(DroppedPacket { queued, .. }) => {
            optional(queued);
        }
        Body::Wake(Wake {
            left,
            woken,
            task: _,
            reason: _,
            waker: _,
            from_irq: _,
            migrated: _,
            missed: _,
            holder: Holder { task: _, comm: _, held: _ },
            others: _,
            rest: _,
            throttled: _,
            cgroup: _,
            sleep: _,
            waker_comm: _,
        }) => {
            optional(left);
            *woken = clock(*woken);
        }
        Body::Waiting(since) => *since = clock(*since),
        Body::Send(SendCall { kind: SendKind::Stream { start: _, len: _, state: _ }, .. })
        | Body::Socket(_)
        | Body::Closed(_)
        | Body::Read(ReadCall { kind: ReadKind::Stream { end: _, len: _ }, .. })
        | Body::Ready(Ready { kind: ReadyKind::Stream(_), .. })
        | Body::Retransmit(_)
        | Body::Quota(_)
        | Body::Ended(_)
        | Body::Lost(_)
        | Body::State(_)
        | Body::Plain(_)
        | Body::Written(_)
        | Body::Window(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Cpu, PacketId, Pid, SocketId, TaskId, Tid};

    fn at(body: Body<'_>) -> Event<'_> {
        Event { at: Nanos(100), cpu: Cpu(1), body }
    }

    const TASK: TaskId = TaskId { pid: Pid(7), tid: Tid(8) };

    #[test]
    fn every_time_moves_with_its_event() {
        let wake = Wake { woken: Nanos(90), left: Some(Nanos(50)), ..Wake::default() };
        let mut event = at(Body::Wake(wake));
        retime(&mut event, |at| at + Nanos(1_000));
        let Body::Wake(moved) = event.body else { unreachable!() };
        assert_eq!((event.at.0, moved.woken.0, moved.left), (1_100, 1_090, Some(Nanos(1_050))));
        let kind = SendKind::Datagram { len: 1, entered: Some(Nanos(80)) };
        let mut event = at(Body::Send(SendCall { socket: SocketId(1), task: TASK, kind }));
        retime(&mut event, |at| at + Nanos(1_000));
        let Body::Send(SendCall { kind, .. }) = event.body else { unreachable!() };
        assert_eq!(kind, SendKind::Datagram { len: 1, entered: Some(Nanos(1_080)) });
        let packet = Some(PacketId(3));
        let kind = ReadKind::Datagram { packet, seen: Some(Nanos(80)), flow: None, len: 1 };
        let mut read = at(Body::Read(ReadCall { socket: SocketId(1), task: TASK, kind }));
        let kind = ReadyKind::Datagram { packet, seen: Some(Nanos(80)) };
        let mut ready = at(Body::Ready(Ready { socket: SocketId(1), kind }));
        retime(&mut read, |at| at + Nanos(1_000));
        retime(&mut ready, |at| at + Nanos(1_000));
        let (Body::Read(read), Body::Ready(ready)) = (read.body, ready.body) else {
            unreachable!()
        };
        assert!(matches!(read.kind, ReadKind::Datagram { seen: Some(Nanos(1_080)), .. }));
        assert!(matches!(ready.kind, ReadyKind::Datagram { seen: Some(Nanos(1_080)), .. }));
    }
}
