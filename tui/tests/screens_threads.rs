//! The view "threads" as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

mod views;

use crossterm::event::KeyCode;
use std::sync::Arc;
use views::{SIZES, app, long, press, text, third_row};
use wirelap_correlate::snapshot::{Culprit, Scheduling, Snapshot};
use wirelap_events::{Comm, Cpu, Delivery, Nanos, TaskId, Tid};
use wirelap_history::{KeptMessage, MessageFate, Slice, Update};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::App;

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

/// A screen on which these messages were kept.
fn kept(snapshot: Snapshot, messages: impl IntoIterator<Item = Delivery>) -> App {
    let (from, to) = (snapshot.since, snapshot.at);
    let messages = messages.into_iter().map(|delivery| KeptMessage {
        one_way: delivery.one_way(),
        delivery: Arc::new(delivery),
        cause: None,
        fate: MessageFate::Delivered,
    });
    let slice = Slice { from, to, messages: messages.collect(), ..Slice::default() };
    let mut app = App::new();
    app.take(Update { snapshot: Arc::new(snapshot), slice });
    app.refresh();
    app
}

#[test]
fn threads_of_a_brokered_row() {
    let slow = [3_400_000, 2_100_000, 900_000, 40_000].map(snapshots::scheduled);
    let mut app = kept(snapshots::five(83), slow);
    press(&mut app, &third_row('8'));
    check("normal", &app);
    assert!(text(&app, (80, 24)).contains("slowest message 1 of 4"));
    press(&mut app, &[KeyCode::Right, KeyCode::Right]);
    assert!(text(&app, (80, 24)).contains("slowest message 3 of 4"));
    press(&mut app, &[KeyCode::Right; 9]);
    press(&mut app, &[KeyCode::Left]);
    assert!(text(&app, (80, 24)).contains("slowest message 3 of 4"));
}

#[test]
fn without_a_history_the_messages_of_the_verdicts_are_shown() {
    let text = long(&app([snapshots::five(83)], &third_row('8')));
    assert!(text.contains("slowest message 1 of 2"), "{text}");
    assert!(text.contains("stress-ng-cpu (991)"), "{text}");
}

#[test]
fn nothing_followed_yet_says_so() {
    let mut snapshot = snapshots::degraded();
    snapshot.groups[4].processes.clear();
    check("empty", &app([snapshot], &[KeyCode::End, KeyCode::Char('8')]));
}

#[test]
fn threads_that_were_not_seen_to_be_switched_to() {
    let mut snapshot = snapshots::degraded();
    for process in &mut snapshot.groups[2].processes {
        process.scheduling = Scheduling::default();
    }
    snapshot.groups[2].why.holders.clear();
    let mut message = snapshots::scheduled(2_100_000);
    for leg in &mut message.legs {
        leg.chain.iter_mut().chain(&mut leg.before).for_each(|hop| hop.cpu = None);
    }
    let mut app = kept(snapshot, vec![message]);
    press(&mut app, &third_row('8'));
    check("degraded", &app);
}

#[test]
fn long_names_many_threads_and_long_times() {
    let mut snapshot = snapshots::many(5);
    let group = &mut snapshot.groups[2];
    group.processes[0].role = "a role that has a long name".into();
    group.processes[0].comm = "プロセス-with-a-名前".into();
    group.processes[0].scheduling.preemptions = u64::MAX;
    let named = |share: f64, tid: u32| Culprit {
        task: TaskId { tid: Tid(tid), ..TaskId::default() },
        comm: Comm::from_name("ディスク書込"),
        share,
    };
    group.why.verdicts[0].culprits = vec![named(0.5, 12), named(0.3, 0), named(f64::NAN, 13)];
    let mut message = snapshots::scheduled(u64::MAX / 4);
    for leg in &mut message.legs {
        for (at, hop) in (0u32..).zip(leg.before.iter_mut().chain(&mut leg.chain)) {
            hop.task.tid = Tid(u32::MAX - at);
            hop.cpu = Some(Cpu(4_000 + u16::try_from(at).unwrap()));
            hop.holder.held = Nanos(u64::MAX / 5);
        }
    }
    let mut app = kept(snapshot, vec![message]);
    press(&mut app, &third_row('8'));
    check("extreme", &app);
}
