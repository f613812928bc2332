//! A host in miniature: processes, sockets and packets on a virtual clock, told as events.

use std::net::SocketAddr;
use wirelap_correlate::{Config, Correlator, Group, Overhead, Part, Snapshot};
use wirelap_events::{
    Body, Comm, Cpu, Delivery, Event, FlowKey, IfIndex, Nanos, NetNs, Origin, Packet, PacketHook,
    PacketId, Pid, Portion, ReadCall, ReadKind, Ready, ReadyKind, SendCall, SendKind, Seq, Socket,
    SocketId, Stage, TaskId, TcpFields, Tid, Transport, Wake, tcp_flags,
};

/// Between two events.
pub const STEP: u64 = 1_000;

pub const LINK: u16 = 14;
pub const IP: u16 = 20;
pub const TCP: u16 = 32;
pub const UDP: u16 = 8;

/// The loopback device.
pub const LO: (NetNs, IfIndex) = (NetNs(1), IfIndex(1));

/// An event with its payload.
#[derive(Clone, Debug)]
pub struct WorkloadCounts {
    pub event: Event<'static>,
    pub payload: Vec<u8>,
}

impl WorkloadCounts {
    pub fn event(&self) -> Event<'_> {
        let mut event: Event<'_> = self.event;
        if let Body::Packet(packet) = &mut event.body {
            packet.payload = &self.payload;
        }
        event
    }
}

/// A process with one thread.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pub task: TaskId,
    pub comm: Comm,
}

pub fn process(pid: u32, name: &str) -> Process {
    Process { task: TaskId { pid: Pid(pid), tid: Tid(pid) }, comm: Comm::from_name(name) }
}

pub fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// One direction of a TCP connection, as its sender keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub key: FlowKey,
    pub from: (SocketId, Process),
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
    pub up: Way,
    pub down: Way,
}

/// Tells events one after the other.
#[derive(Default)]
pub struct World {
    pub told: Vec<WorkloadCounts>,
    pub now: u64,
    sockets: u64,
    packets: u64,
}

impl World {
    pub fn new() -> World {
        World { now: 1_000_000_000, ..World::default() }
    }

    /// Tells one event, a step after the last. Returns its time.
    pub fn tell(&mut self, body: Body<'static>, payload: &[u8]) -> Nanos {
        self.now += STEP;
        let event = Event { at: Nanos(self.now), cpu: Cpu(0), body };
        self.told.push(WorkloadCounts { event, payload: payload.to_vec() });
        event.at
    }

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
        let mut connection = self.wires(client, from, server, to, Seq(0xFFFF_FF00));
        self.sockets_of(&mut connection, Origin::Existing, Origin::Existing);
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
        self.connect_at(client, from, server, to, Seq(0xFFFF_FF00))
    }

    pub fn connect_at(
        &mut self,
        client: Process,
        from: &str,
        server: Process,
        to: &str,
        isn: Seq,
    ) -> Connection {
        let mut connection = self.wires(client, from, server, to, isn.plus(1));
        for (way, flags) in
            [(connection.up, tcp_flags::SYN), (connection.down, tcp_flags::SYN | tcp_flags::ACK)]
        {
            let syn = Seq(way.next.0.wrapping_sub(1));
            for hook in [PacketHook::Xmit, PacketHook::Rx] {
                let mut packet = self.tcp_packet(&way, hook, syn, 0);
                packet.tcp = packet.tcp.map(|tcp| TcpFields { flags, ..tcp });
                self.tell(Body::Packet(packet), &[]);
            }
        }
        self.sockets_of(&mut connection, Origin::Connected, Origin::Accepted);
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

    fn sockets_of(&mut self, connection: &mut Connection, client: Origin, server: Origin) {
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
                }),
                &[],
            );
        }
    }

    pub fn send(&mut self, way: &Way, start: Seq, len: u32) -> Nanos {
        let kind = SendKind::Stream { start, len, state: None };
        self.tell(Body::Send(SendCall { socket: way.from.0, task: way.from.1.task, kind }), &[])
    }

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
            portion: Portion::Whole,
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

    /// Plays everything that was told.
    pub fn play(&self) -> Played {
        Played::new(Config::default(), &self.told)
    }
}

