//! A packet socket, and its ring in memory that the kernel shares (packet(7), `Documentation/networking/packet_mmap.rst`).
//!
//! The socket is of the type `SOCK_DGRAM`: packets begin with their IP header, whatever the device is. It joins no group and does not
//! make a device promiscuous: it changes nothing.

use super::error::PacketError;
use super::frames::{STATUS, USER};
use super::program::Instruction;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// `ETH_P_ALL`, in network byte order: also what this host sends.
const ALL_PROTOCOLS: u16 = 0x0003_u16.to_be();

/// Options of `SOL_PACKET` (`include/uapi/linux/if_packet.h`).
const SOL_PACKET: i32 = 263;
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const TPACKET_V3: u32 = 2;

/// A block holds the largest packet, and is filled in one of these times.
const BLOCK_BYTES: u32 = 256 << 10;
/// Anything but a power of two would do, too: the kernel only checks that frames fit into blocks.
const FRAME_BYTES: u32 = 2 << 10;
/// After so many milliseconds, the kernel hands over a block that is not full. Where packets are few, a ring of so many blocks is full
/// after so many of these times, however large it is: the smallest that is suited to a host, 4 MiB, is full when nobody has read for
/// a second.
pub const RETIRE_MS: u32 = 64;
const MIN_BLOCKS: u32 = 4;

/// A packet socket with a ring of blocks.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    ring: NonNull<u8>,
    blocks: usize,
}

// SAFETY: the memory belongs to this value alone, and is not bound to a thread.
#[allow(unsafe_code)]
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    /// Opens a socket on a device, or on all, with a filter and a ring of about so many bytes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(
        device: Option<u32>,
        program: &[Instruction],
        ring_bytes: u32,
    ) -> Result<PacketSocket, PacketError> {
        let fd = create()?;
        attach(fd.as_fd(), program)?;
        set(fd.as_fd(), PACKET_VERSION, &[TPACKET_V3], "ring version")?;
        let blocks = (ring_bytes / BLOCK_BYTES).max(MIN_BLOCKS);
        let bytes = u64::from(blocks) * u64::from(BLOCK_BYTES);
        let frames = blocks.saturating_mul(BLOCK_BYTES / FRAME_BYTES);
        // struct tpacket_req3.
        let request = [BLOCK_BYTES, blocks, FRAME_BYTES, frames, RETIRE_MS, 0, 0];
        let refused = |error: PacketError| match &error {
            PacketError::Kernel { source, .. } if source.raw_os_error() == Some(libc::ENOMEM) => {
                PacketError::NoMemory(bytes)
            }
            _ => error,
        };
        set(fd.as_fd(), PACKET_RX_RING, &request, "ring").map_err(refused)?;
        let ring = map(fd.as_fd(), bytes).map_err(refused)?;
        let socket = PacketSocket { fd, ring, blocks: blocks as usize };
        // Packets come from now on. Before, the filter was not there.
        bind(socket.fd.as_fd(), device)?;
        Ok(socket)
    }

    /// The size of the ring in bytes.
    pub fn ring_bytes(&self) -> u32 {
        u32::try_from(self.blocks).unwrap_or(u32::MAX).saturating_mul(BLOCK_BYTES)
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// A block that the kernel has given away; `None` if it has not.
    #[allow(unsafe_code)]
    pub fn block(&self, number: usize) -> Option<&[u8]> {
        if self.status(number)?.load(Ordering::Acquire) & USER == 0 {
            return None;
        }
        // SAFETY: the block is within the ring, and the kernel does not write to it until its status is taken back, which needs `&mut
        // self`.
        let block = unsafe {
            std::slice::from_raw_parts(
                self.ring.add(number.checked_mul(BLOCK_BYTES as usize)?).as_ptr(),
                BLOCK_BYTES as usize,
            )
        };
        Some(block)
    }

    /// Gives a block back to the kernel.
    pub fn release(&mut self, number: usize) {
        if let Some(status) = self.status(number) {
            status.store(0, Ordering::Release);
        }
    }

    /// The status of a block, which the kernel changes at any time.
    #[allow(unsafe_code)]
    fn status(&self, number: usize) -> Option<&AtomicU32> {
        let block = number.checked_mul(BLOCK_BYTES as usize).filter(|_| number < self.blocks)?;
        // SAFETY: the place is within the ring, which lives as long as `self`, and aligned: blocks are whole pages.
        Some(unsafe {
            AtomicU32::from_ptr(self.ring.add(block.checked_add(STATUS)?).as_ptr().cast())
        })
    }

    /// Replaces the filter.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn filter(&self, program: &[Instruction]) -> Result<(), PacketError> {
        attach(self.fd.as_fd(), program)
    }

    /// Returns the number of packets that did not fit into the ring since the last call.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn take_dropped(&self) -> io::Result<u32> {
        // struct tpacket_stats_v3: packets, dropped, how often the ring was full.
        let mut statistics = [0_u32; 3];
        get(self.fd.as_fd(), SOL_PACKET, PACKET_STATISTICS, &mut statistics)?;
        Ok(statistics[1])
    }

    /// The error that waits at the socket, such as that its device is down; none is left.
    pub fn take_error(&self) -> Option<io::Error> {
        let mut error = [0_u32];
        get(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut error).ok()?;
        (error[0] != 0).then(|| io::Error::from_raw_os_error(error[0].cast_signed()))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for PacketSocket {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let bytes = self.blocks * BLOCK_BYTES as usize;
        // SAFETY: the ring was mapped with this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), bytes) };
    }
}

