//! `pong`: replies to each ping, from wherever the library calls back.

use super::run::{Complete, FLUSH, POLL, Run};
use anyhow::Result;
use std::sync::{Mutex, PoisonError};
use wirelap_contract::{STAMP_BYTES, Stamp};
use wirelap_harness::clock;
use wirelap_harness::link::Handler;

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let complete = run.complete();
    let mut link = run.open(Some(handler(run, complete.clone())))?;
    while !complete.is_over() {
        link.poll(POLL)?;
    }
    run.control.check()?;
    let flushed = link.flush(FLUSH);
    link.close();
    flushed
}

fn handler(run: &Run<'_>, complete: Complete) -> Handler {
    let (log, control) = (run.log.clone(), run.control.clone());
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
        drop(log);
        complete.received(count);
    })
}
