//! The windows of sampling: the probes see for a while, and then pause.
//!
//! ```text
//!  window            pause                    window
//! |###|~~~|                        |###|~~~~~~|
//!  ^   ^                            messages that are found in the first part, `open`, are
//!  |   until these have arrived     what is sampled; the second part waits for them
//!  messages are found
//! ```

use crate::pauses::{SamplingPauses, usual_pause};
use crate::waits::Waits;
use std::time::Duration;
use wirelap_events::{Body, Event, Nanos};

/// A window waits for its messages until it has been open for so many times the shortest.
const LONGEST: u64 = 20;

/// Age of events, by the clock, above which they are left out where costs are bounded, unless the shortest window is longer.
const LATE: Nanos = Nanos::from_millis(200);

/// Not before so long after the first part of a window is over, it is looked whether its messages have arrived: the last ones have to be
/// known by then.
const SETTLE: Nanos = Nanos::from_millis(2);

/// Interval at which it is looked whether the messages of a window have arrived.
const CHECK: Nanos = Nanos::from_millis(10);

/// Decides when the probes see.
///
/// A window is open for at least `open`. It stays open until the messages that were found in that time have arrived: where
/// a message takes longer than the window, none would be followed to its end otherwise. Of some, no arrival is ever seen: it waits only
/// for about as long as has been of use in earlier windows ([`Waits`]). The pauses are longer in the same
/// proportion, so that the probes see for the same share of the time: after one long window, several of them, since nothing is
/// known of what happens in a pause.
///
/// One rule bounds a window: there is room for what it brings. There are two rooms, and the window ends where one of them runs
/// out, however long it was open. Messages that are on their way have room in the correlator. It fills with the events that
/// are taken, so the window ends at the event that fills it ([`SamplingWindows::cut`]), and no message need be given up.
/// Events have room in the ring buffer. It fills while events come faster than they are taken, and has to hold the events
/// of a shortest window in any case, so the window ends once the taken events are older than that
/// ([`SamplingWindows::taken`]). For the same reason the next window does not open before.
#[derive(Debug)]
pub struct SamplingWindows {
    open: Nanos,
    every: Nanos,
    /// Longest time that a window waits for its messages, if that is less than [`LONGEST`].
    patience: Option<Nanos>,
    /// Time before a window at which the probes are made ready for it.
    lead: Nanos,
    state: WindowState,
    /// The rest of this window is left out.
    is_cut: bool,
    /// The window ends at the next event that is taken.
    ends_here: bool,
    /// Age of the events that were taken last, by the clock.
    behind: Nanos,
    pauses: SamplingPauses,
    waits: Waits,
}

/// Change to the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowChange {
    /// They are made ready for a window: attaching them holds up the traced programs, and what had to wait for that must not be measured.
    Prepare,
    /// They report.
    Open,
    /// They do not report.
    Close,
}

/// Fate of an event in a sampling window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowCut {
    /// The event is taken.
    #[default]
    None,
    /// The window ends here: it is left out, and the end of the window stands in its place.
    Here,
    /// The window has ended before: it is left out.
    Before,
}

#[derive(Debug)]
enum WindowState {
    Open {
        since: Nanos,
        checked: Nanos,
        /// Length of the window's first part, which stays as it was when the window opened.
        open: Nanos,
    },
    Paused {
        until: Nanos,
        /// The probes are ready, or need not be made so.
        is_ready: bool,
    },
    /// No window ever opens: `open` is zero.
    Never,
}

impl SamplingWindows {
    /// Begins with a window.
    pub fn new(open: Duration, every: Duration, now: Nanos) -> SamplingWindows {
        let (open, every) = (nanos(open), nanos(every));
        let state = WindowState::Open { since: now, checked: now, open };
        let (patience, lead, behind) = (None, Nanos(0), Nanos(0));
        SamplingWindows {
            open,
            every,
            patience,
            lead,
            state,
            is_cut: false,
            ends_here: false,
            behind,
            pauses: SamplingPauses::default(),
            waits: Waits::default(),
        }
    }

    /// Makes each pause longer or shorter by up to a half, by chance: traffic that comes at regular times would otherwise be met at the
    /// same moment each time, or never.
    #[must_use]
    pub fn irregular(self, seed: u64) -> SamplingWindows {
        SamplingWindows { pauses: SamplingPauses::irregular(seed), ..self }
    }

    /// Time at which the first part of the present window ends, if there is one: from then on, it is open only for the messages
    /// that were found in it.
    pub fn first_part_ends(&self) -> Option<Nanos> {
        match self.state {
            WindowState::Open { since, open, .. } => Some(since + open),
            WindowState::Paused { .. } | WindowState::Never => None,
        }
    }

