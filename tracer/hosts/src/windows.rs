//! Windows in which all hosts send what they observe, at the same time: a message is followed on every host or on none.
//!
//! ```text
//!  here    ──────|███████▒▒|─────────────────|███████▒▒|────   a window is named a second before it begins,
//!  robot   ──────|███████▒▒|─────────────────|███████▒▒|────   to each host by its own clock
//!                 ^       ^ from here on it is open for the messages that were found in it
//! ```
//! With a limit of what may come from a host, the share of time that is observed follows from what the connection that is used most brings. A
//! window ends early where a host comes or goes, because that one would have another part of its messages than the others.

use std::collections::VecDeque;
use std::time::Duration;
use wirelap_events::{Body, Cpu, Event, Nanos};

/// Time from which on hosts are told of a window until it begins: the way there, and what they have not sent yet.
pub const BEFORE_WINDOW: Nanos = Nanos::from_millis(1_000);

/// Longest time at the end of a window in which it waits for messages that were found before; a quarter of a shorter one.
const TAIL: Nanos = Nanos::from_millis(200);

/// The shortest and the longest window where the share of time is regulated.
const LENGTHS: (Nanos, Nanos) = (Nanos::from_millis(50), Nanos::from_millis(1_000));

/// Share of time with which the regulation begins, before it is known what comes.
const FIRST_SHARE: f64 = 0.05;

/// The least share of time: a window of 50 ms a minute.
const LEAST_SHARE: f64 = 0.05 / 60.0;

/// The shortest time over which it is measured what comes.
const MEASURED_FOR: Nanos = Nanos::from_millis(2_000);

/// Part of the limit that is made use of: traffic changes from one window to the next.
const SPENT: f64 = 0.9;

/// The share grows and shrinks by no more than this factor from one measurement to the next.
const FASTEST_CHANGE: f64 = 2.0;

/// Share from which on no window is worth its edges, and everything is observed.
const WHOLE_FROM: f64 = 0.9;

/// Share below which windows are opened again where everything was observed.
const WHOLE_UNTIL: f64 = 0.8;

/// Age of what comes from a host from which on its connection is taken to be too slow.
pub const BEHIND: Nanos = Nanos::from_millis(1_500);

/// Subject of the note that a window had begun before its host was told.
pub const WINDOW_MISSED: &str = "window missed";

/// Part of the time that hosts send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostSampling {
    /// Windows of a length, out of every period.
    Windows {
        /// Length of a window.
        open: Duration,
        /// From the beginning of one to that of the next.
        every: Duration,
    },
    /// As much as comes over each connection in so many bits a second.
    Bandwidth(u64),
}

/// Change of what hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEdge {
    /// A window begins.
    Open,
    /// The window ends.
    Close,
}

/// The windows of all hosts.
#[derive(Debug)]
pub struct SharedWindows {
    open: Nanos,
    every: Nanos,
    /// Bytes a second that may come from a host, with the share of time that this allows.
    limit: Option<(f64, f64)>,
    /// Edges that were not handed out yet, by this host's clock.
    edges: VecDeque<(Nanos, WindowEdge)>,
    /// A window is open, as far as events were handed out.
    is_open: bool,
    /// Time of the next window, of which hosts were not told yet; `None` while one is open without an end.
    next: Option<Nanos>,
    /// Bytes of each host at the last measurement.
    measured: Vec<u64>,
    measured_at: Nanos,
    /// Successive windows, which make the pauses between them uneven.
    number: u64,
}

impl SharedWindows {
    /// Windows from now on.
    pub fn new(sampling: HostSampling, now: Nanos) -> SharedWindows {
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let mut windows = SharedWindows {
            open: Nanos(0),
            every: Nanos(1),
            limit: None,
            edges: VecDeque::from([(now, WindowEdge::Close)]),
            is_open: true,
            next: Some(now),
            measured: Vec::new(),
            measured_at: now,
            number: 0,
        };
        match sampling {
            HostSampling::Windows { open, every } => {
                (windows.open, windows.every) = (nanos(open), nanos(every).max(Nanos(1)));
            }
            HostSampling::Bandwidth(bits) => {
                windows.limit = Some((bits as f64 / 8.0, FIRST_SHARE));
                windows.resize(FIRST_SHARE);
            }
        }
        windows
    }

