//! System calls that have no safe wrapper.
#![allow(unsafe_code, reason = "namespaces, sendmmsg and MSG_ZEROCOPY have no safe wrapper")]

use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

/// Moves this thread into a new network namespace.
pub fn unshare_network() -> rustix::io::Result<()> {
    // SAFETY: only the network namespace is unshared: no descriptor table and no file system state
    // that other threads rely on.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
}

/// Sends `count` datagrams of 16 bytes in one system call. Returns how many were sent.
pub fn send_many(socket: &UdpSocket, count: usize) -> usize {
    let mut bytes = [1_u8; 16];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero is a valid mmsghdr: null pointers and zero lengths.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_iov = &raw mut part;
    header.msg_hdr.msg_iovlen = 1;
    let mut headers = vec![header; count];
    let length = u32::try_from(count).unwrap();
    // SAFETY: `headers` has `length` entries; each points at `part`, and that at `bytes`; all live
    // until after the call.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), length, 0) };
    usize::try_from(sent).expect("sendmmsg")
}

/// Sends frames as they are through a device of this thread's namespace (packet(7)).
pub fn send_frames<'f>(device: u32, frames: impl IntoIterator<Item = &'f [u8]>) {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
    assert!(fd >= 0);
    // SAFETY: it was just opened, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    for frame in frames {
        // SAFETY: all-zero is a valid sockaddr_ll.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = u16::try_from(libc::AF_PACKET).unwrap();
        to.sll_ifindex = device.cast_signed();
        // The type that the Ethernet header says, in its byte order.
        to.sll_protocol = u16::from_ne_bytes([frame[12], frame[13]]);
        let size = u32::try_from(size_of::<libc::sockaddr_ll>()).unwrap();
        // SAFETY: pointer and length are of one slice; the address is a whole sockaddr_ll of the size given.
        let sent = unsafe {
            let address = (&raw const to).cast();
            libc::sendto(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0, address, size)
        };
        assert_eq!(usize::try_from(sent), Ok(frame.len()), "{}", std::io::Error::last_os_error());
    }
}

/// Gives this thread a real-time priority: it runs before every ordinary thread of its CPU.
pub fn real_time(priority: i32) {
    // The kernel's struct sched_param is this number. Some C libraries have a longer one, and musl refuses the call.
    // SAFETY: the pointer is to a number that lives until after the call; 0 is this thread.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority)
    };
    assert_eq!(result, 0);
}

/// Bytes that a socket option has, at most 256.
pub fn socket_option(socket: &impl AsRawFd, level: i32, name: i32) -> Vec<u8> {
    let mut bytes = vec![0_u8; 256];
    let mut length = 256;
    // SAFETY: the kernel writes at most `length` bytes, which `bytes` has, and then how many they were.
    let result = unsafe {
        let out = bytes.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, name, out, &raw mut length)
    };
    assert_eq!(result, 0);
    bytes.truncate(length as usize);
    bytes
}

/// `SIOCOUTQ` (tcp(7)): bytes that were sent and not acknowledged, or not even sent.
pub fn unacknowledged(stream: &TcpStream) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: this request writes one int.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(result, 0);
    u32::try_from(bytes).unwrap()
}

/// Sets `SO_ZEROCOPY`.
pub fn enable_zero_copy(stream: &TcpStream) {
    let one: libc::c_int = 1;
    // SAFETY: the option's value is an int of the size given.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ZEROCOPY,
            (&raw const one).cast(),
            u32::try_from(size_of::<libc::c_int>()).unwrap(),
        )
    };
    assert_eq!(result, 0);
}

/// Sends with `MSG_ZEROCOPY`. Returns how many bytes were sent.
pub fn send_zero_copy(stream: &TcpStream, bytes: &[u8]) -> usize {
    let flags = libc::MSG_ZEROCOPY;
    // SAFETY: the pointer and length are of one slice. The kernel may read it later; callers keep it
    // unchanged until the peer has read everything.
    let sent = unsafe { libc::send(stream.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).expect("send")
}
