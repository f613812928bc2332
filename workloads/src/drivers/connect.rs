//! `connect`: opens connections to a broker at a rate, and keeps them open until its time is over.

use super::run::{POLL, Run};
use crate::pace::{Due, Schedule};
use anyhow::Result;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::Spec;
use wirelap_harness::clock;
use wirelap_harness::link::{self, Facts, Opened};

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let address = link::resolve(&run.spec.endpoint)?;
    run.control.say_ready(std::process::id(), Facts::at(address));
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let began = Instant::now();
    let mut open: Vec<Opened> = Vec::new();
    // The time is that of the whole, not of opening alone.
    let messages = Some(u64::from(run.spec.topology.connections));
    let opening = Spec { messages, seconds: None, warmup: 0, ..run.spec.clone() };
    let mut schedule = Schedule::start(&opening);
    while let Some(Due { stamp, intended }) = schedule.next(run.control) {
        let due = intended.unwrap_or_else(clock::now);
        let client = run.spec.of_client(stamp.seq, run.spec.topic.clone());
        open.push(run.family.open(&client, None, run.control)?);
        let ready = clock::now();
        run.log.lock().connected(stamp.seq, ready, ready.since(due).unwrap_or_default());
    }
    let whole = run.spec.seconds.map_or(Duration::ZERO, Duration::from_secs_f64);
    while began.elapsed() < whole && !run.control.interrupted() {
        thread::park_timeout(POLL.min(whole.saturating_sub(began.elapsed())));
    }
    run.control.check()?;
    for link in open {
        link.close();
    }
    Ok(())
}
