//! `pub`: sends at a rate or back to back.

use super::run::{FLUSH, Run};
use crate::pace::{Due, Schedule};
use anyhow::Result;
use wirelap_harness::clock;
use wirelap_harness::link::Link;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let mut link = run.open(None)?;
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let sent = send(run, &*link);
    run.control.check()?;
    // What was sent before a stop or an error was still published.
    let flushed = link.flush(FLUSH);
    link.close();
    sent.and(flushed)
}

fn send(run: &Run<'_>, link: &dyn Link) -> Result<()> {
    let mut payload = run.payload();
    let mut schedule = Schedule::start(run.spec);
    while let Some(Due { stamp, intended }) = schedule.next(run.control) {
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        link.publish(bytes)?;
        run.log.lock().published(stamp, at, intended.unwrap_or(at));
    }
    Ok(())
}
