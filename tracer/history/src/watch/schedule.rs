//! The times at which a flight recorder writes what it keeps.

use wirelap_events::{Nanos, Saturate};

/// Decides when a flight recorder writes what it has kept.
///
/// ```text
///  condition     written           condition                    written
///  ────x────────────|──────────────────x───────────────────────────|────▶
///      |── after ───|────────────── keep: at least ─────────────────|
/// ```
/// A condition is written some time after it began to hold, so that what follows is in the file; and not before as much time has passed since
/// the last file as is kept. By then it is still kept, so two files never have the same events and nothing is left out between them.
#[derive(Debug)]
pub struct FlightSchedule {
    keep: Nanos,
    after: Nanos,
    /// Number of times that it may still be written because of conditions.
    left: u32,
    last: Option<Nanos>,
    /// The time at which it will be written, and why; `None` if nothing is due.
    due: Option<(Nanos, Vec<String>)>,
    /// Conditions that held when nothing was left.
    ignored: u64,
}

impl FlightSchedule {
    /// Nothing is due. `keep`: how much time is kept; `after`: how long to wait for what follows; `most`: how many times it is written
    /// because of conditions.
    pub fn new(keep: Nanos, after: Nanos, most: u32) -> FlightSchedule {
        FlightSchedule { keep, after, left: most, last: None, due: None, ignored: 0 }
    }

    /// A condition has begun to hold at a time.
    pub fn found(&mut self, at: Nanos, why: String) {
        if let Some((_, reasons)) = &mut self.due {
            if reasons.len() < MOST_REASONS && !reasons.contains(&why) {
                reasons.push(why);
            }
            return;
        }
        if self.left == 0 {
            self.ignored.grow(1);
            return;
        }
        let earliest = self.last.map_or(Nanos(0), |last| last + self.keep);
        self.due = Some(((at + self.after).max(earliest), vec![why]));
    }

    /// Why it is to be written now; `None` if it is not. What is returned counts as written.
    pub fn due(&mut self, now: Nanos) -> Option<Vec<String>> {
        if self.due.as_ref().is_none_or(|(at, _)| now < *at) {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        self.last = Some(now);
        self.due.take().map(|(_, reasons)| reasons)
    }

    /// Somebody asks for it: it is written now, and so is what was due. Returns why.
    pub fn asked(&mut self, now: Nanos, why: String) -> Vec<String> {
        let mut reasons = vec![why];
        reasons.extend(self.due.take().into_iter().flat_map(|(_, reasons)| reasons));
        self.last = Some(now);
        reasons
    }

    /// The end has come: why it is to be written, if something was due.
    pub fn end(&mut self) -> Option<Vec<String>> {
        self.due.take().map(|(_, reasons)| reasons)
    }

    /// Number of times that it may still be written because of conditions.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Number of conditions that held when it was not to be written any more.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}

/// The most reasons that one file has.
const MOST_REASONS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(second: u64) -> Nanos {
        Nanos(second * SECOND)
    }

    fn schedule(most: u32) -> FlightSchedule {
        FlightSchedule::new(at(60), at(5), most)
    }

    #[test]
    fn what_follows_is_waited_for() {
        let mut schedule = schedule(9);
        assert_eq!(schedule.due(at(99)), None);
        schedule.found(at(100), "a".into());
        schedule.found(at(103), "b".into());
        schedule.found(at(104), "b".into());
        assert_eq!(schedule.due(at(104)), None);
        assert_eq!(schedule.due(at(105)), Some(vec!["a".into(), "b".into()]));
        assert_eq!((schedule.due(at(200)), schedule.end()), (None, None));
    }

    #[test]
    fn files_do_not_overlap_and_nothing_is_between_them() {
        let mut schedule = schedule(9);
        schedule.found(at(100), "a".into());
        assert!(schedule.due(at(105)).is_some());
        schedule.found(at(107), "b".into());
        assert_eq!(schedule.due(at(164)), None);
        assert_eq!(schedule.due(at(165)), Some(vec!["b".into()]));
        schedule.found(at(500), "c".into());
        assert_eq!(schedule.end(), Some(vec!["c".into()]));
    }

    #[test]
    fn conditions_fill_no_disk_but_who_asks_gets() {
        let mut schedule = schedule(1);
        schedule.found(at(100), "a".into());
        assert!(schedule.due(at(105)).is_some());
        schedule.found(at(300), "b".into());
        assert_eq!((schedule.due(at(400)), schedule.ignored(), schedule.left()), (None, 1, 0));
        assert_eq!(schedule.asked(at(401), "you".into()), ["you"]);
    }

    #[test]
    fn who_asks_does_not_wait_and_gets_what_was_due() {
        let mut schedule = schedule(9);
        schedule.found(at(100), "a".into());
        assert_eq!(schedule.asked(at(101), "you".into()), ["you", "a"]);
        assert_eq!(schedule.due(at(105)), None);
        schedule.found(at(110), "b".into());
        assert_eq!(schedule.due(at(160)), None, "what was asked for has it");
        assert!(schedule.due(at(161)).is_some());
        assert_eq!(schedule.left(), 8);
    }
}
