//! Reading the ring of our own, in memory that the probes write to. `ebpf/include/ring.h` has its layout and its rules.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wirelap_ebpf::layout::{WL_RING_CONSUMED, WL_RING_LONGEST, WL_RING_RECORDS, wl_ring_head};

const CONSUMED: usize = WL_RING_CONSUMED as usize;
const RECORDS: usize = WL_RING_RECORDS as usize;
const LONGEST: usize = WL_RING_LONGEST as usize;

/// The memory of the ring, and how far it was read.
pub(crate) struct OwnRing {
    memory: NonNull<u8>,
    /// The size of the ring, a power of two.
    bytes: usize,
    /// All records before this position were read, and zeroed.
    position: u64,
    /// The bytes of the record at this position that was handed out, with its head; 0 if none was.
    taken: usize,
    /// The position up to which the probes know that their records were read.
    given_back: u64,
}

// SAFETY: the memory is mapped by this value alone, and is not bound to a thread.
#[allow(unsafe_code)]
unsafe impl Send for OwnRing {}

impl OwnRing {
    /// Maps the memory of a ring of this size, a power of two.
    pub fn map(map: BorrowedFd<'_>, bytes: u32) -> io::Result<OwnRing> {
        let bytes = bytes as usize;
        Ok(OwnRing {
            memory: map_memory(map, mapped(bytes))?,
            bytes,
            position: 0,
            taken: 0,
            given_back: 0,
        })
    }

    /// The next record; `None` if there is none, or if the next one is still being written. All room is given back then.
    pub fn next(&mut self) -> Option<&[u8]> {
        self.clear();
        // The probes look at the position for each record, so a change is expensive to them.
        if self.position - self.given_back >= self.bytes as u64 / 8 {
            self.publish();
        }
        let head = self.place();
        let committed = self.number(head + wl_ring_head::COMMITTED).load(Ordering::Acquire);
        if committed == 0 {
            self.publish();
            return None;
        }
        let length = self.number(head + wl_ring_head::BYTES).load(Ordering::Relaxed) as usize;
        // No record is longer; what is, was not written by the probes and decodes as damaged.
        let length = length.min(LONGEST - wl_ring_head::SIZE);
        self.taken = (wl_ring_head::SIZE + length).next_multiple_of(8);
        Some(self.record(head + wl_ring_head::SIZE, length))
    }

    /// Gives the room of all records that were handed out back to the probes.
    pub fn give_back(&mut self) {
        self.clear();
        self.publish();
    }

    /// Returns the offset of the next head in the memory.
    fn place(&self) -> usize {
        // The ring is smaller than the address space.
        #[allow(clippy::cast_possible_truncation)]
        let position = self.position as usize;
        RECORDS + (position & (self.bytes - 1))
    }

    /// Zeroes the record that was handed out, so that the memory of later heads is zero until they are written.
    #[allow(unsafe_code)]
    fn clear(&mut self) {
        // SAFETY: the bytes are within the mapping, because a record begins within the ring and has at most `LONGEST` bytes with its head.
        // No probe writes to a record that was committed before its room is given back, and no reference to it is left, because
        // it borrowed `self`.
        unsafe { ptr::write_bytes(self.memory.add(self.place()).as_ptr(), 0, self.taken) };
        self.position += self.taken as u64;
        self.taken = 0;
    }

    /// Tells the probes up to where they may write again.
    #[allow(unsafe_code)]
    fn publish(&mut self) {
        if self.position == self.given_back {
            return;
        }
        self.given_back = self.position;
        // SAFETY: the place is within the mapping, which lives as long as `self`, and aligned. Only this value writes to it.
        let consumed = unsafe { AtomicU64::from_ptr(self.memory.add(CONSUMED).as_ptr().cast()) };
        // What was read and zeroed before must not happen after a probe has seen this.
        consumed.store(self.position, Ordering::Release);
    }

    /// A number of a head, which a probe may be writing.
    #[allow(unsafe_code)]
    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: heads begin within the ring at multiples of 8, and the mapping is longer than the ring by more than a head. It lives as
        // long as `self`.
        unsafe { AtomicU32::from_ptr(self.memory.add(at).as_ptr().cast()) }
    }

    /// The bytes of a committed record.
    #[allow(unsafe_code)]
    fn record(&self, at: usize, length: usize) -> &[u8] {
        // SAFETY: the bytes are within the mapping as in `clear`, and no probe writes to them before their room is given back, which needs
        // `&mut self`.
        unsafe { std::slice::from_raw_parts(self.memory.add(at).as_ptr(), length) }
    }
}

impl Drop for OwnRing {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), mapped(self.bytes)) };
    }
}

/// The size of the memory of a ring of this size.
fn mapped(bytes: usize) -> usize {
    RECORDS + bytes + LONGEST
}

