//! Reports of messages, beside their packets.

use crate::packets::told;
use crate::round_trip::{Held, encoder, read};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use wirelap_events::{
    ByteRange, Comm, FlowId, FlowRange, MAX_LEGS, MessageId, Nanos, Offset, PacketHook, Pid,
    Segment, Segments, Stage, StageTimes, Tid,
};
use wirelap_recording::message::{LegDelay, LegEnd, MessageRow, MessageStatus};
use wirelap_recording::{
    ENTERPRISE, EncoderSettings, FileRecorder, MESSAGE_TAG, MessageLeg, MessageSink, PendingLimits,
    Rotation, Written,
};

const WHOLE: EncoderSettings =
    EncoderSettings { shown: wirelap_recording::ShownSightings::Once, payload: true };

const ROOM: PendingLimits = PendingLimits { time: Nanos::from_millis(1_000), bytes: 1 << 20 };

pub fn flow_range(flow: u64, start: u64, len: u64) -> FlowRange {
    FlowRange { flow: FlowId(flow), range: ByteRange::new(Offset(start), len) }
}

pub fn leg(message: u64, leg: u8, legs: u8, range: FlowRange) -> MessageLeg {
    let mut times = StageTimes::default();
    times.set(Stage::Send, Nanos(1_000 + 700 * u64::from(leg)));
    times.set(Stage::Xmit, Nanos(1_300 + 700 * u64::from(leg)));
    let mut segments = Segments::default();
    segments.add(Segment::SocketTx, Nanos(300));
    segments.add(Segment::RunQueue, Nanos(60_000));
    MessageLeg {
        message: MessageId(message),
        row: Arc::new(MessageRow { middleware: "mqtt".into(), broker: Some("a; broker".into()) }),
        topic: Arc::from(&b"demo/a; b\n"[..]),
        payload_len: 64,
        status: MessageStatus::Counted,
        leg,
        legs,
        range,
        began: Nanos(1_000),
        times,
        segments,
        sender: LegEnd { pid: Pid(7), tid: Tid(8), name: Comm::from_name("pub") },
        reader: LegEnd::default(),
        one_way: Some(Nanos(123_456)),
        delay_cause: None,
        last_seen: None,
        readers: 1,
        frames: [0; MAX_LEGS],
    }
}

fn recorder(path: &Path, rotation: Rotation, limits: PendingLimits) -> FileRecorder {
    let mut recorder = FileRecorder::create(path, encoder(WHOLE), rotation).unwrap();
    recorder.hold(limits);
    recorder
}

/// A packet at this time, that carries these bytes.
fn packet(recorder: &mut FileRecorder, at: u64, carried: FlowRange) {
    let seq = u32::try_from(carried.range.start.0).unwrap();
    let payload = vec![7; usize::try_from(carried.range.len()).unwrap()];
    recorder.event(&told(PacketHook::Xmit, at, seq, &payload).event());
    recorder.carries(carried);
}

/// Comments, and values of message options, of each packet of a file.
pub fn beside(bytes: &[u8]) -> Vec<(Vec<String>, Vec<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut rest = bytes;
    let word = |from: &[u8], at: usize| u32::from_le_bytes(from[at..at + 4].try_into().unwrap());
    while !rest.is_empty() {
        let len = word(rest, 4) as usize;
        let (block, more) = rest.split_at(len);
        assert_eq!(word(block, len - 4) as usize, len);
        rest = more;
        if word(block, 0) != 6 {
            continue;
        }
        let captured = (word(block, 20) as usize).next_multiple_of(4);
        let mut options = &block[28 + captured..len - 4];
        let (mut comments, mut values) = (Vec::new(), Vec::new());
        while !options.is_empty() && word(options, 0) != 0 {
            let number = u16::from_le_bytes(options[..2].try_into().unwrap());
            let len = usize::from(u16::from_le_bytes(options[2..4].try_into().unwrap()));
            let value = &options[4..4 + len];
            match number {
                1 => comments.push(String::from_utf8(value.to_vec()).unwrap()),
                2989 if value[4..7] == MESSAGE_TAG => {
                    assert_eq!(word(value, 0), ENTERPRISE);
                    values.push(value[7..].to_vec());
                }
                _ => {}
            }
            options = &options[4 + len.next_multiple_of(4)..];
        }
        // One that was not given any need not have an end of options.
        assert!(options.len() <= 4, "the end of the options is the block's");
        found.push((comments, values));
    }
    found
}

fn comments(written: &Written) -> Vec<Vec<String>> {
    let files = written.files.iter();
    let bytes = files.flat_map(|path| beside(&fs::read(path).unwrap()));
    bytes.map(|(comments, _)| comments).collect()
}

/// Packets of flow 0, a hundred bytes each, a millisecond apart, every tenth one's message told when `late` more are there.
fn tenths(recorder: &mut FileRecorder, count: u64, late: u64) {
    for n in 0..count + late {
        if n < count {
            packet(recorder, n * 1_000_000, flow_range(0, 1_000 + n * 100, 100));
        } else {
            recorder.tick(Nanos(n * 1_000_000));
        }
        if let Some(told) = n.checked_sub(late).filter(|told| told % 10 == 0) {
            let leg = leg(told, 0, 1, flow_range(0, 1_000 + told * 100, 100));
            recorder.message(&mut vec![leg]);
        }
    }
}

