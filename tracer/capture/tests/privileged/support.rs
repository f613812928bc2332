//! A private network namespace, and what was seen in it.

mod seen;

pub use seen::Seen;

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{NetNs, ReadCall, ReadKind, SendCall, SendKind, Seq};

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
