//! Packets that are in a file in another order than that of their times, and what a file says of packets that are missing.

use crate::packets::{block, raw, section};
use wirelap_events::{Body, Count, LossCause, Nanos};
use wirelap_recording::{Disorder, Entry, Recording};

const SECOND: u64 = 1_000_000_000;

/// A classic file of packets of TCP with 2 payload bytes each, given their time and sequence number.
fn file(packets: impl IntoIterator<Item = (u64, u32)>, is_udp: bool) -> Vec<u8> {
    let words = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut out: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    for (at, seq) in packets {
        let mut bytes = raw();
        bytes[24..28].copy_from_slice(&seq.to_be_bytes());
        if is_udp {
            bytes[9] = 17;
            bytes[24..28].copy_from_slice(&[0, 22, 0, 0]);
        }
        let len = u32::try_from(bytes.len()).unwrap();
        let [seconds, part] = [at / SECOND, at % SECOND].map(|time| u32::try_from(time).unwrap());
        out.extend([seconds, part, len, len].into_iter().flat_map(u32::to_le_bytes));
        out.extend(bytes);
    }
    out
}

/// Times and sequence numbers as they are handed out, and how they were out of order.
fn handed_out(file: &[u8]) -> (Vec<(u64, u32)>, Disorder) {
    let mut recording = Recording::new(file).unwrap();
    let mut all = Vec::new();
    let read = recording.read_ahead(|entry| {
        if let Entry::Event(event) = entry
            && let Body::Packet(packet) = event.body
        {
            assert_eq!(packet.payload.len(), packet.payload_len as usize);
            all.push((event.at.0, packet.tcp.map_or(0, |tcp| tcp.seq.0)));
        }
        Ok::<_, ()>(())
    });
    read.unwrap();
    (all, recording.disorder())
}

/// So many packets fill several buffers.
const MANY: u32 = 20_000;

fn in_order() -> Vec<(u64, u32)> {
    (0..MANY).map(|n| (SECOND * 100 + u64::from(n) * 1_000_000, n * 2)).collect()
}

#[test]
fn what_is_near_its_place_gets_there() {
    let expected = in_order();
    assert_eq!(handed_out(&file(in_order(), false)), (expected.clone(), Disorder::default()));
    for chunk in [3, 50, 700] {
        let mut shuffled = in_order();
        shuffled.chunks_mut(chunk).for_each(<[_]>::reverse);
        let (all, disorder) = handed_out(&file(shuffled, false));
        assert!(all == expected, "chunks of {chunk}");
        assert_eq!([disorder.too_late, disorder.steps], [0, 0]);
        assert!(disorder.sorted > u64::from(MANY) / 2);
    }
}

#[test]
fn what_comes_far_too_late_is_counted() {
    let mut packets = in_order();
    let first = packets.remove(0);
    packets.push(first);
    let (all, disorder) = handed_out(&file(packets, false));
    assert_eq!((all.len(), disorder.too_late.0), (MANY as usize, 1));
}

#[test]
fn after_a_clock_was_set_back_times_go_on() {
    for is_udp in [false, true] {
        for at in [700, 9_000, MANY as usize - 1] {
            let mut packets = in_order();
            for (time, _) in &mut packets[at..] {
                *time -= 5 * SECOND;
            }
            let (all, disorder) = handed_out(&file(packets, is_udp));
            let millisecond = 1_000_000;
            let expected = in_order().into_iter().enumerate().map(|(n, (time, seq))| {
                let time = if n < at { time } else { time - millisecond };
                (time, if is_udp { 0 } else { seq })
            });
            assert!(all.iter().copied().eq(expected), "at {at}");
            let longest_step = Nanos(5 * SECOND - millisecond);
            let only = Disorder { steps: Count(1), longest_step, ..Disorder::default() };
            assert_eq!(disorder, only);
        }
    }
}

/// An option with a count.
fn option(number: u16, count: u64, big: bool) -> Vec<u8> {
    let halves = [number, 8].map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() });
    let count = if big { count.to_be_bytes() } else { count.to_le_bytes() };
    [&halves.concat()[..], &count].concat()
}

/// Losses that a file states, as they are handed out: the number of packets before, and the losses.
fn losses(file: &[u8]) -> Vec<(usize, u64)> {
    let mut recording = Recording::new(file).unwrap();
    let (mut packets, mut losses) = (0, Vec::new());
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { panic!("{entry:?}") };
        match event.body {
            Body::Lost(lost) => {
                assert_eq!(lost.cause, LossCause::StatedByFile);
                losses.push((packets, lost.count));
            }
            _ => packets += 1,
        }
    }
    let all: u64 = losses.iter().map(|(_, count)| count).sum();
    assert_eq!(recording.counts().stated_losses, all);
    losses
}

#[test]
fn losses_that_a_file_states_are_handed_out_once() {
    for big in [false, true] {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = section(&[raw()], big, 101, 6, 1);
        // A packet before which two were lost, and statistics of the same ones and others.
        let mut body = [word(0), [0; 4], word(9)].concat();
        let len = word(u32::try_from(raw().len()).unwrap());
        body.extend([&len[..], &len, &raw(), &[0, 0]].concat());
        body.extend(option(4, 2, big));
        file.extend(block(6, &body, big));
        let statistics = |interface, dropped: [u64; 2]| {
            let head = [word(interface), [0; 4], word(9)].concat();
            let [by_interface, by_system] = dropped;
            let options = [option(5, by_interface, big), option(7, by_system, big), vec![0; 4]];
            block(5, &[head, options.concat()].concat(), big)
        };
        file.extend(statistics(0, [0, 2]));
        assert_eq!(losses(&file), [(1, 2)], "both tell of the same");
        file.extend(statistics(0, [3, 4]));
        file.extend(statistics(0, [3, 4]));
        assert_eq!(losses(&file), [(1, 2), (2, 5)]);
        // Obsolete blocks: one that does not know the count, and one with which eight are beside packets, and seven in statistics.
        for (count, more) in [(u16::MAX, None), (6, Some((2, 1)))] {
            let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
            let mut file = file.clone();
            let body = [&half(0)[..], &half(count), &[0; 4], &word(9), &len, &len, &raw()].concat();
            file.extend(block(2, &body, big));
            let expected: Vec<_> = [(1, 2), (2, 5)].into_iter().chain(more).collect();
            assert_eq!(losses(&file), expected);
        }
    }
}
