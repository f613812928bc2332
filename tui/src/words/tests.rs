//! Tests of `words`.

use super::*;
use wirelap_correlate::snapshot::{Group, Overdue, ProbeLoss, Whereabouts};
use wirelap_events::{Nanos, Probe};

fn whole() -> Snapshot {
    let mut snapshot = Snapshot { groups: vec![Group::default()], ..Snapshot::default() };
    snapshot.groups[0].messages.delivered = 1000;
    snapshot.groups[0].messages.matched = 1000;
    snapshot.trust.coverage = 1.0;
    snapshot.trust.window_share = 1.0;
    snapshot
}

#[test]
fn a_whole_picture_has_no_warning() {
    assert!(warnings(&whole()).is_empty());
    assert!(trust_parts(&whole()).iter().all(|(_, warning)| !warning));
}

#[test]
fn the_view_comes_first_and_losses_are_packets() {
    let mut snapshot = Snapshot { at: Nanos(1), ..whole() };
    snapshot.trust.packets_only = true;
    assert_eq!(trust_parts(&snapshot)[0], ("packets only".to_owned(), false));
    assert!(warnings(&snapshot).is_empty());
    snapshot.trust.events_lost = vec![ProbeLoss { probe: Probe::Rx, count: 7 }];
    assert!(warnings(&snapshot)[0].starts_with("Lost 7 packets"), "{:?}", warnings(&snapshot));
    let idle = Snapshot { groups: Vec::new(), ..snapshot };
    assert!(nothing_yet(&idle)[1].starts_with("No packet was captured"));
}

#[test]
fn what_is_open_is_said_before_anything_else() {
    let mut snapshot = whole();
    snapshot.trust.coverage = 0.5;
    let mut group = Group { middleware: "mqtt".into(), ..Group::default() };
    group.why.open = vec![Overdue {
        messages: 132,
        oldest: Nanos::from_millis(4_100),
        place: Whereabouts::BrokerQueue,
        leg: 1,
        process: None,
        activity: None,
        are_seen_there: true,
        is_for_busy_readers: false,
    }];
    snapshot.groups.push(group);
    let said = warnings(&snapshot)[0].replace('\u{a0}', " ");
    assert_eq!(said, "mqtt: open 132, oldest 4.10 s, unread in the broker's receive queue");
}

#[test]
fn loss_names_its_probes_and_comes_first() {
    let mut snapshot = whole();
    snapshot.trust.coverage = 0.9996;
    snapshot.trust.events_lost = vec![
        ProbeLoss { probe: Probe::Xmit, count: 1200 },
        ProbeLoss { probe: Probe::Rx, count: 0 },
        ProbeLoss { probe: Probe::Sched, count: 34 },
    ];
    let warnings = warnings(&snapshot);
    assert!(
        warnings[0].starts_with(
            "Lost 1,234 events because the ring buffer was full (xmit 1,200, sched 34)"
        )
    );
    assert!(warnings[1].starts_with("Matched 99.9 %"));
    assert_eq!(warnings.len(), 2);
}

#[test]
fn against_skipped_runs_no_larger_ring_buffer_is_recommended() {
    let mut snapshot = whole();
    snapshot.trust.events_lost = vec![ProbeLoss { probe: Probe::Read, count: 7 }];
    snapshot.trust.skipped_runs = 7;
    let said = &warnings(&snapshot)[0];
    assert!(said.starts_with("Lost 7 events because the kernel skipped"), "{said}");
    assert!(!said.contains("ring"), "{said}");
}

#[test]
fn before_the_first_snapshot_nothing_is_claimed() {
    let blank = Snapshot::default();
    assert!(warnings(&blank).is_empty());
    assert_eq!(trust_parts(&blank), [("starting".to_owned(), false)]);
    assert_eq!(nothing_yet(&blank).len(), 1);
}

#[test]
fn an_idle_host_is_told_from_an_unknown_protocol() {
    let mut snapshot = Snapshot { at: Nanos(1), since: Nanos(1), ..Snapshot::default() };
    assert!(nothing_yet(&snapshot)[1].starts_with("No event"));
    snapshot.trust.events = 12_345;
    assert!(nothing_yet(&snapshot)[1].contains("12,345 events"));
}