    /// Windows for a share of the time.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time of seconds"
    )]
    fn resize(&mut self, share: f64) {
        let (least, most) = LENGTHS;
        let length = (share * most.0 as f64).clamp(least.0 as f64, most.0 as f64);
        (self.open, self.every) = (Nanos(length as u64), Nanos((length / share) as u64));
        if let Some((_, now)) = &mut self.limit {
            *now = share;
        }
    }

    /// Learns how many bytes of each host have come, and whether one is behind.
    pub fn measure(&mut self, now: Nanos, bytes: &[u64], is_behind: bool) {
        let Some((limit, share)) = self.limit else { return };
        let time = now - self.measured_at;
        if time < MEASURED_FOR.max(self.every) {
            return;
        }
        let before = std::mem::replace(&mut self.measured, bytes.to_vec());
        let each = bytes.iter().zip(before.iter().chain(std::iter::repeat(&0)));
        let most = each.map(|(now, before)| now.saturating_sub(*before)).max().unwrap_or(0);
        self.measured_at = now;
        let used = most as f64 / time.as_secs_f64() / limit;
        let factor = if is_behind { 1.0 / FASTEST_CHANGE } else { SPENT / used.max(0.01) };
        let factor = factor.clamp(1.0 / FASTEST_CHANGE, FASTEST_CHANGE);
        self.resize((share * factor).clamp(LEAST_SHARE, 1.0));
    }

    /// Puts the next window off: hosts cannot be told of it yet.
    pub fn put_off(&mut self, now: Nanos) {
        if !self.is_whole() {
            self.next = self.next.max(Some(now + BEFORE_WINDOW));
        }
    }

    /// True if all of the time is observed, as far as hosts are told.
    fn is_whole(&self) -> bool {
        self.next.is_none()
    }

    /// The edges that hosts must be told of now.
    pub fn due(&mut self, now: Nanos) -> Vec<(Nanos, WindowEdge)> {
        let share = self.limit.map_or(0.0, |(_, share)| share);
        let mut told = Vec::new();
        match self.next {
            None if share < WHOLE_UNTIL => {
                let at = now + BEFORE_WINDOW;
                told.push((at, WindowEdge::Close));
                self.next = Some(at + (self.every - self.open));
            }
            Some(next) if self.open > Nanos(0) && now + BEFORE_WINDOW >= next => {
                let at = next.max(now + BEFORE_WINDOW);
                told.push((at, WindowEdge::Open));
                if share >= WHOLE_FROM {
                    self.next = None;
                } else {
                    told.push((at + self.open, WindowEdge::Close));
                    self.number = self.number.wrapping_add(1);
                    self.next = Some(at + self.open + uneven(self.every - self.open, self.number));
                }
            }
            None | Some(_) => {}
        }
        self.edges.extend(&told);
        told
    }

    /// Ends what is open, because a host has come or gone. The next window is for all again.
    pub fn cut(&mut self, now: Nanos) {
        self.edges.clear();
        if self.is_open {
            self.edges.push_back((Nanos(0), WindowEdge::Close));
        }
        self.next = Some(now + BEFORE_WINDOW);
    }

    /// Hands out the edges up to a time. Returns true if a window is open then.
    pub fn pass(
        &mut self,
        until: Nanos,
        newest: &mut Nanos,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> bool {
        while let Some((at, edge)) = self.edges.pop_front_if(|(at, _)| *at <= until) {
            let opens = edge == WindowEdge::Open;
            if opens == self.is_open {
                continue;
            }
            self.is_open = opens;
            // Time does not go back where a window is cut.
            *newest = at.max(*newest);
            sink(&Event { at: *newest, cpu: Cpu(0), body: Body::Window(opens) });
            if let Some((end, WindowEdge::Close)) = self.edges.front().filter(|_| opens) {
                let tail = TAIL.min(Nanos((*end - at).0 / 4));
                sink(&Event { at: *newest, cpu: Cpu(0), body: Body::Waiting(*end - tail) });
            }
        }
        self.is_open
    }
}

