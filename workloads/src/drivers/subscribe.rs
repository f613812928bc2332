//! `sub`: counts what arrives.

use super::run::{Complete, POLL, Run};
use anyhow::{Context, Result};
use std::thread;
use wirelap_contract::{Stamp, SubscribedTopics};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Handler, Opened};

pub(super) fn run(run: &Run<'_>) -> Result<()> {
    let complete = run.complete();
    let topology = run.spec.topology;
    let links = run.open_each(topology.subscribers, |number| {
        let topic = match topology.subscription {
            SubscribedTopics::Own => {
                let topic = topology.topics_of_subscriber(number).start;
                topology.topic(&run.spec.topic, topic)
            }
            SubscribedTopics::All | SubscribedTopics::Shared => run.spec.topic.clone(),
        };
        // Those that share a subscription count as one: a message may come to any of them, but only once.
        let counted_as = if topology.subscription == SubscribedTopics::Shared { 0 } else { number };
        (topic, Some(handler(run, counted_as, complete.clone())))
    })?;
    poll(run.control, links, &complete)?;
    run.control.check()
}

/// Lets messages come in until all have come: on this thread if there is one subscriber or the library calls back by itself,
/// otherwise on a thread for each.
fn poll(control: &Control, mut links: Vec<Opened>, complete: &Complete) -> Result<()> {
    if let [link] = links.as_mut_slice() {
        while !complete.is_over() {
            link.poll(POLL)?;
        }
    } else if links.iter().all(|link| !link.is_polled()) {
        while !complete.is_over() {
            links[0].poll(POLL)?;
        }
    } else {
        let threads = links.into_iter().map(|link| {
            let (control, complete) = (control.clone(), complete.clone());
            let body = move || poll_one(&control, link, &complete);
            thread::Builder::new().name("subscriber".into()).spawn(body)
        });
        let threads: Vec<_> = threads.collect::<Result<_, _>>().context("cannot start a thread")?;
        while !complete.is_over() {
            thread::park_timeout(POLL);
        }
        for one in threads {
            // A panic has been written to stderr already.
            drop(one.join());
        }
        return Ok(());
    }
    control.check()?;
    for link in links {
        link.close();
    }
    Ok(())
}

fn poll_one(control: &Control, mut link: Opened, complete: &Complete) {
    while !complete.is_over() {
        if let Err(error) = link.poll(POLL) {
            return control.fail(error);
        }
    }
    link.close();
}

fn handler(run: &Run<'_>, subscriber: u32, complete: Complete) -> Handler {
    let log = run.log.clone();
    Box::new(move |at, payload, _| {
        // Payloads of others on the same topic are none of our business.
        let Some(stamp) = Stamp::decode(payload) else { return };
        let count = log.lock().delivered(subscriber, stamp, at);
        complete.received(count);
    })
}
