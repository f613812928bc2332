//! `pub`: sends at a rate or back to back. Several publishers send in turn, from one thread.

use super::run::{FLUSH, Run};
use crate::pace::{Due, Schedule};
use anyhow::Result;
use wirelap_harness::clock;
use wirelap_harness::link::Opened;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let publishers = run.spec.topology.publishers;
    let mut links = run.open_each(publishers, |number| (run.topic_of_publisher(number), None))?;
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let mut schedule = Schedule::start(run.spec);
    loop {
        let sent = send(run, &links, &mut schedule);
        run.control.check()?;
        // What was sent before a stop or an error was still published.
        let flushed = links.iter_mut().map(|link| link.flush(FLUSH)).fold(sent, Result::and);
        if flushed.is_err() || !run.goes_on(&mut schedule)? {
            for link in links {
                link.close();
            }
            return flushed;
        }
    }
}

fn send(run: &Run<'_>, links: &[Opened], schedule: &mut Schedule) -> Result<()> {
    let mut payload = run.payload();
    while let Some(Due { stamp, intended }) = schedule.next(run.control) {
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        links[run.spec.topology.publisher(stamp.seq.into()) as usize].publish(bytes)?;
        run.log.lock().published(stamp, at, intended.unwrap_or(at));
    }
    Ok(())
}