/// A pause of a half to one and a half of a length, one after the other in no regular order (the golden ratio's multiples are spread evenly):
/// traffic that comes at regular times would otherwise always be met at the same moment.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a time")]
fn uneven(pause: Nanos, number: u64) -> Nanos {
    let part = (number as f64 * 0.618_033_988_749_894_9).fract();
    Nanos((pause.0 as f64 * (0.5 + part)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_millis(1_000);

    fn edges(windows: &mut SharedWindows, until: Nanos) -> Vec<(Nanos, String)> {
        let mut out = Vec::new();
        windows.pass(until, &mut Nanos(0), &mut |event| {
            out.push((event.at, format!("{:?}", event.body)));
        });
        out
    }

    #[test]
    fn windows_are_told_a_second_before_and_have_a_first_part() {
        let sampling = HostSampling::Windows {
            open: Duration::from_millis(400),
            every: Duration::from_secs(4),
        };
        let mut windows = SharedWindows::new(sampling, SECOND * 10);
        let ms = Nanos::from_millis;
        let told = windows.due(SECOND * 10);
        assert_eq!(told, [(SECOND * 11, WindowEdge::Open), (ms(11_400), WindowEdge::Close)]);
        assert_eq!(windows.due(SECOND * 11), [], "the next one is later");
        assert_eq!(edges(&mut windows, SECOND * 10), [(SECOND * 10, "Window(false)".into())]);
        let first = edges(&mut windows, SECOND * 11);
        let waits = format!("Waiting({:?})", ms(11_300));
        assert_eq!(first, [(SECOND * 11, "Window(true)".into()), (SECOND * 11, waits)]);
        assert_eq!(edges(&mut windows, ms(11_399)), []);
        assert_eq!(edges(&mut windows, SECOND * 12), [(ms(11_400), "Window(false)".into())]);
    }

    #[test]
    fn pauses_are_uneven_and_as_long_on_average() {
        let pauses: Vec<u64> = (1..=1_000).map(|number| uneven(Nanos(1_000), number).0).collect();
        let mean = pauses.iter().sum::<u64>() / 1_000;
        assert!((995..1_005).contains(&mean), "{mean}");
        assert!(pauses.iter().all(|pause| (500..=1_500).contains(pause)));
        assert!(pauses.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// The shares after each of some measurements, where so much of the whole is sent as is observed.
    fn shares(windows: &mut SharedWindows, whole: u64, looks: u64) -> Vec<f64> {
        let mut bytes = windows.measured.first().copied().unwrap_or(0) as f64;
        let mut at = windows.measured_at;
        let mut shares = Vec::new();
        for _ in 0..looks {
            let share = windows.limit.unwrap().1;
            let time = MEASURED_FOR.max(windows.every);
            at += time;
            bytes += whole as f64 * time.as_secs_f64() * share;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "far below 2^53"
            )]
            let sent = bytes as u64;
            windows.measure(at, &[sent, 10], false);
            shares.push(windows.limit.unwrap().1);
        }
        shares
    }

    #[test]
    fn the_share_follows_from_what_comes_over_the_busiest_connection() {
        // 8 Mbit/s are 1 MB/s.
        let mut windows = SharedWindows::new(HostSampling::Bandwidth(8_000_000), Nanos(0));
        let share = *shares(&mut windows, 10_000_000, 12).last().unwrap();
        assert!((0.08..0.1).contains(&share), "a tenth fits, with some to spare: {share}");
        assert!(windows.open >= LENGTHS.0 && windows.every > windows.open);
        let whole = shares(&mut windows, 100_000, 12);
        assert!(whole.last().unwrap() >= &1.0 && whole[0] <= share * FASTEST_CHANGE, "{whole:?}");
        let now = SECOND * 1_000;
        assert_eq!(windows.due(now).len(), 1, "it opens without an end");
        assert!(windows.is_whole() && windows.due(now + SECOND * 9).is_empty());
        shares(&mut windows, 10_000_000, 2);
        let told = windows.due(now + SECOND * 20);
        assert_eq!(told, [(now + SECOND * 20 + BEFORE_WINDOW, WindowEdge::Close)]);
        let before = windows.limit.unwrap().1;
        windows.measure(now * 2, &[0], true);
        assert!(windows.limit.unwrap().1 <= before / FASTEST_CHANGE * 1.01, "one is behind");
    }

    #[test]
    fn a_cut_window_ends_at_once_and_time_does_not_go_back() {
        let sampling =
            HostSampling::Windows { open: Duration::from_secs(2), every: Duration::from_secs(9) };
        let mut windows = SharedWindows::new(sampling, Nanos(0));
        windows.due(Nanos(0));
        edges(&mut windows, SECOND);
        windows.cut(SECOND * 2);
        let mut newest = SECOND + Nanos(5);
        let mut out = Vec::new();
        assert!(!windows.pass(SECOND * 2, &mut newest, &mut |event| {
            out.push((event.at, event.body == Body::Window(false)));
        }));
        assert_eq!(out, [(SECOND + Nanos(5), true)]);
        assert_eq!(windows.due(SECOND * 2)[0], (SECOND * 3, WindowEdge::Open));
    }
}
