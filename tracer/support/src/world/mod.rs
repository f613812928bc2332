//! A host in miniature: processes, sockets and packets on a virtual clock, told as events.
//!
//! [`World`] tells one event after the other, as the probes would; TCP is here, UDP in [`udp`].

pub mod udp;

use crate::compose::mqtt;
use crate::event::OwnedEvent;
use std::net::SocketAddr;
use wirelap_events::{
    Body, Comm, Cpu, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId,
    PacketKind, Pid, ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, Seq, Socket,
    SocketId, SocketOrigin, TaskId, TcpFields, Tid, Transport, TxState, Wake, tcp_flags,
};

/// Between two events.
pub const STEP: u64 = 1_000;

/// Bytes of a packet's Ethernet header.
pub const LINK: u16 = 14;
/// Bytes of its IPv4 header.
pub const IP: u16 = 20;
/// Bytes of its TCP header, with timestamps.
pub const TCP: u16 = 32;
/// Bytes of its UDP header.
pub const UDP: u16 = 8;

/// The loopback device.
pub const LO: (NetNs, IfIndex) = (NetNs(1), IfIndex(1));

/// A process with one thread.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// The process's thread.
    pub task: TaskId,
    /// The process's name.
    pub comm: Comm,
}

/// A process whose thread has the same number.
pub fn process(pid: u32, name: &str) -> Process {
    Process { task: TaskId { pid: Pid(pid), tid: Tid(pid) }, comm: Comm::from_name(name) }
}

/// An address and its port.
pub fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// One direction of a TCP connection, as its sender keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Addresses and ports.
    pub key: FlowKey,
    /// The socket that sends, and whose it is.
    pub from: (SocketId, Process),
    /// The socket that receives, and whose it is.
    pub to: (SocketId, Process),
    /// The sequence number of the next byte.
    pub next: Seq,
}

impl Way {
    /// Takes the next bytes without telling anything: where they start, and how many.
    pub fn advance(&mut self, len: usize) -> (Seq, u32) {
        let len = u32::try_from(len).unwrap();
        let start = self.next;
        self.next = start.plus(len);
        (start, len)
    }
}

/// A TCP connection: what the client sends, what the server sends.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// From the client to the server.
    pub up: Way,
    /// From the server to the client.
    pub down: Way,
}

/// Tells events one after the other.
#[derive(Default)]
pub struct World {
    /// Events that were told, in their order.
    pub events: Vec<OwnedEvent>,
    /// State of the connection that each send reports.
    pub state: Option<TxState>,
    /// The time, in nanoseconds.
    pub now: u64,
    sockets: u64,
    packets: u64,
}

impl World {
    /// Nothing has happened yet.
    pub fn new() -> World {
        World { now: 1_000_000_000, ..World::default() }
    }

    /// Tells one event, a step after the last. Returns its time.
    pub fn tell(&mut self, body: Body<'static>, payload: &[u8]) -> Nanos {
        self.now += STEP;
        let event = Event { at: Nanos(self.now), cpu: Cpu(0), body };
        self.events.push(OwnedEvent { event, payload: payload.to_vec() });
        event.at
    }

    /// The first number of the next connection, soon before the wrap. Two connections with the same numbers would be taken for
    /// one whose addresses are translated.
    fn isn(&self) -> Seq {
        let before = u32::try_from(self.sockets / 2 * 1_000).unwrap();
        Seq(0xFFFF_FF00_u32.wrapping_sub(before))
    }

    /// The next socket.
    pub fn socket_id(&mut self) -> SocketId {
        self.sockets += 1;
        SocketId(self.sockets)
    }

    /// A connection that was opened before anyone looked.
    pub fn existing(
        &mut self,
        client: Process,
        from: &str,
        server: Process,
        to: &str,
    ) -> Connection {
        let isn = self.isn();
        let mut connection = self.wires(client, from, server, to, isn);
        self.sockets_of(&mut connection, SocketOrigin::Existing, SocketOrigin::Existing);
        connection
    }

    /// A connection with its handshake.
    pub fn connect(
        &mut self,
        client: Process,
        from: &str,
        server: Process,
        to: &str,
    ) -> Connection {
        let isn = self.isn();
        self.connect_at(client, from, server, to, isn)
    }

    /// A connection with its handshake, whose numbers begin at `isn`.
    pub fn connect_at(
        &mut self,
        client: Process,
        from: &str,
        server: Process,
        to: &str,
        isn: Seq,
    ) -> Connection {
        let mut connection = self.wires(client, from, server, to, isn.plus(1));
        let answer = (connection.down, tcp_flags::SYN | tcp_flags::ACK, connection.up.next);
        for (way, flags, ack) in [(connection.up, tcp_flags::SYN, Seq(0)), answer] {
            let syn = Seq(way.next.0.wrapping_sub(1));
            for hook in [PacketHook::Xmit, PacketHook::Rx] {
                let mut packet = self.tcp_packet(&way, hook, syn, 0);
                packet.tcp = packet.tcp.map(|tcp| TcpFields { flags, ack, ..tcp });
                self.tell(Body::Packet(packet), &[]);
            }
        }
        self.sockets_of(&mut connection, SocketOrigin::Connected, SocketOrigin::Accepted);
        connection
    }

