//! The events of all hosts in the order of this host's clock.
//!
//! Events of a host wait until every other host has sent all that it saw up to the same time, so that they come in one order. Nobody waits
//! for long: a host whose events are older than those of the others by [`PATIENCE`] is behind, and what it sends later than that is
//! left out and counted. A host that is lost is waited for no more: a note says that nobody sees any more what its sockets do.

mod clock;
mod fleet;
mod kernels;
mod order;
mod windowed;

pub use crate::always::is_sent_always;
pub use crate::windows::{HostSampling, WINDOW_MISSED};

use crate::clock_state::clock_state;
use crate::connection::{Connection, News};
use crate::fleet::Fleet;
use crate::host::{AgentNote, Host, Lateness};
use crate::stream::{ProcessUse, Question};
use crate::target::{HostTarget, PushedProgram};
use crate::windows::SharedWindows;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use wirelap_events::{
    Body, Cpu, Event, HostClock, HostState, LossCause, LostEvents, Nanos, Pid, Probe,
};
use wirelap_process::steward::Steward;
use wirelap_recording::Entry;
use wirelap_recording::hosts::live::LiveClocks;

/// Reads the monotonic clock, and that clock beside the oscillator.
type ReadClocks = (fn() -> Nanos, fn() -> (Nanos, i64));

/// The most hosts, with this one.
pub const MAX_HOSTS: usize = 64;

/// Longest time by which a host's events may be older than those of the others before these wait no more.
const PATIENCE: Nanos = Nanos::from_millis(5_000);

/// A host is not late by less: clocks are corrected by less.
const DISORDER: Nanos = Nanos::from_millis(10);

/// Interval of the pings of a host, and of one between which and others no packets pass.
const PING_INTERVAL: Nanos = Nanos::from_millis(250);
const QUIET_PING_INTERVAL: Nanos = Nanos::from_millis(50);

/// Interval at which clocks are estimated.
const CLOCK_INTERVAL: Nanos = Nanos::from_millis(250);

/// The most pings whose answers are waited for.
const MAX_PINGS: usize = 64;

/// News that wait to be taken in, of all hosts together.
const MAX_NEWS: usize = 256;

/// News that are taken in at once.
const NEWS_AT_ONCE: usize = 64;

/// The most notes that wait to be taken.
const MAX_NOTES: usize = 4_096;

/// Subject of the note that nothing is seen any more of a host.
pub const HOST_LOST: &str = "host lost";

/// Subject of the note of the ports that programs on a host listen on.
pub const LISTENING: &str = "listening";

/// A ping that is on its way.
struct Ping {
    number: u64,
    host: usize,
    sent: Nanos,
}

/// The agents of several hosts, and their events as those of one. Dropping it ends the agents.
pub struct MergedHosts {
    // The first field is dropped first: threads that wait for room in it go on then.
    news: Receiver<(usize, News)>,
    connections: Vec<Connection>,
    hosts: Vec<Host>,
    fleet: Option<Fleet>,
    clocks: LiveClocks,
    /// Identity of the present run of this host.
    own_boot: String,
    now: fn() -> Nanos,
    oscillator: fn() -> (Nanos, i64),
    /// Time at which the agents were started. At first, all wait until each has begun.
    began: Nanos,
    pings: VecDeque<Ping>,
    pinged: Nanos,
    pings_sent: u64,
    estimated: Nanos,
    /// The time of the newest event that was handed out.
    newest: Nanos,
    /// All events up to this time were handed out.
    until: Nanos,
    notes: Vec<(u8, AgentNote)>,
    /// Windows in which hosts send; `None` if they send all the time.
    windows: Option<SharedWindows>,
}

impl fmt::Debug for MergedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergedHosts").field("until", &self.until).finish_non_exhaustive()
    }
}

impl MergedHosts {
    /// Starts an agent on each host. The steward knows their commands, in the same order. `now` is this host's monotonic clock,
    /// `oscillator` the same with the nanoseconds by which its oscillator is ahead,
    /// and `own_boot` the identity of its present run. Hosts reached by ssh that lack this version get the program that is to be pushed.
    ///
    /// # Errors
    /// There are too many hosts, the steward has ended, or a thread cannot be started.
    pub fn start(
        targets: &[HostTarget],
        steward: &Arc<Steward>,
        (now, oscillator): ReadClocks,
        own_boot: &str,
        pushed: Option<&PushedProgram>,
    ) -> io::Result<MergedHosts> {
        let (news_to, news) = sync_channel(MAX_NEWS);
        let connections = targets.iter().enumerate().map(|(index, target)| {
            let is_fleet = matches!(target, HostTarget::Fleet { .. });
            let (steward, news_to) = (Arc::clone(steward), news_to.clone());
            Connection::start(index, steward, news_to, now, pushed.cloned(), is_fleet)
        });
        let connections = connections.collect::<io::Result<_>>()?;
        Ok(MergedHosts::of(targets, news, connections, (now, oscillator), own_boot))
    }

