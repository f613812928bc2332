//! The same broker in two containers: two rows with names that differ, and rows by container.

use wirelap_correlate::{
    BreakdownQuery, CgroupRead, Config, ContainerNames, Correlator, Dimension, Snapshot,
};
use wirelap_events::{Delivery, Nanos, NetNs, Pid};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

/// Two brokers of one name with a client each side; the first passes 3 messages on, the second 5. What a process runs in is told at
/// the end, as late as it can be.
fn snapshot(places: &[(u32, &str)]) -> Snapshot {
    let mut world = World::new();
    for (pid, port, messages) in [(10, 1883, 3), (11, 1884, 5)] {
        let broker = process(pid, "mosquitto");
        let to = format!("127.0.0.1:{port}");
        let from = [pid + 40_000, pid + 50_000].map(|port| format!("127.0.0.1:{port}"));
        let mut up = world.connect_mqtt(process(pid + 10, "pub"), &from[0], broker, &to);
        let mut down = world.connect_mqtt(process(pid + 20, "sub"), &from[1], broker, &to);
        for n in 0..messages {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut up.up, &bytes);
            world.message(&mut down.down, &bytes);
        }
    }
    let config =
        Config { breakdown: BreakdownQuery::by(&[Dimension::Container]), ..Config::default() };
    let mut correlator = Correlator::new(config);
    let mut ignore = |_: &Delivery| {};
    let mut now = Nanos(0);
    for event in &world.events {
        correlator.take(&event.event(), &mut ignore);
        now = now.max(event.event.at);
    }
    let mut seen: Vec<u32> = correlator.newcomers(99).into_iter().map(|(pid, _)| pid.0).collect();
    seen.sort_unstable();
    assert_eq!(seen, [10, 11, 20, 21, 30, 31]);
    correlator.note_own_namespace(NetNs(7));
    let network = Some("blue".to_owned());
    let names = ContainerNames { network, ..ContainerNames::default() };
    for (pid, path) in places {
        let read = CgroupRead::Text(format!("0::{path}\n"));
        assert!(correlator.locate(Pid(*pid), &read, &names));
    }
    assert!(correlator.newcomers(99).is_empty());
    correlator.finish(&mut ignore);
    correlator.snapshot(now + Nanos::from_millis(60))
}

fn docker(digit: &str) -> String {
    format!("/system.slice/docker-{}.scope", digit.repeat(64))
}

fn brokers(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.groups.iter().filter_map(|group| group.broker.as_deref()).collect()
}

#[test]
fn a_broker_in_two_containers_is_two_rows_with_their_names() {
    let [a, b] = ["a", "b"].map(docker);
    let all = snapshot(&[(10, &a), (20, &a), (30, &a), (11, &b), (21, &b)]);
    assert_eq!(brokers(&all), ["mosquitto (aaaaaaaaaaaa)", "mosquitto (bbbbbbbbbbbb)"]);
    let rows = &all.breakdown.as_ref().unwrap().rows;
    let rows: Vec<_> =
        rows.iter().map(|row| (row.names[0].as_deref(), row.sent, row.delivered)).collect();
    let expected =
        [(Some("docker aaaaaaaaaaaa"), 3, 3), (None, 0, 5), (Some("docker bbbbbbbbbbbb"), 5, 0)];
    assert_eq!(rows, expected, "a subscriber whose container is not known has a row of its own");
    let process = &all.groups[0].processes[0];
    assert_eq!(process.place.container().unwrap().id, Some("a".repeat(64)));
    let namespace = process.namespace.as_ref().unwrap();
    assert_eq!((namespace.label(), namespace.is_own), ("blue".into(), false));
}

#[test]
fn a_container_is_in_the_name_only_where_it_tells_brokers_apart() {
    let a = docker("a");
    assert_eq!(brokers(&snapshot(&[(10, &a), (11, &a)])), ["mosquitto:1883", "mosquitto:1884"]);
    assert_eq!(brokers(&snapshot(&[(10, &a)])), ["mosquitto (aaaaaaaaaaaa)", "mosquitto"]);
    let units = [(10, "/system.slice/a.service"), (11, "/system.slice/b.service")];
    assert_eq!(brokers(&snapshot(&units)), ["mosquitto:1883", "mosquitto:1884"]);
}
