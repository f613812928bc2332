//! State of a host, and its events that wait for those of others.

use crate::always::is_sent_always;
use crate::stream::{AgentState, Hello, ProcessUse};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{Body, ClockStep, Event, HostState, HostStatus, Nanos, Pid, Size};
use wirelap_recording::hosts::{Renumbering, retime};
use wirelap_recording::{Entry, RecordBlock};

/// The most bytes of records that wait for events of other hosts, or for the host's clock to be known. Beyond, the oldest are left out.
const MAX_WAITING: usize = 64 << 20;

/// The most steps of a clock that are kept.
const MAX_STEPS: usize = 16;

/// A note that an agent wrote: subject and text.
pub type AgentNote = (String, String);

/// Records that wait.
struct Waiting {
    block: RecordBlock,
    /// The time to which the others had gone on without the host when these came.
    late: Option<Lateness>,
}

/// Events that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// Those from before this time.
    pub before: Nanos,
    /// They are a loss. What a host saw before it had joined the others is none.
    pub is_loss: bool,
}

/// A host, and its events that wait.
pub struct Host {
    pub state: HostState,
    /// Number of its kernel: the lowest of the hosts that run on it.
    pub kernel: u8,
    waiting: VecDeque<Waiting>,
    /// Bytes of what waits.
    waiting_bytes: Size,
    /// Up to this time of its own clock, all its events have come.
    pub frontier: Option<Nanos>,
    /// Identity of the run that its clock counts from.
    pub boot: String,
    /// Another agent of its kernel sends everything.
    pub rests: bool,
    /// Time at which its agent began, by this host's clock.
    pub begun: Nanos,
    /// Time of the last ping to its agent.
    pub pinged: Nanos,
    /// Its agent runs.
    pub is_up: bool,
    /// Its agent has ended, and nobody was told yet.
    pub is_leaving: bool,
    /// Events that were left out and not told yet.
    left_out: u64,
    /// Use of CPU and memory by processes that were asked for.
    processes: FxHashMap<u32, ProcessUse>,
    /// Time of its next event by the clock of the first host; found once for each event.
    pub next: Option<Nanos>,
}

impl Host {
    pub fn new(number: u8, name: String) -> Host {
        Host {
            state: HostState { number, name, ..HostState::default() },
            kernel: number,
            waiting: VecDeque::new(),
            waiting_bytes: Size(0),
            frontier: None,
            boot: String::new(),
            rests: false,
            left_out: 0,
            begun: Nanos(0),
            pinged: Nanos(0),
            is_up: false,
            is_leaving: false,
            processes: FxHashMap::default(),
            next: None,
        }
    }

    /// Place of its clock among the clocks: hosts that share a kernel share one, and this host's is the first.
    pub fn clock(&self) -> usize {
        usize::from(self.kernel.saturating_sub(1))
    }

    /// Takes in that its agent has begun. Returns true if its clock counts from another moment than before.
    pub fn begins(&mut self, hello: Hello) -> bool {
        let is_again = !self.boot.is_empty();
        let is_other = is_again && self.boot != hello.boot;
        if is_other {
            self.leave_out_all();
        }
        self.state.restarts = self.state.restarts.saturating_add(u64::from(is_again));
        (self.is_up, self.frontier, self.boot) = (true, None, hello.boot);
        let state = &mut self.state;
        if state.number != 1
            && !hello.host.is_empty()
            && state.name.chars().all(|c| c.is_ascii_digit())
        {
            // A number, such as a process's, names nobody.
            state.name = hello.host;
        }
        (state.version, state.kernel) = (hello.version, hello.kernel);
        state.lacks = hello.instead.into_iter().chain(hello.lacks).collect();
        if !self.rests {
            state.status = HostStatus::Connected;
        }
        is_other
    }

    /// Takes in what its agent says of itself.
    pub fn says(&mut self, said: AgentState) {
        let state = &mut self.state;
        let (mut missing, mut filtered, mut skipped) = (0, 0, 0);
        for count in said.probes {
            state.missing.insert(count.probe.clone(), count.missing);
            state.filtered.insert(count.probe, count.filtered);
            missing = count.missing.saturating_add(missing);
            filtered = count.filtered.saturating_add(filtered);
            skipped = count.skipped.saturating_add(skipped);
        }
        state.skipped = skipped;
        state.cpu_time = Nanos(said.cpu_time);
        (state.cpu_share, state.rss_bytes) = (said.cpu_share, said.rss_bytes);
        self.processes = said.processes.into_iter().map(|used| (used.pid, used)).collect();
    }

    /// Its agent has ended at a time of the first host's clock.
    pub fn ends(&mut self, at: Nanos, why: String) {
        let since = match &self.state.status {
            HostStatus::Lost { since, .. } => *since,
            _ => at,
        };
        self.state.status = HostStatus::Lost { since, why };
        (self.is_up, self.is_leaving) = (false, !self.rests);
        self.processes.clear();
    }

