//! `ping`: sends, waits for the reply, sends again.

use super::run::{FLUSH, Run};
use crate::pace::{Due, Schedule};
use anyhow::{Result, bail};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wirelap_contract::Stamp;
use wirelap_events::Nanos;
use wirelap_harness::clock;
use wirelap_harness::link::{Handler, Link};

/// A ping that has no reply after this time is lost.
const LOST: Duration = Duration::from_secs(2);
/// So many lost pings in a row end the run.
const TOLERATED: u32 = 5;

/// The ping that waits for its reply, and when it was published.
#[derive(Clone, Default)]
struct Outstanding(Arc<Mutex<Option<(Stamp, Nanos)>>>);

impl Outstanding {
    fn lock(&self) -> MutexGuard<'_, Option<(Stamp, Nanos)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) -> bool {
        self.lock().is_none()
    }
}

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let outstanding = Outstanding::default();
    let mut link = run.open(Some(handler(run, outstanding.clone())))?;
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let mut schedule = Schedule::start(run.spec);
    loop {
        let played = play(run, &mut *link, &outstanding, &mut schedule);
        run.control.check()?;
        let flushed = played.and(link.flush(FLUSH));
        if flushed.is_err() || !run.goes_on(&mut schedule)? {
            link.close();
            return flushed;
        }
    }
}

fn play(
    run: &Run<'_>,
    link: &mut dyn Link,
    outstanding: &Outstanding,
    schedule: &mut Schedule,
) -> Result<()> {
    let mut payload = run.payload();
    let mut lost_in_a_row = 0;
    while let Some(Due { stamp, intended }) = schedule.next(run.control) {
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        *outstanding.lock() = Some((stamp, at));
        link.publish(bytes)?;
        run.log.lock().published(stamp, at, intended.unwrap_or(at));
        lost_in_a_row = if wait(run, link, outstanding)? { 0 } else { lost_in_a_row + 1 };
        if lost_in_a_row == TOLERATED {
            bail!("{TOLERATED} pings in a row had no reply within {} s each", LOST.as_secs());
        }
    }
    Ok(())
}

/// False if the reply did not come.
fn wait(run: &Run<'_>, link: &mut dyn Link, outstanding: &Outstanding) -> Result<bool> {
    let deadline = Instant::now() + LOST;
    while !outstanding.answered() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        if run.control.interrupted() {
            break;
        }
        link.poll(left)?;
    }
    Ok(true)
}

fn handler(run: &Run<'_>, outstanding: Outstanding) -> Handler {
    let (log, control, stream) = (run.log.clone(), run.control.clone(), run.spec.stream);
    Box::new(move |at, payload, _| {
        let Some(reply) = Stamp::decode(payload).filter(|stamp| stamp.reply) else { return };
        if reply.stream != stream {
            return;
        }
        let ping = Stamp { reply: false, ..reply };
        log.lock().delivered(0, reply, at);
        let mut waiting = outstanding.lock();
        // A reply to a ping that was given up is delivered, but no round trip.
        if let Some((_, published)) = waiting.take_if(|(stamp, _)| *stamp == ping) {
            drop(waiting);
            log.lock().answered(ping, at, at - published);
            control.wake();
        }
    })
}
