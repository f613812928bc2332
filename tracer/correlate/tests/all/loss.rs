//! Events that are missing: uncovered, never guessed.

use crate::played::Played;
use wirelap_correlate::{Config, Correlator};
use wirelap_events::{
    Body, Cpu, Delivery, Event, LossCause, LostEvents, Nanos, PacketHook, Probe, Stage,
};
use wirelap_test_support::compose::{plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{World, process};

const MESSAGES: u32 = 30;

/// Messages from one process to another, and when each was sent and read.
fn stream() -> (World, Vec<(Nanos, Nanos)>) {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    let times = (0..MESSAGES).map(|n| world.message(&mut pair.up, &plain(stamp(n), 100))).collect();
    (world, times)
}

/// The `nth` event that `is_it` names, without which everything is played.
fn without(world: &World, nth: usize, is_it: impl Fn(&Body<'_>) -> bool) -> Played {
    let mut seen = 0;
    let kept: Vec<OwnedEvent> = world
        .events
        .iter()
        .filter(|told| {
            let hit = is_it(&told.event.body);
            seen += usize::from(hit);
            !(hit && seen == nth + 1)
        })
        .cloned()
        .collect();
    assert_eq!(kept.len() + 1, world.events.len());
    Played::new(Config::default(), &kept)
}

/// Every delivery but message 10's is as if nothing was lost.
fn assert_others_are_right(played: &Played, times: &[(Nanos, Nanos)]) {
    for delivery in &played.deliveries {
        let (sent, read) = times[delivery.stamp.unwrap().seq as usize];
        assert_eq!(delivery.one_way(), read.since(sent), "{:?}", delivery.stamp);
    }
}

#[test]
fn a_lost_send_leaves_a_delivery_uncovered_and_a_lost_read_a_message_never_read() {
    let (world, times) = stream();
    let send = without(&world, 10, |body| matches!(body, Body::Send(_)));
    assert_eq!(send.counts(), [30, 30, 29, 1]);
    assert_eq!(send.group().messages.never_read, 0);
    assert_others_are_right(&send, &times);
    let read = without(&world, 10, |body| matches!(body, Body::Read(_)));
    assert_eq!(read.counts(), [30, 29, 29, 0]);
    assert_eq!(read.group().messages.never_read, 1);
    assert_others_are_right(&read, &times);
}

#[test]
fn a_lost_mark_on_the_way_merges_two_segments() {
    let (world, times) = stream();
    let rx = |body: &Body<'_>| matches!(body, Body::Packet(packet) if packet.hook == PacketHook::Rx && packet.payload_len > 0);
    let played = without(&world, 10, rx);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    assert_others_are_right(&played, &times);
    let unseen: Vec<_> = played
        .deliveries
        .iter()
        .filter(|delivery| delivery.legs[0].times.get(Stage::Rx).is_none())
        .map(|delivery| delivery.stamp.unwrap().seq)
        .collect();
    assert_eq!(unseen, [10]);
}

#[test]
fn a_lost_payload_leaves_a_message_that_its_neighbours_frame() {
    let (world, times) = stream();
    let xmit = |body: &Body<'_>| matches!(body, Body::Packet(packet) if packet.hook == PacketHook::Xmit && packet.payload_len > 0);
    let played = without(&world, 10, xmit);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    assert_others_are_right(&played, &times);
    assert_eq!(played.snapshot.trust.undecoded_bytes, 104);
}

/// The probes are attached one after the other: of a connection that opens meanwhile, the first packets may be seen at
/// their receiver only, where they have no bytes.
#[test]
fn a_connection_that_opens_while_probes_are_attached_is_recognised() {
    let (world, times) = stream();
    let is_xmit = |told: &&OwnedEvent| matches!(told.event.body, Body::Packet(packet) if packet.hook == PacketHook::Xmit);
    let with_payload = world.events.iter().filter(is_xmit).filter(|told| !told.payload.is_empty());
    let attached = with_payload.map(|told| told.event.at).nth(5).unwrap();
    let kept: Vec<OwnedEvent> = world
        .events
        .iter()
        .filter(|told| !is_xmit(told) || told.event.at >= attached)
        .cloned()
        .collect();
    let played = Played::new(Config::default(), &kept);
    assert_eq!(played.counts(), [25, 25, 25, 0]);
    assert_others_are_right(&played, &times);
}

#[test]
fn a_lost_wakeup_looks_like_a_busy_reader() {
    let (world, times) = stream();
    let played = without(&world, 10, |body| matches!(body, Body::Wake(_)));
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    assert_others_are_right(&played, &times);
    assert_eq!(played.group().sched_gap.count, 29);
}

#[test]
fn a_ready_after_lost_ones_tells_only_about_its_end() {
    let (mut world, times) = stream();
    let at = |nth: usize, world: &World| {
        let is_ready = |told: &OwnedEvent| matches!(told.event.body, Body::Ready(_));
        let all = world.events.iter().enumerate().filter(|(_, told)| is_ready(told));
        all.map(|(index, _)| index).nth(nth).unwrap()
    };
    let lost = LostEvents { probe: Probe::Ready, count: 1, cause: LossCause::RingFull };
    let index = at(10, &world);
    world.events[index].event.body = Body::Lost(lost);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    assert_others_are_right(&played, &times);
    let unready = |seq: u32| {
        let delivery = played.deliveries.iter().find(|d| d.stamp == Some(stamp(seq))).unwrap();
        delivery.legs[0].times.get(Stage::Ready).is_none()
    };
    assert!(unready(10) && !unready(9) && !unready(12));
    assert_eq!(played.snapshot.trust.events_lost[0].probe, Probe::Ready);
}

#[test]
fn what_a_pause_cuts_is_counted_apart_and_rates_are_without_it() {
    let (mut world, times) = stream();
    // Between the transmission of message 10 and its reading.
    let sends = |world: &World| -> Vec<usize> {
        let is_send = |told: &OwnedEvent| matches!(told.event.body, Body::Send(_));
        (0..world.events.len()).filter(|&index| is_send(&world.events[index])).collect()
    };
    let from = sends(&world)[10] + 2;
    let to = sends(&world)[15] + 1;
    let mut close = world.events[from].clone();
    close.event.body = Body::Window(false);
    let mut open = world.events[to].clone();
    open.event.body = Body::Window(true);
    let (from_at, to_at) = (close.event.at, open.event.at);
    world.events.splice(from..to, [close, open]);
    let played = Played::of(&world);
    // 10 was cut before it was read, 11 to 14 were not seen, 15's send was not.
    assert_eq!(played.counts(), [26, 25, 24, 0]);
    let group = &played.snapshot.groups[0];
    assert_eq!((group.messages.cut, group.messages.unfinished), (1, 1));
    assert!(group.coverage >= 1.0 && played.snapshot.trust.coverage >= 1.0);
    assert_eq!(played.snapshot.trust.paused, to_at - from_at);
    assert_others_are_right(&played, &times);
    assert!(played.snapshot.trust.window_share < 1.0);
    assert_eq!(played.snapshot.trust.undecoded_bytes, 0, "a pause is no failure to decode");

    // Another pause ends the second window, and is so long that all of it has been counted.
    let end = world.events.last().unwrap().event.at + Nanos(1);
    for (at, open) in [(end, false), (end + Nanos::from_millis(6_000), true)] {
        let event = Event { at, cpu: Cpu(0), body: Body::Window(open) };
        world.events.push(OwnedEvent { event, payload: Vec::new() });
    }
    let played = Played::of(&world);
    let rate = played.group().rate;
    // With those of the first pause, there were thirty.
    let whole = played.snapshot.at - played.snapshot.since;
    let estimated = rate.msg_per_s * whole.as_secs_f64();
    assert!((estimated - 30.0).abs() < 2.0, "{estimated}");
    assert!(!rate.is_known(), "two windows tell little: {rate:?}");
}

#[test]
fn a_long_batch_is_settled_while_it_is_taken_in() {
    let (mut world, _) = stream();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40001", process(2, "b"), "127.0.0.1:9000");
    for n in 0..2_000 {
        world.message(&mut pair.up, &plain(stamp(n), 100));
        world.now += 1_000_000;
    }
    // Room for a tenth of a second.
    let config = Config { max_messages: 100, ..Config::default() };
    let mut correlator = Correlator::new(config);
    let mut deliveries = 0;
    for told in &world.events {
        correlator.take(&told.event(), &mut |_: &Delivery| deliveries += 1);
    }
    correlator.finish(&mut |_: &Delivery| deliveries += 1);
    assert_eq!(deliveries, 2_030);
    assert_eq!(correlator.snapshot(Nanos(0)).trust.evicted, 0);
}

#[test]
fn a_flood_of_messages_keeps_the_memory_bounded() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    // Nobody reads: nothing can be completed.
    for n in 0..500 {
        let bytes = plain(stamp(n), 100);
        let (start, len) = pair.up.advance(bytes.len());
        world.send(&pair.up, start, len);
        world.xmit(&pair.up, start, &bytes);
        world.rx(&pair.up, start, len);
    }
    let config = Config { max_messages: 100, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(played.counts(), [500, 0, 0, 0]);
    assert_eq!(played.group().messages.never_read, 500);
    assert_eq!(played.snapshot.trust.evicted, 400);
}
