//! Writes what files have of one message: its packets, and the events of its sockets and threads.

use crate::open::{open, unread};
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use wirelap_events::{Body, Delivery, Event, FlowKey, Nanos, SocketId, Tid};
use wirelap_process::Failure;
use wirelap_recording::{EventChoice, Excerpt, KeptParts, Recording, TooLarge};

/// The time before a message's first stage and after its last one whose packets are written with it, so that requests and late
/// acknowledgements of its bytes are among them (Linux delays an acknowledgement by 40 ms at least, `TCP_DELACK_MIN`).
const MARGIN: Nanos = Nanos::from_millis(50);

/// Events may be this much out of order.
const DISORDER: Nanos = Nanos::from_millis(1_000);

/// The most bytes that are written of one message.
const MOST: usize = 64 << 20;

/// Returns what the files have of a message as the bytes of a pcapng file: the packets of its connections in its time, and the
/// events of its sockets and threads. The message must be one of a replay of these files.
///
/// # Errors
/// A file cannot be read, nothing of the message is in the files, or more is than is kept in memory.
pub fn message(paths: &[PathBuf], delivery: &Delivery) -> Result<Excerpt, Failure> {
    let mut excerpt = Excerpt::new(MOST);
    for path in paths {
        let mut recording = open(path, &Arc::default())?;
        add(&mut excerpt, &mut recording, delivery).map_err(|error| unread(path, &error))?;
    }
    if excerpt.packets == 0 {
        return Err(Failure::Usage(
            "no packet of this message is in the files: files of several hosts are put on one clock, and then times are not those of \
             the files"
                .into(),
        ));
    }
    Ok(excerpt)
}

/// As [`message`], of what a session keeps in memory.
///
/// # Errors
/// Nothing of the message is kept.
pub fn kept(kept: &KeptParts, delivery: &Delivery) -> Result<Excerpt, NotKept> {
    let mut excerpt = Excerpt::new(MOST);
    for part in &kept.parts {
        let mut recording = Recording::new(&part.bytes[..]).map_err(|_| NotKept)?;
        add(&mut excerpt, &mut recording, delivery).map_err(|_| NotKept)?;
    }
    if excerpt.packets == 0 { Err(NotKept) } else { Ok(excerpt) }
}

/// Error: the events that are kept have no packet of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

/// Adds what a recording has of a message.
fn add<R: Read>(
    excerpt: &mut Excerpt,
    recording: &mut Recording<R>,
    delivery: &Delivery,
) -> Result<(), TooLarge> {
    let mut choice = OfMessage::new(delivery, recording.is_own());
    excerpt.add(recording, &mut choice)
}

/// The difference from the clock of these files' events to the wall clock in nanoseconds; `None` if it is not known, as the files may
/// be of several hosts.
pub fn wall(paths: &[PathBuf]) -> Option<i64> {
    let [path] = paths else { return None };
    Some(open(path, &Arc::default()).ok()?.wall().unwrap_or(0))
}

/// Choice of the events of a message.
struct OfMessage {
    /// The flows of its legs, both directions.
    flows: Vec<FlowKey>,
    sockets: HashSet<SocketId>,
    threads: HashSet<Tid>,
    from: Nanos,
    to: Nanos,
    /// True if flows are compared with their namespaces.
    has_scopes: bool,
    is_over: bool,
}

impl OfMessage {
    fn new(delivery: &Delivery, has_scopes: bool) -> OfMessage {
        let legs = &delivery.legs;
        let times = || legs.iter().flat_map(|leg| leg.times.seen()).map(|(_, at)| at);
        let hops = legs.iter().flat_map(|leg| leg.chain.iter().chain(&leg.before));
        let ends = legs.iter().flat_map(|leg| [leg.sender, leg.reader]).flatten();
        let threads = hops.map(|hop| hop.task).chain(ends).map(|task| task.tid);
        OfMessage {
            flows: legs.iter().flat_map(|leg| [leg.flow, leg.flow.reversed()]).collect(),
            sockets: legs.iter().flat_map(|leg| [leg.from, leg.to]).flatten().collect(),
            threads: threads.filter(|tid| tid.0 != 0).collect(),
            from: times().min().unwrap_or_default() - MARGIN,
            to: times().max().unwrap_or_default() + MARGIN,
            has_scopes,
            is_over: false,
        }
    }

    fn is_of(&self, flow: &FlowKey) -> bool {
        self.flows.iter().any(|known| {
            let is_same_scope = !self.has_scopes || known.scope == flow.scope;
            is_same_scope
                && (known.transport, known.src, known.dst) == (flow.transport, flow.src, flow.dst)
        })
    }
}

