//! `sub`: counts what arrives.

use super::run::{POLL, Run};
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wirelap_contract::Stamp;
use wirelap_harness::link::Handler;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let complete = Arc::new(AtomicBool::new(run.spec.messages == Some(0)));
    let mut link = run.open(Some(handler(run, complete.clone())))?;
    while !complete.load(Ordering::Acquire) && !run.control.interrupted() {
        link.poll(POLL)?;
    }
    run.control.check()?;
    link.close();
    Ok(())
}

fn handler(run: &Run<'_>, complete: Arc<AtomicBool>) -> Handler {
    let (log, control, expected) = (run.log.clone(), run.control.clone(), run.spec.messages);
    Box::new(move |at, payload, _| {
        // Payloads of others on the same topic are none of our business.
        let Some(stamp) = Stamp::decode(payload) else { return };
        let count = log.lock().delivered(stamp, at);
        if expected == Some(count) && !complete.swap(true, Ordering::AcqRel) {
            control.wake();
        }
    })
}