    fn of(
        targets: &[HostTarget],
        news: Receiver<(usize, News)>,
        connections: Vec<Connection>,
        (now, oscillator): ReadClocks,
        own_boot: &str,
    ) -> MergedHosts {
        let fleet = targets.last().and_then(Fleet::of);
        let mut number = 1_u8;
        let alone = targets.iter().filter(|target| !matches!(target, HostTarget::Fleet { .. }));
        let hosts = alone.map(|target| {
            number = number.saturating_add(u8::from(*target != HostTarget::Here));
            Host::new(if *target == HostTarget::Here { 1 } else { number }, target.name())
        });
        MergedHosts {
            news,
            connections,
            hosts: hosts.collect(),
            fleet,
            clocks: LiveClocks::new(targets.len().saturating_add(1)),
            own_boot: own_boot.to_owned(),
            now,
            oscillator,
            began: now(),
            pings: VecDeque::new(),
            pinged: Nanos(0),
            pings_sent: 0,
            estimated: Nanos(0),
            newest: Nanos(0),
            until: now(),
            notes: Vec::new(),
            windows: None,
        }
    }

    /// Waits for news of the hosts, and hands out what is complete. Returns the number of events.
    pub fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(&Event<'_>)) -> usize {
        let mut news = self.news.recv_timeout(timeout).ok();
        let mut taken = 0_usize;
        while let Some((index, one)) = news.take() {
            self.take(index, one);
            taken = taken.saturating_add(1);
            news = if taken < NEWS_AT_ONCE { self.news.try_recv().ok() } else { None };
        }
        self.keep_up();
        self.hand_out(sink)
    }

    /// The time up to which all events were handed out.
    pub fn until(&self) -> Nanos {
        self.until
    }

    /// Hands out what agents have written beside events, each with the number of its host.
    pub fn notes(&mut self) -> impl Iterator<Item = (u8, AgentNote)> {
        std::mem::take(&mut self.notes).into_iter()
    }

    /// Everything that is known of each host.
    pub fn states(&self) -> impl Iterator<Item = &HostState> {
        let fleet = self.fleet.as_ref().and_then(Fleet::shown);
        self.hosts.iter().map(|host| &host.state).chain(fleet)
    }

    /// Asks the host of a process where that runs and what it uses. The answers are notes.
    pub fn ask_place(&self, pid: Pid) {
        self.ask(pid, Question::Place(Pid(pid.number())));
    }

    /// Asks the host of a process what its threads are doing. The answers are events.
    pub fn ask_states(&self, pid: Pid) {
        self.ask(pid, Question::States(Pid(pid.number())));
    }

    /// Use of CPU and memory by a process that was asked for.
    pub fn usage(&self, pid: Pid) -> Option<&ProcessUse> {
        self.hosts.get(self.index(pid.host())?)?.usage(pid)
    }

    fn ask(&self, pid: Pid, question: Question) {
        if let Some(index) = self.index(pid.host()) {
            self.ask_host(index, question);
        }
    }

    fn index(&self, number: u8) -> Option<usize> {
        let is_active = |host: &Host| host.kernel == number && !host.rests;
        self.hosts.iter().position(is_active)
    }

    fn take(&mut self, index: usize, news: News) {
        let now = (self.now)();
        match &news {
            News::Hello(hello) => {
                self.place(index, hello);
                self.tell_carriers(index);
            }
            News::Joined(name) => self.join(index, name),
            News::Fleet(trouble) => return self.know_of_fleet(trouble.clone()),
            News::Carrier(one, other) => return self.know_carrier((*one, *other)),
            _ => {}
        }
        let Some(host) = self.hosts.get_mut(index) else { return };
        let clock = host.clock();
        match news {
            News::Hello(hello) => {
                host.begun = now;
                if host.begins(hello) && host.kernel == host.state.number {
                    self.clocks.forget(clock);
                }
                // The first pings tell at once where its clock stands.
                self.pinged = Nanos(0);
                self.close_windows(Some(index));
            }
            News::Records(block, bytes) => {
                let clocks = &mut self.clocks;
                host.state.bytes = bytes;
                // Events from before it rested are still to come.
                if host.rests {
                    return;
                }
                let reached = host.frontier.and_then(|at| clocks.to_reference(clock, at));
                let before = self.until;
                let is_late = reached.is_none_or(|reached| reached + DISORDER < before);
                let late = is_late.then_some(Lateness { before, is_loss: reached.is_some() });
                host.observes(*block, late, |entry| {
                    if let Entry::Event(event) = entry
                        && let Body::Packet(packet) = &event.body
                    {
                        clocks.packet(clock, event.at, packet);
                    }
                });
            }
            News::Answer { number, there, ahead, back, sent } => {
                if let Some(at) = self.pings.iter().position(|ping| ping.number == number)
                    && let Some(ping) = self.pings.remove(at)
                    && ping.host == index
                {
                    self.clocks.ping(clock, sent.unwrap_or(ping.sent), there, back);
                    if let Some(ahead) = ahead {
                        self.clocks.oscillator(clock, there, ahead);
                    }
                    if host.state.clock == HostClock::Unknown {
                        self.estimated = Nanos(0);
                    }
                }
            }
            News::State(state) => {
                let error = state.max_error.map(Nanos);
                self.clocks.stated(clock, Nanos(state.at), state.wall, error);
                host.says(state);
            }
            News::Ended { why, is_final } => {
                let why = if is_final { why } else { format!("{why}; trying again") };
                let last = host.frontier.and_then(|at| self.clocks.to_reference(clock, at));
                host.ends(last.unwrap_or(now), why);
                self.hand_over(index);
                self.cut_window();
            }
            News::Lost(count) => host.leave_out(usize::try_from(count).unwrap_or(usize::MAX)),
            News::Joined(_) | News::Fleet(_) | News::Carrier(..) => {}
        }
    }