    /// Use of CPU and memory by a process of this host.
    pub fn usage(&self, pid: Pid) -> Option<&ProcessUse> {
        self.processes.get(&pid.number())
    }

    /// Takes in what it has observed. Each entry is shown to `look`.
    pub fn observes(
        &mut self,
        block: RecordBlock,
        late: Option<Lateness>,
        look: impl FnMut(&Entry<'_>),
    ) {
        let found = block.survey(look);
        self.frontier = found.last_tick.max(self.frontier);
        self.state.unreadable = self.state.unreadable.saturating_add(found.unreadable as u64);
        self.state.record_bytes = self.state.record_bytes.saturating_add(block.len() as u64);
        self.waiting_bytes += block.len();
        self.waiting.push_back(Waiting { block, late });
        while self.waiting_bytes > MAX_WAITING {
            self.leave_block_out();
        }
    }

    /// Leaves the oldest block out, and counts its events as late.
    fn leave_block_out(&mut self) {
        let mut events = 0_usize;
        if let Some(Waiting { block, .. }) = self.waiting.front() {
            block.survey(|entry| {
                events = events.saturating_add(usize::from(matches!(entry, Entry::Event(_))));
            });
        }
        self.drop_block();
        self.leave_out(events);
        self.next = None;
    }

    fn drop_block(&mut self) {
        if let Some(Waiting { block, .. }) = self.waiting.pop_front() {
            self.waiting_bytes -= block.len();
        }
    }

    /// The time of its next event by its own clock. Notes before it are handed out.
    pub fn next_own(&mut self, note: &mut impl FnMut(u8, AgentNote)) -> Option<Nanos> {
        loop {
            let block = &mut self.waiting.front_mut()?.block;
            match block.peek() {
                None => {
                    self.drop_block();
                    continue;
                }
                Some(Entry::Event(event)) => return Some(event.at),
                Some(Entry::Note(text)) => {
                    note(self.kernel, (text.subject.to_owned(), text.text.to_owned()));
                }
                Some(_) => {}
            }
            block.advance();
        }
    }

    /// The same of the first event from a time of its own clock on. What is before is left out: it is of the clock as it was before
    /// a step, and not known to be of before the step.
    pub fn next_own_from(
        &mut self,
        from: Nanos,
        note: &mut impl FnMut(u8, AgentNote),
    ) -> Option<Nanos> {
        loop {
            let at = self.next_own(note)?;
            if at >= from {
                return Some(at);
            }
            self.skip();
        }
    }

    /// Its clock has made a step.
    pub fn has_stepped(&mut self, step: ClockStep) {
        let state = &mut self.state;
        state.step_count = state.step_count.saturating_add(1);
        if state.steps.len() >= MAX_STEPS {
            state.steps.remove(0);
        }
        state.steps.push(step);
    }

    /// Hands out the next event, with times by the first host's clock and numbers that no other host has.
    pub fn hand_out(&mut self, clock: impl Fn(Nanos) -> Nanos, sink: &mut dyn FnMut(&Event<'_>)) {
        let Some(Waiting { block, .. }) = self.waiting.front_mut() else { return };
        if let Some(Entry::Event(mut event)) = block.peek() {
            retime(&mut event, clock);
            Renumbering::of(self.kernel).renumber(&mut event);
            self.state.events = self.state.events.saturating_add(1);
            sink(&event);
        }
        block.advance();
        self.next = None;
    }

    /// Goes on to the event after the next one.
    pub fn pass_over(&mut self) {
        if let Some(Waiting { block, .. }) = self.waiting.front_mut() {
            block.advance();
        }
        self.next = None;
    }

    /// Leaves out the next event, because it comes too late.
    pub fn skip(&mut self) {
        self.pass_over();
        self.leave_out(1);
    }

    /// Events of the next one's block that came too late.
    pub fn late(&self) -> Option<Lateness> {
        self.waiting.front().and_then(|waiting| waiting.late)
    }

    /// True if the next event is that a socket is known, or closed.
    pub fn is_next_of_socket(&self) -> bool {
        let next = self.waiting.front().and_then(|waiting| waiting.block.peek());
        matches!(next, Some(Entry::Event(Event { body: Body::Socket(_) | Body::Closed(_), .. })))
    }

    /// True if the next event is sent between windows, too.
    pub fn is_next_sent_always(&self) -> bool {
        let next = self.waiting.front().and_then(|waiting| waiting.block.peek());
        matches!(next, Some(Entry::Event(event)) if is_sent_always(&event.body))
    }

    /// Drops what waits: the agent that observes in its place has it, too.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = Size(0);
        self.next = None;
    }

    /// Number of events that were left out since the last call.
    pub fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// Counts events that were left out.
    pub fn leave_out(&mut self, events: usize) {
        self.left_out = self.left_out.saturating_add(events as u64);
        self.state.late = self.state.late.saturating_add(events as u64);
    }

    fn leave_out_all(&mut self) {
        while !self.waiting.is_empty() {
            self.leave_block_out();
        }
    }
}
