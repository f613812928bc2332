//! Samples of DDS that are not seen, and what says so.

use crate::played::Played;
use wirelap_correlate::{Config, Reliability};
use wirelap_events::{Body, PacketHook};
use wirelap_test_support::compose::rtps::{Message, SPDP_WRITER, USER_WRITER};
use wirelap_test_support::world::udp::{end, flow, packet};
use wirelap_test_support::world::{World, process};

const WRITER: [u8; 12] = [1, 0x0f, 7, 7, 1, 0, 0, 0, 0, 0, 0, 0];
const READER: [u8; 12] = [1, 0x0f, 7, 7, 2, 0, 0, 0, 0, 0, 0, 0];
const FAR: [u8; 12] = [1, 0x0f, 8, 8, 3, 0, 0, 0, 0, 0, 0, 0];

/// A parameter list in little-endian byte order.
fn list(parameters: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0, 3, 0, 0];
    for (id, value) in parameters {
        out.extend(id.to_le_bytes());
        out.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
        out.extend(value);
    }
    out.extend([1, 0, 0, 0]);
    out
}

fn locator(kind: u32) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &7411_u32.to_le_bytes(), &[0; 16]].concat()
}

/// A participant with addresses of these kinds.
fn participant(prefix: [u8; 12], kinds: &[u32]) -> Message {
    let guid = [&prefix[..], &[0, 0, 1, 0xc1]].concat();
    let mut parameters = vec![(0x50, guid)];
    parameters.extend(kinds.iter().map(|&kind| (0x31, locator(kind))));
    from(prefix, Message::new(true).data(SPDP_WRITER, 1, &list(&parameters)))
}

/// A writer or reader of a topic.
fn endpoint(prefix: [u8; 12], topic: &str, writes: bool) -> Message {
    let mut guid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 4];
    guid[..12].copy_from_slice(&prefix);
    guid[15] = if writes { 3 } else { 4 };
    let found = Message::new(true).publication(guid, topic);
    from(prefix, if writes { found } else { found.reader() })
}

fn from(prefix: [u8; 12], mut message: Message) -> Message {
    // Their GUIDs begin with their vendor, as those of Fast DDS do.
    message.bytes[6..8].copy_from_slice(&prefix[..2]);
    message.bytes[8..20].copy_from_slice(&prefix);
    message
}

/// Plays packets of these messages, each to this port.
fn played(messages: &[(u16, Message)]) -> Played {
    let mut world = World::new();
    let a = end(&mut world, process(1, "talker"), "10.0.0.1:40001");
    for (id, (port, message)) in (0..).zip(messages) {
        let len = u32::try_from(message.bytes.len()).unwrap();
        let way = flow("10.0.0.1:40001", &format!("10.0.0.1:{port}"));
        let mut seen = packet(PacketHook::Rx, way, id, a, len, 0);
        seen.socket = None;
        world.tell(Body::Packet(seen), &message.bytes);
    }
    Played::new(Config { packets_only: true, ..Config::default() }, &world.events)
}

/// Delivered, and why the row is not good.
fn told(played: &Played) -> (u64, Reliability, Vec<&'static str>) {
    let group = played.group();
    let doubts = group.doubts(&played.snapshot.trust);
    let worst = wirelap_correlate::trust::reliability(&doubts);
    (group.messages.delivered, worst, doubts.iter().map(|doubt| doubt.reason.name()).collect())
}

const SHARED: [u32; 2] = [1, 19];

#[test]
fn what_two_participants_on_a_host_share_is_said_not_to_be_seen() {
    let mut messages = vec![
        (7410, participant(WRITER, &SHARED)),
        (7410, participant(READER, &SHARED)),
        (7410, endpoint(WRITER, "chatter", true)),
        (7410, endpoint(READER, "chatter", false)),
    ];
    // Again, as discovery does.
    messages.extend(messages.clone());
    assert_eq!(told(&played(&messages)), (0, Reliability::Unusable, vec!["shared_memory"]));
    // Another reader gets its samples in datagrams.
    let sample = [&[0, 1, 0, 0][..], &[7; 64]].concat();
    messages.push((7411, from(WRITER, Message::new(true).data(USER_WRITER, 1, &sample))));
    assert_eq!(told(&played(&messages)), (1, Reliability::Reduced, vec!["shared_memory"]));
}

