use super::*;
use crate::stream::Hello;
use std::cell::Cell;
use std::sync::mpsc::SyncSender;
use wirelap_events::{
    Comm, Cpu, HostStatus, NetNs, ProcessEnd, Socket, SocketId, SocketOrigin, TaskId, Tid,
    Transport,
};
use wirelap_recording::{Note, RecordBlock, RecordBuffer};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(500) };
}

fn now() -> Nanos {
    Nanos(NOW.get())
}

fn oscillator() -> (Nanos, i64) {
    (now(), 0)
}

/// A socket of the process 1000.
fn socket(at: u64) -> Event<'static> {
    let socket = Socket {
        id: SocketId(at),
        netns: NetNs(10),
        transport: Transport::Tcp,
        local: ([10, 0, 0, 1], 1).into(),
        remote: None,
        task: TaskId { pid: Pid(1_000), tid: Tid(1) },
        comm: Comm::default(),
        origin: SocketOrigin::FirstSeen,
        tx_next: None,
        rx_next: None,
        is_subflow: false,
    };
    Event { at: Nanos(at), cpu: Cpu(0), body: Body::Socket(socket) }
}

/// The end of the process 1000.
fn end(at: u64) -> Event<'static> {
    let task = TaskId { pid: Pid(1_000), tid: Tid(1) };
    Event {
        at: Nanos(at),
        cpu: Cpu(0),
        body: Body::Ended(ProcessEnd { task, ..ProcessEnd::default() }),
    }
}

/// Several hosts with kernels of their own, whose clocks all show the same.
struct Hosts {
    merged: MergedHosts,
    news: SyncSender<(usize, News)>,
    /// Events that were said to have come too late.
    lost: u64,
    /// The latest time up to which a host has told.
    until: Cell<u64>,
    /// By how much the clocks of the others are ahead.
    ahead: u64,
}

impl Hosts {
    fn new(others: usize) -> Hosts {
        let (news, receiver) = sync_channel(MAX_NEWS);
        let other = |n| HostTarget::Ssh(format!("host{n}"));
        let targets: Vec<_> =
            std::iter::once(HostTarget::Here).chain((0..others).map(other)).collect();
        let merged = MergedHosts::of(&targets, receiver, Vec::new(), (now, oscillator), "kernel 0");
        let mut hosts = Hosts { merged, news, lost: 0, until: Cell::new(500), ahead: 0 };
        for host in 0..=others {
            hosts.begins(host);
            hosts.has_this_clock(host);
        }
        hosts.merged.clocks.refresh(now());
        hosts
    }

    /// Answers of a host to pings, which take no time.
    fn has_this_clock(&mut self, host: usize) {
        for at in (100..500).step_by(20) {
            self.merged.clocks.ping(host, Nanos(at), Nanos(at), Nanos(at));
        }
    }

