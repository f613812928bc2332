//! Events that were seen in one namespace.

use super::PATIENCE;
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, MAX_BATCH};
use wirelap_events::{
    Body, DroppedPacket, Event, Nanos, NetNs, Packet, PacketHook, PacketId, Pid, Probe, ReadCall,
    ReadKind, Ready, SendCall, Seq, Socket, SocketId, Wake, WrittenBytes,
};

/// Times when packets left, and their numbers in the order of their events, by the memory that they were in.
#[derive(Default)]
pub struct Departures(HashMap<PacketId, Vec<(Nanos, usize)>>);

impl Departures {
    /// The number of the packet that had this memory at that time.
    pub fn in_memory(&self, packet: PacketId, seen: Nanos) -> Option<usize> {
        Some(self.use_at(packet, seen)?.1)
    }

    /// The same, and when it left.
    pub fn use_at(&self, packet: PacketId, seen: Nanos) -> Option<(Nanos, usize)> {
        let uses = self.0.get(&packet)?;
        let before = uses.partition_point(|(at, _)| *at <= seen).checked_sub(1)?;
        Some(uses[before])
    }
}

/// Events that a failed test prints.
const SHOWN: usize = 50;

/// Events that were seen in one namespace, in order.
pub struct Seen {
    netns: NetNs,
    /// The processes whose wakeups count: this one, and what is added.
    pub processes: Vec<Pid>,
    pub sockets: HashMap<SocketId, Socket>,
    /// Events with their payload taken out.
    pub events: Vec<(Event<'static>, Vec<u8>)>,
    /// Lost events of all namespaces, by probe.
    pub lost: HashMap<Probe, u64>,
}

impl Seen {
    pub fn new(netns: NetNs) -> Seen {
        Seen {
            netns,
            processes: vec![Pid(std::process::id())],
            sockets: HashMap::new(),
            events: Vec::new(),
            lost: HashMap::new(),
        }
    }

    /// Polls until `done`, and what is in the ring then. Panics when that takes too long.
    pub fn collect(&mut self, capture: &mut Capture, what: &str, done: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let was_done = done(self);
            let wait = Duration::from_millis(10);
            let count = capture.poll(wait, &mut |event| self.add(event)).unwrap();
            if was_done && count < MAX_BATCH {
                return;
            }
            assert!(Instant::now() < deadline, "{what} did not come; {}", self.last());
        }
    }

    /// The number of events, and the last ones.
    fn last(&self) -> String {
        let from = self.events.len().saturating_sub(SHOWN);
        format!("{} events, the last ones: {:#?}", self.events.len(), &self.events[from..])
    }

