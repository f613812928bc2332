//! `pong`: replies to each ping, from wherever the library calls back.

use super::run::{FLUSH, POLL, Run};
use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_contract::{STAMP_BYTES, Stamp};
use wirelap_harness::clock;
use wirelap_harness::link::Handler;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let complete = Arc::new(AtomicBool::new(run.spec.messages == Some(0)));
    let mut link = run.open(Some(handler(run, complete.clone())))?;
    while !complete.load(Ordering::Acquire) && !run.control.interrupted() {
        link.poll(POLL)?;
    }
    run.control.check()?;
    let flushed = link.flush(FLUSH);
    link.close();
    flushed
}

fn handler(run: &Run<'_>, complete: Arc<AtomicBool>) -> Handler {
    let (log, control, expected) = (run.log.clone(), run.control.clone(), run.spec.messages);
    let reply_bytes = Mutex::new(Vec::with_capacity(run.spec.payload));
    Box::new(move |delivered, payload, outlet| {
        let Some(ping) = Stamp::decode(payload).filter(|stamp| !stamp.reply) else { return };
        let reply = Stamp { reply: true, ..ping };
        let mut bytes = reply_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.clear();
        bytes.extend_from_slice(&reply.encode());
        bytes.extend_from_slice(&payload[STAMP_BYTES..]);
        let published = clock::now();
        let sent = outlet.publish(&bytes);
        let mut log = log.lock();
        let count = log.delivered(0, ping, delivered);
        match sent {
            Ok(()) => log.published(reply, published, published),
            Err(error) => control.fail(error),
        }
        if expected == Some(count) && !complete.swap(true, Ordering::AcqRel) {
            control.wake();
        }
    })
}