#[test]
fn a_message_is_told_in_words_and_in_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), ROOM);
    let [first, second] = [flow_range(1, 50, 100), flow_range(2, 500, 100)];
    packet(&mut recorder, 1_300, first);
    packet(&mut recorder, 2_000, second);
    let held_up = LegDelay {
        cause: "run_queue_contention",
        leg: 1,
        segment: Segment::RunQueue,
        time: Nanos(57_000),
    };
    let legs = [leg(4_711, 0, 2, first), leg(4_711, 1, 2, second)];
    let legs = legs.map(|leg| MessageLeg { delay_cause: Some(held_up), ..leg });
    recorder.message(&mut legs.to_vec());
    let written = recorder.close().unwrap();
    let found = beside(&fs::read(&written.files[0]).unwrap());
    let told: Vec<&str> = found.iter().map(|(comments, _)| comments[0].as_str()).collect();
    assert_eq!(
        told,
        [
            "message 4711, leg 1 of 2, mqtt at a_ broker; one way 123456 ns; this leg 60300 ns: \
             socket_tx 300, runqueue 60000; sender pub 7/8; queue 0; held up by \
             run_queue_contention in leg 2 runqueue for 57000 ns; payload 64 bytes; leg 2 in \
             packet 2; topic demo/a; b_",
            "message 4711, leg 2 of 2, mqtt at a_ broker; one way 123456 ns; begins at 700 ns; this \
             leg 60300 ns: socket_tx 300, runqueue 60000; sender pub 7/8; queue 0; held up by \
             run_queue_contention in leg 2 runqueue for 57000 ns; payload 64 bytes; leg 1 in \
             packet 1; topic demo/a; b_",
        ]
    );
    let option = &found[1].1[0];
    // Message, leg, legs, status, readers, payload, from, to, of; one way.
    assert_eq!(option[..14], [0xE7, 0x24, 1, 2, 0, 1, 64, 0, 100, 100, 1, 0xC0, 0xC4, 7]);
    // Send 700 ns after the message's first, xmit 1000 ns: zigzag.
    assert_eq!(option[14..30], [0, 1, 0xF8, 0x0A, 0, 0, 0, 1, 0xD0, 0x0F, 0, 0, 0, 0, 0, 0]);
    assert_eq!(option[30..36], [7, 8, 3, b'p', b'u', b'b']);
    // No reader, queue 0, the cause.
    assert_eq!(option[36..42], [0, 0, 0, 0, 1, 20]);
    assert_eq!(option[42..62], *b"run_queue_contention");
    assert_eq!(option[62..], *b"\x01\x08\xA8\xBD\x03\x01\x02\x04mqtt\x09a; broker\x0Ademo/a; b\n");
}

#[test]
fn how_far_a_message_came_is_told_unless_another_reader_had_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), ROOM);
    let parts = [flow_range(1, 50, 100), flow_range(2, 500, 100), flow_range(3, 900, 100)];
    for (at, part) in (1_300..).zip(parts) {
        packet(&mut recorder, at, part);
    }
    let lost = |leg: MessageLeg| MessageLeg {
        status: MessageStatus::Undelivered,
        one_way: None,
        last_seen: Some((1, Stage::Ready)),
        readers: 0,
        ..leg
    };
    // One subscriber did not read it; another did.
    recorder.message(&mut vec![lost(leg(7, 0, 2, parts[0])), lost(leg(7, 1, 2, parts[1]))]);
    recorder.message(&mut vec![leg(7, 0, 2, parts[0]), leg(7, 1, 2, parts[2])]);
    recorder.message(&mut vec![lost(leg(7, 0, 2, parts[0])), lost(leg(7, 1, 2, parts[1]))]);
    let found = beside(&fs::read(&recorder.close().unwrap().files[0]).unwrap());
    let ends = ", last seen in leg 2 at ready; leg 1 in packet 1; topic demo/a; b_";
    let is_told =
        |comment: &str| comment.contains("; not seen to be delivered") && comment.ends_with(ends);
    let told: Vec<bool> = found.iter().map(|(comments, _)| is_told(&comments[0])).collect();
    assert_eq!(told, [false, true, false], "{found:?}");
    assert!(found[0].0[0].contains("one way 123456 ns") && !found[0].0[0].contains("readers"));
    // Its status, no readers; at the end the leg and the stage.
    let option = &found[1].1[0];
    assert_eq!((option[3], option[4]), (3, 0));
    assert_eq!(option[option.len() - 2..], [1, Stage::Ready as u8]);
}