/// The number of a device in this network namespace.
///
/// # Errors
/// There is no such device.
#[allow(unsafe_code)]
pub fn device_number(name: &str) -> Result<u32, PacketError> {
    let unknown = || PacketError::NoDevice(name.to_owned());
    let text = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: the text ends with a zero byte and lives longer than the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(unknown()),
        number => Ok(number),
    }
}

/// A socket that gets no packets yet, because it is of no protocol.
#[allow(unsafe_code)]
fn create() -> Result<OwnedFd, PacketError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call has no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(PacketError::of("socket"));
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[allow(unsafe_code)]
fn bind(fd: BorrowedFd<'_>, device: Option<u32>) -> Result<(), PacketError> {
    // SAFETY: all of the structure's fields are numbers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or_default();
    address.sll_protocol = ALL_PROTOCOLS;
    address.sll_ifindex = i32::try_from(device.unwrap_or(0)).unwrap_or_default();
    let size = u32::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or_default();
    // SAFETY: the kernel reads `size` bytes behind the pointer, which is of a value that lives longer than the call.
    let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size) };
    if bound < 0 { Err(PacketError::of("bind")) } else { Ok(()) }
}

/// `struct sock_fprog` (`include/uapi/linux/filter.h`).
#[repr(C)]
struct Program {
    len: u16,
    instructions: *const Instruction,
}

#[allow(unsafe_code)]
fn attach(fd: BorrowedFd<'_>, program: &[Instruction]) -> Result<(), PacketError> {
    let len = u16::try_from(program.len()).unwrap_or(u16::MAX);
    let program = Program { len, instructions: program.as_ptr() };
    let size = u32::try_from(size_of::<Program>()).unwrap_or_default();
    // SAFETY: the kernel reads the structure and as many instructions as it says, which all live longer than the call.
    let set = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size,
        )
    };
    if set < 0 { Err(PacketError::of("filter")) } else { Ok(()) }
}

#[allow(unsafe_code)]
fn map(fd: BorrowedFd<'_>, bytes: u64) -> Result<NonNull<u8>, PacketError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the place, so no memory of this program is replaced.
    let place = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd.as_raw_fd(), 0)
    };
    if place == libc::MAP_FAILED {
        return Err(PacketError::of("ring in memory"));
    }
    NonNull::new(place.cast()).ok_or_else(|| PacketError::of("ring in memory"))
}

#[allow(unsafe_code)]
fn set(
    fd: BorrowedFd<'_>,
    option: i32,
    value: &[u32],
    what: &'static str,
) -> Result<(), PacketError> {
    let size = u32::try_from(size_of_val(value)).unwrap_or_default();
    // SAFETY: the kernel reads `size` bytes behind the pointer, which is of a value that lives longer than the call.
    let set = unsafe {
        libc::setsockopt(fd.as_raw_fd(), SOL_PACKET, option, value.as_ptr().cast(), size)
    };
    if set < 0 { Err(PacketError::of(what)) } else { Ok(()) }
}

#[allow(unsafe_code)]
fn get(fd: BorrowedFd<'_>, level: i32, option: i32, value: &mut [u32]) -> io::Result<()> {
    let mut size = u32::try_from(size_of_val(value)).unwrap_or_default();
    // SAFETY: the kernel writes at most `size` bytes behind the pointer, which is of a value that lives longer than the call.
    let got = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut size)
    };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
