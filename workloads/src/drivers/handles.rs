//! `pub` with a thread for each publisher: each has a connection of its own, or all share one behind a mutex.

use super::run::{FLUSH, Run};
use crate::pace::{Due, Schedule};
use crate::tally::MessageTally;
use anyhow::{Context, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use wirelap_contract::{Handles, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::Opened;

type SharedLink = Arc<Mutex<Opened>>;

pub(super) fn run(run: &Run<'_>, handles: Handles) -> Result<()> {
    let publishers = run.spec.topology.publishers;
    let connections = match handles {
        Handles::Own => publishers,
        Handles::Shared => 1,
    };
    let opened = run.open_each(connections, |number| (run.topic_of_publisher(number), None))?;
    if !run.control.wait_for_go()? {
        return Ok(());
    }
    let links: Vec<SharedLink> =
        opened.into_iter().map(|link| Arc::new(Mutex::new(link))).collect();
    let threads = (0..publishers).zip(links.iter().cycle()).map(|(number, link)| {
        let (spec, control, link) = (share(run.spec, number), run.control.clone(), link.clone());
        let payload = run.payload();
        let body = move || send(&spec, &control, &link, payload);
        thread::Builder::new().name("publisher".into()).spawn(body)
    });
    let threads: Vec<_> = threads.collect::<Result<_, _>>().context("cannot start a thread")?;
    let mut sent = Ok(());
    for one in threads {
        // A panic has been written to stderr already.
        let Ok((tally, outcome)) = one.join() else { continue };
        run.log.lock().sent_apart(&tally);
        sent = sent.and(outcome);
    }
    run.control.check()?;
    let mut flushed = Ok(());
    for link in &links {
        flushed = flushed.and(lock(link).flush(FLUSH));
    }
    for link in links {
        if let Some(link) = Arc::into_inner(link) {
            link.into_inner().unwrap_or_else(PoisonError::into_inner).close();
        }
    }
    sent.and(flushed)
}

/// Share of one of the publishers: of the messages and of the rate, in a stream of its own.
fn share(spec: &Spec, number: u32) -> Spec {
    let publishers = u64::from(spec.topology.publishers.max(1));
    let of = |all: u64| all / publishers + u64::from(u64::from(number) < all % publishers);
    Spec {
        stream: u8::try_from(number).unwrap_or(u8::MAX),
        messages: spec.messages.map(of),
        warmup: of(spec.warmup),
        rate: spec.rate.map(|rate| rate / publishers as f64),
        ..spec.clone()
    }
}

fn send(
    spec: &Spec,
    control: &Control,
    link: &SharedLink,
    mut payload: super::run::StampedPayload,
) -> (MessageTally, Result<()>) {
    let mut tally = MessageTally::default();
    let mut schedule = Schedule::start(spec);
    while let Some(Due { stamp, .. }) = schedule.next(control) {
        let bytes = payload.stamped(stamp);
        let at = clock::now();
        if let Err(error) = lock(link).publish(bytes) {
            return (tally, Err(error));
        }
        tally.sent(stamp, at);
    }
    (tally, Ok(()))
}

fn lock(link: &SharedLink) -> std::sync::MutexGuard<'_, Opened> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{Role, WorkloadTopology};

    #[test]
    fn the_shares_are_the_whole() {
        let topology = WorkloadTopology { publishers: 3, ..WorkloadTopology::default() };
        let spec = Spec {
            topology,
            messages: Some(10),
            warmup: 4,
            rate: Some(30.0),
            ..Spec::new(Role::Pub, "tcp")
        };
        let shares: Vec<Spec> = (0..3).map(|number| share(&spec, number)).collect();
        let messages: Vec<_> = shares.iter().filter_map(|spec| spec.messages).collect();
        assert_eq!(messages, [4, 3, 3]);
        assert_eq!(shares.iter().map(|spec| spec.warmup).sum::<u64>(), 4);
        assert!(shares.iter().all(|spec| spec.rate == Some(10.0)));
        assert_eq!(shares[2].stream, 2);
    }
}