impl EventChoice for OfMessage {
    fn takes(&mut self, event: &Event<'_>) -> bool {
        // A socket is described when it is found, long before the message.
        if let Body::Socket(socket) = &event.body {
            return self.sockets.contains(&socket.id);
        }
        self.is_over = event.at > self.to + DISORDER;
        if event.at < self.from || event.at > self.to {
            return false;
        }
        match &event.body {
            Body::Packet(packet) => self.is_of(&packet.flow),
            Body::Drop(dropped) => self.is_of(&dropped.flow),
            Body::Closed(socket) => self.sockets.contains(socket),
            Body::Send(call) => self.sockets.contains(&call.socket),
            Body::Read(call) => self.sockets.contains(&call.socket),
            Body::Ready(ready) => self.sockets.contains(&ready.socket),
            Body::Retransmit(segment) => self.sockets.contains(&segment.socket),
            Body::Wake(wake) => self.threads.contains(&wake.task.tid),
            Body::State(state) => self.threads.contains(&state.task.tid),
            Body::Quota(quota) => self.threads.contains(&quota.task.tid),
            Body::Ended(end) => self.threads.contains(&end.task.tid),
            Body::Lost(_) | Body::Window(_) | Body::Waiting(_) => true,
            Body::Socket(_) | Body::Plain(_) | Body::Written(_) => false,
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Follower, Replay};
    use std::fs;
    use wirelap_recording::{Entry, KeptPart};
    use wirelap_test_support::committed;

    /// Keeps all packets and deliveries.
    #[derive(Default)]
    struct Kept {
        packets: Vec<(Nanos, FlowKey, u32)>,
        deliveries: Vec<Delivery>,
    }

    impl Follower for Kept {
        const DELIVERIES: bool = true;

        fn begin(&mut self, _: Option<i64>) {}

        fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
            if let Body::Packet(packet) = &event.body {
                self.packets.push((event.at, packet.flow, packet.payload_len));
            }
            Ok(())
        }

        fn delivery(&mut self, delivery: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
            self.deliveries.push(delivery.clone());
            Ok(())
        }
    }

    fn packets(bytes: &[u8]) -> Vec<(Nanos, FlowKey, u32)> {
        let mut recording = Recording::new(bytes).unwrap();
        let mut packets = Vec::new();
        while let Some(entry) = recording.next() {
            if let Entry::Event(Event { at, body: Body::Packet(packet), .. }) = entry {
                packets.push((at, packet.flow, packet.payload_len));
            }
        }
        assert!(recording.problems().is_empty(), "{:?}", recording.problems());
        packets
    }

    /// The packets of a message in its time, as the files have them.
    fn expected(kept: &Kept, delivery: &Delivery) -> Vec<(Nanos, FlowKey, u32)> {
        let ends: Vec<_> = delivery.legs.iter().map(|leg| (leg.flow.src, leg.flow.dst)).collect();
        let times = || delivery.legs.iter().flat_map(|leg| leg.times.seen()).map(|(_, at)| at);
        let (from, to) = (times().min().unwrap(), times().max().unwrap());
        let is_of = |flow: &FlowKey| {
            ends.iter()
                .any(|&(a, b)| (flow.src, flow.dst) == (a, b) || (flow.src, flow.dst) == (b, a))
        };
        let all = kept.packets.iter();
        all.filter(|(at, flow, _)| (from - MARGIN..=to + MARGIN).contains(at) && is_of(flow))
            .copied()
            .collect()
    }

    #[test]
    fn what_is_kept_in_parts_has_the_same_packets_as_a_file() {
        let path = committed::repository("tracer/correlate/tests/why/nagle.pcapng.gz");
        let mut replay = Replay::new(&[], Kept::default());
        replay.files(std::slice::from_ref(&path)).unwrap();
        let all = replay.end().unwrap().follower;
        let mut bytes = Vec::new();
        let file = fs::File::open(&path).unwrap();
        wirelap_recording::uncompressed(Box::new(file)).unwrap().read_to_end(&mut bytes).unwrap();
        // Parts of a real session begin with the open sockets; here, the whole file is the first one.
        let parts = KeptParts { parts: vec![KeptPart::from(bytes)], ..KeptParts::default() };
        let slowest = all.deliveries.iter().max_by_key(|one| one.one_way()).unwrap();
        let excerpt = kept(&parts, slowest).unwrap();
        assert_eq!(packets(&excerpt.bytes), expected(&all, slowest));
        assert_eq!(kept(&KeptParts::default(), slowest).unwrap_err(), NotKept);
    }

    fn check(path: PathBuf, is_own: bool) {
        let paths = [path];
        let mut replay = Replay::new(&[], Kept::default());
        replay.files(&paths).unwrap();
        let kept = replay.end().unwrap().follower;
        let slowest = kept.deliveries.iter().max_by_key(|one| one.one_way()).unwrap();
        let excerpt = message(&paths, slowest).unwrap();
        let (found, expected) = (packets(&excerpt.bytes), expected(&kept, slowest));
        assert_eq!(found, expected, "{paths:?}");
        let sightings = if is_own { 2 } else { 1 };
        assert!(excerpt.packets <= found.len() as u64, "{paths:?}");
        assert!(excerpt.packets * sightings >= found.len() as u64, "{paths:?}");
        assert!(found.len() < kept.packets.len(), "the excerpt is a part");
        let original = wall(&paths).unwrap();
        let copied = Recording::new(excerpt.bytes.as_slice()).unwrap().wall().unwrap_or(0);
        assert_eq!(copied, original);
    }

    #[test]
    fn an_excerpt_of_a_recording_has_the_packets_of_the_message_alone() {
        check(committed::repository("tracer/correlate/tests/why/nagle.pcapng.gz"), true);
        check(committed::repository("tracer/correlate/tests/why/loss.pcapng.gz"), true);
    }

    #[test]
    fn an_excerpt_of_a_capture_has_the_packets_of_the_message_alone() {
        check(committed::of_protocols("kafka/captures/kcat.pcap"), false);
    }

    #[test]
    fn a_message_that_is_not_in_the_files_makes_none() {
        let paths = [committed::of_protocols("kafka/captures/kcat.pcap")];
        let elsewhere = wirelap_test_support::delivered::delivery([]);
        assert!(message(&paths, &elsewhere).is_err());
    }
}