    fn sends(&self, host: usize, events: &[Event<'_>], until: u64) {
        let mut records = RecordBuffer::default();
        records.note(Note { subject: "name", text: "{}" });
        for event in events {
            records.event(event, false);
        }
        records.tick(Nanos(until));
        self.until.set(until.max(self.until.get()));
        let mut bytes = Vec::new();
        records.move_to(&mut bytes);
        self.news.send((host, News::Records(Box::new(RecordBlock::new(bytes)), 7))).unwrap();
    }

    fn begins(&self, host: usize) {
        self.begins_on(host, host);
    }

    fn begins_on(&self, host: usize, kernel: usize) {
        let hello = Hello { boot: format!("kernel {kernel}"), ..Hello::default() };
        self.news.send((host, News::Hello(hello))).unwrap();
    }

    /// A host reports sockets at these times, and that there is nothing more up to another time.
    fn reports(&self, host: usize, times: &[u64], until: u64) {
        let events: Vec<_> = times.iter().map(|at| socket(*at)).collect();
        self.sends(host, &events, until);
    }

    /// The times of what is handed out, and on which host it was seen.
    fn out(&mut self) -> Vec<(u64, u8)> {
        let until = Nanos(self.until.get());
        for host in 1..self.merged.hosts.len() {
            let there = until + Nanos(self.ahead);
            self.merged.clocks.ping(host, until, there, until);
        }
        self.merged.clocks.refresh(until);
        let mut out = Vec::new();
        self.merged.poll(Duration::ZERO, &mut |event| {
            if let Body::Lost(lost) = event.body {
                assert_eq!(lost.cause, LossCause::TooLate);
                self.lost += lost.count;
                return;
            }
            let host = match event.body {
                Body::Socket(socket) => socket.task.pid.host(),
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
    hosts.sends(1, &[end(5_000)], 6_000);
    assert_eq!(hosts.out(), []);
    let state = hosts.merged.states().nth(1).unwrap();
    assert_eq!((state.late, state.events), (1, 1));
    hosts.reports(0, &[3 * late], 3 * late + 1);
    assert_eq!(hosts.out(), [(3 * late, 1)]);
    hosts.sends(1, &[end(2 * late)], 2 * late + 1);
    assert_eq!(hosts.out(), []);
    assert_eq!((hosts.merged.states().nth(1).unwrap().late, hosts.lost), (2, 2));
    // What it saw before it joined again is no loss.
    hosts.news.send((1, News::Ended { why: "gone".into(), is_final: false })).unwrap();
    assert_eq!(hosts.out(), []);
    hosts.begins(1);
    hosts.sends(1, &[end(2 * late), end(4 * late)], 4 * late + 1);
    hosts.reports(0, &[], 4 * late + 1);
    assert_eq!(hosts.out(), [(4 * late, 0)]);
    assert_eq!(hosts.merged.states().nth(1).unwrap().late, 2);
}

#[test]
fn events_around_a_step_of_a_clock_are_left_out_and_counted() {
    const MS: u64 = 1_000_000;
    let mut hosts = Hosts::new(1);
    hosts.reports(0, &[1_000], 10 * MS);
    hosts.reports(1, &[2_000], 10 * MS);
    assert_eq!(hosts.out(), [(1_000, 1), (2_000, 2)]);
    hosts.ahead = 250 * MS;
    // Events before the first ping that shows the step may be of before it, or not.
    hosts.sends(1, &[end(20 * MS), end(280 * MS)], 290 * MS);
    hosts.reports(0, &[30 * MS], 400 * MS);
    assert_eq!(hosts.out(), [], "one answer limits the clock as it is since from one side alone");
    assert_eq!(hosts.out(), [(30 * MS, 1)]);
    let steps: Vec<_> = hosts.merged.clocks.steps().map(|(_, step)| step.by).collect();
    let [[least, most]] = steps[..] else { panic!("{steps:?}") };
    assert!(least <= 250_000_000 && 250_000_000 <= most && most - least < 2_000_000, "{steps:?}");
    hosts.sends(1, &[end(700 * MS)], 800 * MS);
    hosts.reports(0, &[], 500 * MS);
    let (at, host) = hosts.out()[0];
    assert!(at.abs_diff(450 * MS) < 10_000 && host == 0, "{at}");
    assert_eq!((hosts.lost, hosts.merged.states().nth(1).unwrap().late), (2, 2));
}

#[test]
fn of_a_lost_host_a_note_tells_and_the_others_go_on() {
    let mut hosts = Hosts::new(1);
    hosts.reports(0, &[1_000], 9_000);
    hosts.reports(1, &[2_000], 3_000);
    assert_eq!(hosts.out(), [(1_000, 1), (2_000, 2)]);
    assert_eq!(hosts.merged.notes().count(), 2);
    hosts.news.send((1, News::Ended { why: "gone".into(), is_final: false })).unwrap();
    assert_eq!(hosts.out(), []);
    let notes: Vec<_> = hosts.merged.notes().collect();
    assert_eq!(notes, [(2, (HOST_LOST.into(), "{\"host\":2,\"at\":3000}".into()))]);
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
fn of_a_kernel_with_two_agents_the_first_one_observes_and_the_second_goes_on_when_it_ends() {
    let mut hosts = Hosts::new(1);
    hosts.begins_on(1, 0);
    hosts.reports(0, &[1_000, 4_000], 3_000);
    hosts.reports(1, &[1_000, 2_000], 5_000);
    assert_eq!(hosts.out(), [(1_000, 1)]);
    let rests = HostStatus::SameKernel { observed_by: "here".into() };
    assert_eq!(hosts.merged.states().nth(1).unwrap().status, rests);
    hosts.news.send((0, News::Ended { why: "gone".into(), is_final: false })).unwrap();
    hosts.reports(1, &[7_000], 9_000);
    // What came from the first is not dropped because it begins again, and rests.
    // Numbers stay those of the kernel, and no socket is closed.
    hosts.begins_on(0, 0);
    assert_eq!(hosts.out(), [(4_000, 1), (7_000, 1)]);
    assert_eq!(hosts.merged.states().nth(1).unwrap().status, HostStatus::Connected);
}

#[test]
fn at_first_the_first_host_of_a_kernel_observes_whichever_is_there_first() {
    let (news, receiver) = sync_channel(MAX_NEWS);
    let targets = [HostTarget::Here, HostTarget::Ssh("a".into()), HostTarget::Ssh("b".into())];
    let merged = MergedHosts::of(&targets, receiver, Vec::new(), (now, oscillator), "kernel 0");
    let mut hosts = Hosts { merged, news, lost: 0, until: Cell::new(500), ahead: 0 };
    // Each takes the place of the one before; of those that rest, all learn of the last one.
    for host in [2, 1, 0] {
        hosts.begins_on(host, 0);
    }
    for host in [0, 1, 2] {
        hosts.reports(host, &[1_000], 5_000);
    }
    assert_eq!(hosts.out(), [(1_000, 1)]);
    let rests = HostStatus::SameKernel { observed_by: "here".into() };
    let states: Vec<HostStatus> = hosts.merged.states().map(|state| state.status.clone()).collect();
    assert_eq!(states, [HostStatus::Connected, rests.clone(), rests]);
}

#[test]
fn hosts_of_a_fleet_join_while_others_are_observed() {
    let (news, receiver) = sync_channel(MAX_NEWS);
    let fleet = HostTarget::Fleet { name: "plant".into(), command: Vec::new() };
    let targets = [HostTarget::Here, fleet];
    let merged = MergedHosts::of(&targets, receiver, Vec::new(), (now, oscillator), "kernel 0");
    let mut hosts = Hosts { merged, news, lost: 0, until: Cell::new(500), ahead: 0 };
    hosts.begins(0);
    hosts.reports(0, &[1_000], 2_000);
    assert_eq!(hosts.out(), [(1_000, 1)]);
    let names = |hosts: &Hosts| -> Vec<String> {
        hosts.merged.states().map(|state| format!("{} {}", state.number, state.name)).collect()
    };
    assert_eq!(names(&hosts), ["1 here", "0 fleet plant"]);
    hosts.news.send((1, News::Fleet(None))).unwrap();
    hosts.news.send((1, News::Joined("robot".into()))).unwrap();
    assert_eq!(hosts.out(), []);
    hosts.begins(1);
    hosts.has_this_clock(1);
    hosts.merged.clocks.refresh(now());
    hosts.reports(1, &[3_000], 5_000);
    hosts.reports(0, &[4_000], 5_000);
    assert_eq!(hosts.out(), [(3_000, 2), (4_000, 1)]);
    assert_eq!(names(&hosts), ["1 here", "2 robot"]);
    // Events that are lost on the way count as those that come too late.
    hosts.news.send((1, News::Lost(7))).unwrap();
    assert_eq!(hosts.out(), []);
    assert_eq!(hosts.lost, 7);
    hosts.news.send((1, News::Ended { why: "gone".into(), is_final: true })).unwrap();
    hosts.news.send((1, News::Fleet(Some("no router".into())))).unwrap();
    assert_eq!(hosts.out(), []);
    let why: Vec<String> = hosts.merged.states().map(HostState::words).collect();
    assert_eq!(why[1..], ["lost: gone", "lost: no router"]);
    // The host comes back to its place; those beyond the last number are left out.
    hosts.news.send((1, News::Joined("robot".into()))).unwrap();
    for number in 2..MAX_HOSTS + 3 {
        hosts.news.send((number, News::Joined(format!("robot{number}")))).unwrap();
        hosts.out();
    }
    let states: Vec<&HostState> = hosts.merged.states().collect();
    assert_eq!((states.len(), &states[1].status), (MAX_HOSTS + 1, &HostStatus::Connecting));
    assert!(states[MAX_HOSTS].lacks[0].starts_with("3 of its hosts are left out"));
    hosts.begins(MAX_HOSTS + 1);
    assert_eq!(hosts.out(), []);
}

#[test]
fn what_comes_between_windows_is_left_out_on_all_hosts() {
    const WINDOW: u64 = 1_000_000_500;
    let mut hosts = Hosts::new(1);
    assert_eq!(hosts.out(), []);
    let (open, every) = (Duration::from_millis(1), Duration::from_secs(9));
    hosts.merged.sample(HostSampling::Windows { open, every });
    hosts.sends(0, &[socket(2_000), end(WINDOW + 1_000_100)], 2 * WINDOW);
    hosts.sends(1, &[end(3_000), end(WINDOW + 100)], 2 * WINDOW);
    let out = hosts.out();
    // The end of what came before, a socket, the window with its first part, an event, and the end of the window.
    let expected = [
        (500, 0),
        (2_000, 1),
        (WINDOW, 0),
        (WINDOW, 0),
        (WINDOW + 100, 0),
        (WINDOW + 1_000_000, 0),
    ];
    assert_eq!(out, expected);
    assert_eq!(hosts.lost, 0, "what is left out on purpose is no loss");
}

#[test]
fn a_host_that_comes_ends_the_window() {
    const WINDOW: u64 = 1_000_000_500;
    let mut hosts = Hosts::new(1);
    hosts.out();
    let (open, every) = (Duration::from_secs(5), Duration::from_secs(9));
    hosts.merged.sample(HostSampling::Windows { open, every });
    hosts.sends(0, &[end(WINDOW + 1)], WINDOW + 10);
    hosts.sends(1, &[], WINDOW + 10);
    let opened = [(500, 0), (WINDOW, 0), (WINDOW, 0), (WINDOW + 1, 0)];
    assert_eq!(hosts.out(), opened);
    NOW.set(WINDOW + 15);
    hosts.begins(1);
    hosts.has_this_clock(1);
    hosts.sends(0, &[end(WINDOW + 20)], WINDOW + 30);
    hosts.sends(1, &[end(WINDOW + 25)], WINDOW + 30);
    assert_eq!(
        hosts.out(),
        [(WINDOW + 1, 0)],
        "the window ends, and nothing of it is taken any more"
    );
}
