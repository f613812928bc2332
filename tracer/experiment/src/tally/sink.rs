//! The tally as a sink of deliveries, and what it hands on to a sink of samples.

use super::Tally;
use crate::samples::SharedSamples;
use wirelap_correlate::DeliverySink;
use wirelap_events::{Delivery, SampleStatus, TopicId};

impl DeliverySink for Tally {
    fn delivery(&mut self, delivery: &Delivery) {
        self.take(delivery);
    }

    fn aside(&mut self, delivery: &Delivery) {
        match (delivery.stamp, self.unstamped) {
            (Some(stamp), None) if stamp.warmup => self.sample(delivery, SampleStatus::WarmUp),
            (Some(_), None) | (None, Some(_)) => {
                self.sample(delivery, SampleStatus::of_uncovered(delivery));
            }
            _ => {}
        }
    }

    fn takes_topics(&self) -> bool {
        self.samples.is_some()
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.samples.as_ref().is_some_and(|samples| samples.lock().needs_topic(topic))
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if let Some(samples) = &self.samples {
            samples.lock().topic(topic, name);
        }
    }
}

impl Tally {
    /// A tally that also hands each delivery of the trial to `samples`.
    pub fn sampled(self, samples: Option<SharedSamples>) -> Tally {
        Tally { samples, ..self }
    }

    /// Hands a delivery to the sink of samples, if there is one.
    pub(super) fn sample(&self, delivery: &Delivery, status: SampleStatus) {
        if let Some(samples) = &self.samples {
            samples.lock().delivery(delivery, status);
        }
    }
}
