use super::*;
use std::cell::Cell;
use std::sync::mpsc::SyncSender;
use wirelap_events::{Cpu, ProcessEnd, TaskId, Tid};
use wirelap_recording::{Note, RecordBlock, RecordBuffer};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(500) };
}

fn now() -> Nanos {
    Nanos(NOW.get())
}

fn pass(time: Nanos) {
    NOW.set(NOW.get() + time.0);
}

/// A socket that a host sees.
fn socket(host: usize, at: u64) -> Event<'static> {
    let socket = crate::machine::socket_of(host, at);
    Event { at: Nanos(at), cpu: Cpu(0), body: Body::Socket(socket) }
}

/// The end of a process with a socket in the namespace of a host.
fn end(host: u32, at: u64) -> Event<'static> {
    let task = TaskId { pid: Pid(1_000 + host), tid: Tid(1) };
    Event {
        at: Nanos(at),
        cpu: Cpu(0),
        body: Body::Ended(ProcessEnd { task, ..ProcessEnd::default() }),
    }
}

/// Several hosts, all of which have this one's clock, so that no clock is to be found out.
struct Hosts {
    merged: MergedHosts,
    news: SyncSender<(usize, News)>,
}

const BOOT: &str = "one";

impl Hosts {
    fn new(others: usize) -> Hosts {
        let (news, receiver) = sync_channel(MAX_NEWS);
        let other = |n| HostTarget::Ssh(format!("host{n}"));
        let targets: Vec<_> =
            std::iter::once(HostTarget::Here).chain((0..others).map(other)).collect();
        let merged = MergedHosts::of(&targets, receiver, Vec::new(), now, BOOT);
        let hosts = Hosts { merged, news };
        for host in 0..=others {
            hosts.begins(host);
        }
        hosts
    }

    fn begins(&self, host: usize) {
        let netns = 10 + u32::try_from(host).unwrap();
        let hello = Hello { boot: BOOT.into(), netns, ..Hello::default() };
        self.news.send((host, News::Hello(hello))).unwrap();
    }

    /// A host reports ends of its processes at these times, and that there are no more up to another time.
    fn reports(&self, host: usize, times: &[u64], until: u64) {
        let mut records = RecordBuffer::default();
        records.note(Note { subject: "name", text: "{}" });
        for &at in times {
            records.event(&socket(host, at), false);
        }
        records.tick(Nanos(until));
        let mut bytes = Vec::new();
        records.move_to(&mut bytes);
        self.news.send((host, News::Records(RecordBlock::new(bytes), 7))).unwrap();
    }

    /// The times of what is handed out, and on which host it was seen.
    fn out(&mut self) -> Vec<(u64, u8)> {
        let mut out = Vec::new();
        self.merged.poll(Duration::ZERO, &mut |event| {
            let host = match event.body {
                Body::Socket(socket) => socket.task.pid.host(),
                Body::Closed(id) => id.host().wrapping_add(100),
                _ => 0,
            };
            out.push((event.at.0, host));
        });
        out
    }
}

#[test]
fn events_come_in_one_order_once_every_host_has_reached_their_time() {
    let mut hosts = Hosts::new(2);
    hosts.reports(0, &[1_000, 4_000], 5_000);
    hosts.reports(1, &[2_000, 6_000], 7_000);
    assert_eq!(hosts.out(), [], "the third has not told up to when it has seen everything");
    hosts.reports(2, &[3_000], 4_500);
    assert_eq!(hosts.out(), [(1_000, 1), (2_000, 2), (3_000, 3), (4_000, 1)]);
    assert_eq!(hosts.merged.notes().count(), 3);
    hosts.reports(0, &[], 9_000);
    hosts.reports(2, &[], 9_000);
    assert_eq!(hosts.out(), [(6_000, 2)]);
}

#[test]
fn nobody_waits_for_a_host_that_is_behind_and_what_it_sends_then_is_counted() {
    let mut hosts = Hosts::new(1);
    let late = PATIENCE.0 + 20_000_000;
    hosts.reports(1, &[], 1_000);
    hosts.reports(0, &[2_000, late], late + 1);
    assert_eq!(hosts.out(), [(2_000, 1), (late, 1)]);
    // That a socket is there matters all the same.
    hosts.reports(1, &[3_000], 4_000);
    assert_eq!(hosts.out(), [(late, 2)]);
    let mut records = RecordBuffer::default();
    records.event(&end(1, 5_000), false);
    records.tick(Nanos(6_000));
    let mut bytes = Vec::new();
    records.move_to(&mut bytes);
    hosts.news.send((1, News::Records(RecordBlock::new(bytes), 7))).unwrap();
    assert_eq!(hosts.out(), []);
    let state = hosts.merged.states().nth(1).unwrap();
    assert_eq!((state.late, state.events), (0, 1), "it had not joined when that happened");
    hosts.reports(0, &[3 * late], 3 * late + 1);
    assert_eq!(hosts.out(), [(3 * late, 1)]);
    let mut records = RecordBuffer::default();
    records.event(&end(1, 2 * late), false);
    let mut bytes = Vec::new();
    records.move_to(&mut bytes);
    hosts.news.send((1, News::Records(RecordBlock::new(bytes), 7))).unwrap();
    assert_eq!(hosts.out(), []);
    assert_eq!(hosts.merged.states().nth(1).unwrap().late, 1);
}

#[test]
fn the_sockets_of_a_lost_host_are_closed_and_the_others_go_on() {
    let mut hosts = Hosts::new(1);
    hosts.reports(0, &[1_000], 9_000);
    hosts.reports(1, &[2_000], 3_000);
    assert_eq!(hosts.out(), [(1_000, 1), (2_000, 2)]);
    hosts.news.send((1, News::Ended { why: "gone".into(), is_final: false })).unwrap();
    pass(Nanos(10));
    let out = hosts.out();
    assert_eq!(out, [(3_000, 102)], "closed after the last that it has told");
    hosts.reports(0, &[20_000], 30_000);
    assert_eq!(hosts.out(), [(20_000, 1)]);
    let state = hosts.merged.states().nth(1).unwrap();
    assert!(
        matches!(&state.status, HostStatus::Lost { why, .. } if why.contains("gone; trying again"))
    );
    // It comes back.
    hosts.begins(1);
    hosts.reports(1, &[25_000], 40_000);
    hosts.reports(0, &[], 40_000);
    assert_eq!(hosts.out(), [(25_000, 2)]);
    let state = hosts.merged.states().nth(1).unwrap();
    assert_eq!((&state.status, state.restarts), (&HostStatus::Connected, 1));
}

#[test]
fn of_a_kernel_with_two_agents_each_event_is_taken_once() {
    let mut hosts = Hosts::new(1);
    // Each reports what is in its namespace and in the other's.
    for host in [0, 1] {
        let mut records = RecordBuffer::default();
        for (of, at) in [(0, 1_000), (1, 2_000)] {
            records.event(&socket(of, at), false);
        }
        records.event(&end(1, 3_000), false);
        records.tick(Nanos(5_000));
        let mut bytes = Vec::new();
        records.move_to(&mut bytes);
        hosts.news.send((host, News::Records(RecordBlock::new(bytes), 7))).unwrap();
    }
    assert_eq!(hosts.out(), [(1_000, 1), (2_000, 2), (3_000, 0)]);
    let events: Vec<u64> = hosts.merged.states().map(|state| state.events).collect();
    assert_eq!(events, [1, 2], "the process that ended has the socket of the second");
}
