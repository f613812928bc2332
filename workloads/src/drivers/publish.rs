//! `pub`: sends at a rate or back to back.

use super::{FLUSH, Run, intended_or};
use crate::clock;
use crate::link::Link;
use crate::pace::{Limit, Pace};
use anyhow::Result;

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
    let mut pace = Pace::start(run.spec.rate);
    let mut limit = None;
    for nth in 0.. {
        let (stamp, seq) = run.next_stamp(nth);
        // `--seconds` begin with the first message that counts.
        if !stamp.warmup
            && !limit
                .get_or_insert_with(|| Limit::new(run.spec.messages, run.spec.seconds))
                .allows(seq)
        {
            break;
        }
        let intended = pace.wait(run.control);
        if run.control.interrupted() {
            break;
        }
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        link.publish(bytes)?;
        run.log.lock().published(stamp, at, intended_or(intended, at));
    }
    Ok(())
}