#[test]
fn what_is_not_shared_is_not_doubted() {
    let good = (0, Reliability::Good, vec![]);
    let with = |kinds: &[u32], other: [u8; 12], topic: &str| {
        told(&played(&[
            (7410, participant(WRITER, &SHARED)),
            (7410, participant(other, kinds)),
            (7410, endpoint(WRITER, "chatter", true)),
            (7410, endpoint(other, topic, false)),
        ]))
    };
    assert_eq!(with(&[1], READER, "chatter"), good, "no shared memory");
    assert_eq!(with(&SHARED, FAR, "chatter"), good, "another host");
    assert_eq!(with(&SHARED, READER, "other"), good, "another topic");
    // The capture began when their topics had been announced.
    let late = [participant(WRITER, &SHARED), participant(READER, &SHARED)];
    let late = late.map(|message| (7410, message));
    assert_eq!(told(&played(&late)), (0, Reliability::Unusable, vec!["shared_memory"]));
}

/// Participants had announced themselves before.
#[test]
fn who_announced_itself_before_anyone_looked_is_not_idle() {
    let heartbeat = |prefix| {
        let body = [[0, 0, 0, 0], [0, 0, 16, 3], [0; 4], [1, 0, 0, 0], [0; 4], [1, 0, 0, 0]];
        from(prefix, Message::new(true).sub(0x07, 0, &[body.concat(), vec![1, 0, 0, 0]].concat()))
    };
    let mut messages = vec![(7410, heartbeat(WRITER)), (7411, heartbeat(READER))];
    assert_eq!(told(&played(&messages)), (0, Reliability::Reduced, vec!["unannounced"]));
    let sample = [&[0, 1, 0, 0][..], &[7; 64]].concat();
    let sample = from(WRITER, Message::new(true).data(USER_WRITER, 1, &sample));
    let with_one = [&messages[..], &[(7411, sample)]].concat();
    assert_eq!(told(&played(&with_one)), (1, Reliability::Good, vec![]));
    messages.extend([WRITER, READER].map(|prefix| (7410, participant(prefix, &[1]))));
    assert_eq!(told(&played(&messages)), (0, Reliability::Good, vec![]), "no shared memory");
}

/// Submessages and messages that DDS Security encrypts (DDS Security 1.1 §7.3.6).
#[test]
fn what_is_encrypted_is_counted_and_doubted() {
    let header = [&[0, 0, 0, 2][..], &[5; 16]].concat();
    let submessage = |prefix: u8, postfix: u8| {
        Message::new(true).sub(prefix, 0, &header).sub(0x30, 0, &[9; 48]).sub(postfix, 0, &[1; 20])
    };
    let messages = vec![(7411, submessage(0x31, 0x32)), (7411, submessage(0x33, 0x34))];
    let hidden = played(&messages);
    let (delivered, worst, reasons) = told(&hidden);
    assert_eq!((delivered, worst), (0, Reliability::Unusable));
    assert!(reasons.contains(&"encrypted"), "{reasons:?}");
    assert_eq!(hidden.group().uncertain.encrypted, 2);
    // Signed ones can be read.
    let sample = [&[0, 1, 0, 0][..], &[7; 64]].concat();
    let signed = Message::new(true)
        .sub(0x33, 0, &header)
        .data(USER_WRITER, 1, &sample)
        .sub(0x34, 0, &[1; 20]);
    let signed = played(&[(7411, signed)]);
    assert_eq!((signed.group().messages.delivered, signed.group().uncertain.encrypted), (1, 0));
}
