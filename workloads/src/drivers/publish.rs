//! `pub`: sends at a rate or back to back. Several publishers send in turn, from one thread.

use super::run::{FLUSH, Run};
use crate::pace::{Due, Schedule};
use anyhow::Result;
use wirelap_harness::clock;
use wirelap_harness::link::Opened;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let publishers = run.spec.topology.publishers;
    let links = run.open_each(publishers, |number| (run.topic_of_publisher(number), None))?;
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let sent = send(run, &links);
    run.control.check()?;
    // What was sent before a stop or an error was still published.
    let mut flushed = Ok(());
    for mut link in links {
        flushed = flushed.and(link.flush(FLUSH));
        link.close();
    }
    sent.and(flushed)
}

fn send(run: &Run<'_>, links: &[Opened]) -> Result<()> {
    let mut payload = run.payload();
    let mut schedule = Schedule::start(run.spec);
    while let Some(Due { stamp, intended }) = schedule.next(run.control) {
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        links[run.spec.topology.publisher(stamp.seq.into()) as usize].publish(bytes)?;
        run.log.lock().published(stamp, at, intended.unwrap_or(at));
    }
    Ok(())
}