    /// Begins with a pause, because all of the time until now was traced. A window waits for its messages for a second at most, because
    /// what it costs is bounded. The probes are made ready before each window.
    pub fn bounded(open: Duration, every: Duration, now: Nanos) -> SamplingWindows {
        let (patience, lead) = (Some(Nanos::from_millis(1_000)), Nanos::from_millis(20));
        let windows = SamplingWindows::new(open, every, now);
        let until = now + usual_pause(windows.open, windows.every);
        let state = WindowState::Paused { until, is_ready: false };
        SamplingWindows { patience, lead, state, ..windows }
    }

    /// The windows and pauses from now on.
    pub fn resize(&mut self, open: Duration, every: Duration) {
        (self.open, self.every) = (nanos(open), nanos(every));
    }

    /// Longest time that a window is open.
    fn longest(&self) -> Nanos {
        let longest = self.open * LONGEST;
        self.patience.map_or(longest, |patience| longest.min(self.open + patience))
    }

    /// Decides if an event is left out because its window has ended: where the room for messages runs out, it is as if the probes
    /// had been closed. `has_room` says whether there is some.
    pub fn cut(&mut self, event: &Event<'_>, has_room: impl FnOnce() -> bool) -> WindowCut {
        match event.body {
            Body::Window(open) => {
                self.is_cut &= !open;
                self.ends_here &= !open;
                WindowCut::None
            }
            // What was lost is counted in any case.
            Body::Lost(_) => WindowCut::None,
            Body::Waiting(_) if !self.is_cut => WindowCut::None,
            _ if self.is_cut => WindowCut::Before,
            _ if std::mem::take(&mut self.ends_here) || !has_room() => {
                self.is_cut = true;
                WindowCut::Here
            }
            _ => WindowCut::None,
        }
    }

    /// Takes the age of the events that were taken last, by the clock; zero if the ring buffer is empty.
    pub fn taken(&mut self, behind: Nanos) {
        self.behind = behind;
        // Where costs are bounded, what could not be taken in time is not made up for.
        self.ends_here |= self.patience.is_some() && behind > self.open.max(LATE);
    }

