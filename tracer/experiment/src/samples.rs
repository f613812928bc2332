//! Sink that takes the messages of a run one by one, beside the sums that the results are made of.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wirelap_events::{Delivery, SampleStatus, TopicId};
use wirelap_report::SampleOrigin;

/// Takes the deliveries of a run one by one, on the thread that traces: what takes long belongs on another thread.
pub trait SampleSink: Debug + Send {
    /// The deliveries and topics that follow are of a trial with this origin. Its topics are numbered anew.
    fn begin(&mut self, origin: &SampleOrigin);

    /// True if the name of this topic has not been given since the trial began.
    fn needs_topic(&self, topic: TopicId) -> bool;

    /// Takes the name of a topic, before the first delivery that has it.
    fn topic(&mut self, topic: TopicId, name: &[u8]);

    /// Takes a delivery.
    fn delivery(&mut self, delivery: &Delivery, status: SampleStatus);
}

/// A [`SampleSink`] that the trials of a run use one after the other.
#[derive(Clone, Debug)]
pub struct SharedSamples(Arc<Mutex<dyn SampleSink>>);

impl SharedSamples {
    /// Shares a sink, which the caller may keep too.
    pub fn new(sink: Arc<Mutex<dyn SampleSink>>) -> SharedSamples {
        SharedSamples(sink)
    }

    /// The sink, for one call.
    pub fn lock(&self) -> MutexGuard<'_, dyn SampleSink + 'static> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
