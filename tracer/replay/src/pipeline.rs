//! The correlator of a replay, and who gets what it finds.

use crate::follower::Follower;
use crate::replay::Replay;
use wirelap_correlate::{Config, Correlator, DeliverySink, Group, Snapshot};
use wirelap_events::{Delivery, Nanos};
use wirelap_process::Failure;
use wirelap_session::notes::NotedFact;

/// The most facts from notes before the first event; of a recording that tells more, the rest is not known.
const MOST_FACTS: usize = 65_536;

impl<F: Follower> Replay<F> {
    /// Performs a step of the correlator, and gives the deliveries that it completes to the follower.
    pub(crate) fn with(
        &mut self,
        step: impl FnOnce(&mut Correlator, &mut dyn DeliverySink),
    ) -> Result<(), Failure> {
        self.correlator();
        let Replay { correlator: Some(correlator), follower, ready, .. } = self else {
            return Ok(());
        };
        if let Some(sink) = follower.sink() {
            step(correlator, sink);
            return Ok(());
        }
        if !F::DELIVERIES {
            step(correlator, &mut |_: &Delivery| {});
            return Ok(());
        }
        let mut ready = std::mem::take(ready);
        step(correlator, &mut |delivery: &Delivery| ready.push(delivery.clone()));
        for delivery in ready.drain(..) {
            let correlator = self.correlator.as_ref();
            let topic = correlator.and_then(|all| all.public_topic(delivery.topic?));
            self.follower.delivery(&delivery, topic)?;
        }
        self.ready = ready;
        Ok(())
    }

    /// Gives the follower a snapshot if it wants one now.
    pub(crate) fn offer_snapshot(&mut self, at: Nanos) {
        if self.follower.wants_snapshot(at) {
            let snapshot = self.correlator().snapshot(at);
            let snapshot = Replay::<F>::for_follower(snapshot);
            self.follower.snapshot(snapshot);
        }
    }

    /// A snapshot whose verdicts were held against the processes.
    pub(crate) fn for_follower(mut snapshot: Snapshot) -> Snapshot {
        snapshot.groups.iter_mut().for_each(Group::check_verdicts);
        snapshot
    }

    /// Tells the correlator what a note says, once there is one.
    pub(crate) fn tell(&mut self, fact: NotedFact) {
        match &mut self.correlator {
            Some(correlator) => fact.tell(correlator),
            None if self.facts.len() < MOST_FACTS => self.facts.push(fact),
            None => {}
        }
    }

    /// The correlator. It is made at the first use, when the notes at the beginning of a file have told its settings.
    pub(crate) fn correlator(&mut self) -> &mut Correlator {
        self.correlator.get_or_insert_with(|| {
            let mut decode = self.decode.clone();
            decode.extend(self.recorded.decode.iter().cloned());
            let (packets_only, wall) = (self.packets_only, self.wall);
            let usual = Config::default();
            let hold = self.hosts.hold.unwrap_or_default().max(usual.hold);
            let mut correlator = Correlator::new(Config {
                hold,
                decode,
                packets_only,
                wall,
                hosts: std::mem::take(&mut self.hosts.addresses),
                topics: true,
                breakdown: self.breakdown.clone(),
                tls_keys: self.tls_keys.clone(),
                ..usual
            });
            if let Some(bounds) = self.hosts.bounds.take() {
                correlator.set_host_bounds(bounds);
                correlator.name_hosts(std::mem::take(&mut self.hosts.names).into_iter());
            }
            let facts = std::mem::take(&mut self.facts);
            for fact in facts {
                fact.tell(&mut correlator);
            }
            correlator
        })
    }
}