    /// True if nothing is reported, and the probes are not ready for it either.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.state, WindowState::Paused { is_ready: false, .. } | WindowState::Never)
    }

    /// True if there is room for what an open window brings.
    fn has_room(&self) -> bool {
        !self.is_cut && self.behind <= self.open
    }

    /// Returns the change to be made to the probes, if it is time. `waited_for` says how many messages that were found between
    /// two times have not arrived yet.
    pub fn change(
        &mut self,
        now: Nanos,
        waited_for: impl FnOnce(Nanos, Nanos) -> u64,
    ) -> Option<WindowChange> {
        let (has_room, longest) = (self.has_room(), self.longest());
        match &mut self.state {
            WindowState::Open { .. } if self.open == Nanos(0) => {
                self.state = WindowState::Never;
                Some(WindowChange::Close)
            }
            WindowState::Open { since, checked, open } => {
                let age = now - *since;
                if has_room && age < *open + SETTLE + self.behind {
                    return None;
                }
                if has_room && age < longest {
                    if now - *checked < CHECK {
                        return None;
                    }
                    *checked = now;
                    if self.waits.goes_on(age - *open, waited_for(*since, *since + *open)) {
                        return None;
                    }
                }
                self.waits.end();
                let until = now + self.pauses.after(age, self.open, self.every);
                self.state = WindowState::Paused { until, is_ready: self.lead == Nanos(0) };
                Some(WindowChange::Close)
            }
            WindowState::Paused { until, is_ready: is_ready @ false }
                if now + self.lead >= *until =>
            {
                // Where it is late already, the window waits all the same.
                (*until, *is_ready) = ((*until).max(now + self.lead), true);
                Some(WindowChange::Prepare)
            }
            WindowState::Paused { until, .. } if now >= *until && self.behind <= self.open => {
                self.state = WindowState::Open { since: now, checked: now, open: self.open };
                Some(WindowChange::Open)
            }
            WindowState::Paused { .. } | WindowState::Never => None,
        }
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Option<WindowChange> = Some(WindowChange::Open);
    const CLOSE: Option<WindowChange> = Some(WindowChange::Close);
    const PREPARE: Option<WindowChange> = Some(WindowChange::Prepare);
    use wirelap_events::{Cpu, LossCause, LostEvents, Probe, SocketId};

    const SECOND: Duration = Duration::from_secs(1);

    fn changes(windows: &mut SamplingWindows, times: &[(u64, bool)]) -> Vec<Option<WindowChange>> {
        let change = |&(at, waits): &(u64, bool)| {
            windows.change(Nanos::from_millis(at), |_, _| u64::from(waits))
        };
        times.iter().map(change).collect()
    }

    #[test]
    fn a_window_whose_messages_have_arrived_closes_and_opens_again() {
        let mut windows = SamplingWindows::new(SECOND, 2 * SECOND, Nanos::from_millis(5_000));
        let times = [5_200, 5_900, 6_100, 6_900, 7_300, 7_400, 8_500].map(|at| (at, false));
        let expected = [None, None, CLOSE, None, OPEN, None, CLOSE];
        assert_eq!(changes(&mut windows, &times), expected);
    }

    #[test]
    fn a_window_waits_for_its_messages_and_the_pauses_grow_with_it() {
        let mut windows = SamplingWindows::new(SECOND, 10 * SECOND, Nanos(0));
        let first = [(1_000, true), (2_000, true), (3_000, false), (20_900, true), (21_000, true)];
        assert_eq!(changes(&mut windows, &first), [None, None, CLOSE, None, OPEN]);
        // The other third of the pause belongs to the one after the next window.
        let second = [(22_010, false), (40_000, false), (40_090, false)];
        assert_eq!(changes(&mut windows, &second), [CLOSE, None, OPEN]);
        let third = [(41_100, false), (50_000, false), (50_300, false)];
        assert_eq!(changes(&mut windows, &third), [CLOSE, None, OPEN]);
    }

    /// For how much of an hour windows are open that wait for so long, and the longest pause.
    fn open_for(windows: &mut SamplingWindows, wait: impl Fn(u64) -> u64) -> (f64, Nanos) {
        let (mut number, mut opened, mut closed) = (0, Nanos(0), Nanos(0));
        let (mut open, mut longest) = (Nanos(0), Nanos(0));
        for ms in 0..3_600_000 {
            let now = Nanos::from_millis(ms);
            let waits = now - opened < Nanos::from_millis(wait(number));
            match windows.change(now, |_, _| u64::from(waits)) {
                Some(WindowChange::Open) => {
                    (longest, opened) = (longest.max(now - closed), now);
                    number += 1;
                }
                Some(WindowChange::Close) => {
                    open += now - opened;
                    closed = now;
                }
                _ => {}
            }
        }
        (open.as_secs_f64() / 3_600.0, longest)
    }

    #[test]
    fn after_a_window_that_waited_nothing_is_seen_for_a_few_seconds_only() {
        let (open, every) = (Duration::from_millis(12), Duration::from_millis(600));
        let windows = || SamplingWindows::bounded(open, every, Nanos(0));
        let (share, longest) = open_for(&mut windows(), |number| number % 50 * 20);
        assert!(
            (share - 0.02).abs() < 0.001 && longest < Nanos::from_millis(12_000),
            "{share} {longest}"
        );
        // Where each one waits, the pauses are as long as they have to be.
        let (share, longest) = open_for(&mut windows(), |_| 900);
        assert!(
            (share - 0.02).abs() < 0.002 && longest < Nanos::from_millis(46_000),
            "{share} {longest}"
        );
    }

    #[test]
    fn a_window_does_not_wait_for_ever() {
        let mut windows = SamplingWindows::new(SECOND, 2 * SECOND, Nanos(0));
        assert_eq!(changes(&mut windows, &[(19_999, true), (20_000, true)]), [None, CLOSE]);
    }

    #[test]
    fn a_bounded_window_waits_for_a_second_only_and_is_prepared() {
        let mut windows = SamplingWindows::bounded(SECOND, 2 * SECOND, Nanos(0));
        let first = [(979, true), (980, true), (1_000, true), (2_999, true), (3_000, true)];
        assert!(windows.is_at_rest());
        assert_eq!(changes(&mut windows, &first[..2]), [None, PREPARE]);
        assert!(!windows.is_at_rest());
        assert_eq!(changes(&mut windows, &first[2..]), [OPEN, None, CLOSE]);
        assert!(windows.is_at_rest());
        windows.resize(SECOND / 2, SECOND);
        let times = [(4_979, true), (4_980, true), (4_999, true), (5_000, true), (5_502, false)];
        assert_eq!(changes(&mut windows, &times), [None, PREPARE, None, OPEN, CLOSE]);
        // Whoever comes late still waits between the two.
        let times = [(6_100, true), (6_119, true), (6_120, true)];
        assert_eq!(changes(&mut windows, &times), [PREPARE, None, OPEN]);
    }

    #[test]
    fn a_window_is_cut_short_where_the_room_for_messages_runs_out() {
        let mut windows = SamplingWindows::new(SECOND, 10 * SECOND, Nanos(0));
        let event = |body| Event { at: Nanos(0), cpu: Cpu(0), body };
        let any = || event(Body::Closed(SocketId(1)));
        assert_eq!(windows.cut(&any(), || true), WindowCut::None);
        assert_eq!(changes(&mut windows, &[(300, true)]), [None]);
        assert_eq!(windows.cut(&any(), || false), WindowCut::Here);
        // Even where there is room again before the probes are closed.
        assert_eq!(windows.cut(&any(), || true), WindowCut::Before);
        let lost = LostEvents { probe: Probe::Read, count: 1, cause: LossCause::RingFull };
        assert_eq!(windows.cut(&event(Body::Lost(lost)), || true), WindowCut::None);
        assert_eq!(changes(&mut windows, &[(400, true)]), [CLOSE]);
        assert_eq!(windows.cut(&event(Body::Window(false)), || true), WindowCut::None);
        assert_eq!(windows.cut(&any(), || true), WindowCut::Before);
        // The pause is shorter in the same proportion.
        assert_eq!(changes(&mut windows, &[(3_900, true), (4_100, true)]), [None, OPEN]);
        assert_eq!(windows.cut(&event(Body::Window(true)), || true), WindowCut::None);
        assert_eq!(windows.cut(&any(), || true), WindowCut::None);
    }

    #[test]
    fn a_window_ends_and_none_opens_while_events_come_faster_than_they_are_taken() {
        let mut windows = SamplingWindows::new(SECOND, 2 * SECOND, Nanos(0));
        // The ring buffer holds what came in a shortest window, whether that is many batches or few.
        windows.taken(Nanos::from_millis(1_000));
        assert_eq!(changes(&mut windows, &[(1_100, true)]), [None]);
        windows.taken(Nanos::from_millis(1_001));
        assert_eq!(changes(&mut windows, &[(1_200, true), (2_500, true)]), [CLOSE, None]);
        windows.taken(Nanos(0));
        assert_eq!(changes(&mut windows, &[(2_500, true)]), [OPEN]);
    }

    #[test]
    fn what_is_late_is_left_out_where_costs_are_bounded() {
        let mut windows = SamplingWindows::bounded(SECOND, 2 * SECOND, Nanos(0));
        let event = |body| Event { at: Nanos(0), cpu: Cpu(0), body };
        let any = event(Body::Closed(SocketId(1)));
        windows.taken(Nanos::from_millis(1_000));
        assert_eq!(windows.cut(&any, || true), WindowCut::None);
        windows.taken(Nanos::from_millis(1_001));
        assert_eq!(windows.cut(&any, || true), WindowCut::Here);
        assert_eq!(windows.cut(&any, || true), WindowCut::Before);
        assert_eq!(windows.cut(&event(Body::Window(true)), || true), WindowCut::None);
        assert_eq!(windows.cut(&any, || true), WindowCut::None);
    }

    #[test]
    fn without_a_length_no_window_opens() {
        let mut windows = SamplingWindows::new(Duration::ZERO, SECOND, Nanos(0));
        let times = [(0, true), (1, true), (60_000, true)];
        assert_eq!(changes(&mut windows, &times), [CLOSE, None, None]);
    }

    #[test]
    fn the_first_part_of_a_window_is_as_long_as_when_it_opened() {
        let ms = Nanos::from_millis;
        let mut windows = SamplingWindows::new(SECOND, 2 * SECOND, Nanos(0));
        assert_eq!(windows.first_part_ends(), Some(ms(1_000)));
        windows.resize(SECOND / 10, SECOND);
        assert_eq!(windows.first_part_ends(), Some(ms(1_000)));
        assert_eq!(changes(&mut windows, &[(900, false), (1_007, true)]), [None, None]);
        assert_eq!(windows.first_part_ends(), Some(ms(1_000)));
        assert_eq!(changes(&mut windows, &[(1_500, false)]), [CLOSE]);
        assert_eq!(windows.first_part_ends(), None);
        // The next one is as long as is wanted now.
        assert_eq!(changes(&mut windows, &[(20_000, false)]), [OPEN]);
        assert_eq!(windows.first_part_ends(), Some(ms(20_100)));
    }

    #[test]
    fn irregular_pauses_are_as_long_on_average() {
        let (open, every) = (SECOND / 10, SECOND);
        let mut windows = SamplingWindows::new(open, every, Nanos(0)).irregular(7);
        let (mut closed, mut pauses) = (None, Vec::new());
        for ms in 0..2_000_000 {
            let now = Nanos::from_millis(ms);
            match windows.change(now, |_, _| 0) {
                Some(WindowChange::Close) => closed = Some(now),
                Some(WindowChange::Open) => pauses.extend(closed.map(|closed| now - closed)),
                _ => {}
            }
        }
        let [least, most] = [458, 1_379].map(Nanos::from_millis);
        assert!(pauses.iter().all(|pause| (least..=most).contains(pause)));
        let mean =
            pauses.iter().map(|pause| pause.as_secs_f64()).sum::<f64>() / pauses.len() as f64;
        assert!((mean - 0.918).abs() < 0.03, "{mean}");
        let short = pauses.iter().filter(|pause| **pause < Nanos::from_millis(689)).count();
        assert!((short as f64 / pauses.len() as f64 - 0.25).abs() < 0.05, "{short}");
    }
}
