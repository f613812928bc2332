//! Keeps a publisher that sends back to back within what the mock broker retains: it has 5 MiB a partition and then drops the oldest
//! batches, fetched or not. The subscriber commits its position now and then, and the publisher waits for that.
//! Other brokers need none of this.

use crate::settings;
use anyhow::{Context as _, Result};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wirelap_contract::{Role, Spec};
use wirelap_harness::control::Control;

/// Bytes that the publisher may be ahead, but one message at least. They are less than half of what is retained, as batches go as a whole.
pub const AHEAD: u64 = 2 << 20;
/// Bytes that the subscriber gets between two commits: far fewer, so that nobody waits in vain.
const STEP: u64 = AHEAD / 8;
/// Bytes of a message beside its payload.
const OVERHEAD: u64 = 16;
/// Longest time of one question.
const QUESTION: Duration = Duration::from_secs(1);
/// A subscriber that does not get on for this long is not waited for any more.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time until a question is asked again.
const AGAIN: Duration = Duration::from_micros(200);

/// True if this publisher has to wait for its subscriber.
pub fn is_needed(spec: &Spec) -> bool {
    settings::is_mock(spec) && spec.role == Role::Pub && spec.rate.is_none()
}

/// The publisher's side.
pub struct PublishWindow {
    asker: BaseConsumer,
    partitions: TopicPartitionList,
    /// End of each partition before the run, by its number.
    starts: Vec<u64>,
    /// Messages that it may be ahead.
    limit: u64,
    /// Messages between two looks.
    stride: u64,
    state: Mutex<PublishState>,
}

struct PublishState {
    /// Messages in the topic so far, ours included.
    end: u64,
    /// Until here no look is needed.
    next_look: u64,
    gave_up: bool,
}

impl PublishWindow {
    /// A window over a topic of so many partitions.
    pub fn open(spec: &Spec, broker: SocketAddr, topic: &str, count: i32) -> Result<PublishWindow> {
        let asker: BaseConsumer =
            settings::consumer(spec, broker).create().context("cannot follow the subscriber")?;
        let mut partitions = TopicPartitionList::new();
        let mut starts = Vec::new();
        for index in 0..count {
            partitions.add_partition(topic, index);
            let (_, high) = asker.fetch_watermarks(topic, index, QUESTION)?;
            starts.push(u64::try_from(high).unwrap_or(0));
        }
        let message = spec.payload as u64 + OVERHEAD;
        let (limit, stride) = ((AHEAD / message).max(1), (STEP / message).max(1));
        let end: u64 = starts.iter().sum();
        let state = Mutex::new(PublishState { end, next_look: end + limit, gave_up: false });
        Ok(PublishWindow { asker, partitions, starts, limit, stride, state })
    }

    /// Waits until one more message is within the window.
    pub fn wait(&self, control: &Control) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.end >= state.next_look && !state.gave_up {
            state.gave_up = !self.wait_for_subscriber(&mut state, control)?;
        }
        state.end += 1;
        Ok(())
    }

    /// False if there is no subscriber that gets on.
    fn wait_for_subscriber(&self, state: &mut PublishState, control: &Control) -> Result<bool> {
        let mut moved = Instant::now();
        let mut last = 0;
        while !control.interrupted() {
            let committed = self.committed()?;
            if committed != last {
                (moved, last) = (Instant::now(), committed);
            }
            let ahead = state.end.saturating_sub(committed);
            if ahead < self.limit {
                state.next_look = state.end + self.stride.min(self.limit - ahead);
                return Ok(true);
            }
            if moved.elapsed() > PATIENCE {
                return Ok(false);
            }
            std::thread::park_timeout(AGAIN);
        }
        Ok(true)
    }

    /// Sum of the subscriber's positions in all partitions.
    fn committed(&self) -> Result<u64> {
        let list = self
            .asker
            .committed_offsets(self.partitions.clone(), QUESTION)
            .context("cannot follow the subscriber")?;
        let told =
            list.elements().into_iter().zip(&self.starts).map(
                |(partition, &start)| match partition.offset() {
                    Offset::Offset(offset) => start.max(u64::try_from(offset).unwrap_or(0)),
                    _ => start,
                },
            );
        Ok(told.sum())
    }
}

/// The subscriber's side: when to commit.
pub struct Steps {
    is_needed: bool,
    since: u64,
}

impl Steps {
    /// Steps of this subscriber.
    pub fn of(spec: &Spec) -> Steps {
        Steps { is_needed: settings::is_mock(spec) && spec.role == Role::Sub, since: 0 }
    }

    /// True if the subscriber has to commit after this payload.
    pub fn take(&mut self, payload: usize) -> bool {
        self.since += payload as u64 + OVERHEAD;
        let due = self.is_needed && self.since >= STEP;
        if due {
            self.since = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_come_often_enough_for_the_window() {
        let spec = Spec { broker: Some("mock".into()), ..Spec::new(Role::Sub, "kafka") };
        for payload in [8, 64, 100_000, 4_000_000] {
            let mut steps = Steps::of(&spec);
            let step = (1..1_u64 << 32).find(|_| steps.take(payload)).unwrap();
            let limit = (AHEAD / (payload as u64 + OVERHEAD)).max(1);
            assert!(step <= limit, "{payload}: {step} {limit}");
        }
    }

    #[test]
    fn only_the_mock_needs_it() {
        let mock = Spec { broker: Some("mock".into()), ..Spec::new(Role::Pub, "kafka") };
        assert!(is_needed(&mock));
        assert!(!is_needed(&Spec { rate: Some(1.0), ..mock.clone() }));
        assert!(!is_needed(&Spec { broker: Some("apache".into()), ..mock.clone() }));
        let mut other = Steps::of(&Spec { role: Role::Sub, broker: None, ..mock });
        assert!(!other.take(1 << 30));
    }
}
