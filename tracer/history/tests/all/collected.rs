//! The collector: a receiver that does not keep up, or is gone, and a real correlator before it.

use crate::live::Live;
use std::sync::Arc;
use wirelap_correlate::{Config, Correlator, DeliverySink};
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{DeliveryCollector, FigureWindow, SessionHistory};
use wirelap_test_support::compose::mqtt;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

#[test]
fn a_receiver_that_does_not_keep_up_misses_nothing() {
    let mut live = Live::new(2, 48 << 20, 1);
    for index in 0..1_000 {
        (0..20).for_each(|_| drop(live.deliver(index % 2, 1_000 + u64::from(index), 5)));
        live.topic(index, b"name");
        live.publish(Nanos::from_millis(250));
    }
    assert_eq!(live.take(), 1, "the first one");
    live.publish(Nanos::from_millis(250));
    assert_eq!(live.take(), 1, "all others in one");
    let late = live.now - Nanos::from_millis(250 * 1_000);
    assert_eq!(live.history.extent(FigureWindow::Second).0, late, "the newest slice, however long");
    for row in [0, 1] {
        let group = &live.history.latest().groups[row as usize];
        let bins = live.history.one_way(GroupId(row), FigureWindow::SinceStart);
        assert_eq!((bins.count(), group.messages.matched), (10_000, 10_000));
        let kept = live.history.messages().latest(GroupId(row)).count();
        assert!((200..=256).contains(&kept), "{kept}");
    }
    assert_eq!(live.history.topic(wirelap_events::TopicId(999)), Some("name"));
}

#[test]
fn without_a_receiver_nothing_is_gathered() {
    let mut live = Live::new(1, 48 << 20, 1);
    live.hang_up();
    live.publish(Nanos::from_millis(250));
    live.deliver(0, 1_000, 0);
    live.publish(Nanos::from_millis(250));
    assert!(!live.collector.needs_topic(wirelap_events::TopicId(0)));
}

#[test]
fn each_topic_is_asked_for_once() {
    let mut live = Live::new(1, 48 << 20, 4);
    let id = wirelap_events::TopicId;
    assert!(live.collector.takes_topics() && live.collector.needs_topic(id(70)));
    live.topic(70, b"a\xffb");
    assert!(!live.collector.needs_topic(id(70)) && live.collector.needs_topic(id(71)));
    live.tick(Nanos::from_millis(250));
    assert_eq!(live.history.topic(id(70)), Some("a\u{fffd}b"));
}

/// 2,000 MQTT messages through a broker, in events, with a snapshot each quarter of a second.
#[test]
fn behind_a_correlator_figures_are_those_of_its_snapshot() {
    let mut world = World::new();
    let broker = process(10, "broker");
    let to = "127.0.0.1:1883";
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    for n in 0..2_000 {
        let bytes = mqtt::publish("wirelap/data", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 1_000_000 + u64::from(n) * 100;
    }
    let (mut collector, updates) = DeliveryCollector::new(4);
    let mut history = SessionHistory::default();
    let mut correlator = Correlator::new(Config { topics: true, ..Config::default() });
    let (mut ticked, mut published) = (Nanos(0), Nanos(0));
    let mut publish = |correlator: &mut Correlator, collector: &mut DeliveryCollector, now| {
        collector.published(&Arc::new(correlator.snapshot(now)));
        for update in updates.try_iter() {
            history.add(update);
        }
    };
    let mut now = Nanos(0);
    for event in &world.events {
        let event = event.event();
        now = event.at;
        correlator.take(&event, &mut collector);
        if now - ticked > Nanos::from_millis(2) {
            ticked = now;
            correlator.tick(now, &mut collector);
        }
        if now - published > Nanos::from_millis(250) {
            published = now;
            publish(&mut correlator, &mut collector, now);
        }
    }
    correlator.finish(&mut collector);
    publish(&mut correlator, &mut collector, now + Nanos::from_millis(1));
    let (whole, minute) = (history.latest(), history.snapshot(FigureWindow::Minute));
    let (whole, minute) = (&whole.groups[0], &minute.groups[0]);
    assert_eq!(whole.messages.matched, 2_000);
    assert_eq!(whole.messages, minute.messages);
    assert!((whole.coverage - minute.coverage).abs() < 1e-9);
    let pairs = [(whole.one_way, minute.one_way), (whole.sched_gap, minute.sched_gap)];
    for (exact, binned) in pairs {
        assert_eq!((exact.count, exact.min), (binned.count, binned.min));
        for (exact, binned) in
            [(exact.p50, binned.p50), (exact.p99, binned.p99), (exact.max, binned.max)]
        {
            // The histogram's own values are rounded to three digits.
            assert!(binned.0.abs_diff(exact.0) <= exact.0 / 50, "{binned} for {exact}");
        }
    }
    assert_eq!(whole.segments.len(), minute.segments.len());
    for (exact, binned) in whole.segments.iter().zip(&minute.segments) {
        assert_eq!(
            (exact.leg, exact.segment, exact.count),
            (binned.leg, binned.segment, binned.count)
        );
        assert!((exact.share - binned.share).abs() < 1e-9);
        assert!(binned.p50.0.abs_diff(exact.p50.0) <= exact.p50.0 / 40 + 1, "{exact:?} {binned:?}");
    }
    let latest = history.messages().latest(whole.id).next().unwrap();
    assert_eq!(latest.delivery.topic.and_then(|topic| history.topic(topic)), Some("wirelap/data"));
}