#[test]
fn packets_wait_for_their_messages_and_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let told = |late, limits| {
        let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), limits);
        tenths(&mut recorder, 5_000, late);
        let all = comments(&recorder.close().unwrap());
        assert_eq!(all.len(), 5_000);
        for (number, comments) in all.iter().enumerate() {
            let expected = format!("message {number}, leg 1 of 1, ");
            assert!(comments.iter().all(|told| told.starts_with(&expected) && number % 10 == 0));
        }
        all.iter().filter(|comments| !comments.is_empty()).count()
    };
    assert_eq!(told(50, ROOM), 500);
    assert_eq!(told(900, ROOM), 500);
    // Those that are still there when the file ends are told all the same.
    assert!(told(3_000, ROOM) < 400);
    let little = PendingLimits { bytes: 10_000, ..ROOM };
    assert!(told(900, little) < 200, "memory is bounded");
    assert_eq!(told(5, little), 500);
}

#[test]
fn what_waits_comes_back_as_it_was_in_files_that_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let rotation = Rotation { bytes: Some(1 << 20), ..Rotation::default() };
    let held = |hold: bool, name: &str| {
        let path = folder.path().join(name);
        let mut recorder = FileRecorder::create(&path, encoder(WHOLE), rotation).unwrap();
        if hold {
            recorder.hold(ROOM);
        }
        tenths(&mut recorder, 12_000, 60);
        let written = recorder.close().unwrap();
        assert!(written.files.len() > 2);
        let mut all = Vec::new();
        let mut told = 0;
        for path in &written.files {
            let bytes = fs::read(path).unwrap();
            assert!(bytes.len() < 3 << 19, "{}", bytes.len());
            let (held, problems, _) = read(&bytes);
            assert!(problems.is_empty(), "{problems:?}");
            all.extend(held.into_iter().filter(|held| !matches!(held, Held::Known(_))));
            told += beside(&bytes).iter().filter(|(comments, _)| !comments.is_empty()).count();
        }
        (all, told)
    };
    let (plain, none) = held(false, "plain");
    let (waited, told) = held(true, "waited");
    assert_eq!((none, told), (0, 1_200));
    assert_eq!(plain, waited);
}

#[test]
fn a_message_in_several_packets_and_several_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), ROOM);
    packet(&mut recorder, 1, flow_range(3, 1_000, 100));
    packet(&mut recorder, 2, flow_range(3, 1_100, 100));
    recorder.message(&mut vec![leg(1, 0, 1, flow_range(3, 1_050, 100))]);
    for n in 0..1_008 {
        recorder.message(&mut vec![leg(10 + n, 0, 1, flow_range(3, 1_150 + n % 50, 1))]);
    }
    // Another reader of the first message, a slower one.
    let slow =
        MessageLeg { one_way: Some(Nanos(999_999)), ..leg(1, 0, 1, flow_range(3, 1_050, 100)) };
    recorder.message(&mut vec![slow]);
    let all = comments(&recorder.close().unwrap());
    assert_eq!(all[0].len(), 1);
    assert!(all[0][0].contains("; one way 999999 ns;"), "{}", all[0][0]);
    assert!(all[0][0].contains("; bytes 0 to 50 of 100; payload 64 bytes; 2 readers;"));
    assert!(all[1][0].contains("; bytes 50 to 100 of 100;"), "{}", all[1][0]);
    assert_eq!(all[1].len(), 1_001);
    assert_eq!(all[1][1_000], "and 9 more messages");
}

#[test]
fn what_is_sent_again_tells_of_its_messages_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), ROOM);
    for n in 0..300 {
        packet(&mut recorder, n, flow_range(0, 1_000 + n * 100, 100));
    }
    packet(&mut recorder, 300, flow_range(0, 1_000, 1_000));
    for n in 0..300 {
        recorder.message(&mut vec![leg(n, 0, 1, flow_range(0, 1_000 + n * 100, 100))]);
    }
    // A message that others lie in.
    recorder.message(&mut vec![leg(1_000, 0, 1, flow_range(0, 1_000, 4_000))]);
    let all = comments(&recorder.close().unwrap());
    let told: Vec<usize> = all.iter().map(Vec::len).collect();
    assert_eq!(told[..40], [2; 40]);
    assert_eq!(told[40..300], [1; 260]);
    assert_eq!(told[300], 11);
}

/// A flow that is always full: the oldest go, and no others.
#[test]
fn legs_whose_packets_are_gone_take_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let limits = PendingLimits { time: Nanos::from_millis(1_000_000), bytes: 4 << 20 };
    let mut recorder = recorder(&folder.path().join("a"), Rotation::default(), limits);
    let (count, late) = (40_000, 1_000);
    for n in 0..count + late {
        if n < count {
            packet(&mut recorder, n, flow_range(0, 1_000 + n * 100, 100));
        }
        if let Some(told) = n.checked_sub(late) {
            recorder.message(&mut vec![leg(told, 0, 1, flow_range(0, 1_000 + told * 100, 100))]);
        }
    }
    let all = comments(&recorder.close().unwrap());
    let untold = all.iter().filter(|comments| comments.is_empty()).count();
    assert_eq!((all.len(), untold), (40_000, 0));
}