/// What came out.
pub struct Played {
    pub deliveries: Vec<Delivery>,
    pub snapshot: Snapshot,
    /// After the last event, before anything was given up.
    pub early: Snapshot,
}

impl Played {
    pub fn new(config: Config, told: &[WorkloadCounts]) -> Played {
        let mut deliveries = Vec::new();
        let mut correlator = Correlator::new(config);
        let mut ticked = 0;
        let mut now = Nanos(0);
        for told in told {
            let event = told.event();
            correlator.event(&event);
            now = now.max(event.at);
            if now.0.saturating_sub(ticked) > 5_000_000 {
                ticked = now.0;
                correlator.tick(now, &mut |d: &Delivery| deliveries.push(d.clone()));
            }
        }
        let mut collect = |d: &Delivery| deliveries.push(d.clone());
        correlator.tick(now + Nanos::from_millis(60), &mut collect);
        let early = correlator.snapshot(now + Nanos::from_millis(60));
        correlator.tick(now + Nanos::from_millis(6_000), &mut collect);
        correlator.tick(now + Nanos::from_millis(12_000), &mut collect);
        correlator.finish(&mut collect);
        let snapshot = correlator.snapshot(now + Nanos::from_millis(12_000));
        let played = Played { deliveries, snapshot, early };
        played.check();
        played
    }

    /// What holds whatever happened.
    fn check(&self) {
        for delivery in &self.deliveries {
            let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
            assert_eq!(Some(sum), delivery.one_way(), "segments do not telescope: {delivery:#?}");
            assert!(delivery.legs.iter().all(|leg| leg.times.is_monotonic()), "{delivery:#?}");
        }
        let counts = |of: fn(&Group) -> u64| self.snapshot.groups.iter().map(of).sum::<u64>();
        assert_eq!(counts(|g| g.messages.matched), self.deliveries.len() as u64);
        for group in self.snapshot.groups.iter().chain(&self.early.groups) {
            check_ledger(&group.overhead);
        }
        for group in &self.snapshot.groups {
            let counts = group.messages;
            assert!(counts.delivered >= counts.matched, "{counts:?}");
            let shares: f64 = group.segments.iter().map(|s| s.share).sum();
            assert!(shares.abs() < 1e-9 || (shares - 1.0).abs() < 1e-9, "{shares}");
        }
    }

    /// The only row.
    pub fn group(&self) -> &Group {
        let [group] = self.snapshot.groups.as_slice() else {
            panic!("not one row: {:#?}", self.snapshot.groups)
        };
        group
    }

    /// sent, delivered, matched, uncovered.
    pub fn counts(&self) -> [u64; 4] {
        let counts = self.group().messages;
        [counts.sent, counts.delivered, counts.matched, counts.uncovered]
    }
}

pub fn seen(delivery: &Delivery, leg: usize) -> Vec<(Stage, u64)> {
    delivery.legs[leg].times.seen().map(|(stage, at)| (stage, at.0)).collect()
}

/// The fine rows of a ledger are the coarse ones.
fn check_ledger(overhead: &Overhead) {
    let parts = overhead.detail.parts();
    assert_eq!(parts.total(), overhead.total());
    let inside = [parts.payload(), parts[Part::Header], parts.control(), parts[Part::Opaque]];
    assert_eq!(inside, [overhead.payload, overhead.protocol, overhead.control, overhead.opaque]);
    let bare = parts[Part::PureAck] + parts[Part::Connection];
    let headers = parts[Part::Transport] + parts[Part::Network] + parts[Part::Link];
    assert_eq!(bare + headers, overhead.transport + overhead.network + overhead.link);
    assert_eq!(parts[Part::Retransmitted], overhead.retransmitted);
    assert!(overhead.detail.framed.frames >= overhead.packets);
}