    /// Pings the hosts and estimates their clocks, when it is time.
    fn keep_up(&mut self) {
        let now = (self.now)();
        if now >= self.pinged + QUIET_PING_INTERVAL {
            self.pinged = now;
            for index in 0..self.hosts.len() {
                let Some(host) = self.hosts.get_mut(index) else { continue };
                if !host.is_up
                    || host.clock() == 0
                    || now < host.pinged + PING_INTERVAL && !self.clocks.is_quiet(host.clock())
                {
                    continue;
                }
                host.pinged = now;
                if self.pings.len() >= MAX_PINGS {
                    self.pings.pop_front();
                }
                self.pings_sent = self.pings_sent.wrapping_add(1);
                let sent = (self.now)();
                self.pings.push_back(Ping { number: self.pings_sent, host: index, sent });
                self.ask_host(index, Question::Ping(self.pings_sent));
            }
        }
        if now >= self.estimated + CLOCK_INTERVAL {
            self.estimated = now;
            let (at, ahead) = (self.oscillator)();
            self.clocks.oscillator(0, at, ahead);
            self.clocks.refresh(now);
            for host in &mut self.hosts {
                host.next = None;
                host.state.clock = clock_state(&self.clocks, host.clock());
            }
            for (clock, step) in self.clocks.steps() {
                let stepped = |host: &&mut Host| host.clock() == clock;
                self.hosts.iter_mut().filter(stepped).for_each(|host| host.has_stepped(step));
            }
        }
        self.keep_windows(now);
    }

    /// Hands out all events up to the time that every host has reached which is waited for.
    fn hand_out(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> usize {
        // Who serves is to be known before the bytes that are sent to it.
        if self.notes.iter().any(|(_, (subject, _))| subject == LISTENING) {
            return 0;
        }
        let limit = self.limit();
        let mut count = 0_usize;
        while let Some((index, at)) = self.oldest(limit) {
            let is_wanted = self.pass_windows(at, sink);
            let Some(host) = self.hosts.get_mut(index) else { break };
            if !is_wanted && !host.is_next_sent_always() {
                host.pass_over();
                continue;
            }
            let late = host.late().filter(|late| at < late.before);
            let is_of_socket = host.is_next_of_socket();
            if let Some(Lateness { is_loss, .. }) = late.filter(|_| !is_of_socket) {
                if is_loss {
                    host.skip();
                } else {
                    host.pass_over();
                }
                continue;
            }
            // That a socket is open matters however late it is known.
            let earliest = late.map_or(Nanos(0), |_| self.newest);
            self.newest = self.newest.max(at);
            let (clocks, clock) = (&self.clocks, host.clock());
            let reference = |at| clocks.to_reference(clock, at).unwrap_or_default().max(earliest);
            host.hand_out(reference, sink);
            count = count.saturating_add(1);
        }
        self.pass_windows(limit, sink);
        let at = self.until.max(self.newest);
        for host in &mut self.hosts {
            let count = host.take_left_out();
            if count > 0 {
                let lost = LostEvents { probe: Probe::Rx, count, cause: LossCause::TooLate };
                sink(&Event { at, cpu: Cpu(0), body: Body::Lost(lost) });
            }
        }
        for host in self.hosts.iter_mut().filter(|host| host.is_leaving && host.next.is_none()) {
            host.is_leaving = false;
            let text = format!("{{\"host\":{},\"at\":{}}}", host.kernel, at.0);
            self.notes.push((host.kernel, (HOST_LOST.to_owned(), text)));
        }
        self.until = self.until.max(limit);
        count
    }
}

#[cfg(test)]
mod tests;