    /// A connection with its handshake, and the session of an MQTT client on it.
    pub fn connect_mqtt(
        &mut self,
        client: Process,
        from: &str,
        broker: Process,
        to: &str,
    ) -> Connection {
        let mut connection = self.connect(client, from, broker, to);
        self.message(&mut connection.up, mqtt::CONNECT);
        self.message(&mut connection.down, mqtt::CONNACK);
        connection
    }

    fn wires(
        &mut self,
        client: Process,
        from: &str,
        server: Process,
        to: &str,
        first: Seq,
    ) -> Connection {
        let key = FlowKey::new(Transport::Tcp, addr(from), addr(to), LO.0);
        let (a, b) = ((self.socket_id(), client), (self.socket_id(), server));
        Connection {
            up: Way { key, from: a, to: b, next: first },
            down: Way { key: key.reversed(), from: b, to: a, next: first.plus(99) },
        }
    }

    fn sockets_of(
        &mut self,
        connection: &mut Connection,
        client: SocketOrigin,
        server: SocketOrigin,
    ) {
        let Connection { up, down } = *connection;
        for (tx, rx, origin) in [(up, down, client), (down, up, server)] {
            self.tell(
                Body::Socket(Socket {
                    id: tx.from.0,
                    netns: LO.0,
                    transport: Transport::Tcp,
                    local: tx.key.src,
                    remote: Some(tx.key.dst),
                    task: tx.from.1.task,
                    comm: tx.from.1.comm,
                    origin,
                    tx_next: Some(tx.next),
                    rx_next: Some(rx.next),
                    is_subflow: false,
                }),
                &[],
            );
        }
    }

    /// A call that sends bytes.
    pub fn send(&mut self, way: &Way, start: Seq, len: u32) -> Nanos {
        let kind = SendKind::Stream { start, len, state: self.state };
        self.tell(Body::Send(SendCall { socket: way.from.0, task: way.from.1.task, kind }), &[])
    }

    /// A packet of a connection, not yet told.
    pub fn tcp_packet(
        &mut self,
        way: &Way,
        hook: PacketHook,
        seq: Seq,
        len: u32,
    ) -> Packet<'static> {
        self.packets += 1;
        Packet {
            hook,
            flow: way.key,
            id: PacketId(self.packets),
            socket: (hook == PacketHook::Xmit).then_some(way.from.0),
            task: way.from.1.task,
            netns: LO.0,
            device: LO.1,
            queued: (hook == PacketHook::Xmit).then_some(Nanos(self.now + STEP / 2)),
            queue: 0,
            wire_bytes: u32::from(LINK + IP + TCP) + len,
            link_header: LINK,
            deferred: false,
            kind: PacketKind::Whole,
            ip_header: IP,
            transport_header: TCP,
            payload_len: len,
            segments: 1,
            tcp: Some(TcpFields { seq, ack: Seq(0), flags: 0, window: 0 }),
            payload: &[],
        }
    }

    /// A packet with its bytes leaves.
    pub fn xmit(&mut self, way: &Way, seq: Seq, bytes: &[u8]) -> Nanos {
        let len = u32::try_from(bytes.len()).unwrap();
        let packet = self.tcp_packet(way, PacketHook::Xmit, seq, len);
        self.tell(Body::Packet(packet), bytes)
    }

    /// A packet arrives; its bytes were seen when it left.
    pub fn rx(&mut self, way: &Way, seq: Seq, len: u32) -> Nanos {
        let packet = self.tcp_packet(way, PacketHook::Rx, seq, len);
        self.tell(Body::Packet(packet), &[])
    }

    /// The receiving socket has everything before `next`.
    pub fn ready(&mut self, way: &Way, next: Seq) -> Nanos {
        let kind = ReadyKind::Stream(next);
        self.tell(Body::Ready(Ready { socket: way.to.0, kind }), &[])
    }

    /// `task` runs again, half a step after it was woken.
    pub fn wake(&mut self, task: TaskId, waker: Option<TaskId>) -> Nanos {
        let wake = Wake {
            task,
            woken: Nanos(self.now + STEP / 2),
            waker: waker.unwrap_or_default(),
            from_irq: waker.is_none(),
            ..Wake::default()
        };
        self.tell(Body::Wake(wake), &[])
    }

    /// A call that read up to `end`.
    pub fn read(&mut self, way: &Way, end: Seq, len: u32) -> Nanos {
        let kind = ReadKind::Stream { end, len };
        self.tell(Body::Read(ReadCall { socket: way.to.0, task: way.to.1.task, kind }), &[])
    }

    /// Sends `bytes` in one call and one packet to a sleeping reader. Returns when it was sent and read:
    /// 6 steps apart.
    pub fn message(&mut self, way: &mut Way, bytes: &[u8]) -> (Nanos, Nanos) {
        let (start, len) = way.advance(bytes.len());
        let way = *way;
        let sent = self.send(&way, start, len);
        self.xmit(&way, start, bytes);
        self.rx(&way, start, len);
        self.ready(&way, way.next);
        self.wake(way.to.1.task, None);
        self.now += STEP;
        (sent, self.read(&way, way.next, len))
    }
}