    /// The same for two namespaces at once.
    pub fn collect_both(
        &mut self,
        other: &mut Seen,
        capture: &mut Capture,
        done: impl Fn(&Seen, &Seen) -> bool,
    ) {
        let deadline = Instant::now() + PATIENCE;
        let (mut was_done, mut count) = (false, MAX_BATCH);
        while !was_done || count >= MAX_BATCH {
            was_done = done(self, other);
            let mut both = |event: &Event<'_>| {
                self.add(event);
                other.add(event);
            };
            count = capture.poll(Duration::from_millis(10), &mut both).unwrap();
            assert!(Instant::now() < deadline, "what should happen does not");
        }
    }

    fn add(&mut self, event: &Event<'_>) {
        let mut payload = Vec::new();
        let body = match event.body {
            Body::Socket(socket) => {
                if socket.netns == self.netns {
                    self.sockets.insert(socket.id, socket);
                }
                Body::Socket(socket)
            }
            Body::Packet(packet) => {
                payload.extend_from_slice(packet.payload);
                Body::Packet(Packet { payload: &[], ..packet })
            }
            Body::Lost(lost) => {
                *self.lost.entry(lost.probe).or_default() += lost.count;
                Body::Lost(lost)
            }
            Body::Send(body) => Body::Send(body),
            Body::Read(body) => Body::Read(body),
            Body::Ready(body) => Body::Ready(body),
            Body::Wake(body) => Body::Wake(body),
            Body::Closed(body) => Body::Closed(body),
            Body::Retransmit(body) => Body::Retransmit(body),
            Body::Drop(body) => Body::Drop(body),
            Body::State(body) => Body::State(body),
            Body::Quota(body) => Body::Quota(body),
            Body::Ended(body) => Body::Ended(body),
            Body::Window(body) => Body::Window(body),
            Body::Waiting(body) => Body::Waiting(body),
            Body::Written(written) => {
                payload.extend_from_slice(written.bytes);
                Body::Written(WrittenBytes { bytes: &[], ..written })
            }
            Body::Plain(_) => return,
        };
        if self.is_here(&body) {
            self.events.push((Event { at: event.at, cpu: event.cpu, body }, payload));
        }
    }

    fn is_here(&self, body: &Body<'_>) -> bool {
        match body {
            Body::Socket(socket) => socket.netns == self.netns,
            Body::Packet(packet) => packet.netns == self.netns,
            Body::Closed(id)
            | Body::Written(WrittenBytes { socket: id, .. })
            | Body::Send(SendCall { socket: id, .. })
            | Body::Read(ReadCall { socket: id, .. })
            | Body::Ready(Ready { socket: id, .. }) => self.sockets.contains_key(id),
            Body::Wake(wake) => self.processes.contains(&wake.task.pid),
            _ => true,
        }
    }

    pub fn sends(&self, of: SocketId) -> Vec<SendCall> {
        let send = |body| if let Body::Send(send) = body { Some(send) } else { None };
        self.bodies(send).filter(|send| send.socket == of).collect()
    }

    pub fn sends_at(&self, port: u16) -> Vec<SendCall> {
        let id = self.sockets.values().find(|socket| socket.local.port() == port).map(|s| s.id);
        id.map(|id| self.sends(id)).unwrap_or_default()
    }

    /// The bytes of sends: where each begins, how long it is, and what was copied of it.
    pub fn written(&self, of: SocketId) -> Vec<(Seq, u32, &[u8])> {
        let written = self.events.iter().filter_map(|(event, bytes)| match event.body {
            Body::Written(written) if written.socket == of => {
                Some((written.start, written.len, bytes.as_slice()))
            }
            _ => None,
        });
        written.collect()
    }

    /// Forgets what was seen so far.
    pub fn forget(&mut self) {
        self.events.clear();
    }

    pub fn reads(&self, of: SocketId) -> Vec<ReadCall> {
        let read = |body| if let Body::Read(read) = body { Some(read) } else { None };
        self.bodies(read).filter(|read| read.socket == of).collect()
    }

    pub fn readies(&self, of: SocketId) -> Vec<Ready> {
        let ready = |body| if let Body::Ready(ready) = body { Some(ready) } else { None };
        self.bodies(ready).filter(|ready| ready.socket == of).collect()
    }

    /// The wakeups of a thread, and when it was running after each.
    pub fn wakes(&self, of: u32) -> Vec<(Wake, Nanos)> {
        let wake = |(event, _): &(Event<'_>, _)| match event.body {
            Body::Wake(wake) if wake.task.tid.0 == of => Some((wake, event.at)),
            _ => None,
        };
        self.events.iter().filter_map(wake).collect()
    }

    /// Packets thrown away on their way to this port.
    pub fn drops(&self, to: u16) -> Vec<DroppedPacket> {
        let drop = |body| if let Body::Drop(drop) = body { Some(drop) } else { None };
        self.bodies(drop).filter(|drop| drop.flow.dst.port() == to).collect()
    }

    pub fn packets(&self, hook: PacketHook) -> impl Iterator<Item = (Packet<'static>, &[u8])> {
        self.packets_at(hook).map(|(_, packet, payload)| (packet, payload))
    }

    /// The packets at this hook: when, what, and their payload.
    pub fn packets_at(
        &self,
        hook: PacketHook,
    ) -> impl Iterator<Item = (Nanos, Packet<'static>, &[u8])> {
        self.events.iter().filter_map(move |(event, payload)| match event.body {
            Body::Packet(packet) if packet.hook == hook => {
                Some((event.at, packet, payload.as_slice()))
            }
            _ => None,
        })
    }

    /// Returns the thread of each read at this socket and the packet that it took, in the order in which reads ended: the packet's
    /// number among those that left, `None` where it is not known.
    pub fn datagrams_read(&self, socket: SocketId) -> Vec<(u32, Option<usize>)> {
        let departures = self.departures();
        let took = |read: ReadCall| match read.kind {
            ReadKind::Datagram { packet, seen, .. } => departures.in_memory(packet?, seen?),
            ReadKind::Stream { .. } => panic!("{read:?}"),
        };
        self.reads(socket).into_iter().map(|read| (read.task.tid.0, took(read))).collect()
    }

    /// The packets that left.
    pub fn departures(&self) -> Departures {
        let mut departures = Departures::default();
        for (number, (at, id)) in self
            .bodies_at(|body| match body {
                Body::Packet(packet) if packet.hook == PacketHook::Xmit => Some(packet.id),
                _ => None,
            })
            .enumerate()
        {
            departures.0.entry(id).or_default().push((at, number));
        }
        departures.0.values_mut().for_each(|uses| uses.sort_unstable());
        departures
    }

    pub fn closed(&self) -> usize {
        self.bodies(|body| if let Body::Closed(id) = body { Some(id) } else { None }).count()
    }

    fn bodies<T>(&self, pick: impl Fn(Body<'static>) -> Option<T>) -> impl Iterator<Item = T> {
        self.bodies_at(pick).map(|(_, body)| body)
    }

    fn bodies_at<T>(
        &self,
        pick: impl Fn(Body<'static>) -> Option<T>,
    ) -> impl Iterator<Item = (Nanos, T)> {
        self.events.iter().filter_map(move |(event, _)| Some((event.at, pick(event.body)?)))
    }

    /// The socket with this local port. Panics if there are several, or if it was announced more often than CPUs can at the same time.
    pub fn socket_at(&self, port: u16) -> Socket {
        let found: Vec<_> = self.sockets.values().filter(|s| s.local.port() == port).collect();
        assert_eq!(found.len(), 1, "sockets at {port}: {found:?}");
        let announced = self
            .bodies(|body| if let Body::Socket(socket) = body { Some(socket.id) } else { None })
            .filter(|&id| id == found[0].id)
            .count();
        let most = thread::available_parallelism().unwrap().get();
        assert!((1..=most).contains(&announced), "{announced} times: {:?}", found[0]);
        *found[0]
    }

    /// The stream that left a port, put together from the packets' payload by sequence number.
    pub fn stream_from(&self, port: u16, start: Seq) -> Vec<u8> {
        let mut stream = Vec::new();
        for (packet, payload) in self.packets(PacketHook::Xmit) {
            let is_data = packet.payload_len > 0 && packet.flow.src.port() == port;
            let (Some(tcp), true) = (packet.tcp, is_data) else { continue };
            assert_eq!(packet.payload_len as usize, payload.len(), "{packet:?}");
            let at = usize::try_from(tcp.seq.distance_from(start)).unwrap_or(0);
            stream.resize(stream.len().max(at + payload.len()), 0);
            stream[at..at + payload.len()].copy_from_slice(payload);
        }
        stream
    }
}
