use super::*;

/// A block with these packets, as the kernel lays them out.
fn block(packets: &[&[u8]]) -> Vec<u8> {
    const HEADER: usize = 48;
    const DATA: usize = 84;
    let mut out = vec![0; HEADER];
    out[STATUS..12].copy_from_slice(&USER.to_ne_bytes());
    out[12..16].copy_from_slice(&u32::try_from(packets.len()).unwrap().to_ne_bytes());
    out[16..20].copy_from_slice(&u32::try_from(HEADER).unwrap().to_ne_bytes());
    for (number, bytes) in packets.iter().enumerate() {
        let start = out.len();
        out.resize((start + DATA + bytes.len()).next_multiple_of(16), 0);
        let is_last = number + 1 == packets.len();
        let next = if is_last { 0 } else { u32::try_from(out.len() - start).unwrap() };
        let len = u32::try_from(bytes.len()).unwrap();
        let frame = &mut out[start..];
        let words =
            [(0, next), (4, 7), (8, 9), (12, len), (16, len + 100), (20, USER | VLAN_VALID)];
        for (at, word) in words {
            frame[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
        }
        frame[24..26].copy_from_slice(&u16::try_from(DATA).unwrap().to_ne_bytes());
        frame[26..28].copy_from_slice(&u16::try_from(DATA).unwrap().to_ne_bytes());
        frame[50..52].copy_from_slice(&IPV4.to_be_bytes());
        frame[52..56].copy_from_slice(&3_u32.to_ne_bytes());
        frame[56..58].copy_from_slice(&772_u16.to_ne_bytes());
        frame[58] = OUTGOING;
        frame[DATA..DATA + bytes.len()].copy_from_slice(bytes);
    }
    out
}

#[test]
fn packets_are_read_with_what_the_kernel_says_of_them() {
    let block = block(&[b"one", b"", b"three"]);
    let mut frames = RingPackets::of(&block);
    let first = frames.next().unwrap();
    let expected = RingPacket {
        wall: 7_000_000_009,
        original: 103,
        has_vlan: true,
        protocol: IPV4,
        device: 3,
        hardware: 772,
        is_outgoing: true,
        bytes: b"one",
    };
    assert_eq!(first, expected);
    assert!(first.is_ip());
    let rest: Vec<_> = frames.by_ref().map(|frame| frame.bytes).collect();
    assert_eq!((rest, frames.left()), (vec![&b""[..], b"three"], 0));
}

#[test]
fn a_block_that_ends_early_gives_the_packets_before_and_counts_the_others() {
    let whole = block(&[b"one", b"two", b"three"]);
    let mut most = 0;
    for len in 0..=whole.len() {
        let mut frames = RingPackets::of(&whole[..len]);
        let read = frames.by_ref().count();
        let claimed = if len < 16 { 0 } else { 3 };
        assert_eq!(read + frames.left() as usize, claimed, "{len} bytes");
        assert!(read >= most, "{len} bytes: {read} packets");
        most = read;
    }
    assert_eq!(most, 3);
}

#[test]
fn no_numbers_in_a_block_lead_out_of_it_or_around_in_it() {
    let whole = block(&[b"one", b"two", b"three"]);
    for at in (0..whole.len()).step_by(2) {
        for value in [0, 1, 0x7fff, 0xffff_u16] {
            let mut damaged = whole.clone();
            damaged[at..at + 2].copy_from_slice(&value.to_ne_bytes());
            // Frames may overlap then, and there are never more than the block has room for.
            assert!(RingPackets::of(&damaged).count() <= damaged.len(), "{value:#x} at {at}");
        }
    }
    let mut circle = whole;
    circle[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
    assert!(RingPackets::of(&circle).count() <= 3);
}
