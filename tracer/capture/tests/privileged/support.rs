//! A private network namespace, and what was seen in it.

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig, MAX_BATCH};
use wirelap_events::{
    Body, DroppedPacket, Event, Nanos, NetNs, Packet, PacketHook, PacketId, Pid, Probe, ReadCall,
    ReadKind, Ready, SendCall, SendKind, Seq, Socket, SocketId, Wake, WrittenBytes,
};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// The longest time to wait for what must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `work` on a thread in a network namespace of its own, with only a loopback device.
pub fn in_own_netns<T: std::marker::Send + 'static>(
    work: impl FnOnce(NetNs) -> T + std::marker::Send + 'static,
) -> T {
    let thread = thread::spawn(|| {
        enter_new_netns();
        ip("link set lo up");
        work(current_netns())
    });
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Moves this thread, and the threads and processes that it starts, into a new namespace.
pub fn enter_new_netns() {
    crate::raw::unshare_network().expect("these tests need root");
}

pub fn current_netns() -> NetNs {
    let inode = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    NetNs(u32::try_from(inode).unwrap())
}

/// Runs `ip` in this thread's namespace.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// Returns the directory where the hierarchy of cgroup v2 is mounted.
pub fn cgroup_root() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let root = mounts.lines().find_map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        (words[2] == "cgroup2").then(|| PathBuf::from(words[1]))
    });
    root.expect("a cgroup v2 mount")
}

/// A cgroup that is removed again.
pub struct Cgroup(pub PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Processes in it have ended; a failure would only leave an empty directory.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Makes an empty cgroup.
pub fn new_cgroup(name: &str) -> Cgroup {
    let path = cgroup_root().join(format!("{name}-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    Cgroup(path)
}

/// Sends a datagram to itself, so that the hooks which wait for one are attached. Its socket stays open.
pub fn warm_up(seen: &mut Seen, capture: &mut Capture) -> UdpSocket {
    let socket = UdpSocket::bind((V4, 0)).unwrap();
    let at = socket.local_addr().unwrap();
    socket.send_to(&[0], at).unwrap();
    seen.collect(capture, "the first datagram", |seen| !seen.sends_at(at.port()).is_empty());
    seen.forget();
    socket
}

/// Everything, this process included, in a ring that is large enough for any test.
pub fn everything() -> CaptureConfig {
    CaptureConfig { exclude_self: false, ..CaptureConfig::default() }
}

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

/// Start and length of a stream's send.
pub fn sent(send: &SendCall) -> (Seq, u32) {
    match send.kind {
        SendKind::Stream { start, len, .. } => (start, len),
        SendKind::Datagram { .. } => panic!("{send:?} is no stream's"),
    }
}

/// Start and length of a stream's read.
pub fn taken(read: &ReadCall) -> (Seq, u32) {
    match read.kind {
        ReadKind::Stream { end, len } => (Seq(end.0.wrapping_sub(len)), len),
        ReadKind::Datagram { .. } => panic!("{read:?} is no stream's"),
    }
}

/// Panics unless the ranges follow each other without gap or overlap, from `start` over `bytes`.
pub fn assert_covers(ranges: impl IntoIterator<Item = (Seq, u32)>, start: Seq, bytes: usize) {
    let mut at = start;
    for (from, len) in ranges {
        assert_eq!(from, at, "a range does not begin where the last one ended");
        at = from.plus(len);
    }
    assert_eq!(at.distance_from(start), i32::try_from(bytes).unwrap());
}

/// Two ends of a TCP connection: who connected, who accepted.
pub fn connect(address: IpAddr) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    near.set_nodelay(true).unwrap();
    let far = listener.accept().unwrap().0;
    far.set_nodelay(true).unwrap();
    (near, far)
}

/// Sends ten bytes so many times, and reads them.
pub fn talk(near: &mut TcpStream, far: &mut TcpStream, times: usize) {
    for _ in 0..times {
        near.write_all(&[1; 10]).unwrap();
        far.read_exact(&mut [0; 10]).unwrap();
    }
}

/// A UDP socket at a port that others may share; 0 for any.
pub fn shared(port: u16) -> UdpSocket {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
    set_socket_reuseport(&socket, true).unwrap();
    bind(&socket, &SocketAddr::from((V4, port))).unwrap();
    UdpSocket::from(socket)
}

/// Polls until a thread is in this state (proc(5), `/proc/pid/stat`).
pub fn wait_until(tid: u32, state: char) {
    let path = format!("/proc/{tid}/stat");
    let wanted = format!(") {state} ");
    let deadline = Instant::now() + PATIENCE;
    let is_in_state = || fs::read_to_string(&path).is_ok_and(|stat| stat.contains(&wanted));
    // A thread has its new state some time before it leaves its CPU. The kernel reads this file once it has left.
    let runs = || {
        let call = fs::read_to_string(format!("/proc/{tid}/syscall"));
        call.is_ok_and(|call| call.starts_with("running"))
    };
    while !is_in_state() || runs() {
        assert!(Instant::now() < deadline, "thread {tid} does not come into state {state}");
        thread::yield_now();
    }
}

/// This thread.
pub fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Keeps a thread on one CPU; 0 for this thread.
pub fn pin(tid: u32, cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let tid = rustix::thread::Pid::from_raw(tid.cast_signed());
    rustix::thread::sched_setaffinity(tid, &set).unwrap();
}

pub fn port(stream: &TcpStream) -> u16 {
    stream.local_addr().unwrap().port()
}

/// Bytes in which every position is told from its neighbours.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap()).collect()
}
