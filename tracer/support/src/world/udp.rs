//! Datagrams.

use super::{IP, LINK, LO, Process, STEP, UDP, World, addr};
use wirelap_events::{
    Body, FlowKey, Nanos, Packet, PacketHook, PacketId, PacketKind, ReadCall, ReadKind, Ready,
    ReadyKind, SendCall, SendKind, Socket, SocketId, SocketOrigin, Transport,
};

/// A UDP socket and its owner.
#[derive(Clone, Copy)]
pub struct End {
    /// The socket.
    pub id: SocketId,
    /// Process that owns the socket.
    pub owner: Process,
}

/// A socket at this address, seen for the first time.
pub fn end(world: &mut World, owner: Process, local: &str) -> End {
    let id = world.socket_id();
    world.tell(
        Body::Socket(Socket {
            id,
            netns: LO.0,
            transport: Transport::Udp,
            local: addr(local),
            remote: None,
            task: owner.task,
            comm: owner.comm,
            origin: SocketOrigin::FirstSeen,
            tx_next: None,
            rx_next: None,
            is_subflow: false,
        }),
        &[],
    );
    End { id, owner }
}

/// The flow between two addresses.
pub fn flow(from: &str, to: &str) -> FlowKey {
    FlowKey::new(Transport::Udp, addr(from), addr(to), LO.0)
}

/// A packet seen at `hook`, with a datagram of `len` bytes; it was queued just after `now`.
pub fn packet(
    hook: PacketHook,
    flow: FlowKey,
    id: u64,
    from: End,
    len: u32,
    now: u64,
) -> Packet<'static> {
    Packet {
        hook,
        flow,
        id: PacketId(id),
        socket: (hook == PacketHook::Xmit).then_some(from.id),
        task: from.owner.task,
        netns: LO.0,
        device: LO.1,
        queued: (hook == PacketHook::Xmit).then_some(Nanos(now + STEP / 2)),
        queue: 0,
        wire_bytes: u32::from(LINK + IP + UDP) + len,
        link_header: LINK,
        deferred: false,
        kind: PacketKind::Whole,
        ip_header: IP,
        transport_header: UDP,
        payload_len: len,
        segments: 1,
        tcp: None,
        payload: &[],
    }
}

/// Facts that the kernel reports of packets beyond the flow.
#[derive(Clone, Copy)]
pub struct Reported {
    /// Reads and announcements tell which packet it was.
    pub identity: bool,
    /// Reads tell a time at which the packet's memory was this packet's.
    pub seen: bool,
    /// Sends tell the entry of the call.
    pub entry: bool,
}

/// As in the first recordings.
pub const ALL: Reported = Reported { identity: true, seen: false, entry: true };

/// One datagram to each of `to`. Returns when it was sent, and when each has read it.
pub fn datagram(
    world: &mut World,
    flow: FlowKey,
    id: u64,
    from: End,
    to: &[End],
    bytes: &[u8],
    reported: Reported,
) -> (Nanos, Vec<Nanos>) {
    let len = u32::try_from(bytes.len()).unwrap();
    world.now += STEP;
    let entered = Nanos(world.now);
    let xmit = packet(PacketHook::Xmit, flow, id, from, len, world.now);
    world.tell(Body::Packet(xmit), bytes);
    world.tell(Body::Packet(packet(PacketHook::Rx, flow, id, from, len, 0)), &[]);
    let name = reported.identity.then_some(PacketId(id));
    let seen = Some(Nanos(world.now)).filter(|_| reported.seen);
    for end in to {
        let kind = ReadyKind::Datagram { packet: name, seen };
        world.tell(Body::Ready(Ready { socket: end.id, kind }), &[]);
    }
    let kind = SendKind::Datagram { len, entered: reported.entry.then_some(entered) };
    world.tell(Body::Send(SendCall { socket: from.id, task: from.owner.task, kind }), &[]);
    let reads = to.iter().map(|end| {
        let key = name.filter(|_| !reported.seen).map(|_| flow);
        let kind = ReadKind::Datagram { packet: name, seen, flow: key, len };
        world.tell(Body::Read(ReadCall { socket: end.id, task: end.owner.task, kind }), &[])
    });
    (entered, reads.collect())
}