#[allow(unsafe_code)]
fn map_memory(map: BorrowedFd<'_>, bytes: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let place =
        unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(place.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsFd, OwnedFd};

    const BYTES: usize = 4096;

    /// A ring in a file in memory, and what a probe sees of it.
    struct Both {
        ring: OwnRing,
        probe: Probe,
    }

    /// Does to the file what the probes do to the ring (`ebpf/include/ring.h`).
    struct Probe {
        memory: OwnedFd,
        produced: u64,
    }

    fn both() -> Both {
        let memory = rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::empty()).unwrap();
        rustix::fs::ftruncate(&memory, mapped(BYTES) as u64).unwrap();
        let ring = OwnRing::map(memory.as_fd(), u32::try_from(BYTES).unwrap()).unwrap();
        Both { ring, probe: Probe { memory, produced: 0 } }
    }

    impl Probe {
        fn write(&self, at: usize, bytes: &[u8]) {
            assert_eq!(rustix::io::pwrite(&self.memory, bytes, at as u64).unwrap(), bytes.len());
        }

        fn consumed(&self) -> u64 {
            let mut bytes = [0; 8];
            rustix::io::pread(&self.memory, &mut bytes, CONSUMED as u64).unwrap();
            u64::from_ne_bytes(bytes)
        }

        /// Reserves a record and writes it; `None` if the ring is full. Returns where its head is.
        fn reserve(&mut self, record: &[u8]) -> Option<usize> {
            let all = (8 + record.len()).next_multiple_of(8) as u64;
            if self.produced + all - self.consumed() > BYTES as u64 {
                return None;
            }
            let head = RECORDS + usize::try_from(self.produced).unwrap() % BYTES;
            self.produced += all;
            self.write(head, &u32::try_from(record.len()).unwrap().to_ne_bytes());
            self.write(head + 8, record);
            Some(head)
        }

        fn commit(&self, head: usize) {
            self.write(head + wl_ring_head::COMMITTED, &1_u32.to_ne_bytes());
        }

        fn put(&mut self, record: &[u8]) -> bool {
            self.reserve(record).inspect(|head| self.commit(*head)).is_some()
        }
    }

    /// A record that is full of what looks like committed heads.
    fn record(number: usize) -> Vec<u8> {
        let word = [4_u32.to_ne_bytes(), 1_u32.to_ne_bytes()].concat();
        let mut bytes = u32::try_from(number).unwrap().to_ne_bytes().to_vec();
        bytes.extend(word.iter().cycle().take(number * 13 % 400));
        bytes
    }

    #[test]
    fn records_come_whole_and_in_order_however_often_the_ring_was_full() {
        let Both { mut ring, mut probe } = both();
        let (mut written, mut read) = (0, 0);
        while read < 5_000 {
            while probe.put(&record(written)) {
                written += 1;
            }
            for _ in 0..read % 7 {
                let Some(found) = ring.next() else { break };
                assert_eq!(found, record(read));
                read += 1;
            }
            if read % 3 == 0 {
                ring.give_back();
            }
            if read % 7 == 0 {
                while let Some(found) = ring.next() {
                    assert_eq!(found, record(read));
                    read += 1;
                }
            }
        }
        while let Some(found) = ring.next() {
            assert_eq!(found, record(read));
            read += 1;
        }
        assert_eq!(read, written);
        assert_eq!(probe.consumed(), probe.produced);
    }

    #[test]
    fn a_record_that_is_being_written_keeps_those_after_it() {
        let Both { mut ring, mut probe } = both();
        let head = probe.reserve(b"first").unwrap();
        assert!(probe.put(b"second"));
        assert_eq!(ring.next(), None);
        probe.commit(head);
        assert_eq!(ring.next(), Some(&b"first"[..]));
        assert_eq!(ring.next(), Some(&b"second"[..]));
        assert_eq!(ring.next(), None);
    }

    #[test]
    fn a_record_has_its_room_until_the_next_is_taken() {
        let Both { mut ring, mut probe } = both();
        assert!(probe.put(&[1; BYTES - 8]) && !probe.put(&[]));
        assert_eq!(ring.next(), Some(&[1; BYTES - 8][..]));
        assert!(!probe.put(&[]));
        ring.give_back();
        assert!(probe.put(&[2]));
        assert_eq!(ring.next(), Some(&[2][..]));
    }

    #[test]
    fn a_length_that_no_record_has_does_not_leave_the_memory() {
        let Both { mut ring, probe } = both();
        probe.write(RECORDS, &u32::MAX.to_ne_bytes());
        probe.commit(RECORDS);
        assert_eq!(ring.next().map(<[u8]>::len), Some(LONGEST - 8));
        assert_eq!(ring.next(), None);
    }
}
