//! Environment of a role: its options, middleware, control and log.

use crate::log::SharedLog;
use crate::pace::Schedule;
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wirelap_contract::{Spec, Stamp};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// Longest time in which a run's last messages are written out and acknowledged.
pub const FLUSH: Duration = Duration::from_secs(30);
/// Longest time that a link waits for messages before it looks whether the run is over.
pub const POLL: Duration = Duration::from_millis(100);

/// One role of one process, from its first message to its last.
pub struct Run<'a> {
    pub spec: &'a Spec,
    pub family: &'a dyn Family,
    pub control: &'a Control,
    pub log: &'a SharedLog,
}

impl Run<'_> {
    pub fn open(&self, handler: Option<Handler>) -> Result<Opened> {
        let link = self.family.open(self.spec, handler, self.control)?;
        self.control.say_ready(std::process::id(), link.facts());
        Ok(link)
    }

    /// Opens an end for each of several clients; `client` has the topic and the handler of each.
    pub fn open_each(
        &self,
        clients: u32,
        client: impl Fn(u32) -> (String, Option<Handler>),
    ) -> Result<Vec<Opened>> {
        let links = (0..clients).map(|number| {
            let (topic, handler) = client(number);
            self.family.open(&self.spec.of_client(number, topic), handler, self.control)
        });
        let links: Vec<Opened> = links.collect::<Result<_>>()?;
        if let Some(first) = links.first() {
            self.control.say_ready(std::process::id(), first.facts());
        }
        Ok(links)
    }

    /// True if a sender that has sent all that counts goes on: if it stays, it says so, and waits until it is told to.
    pub fn goes_on(&self, schedule: &mut Schedule) -> Result<bool> {
        if !self.spec.stay || self.control.interrupted() {
            return Ok(false);
        }
        self.log.say_done()?;
        if !self.control.wait_for_go()? {
            return Ok(false);
        }
        schedule.go_on();
        Ok(true)
    }

    /// Returns what a receiver calls as messages come, and which tells when its role is over.
    pub fn complete(&self) -> Complete {
        let expected = self.spec.messages;
        let have_all_come = Arc::new(AtomicBool::new(expected == Some(0)));
        let stays = self.spec.stay.then(|| self.log.clone());
        Complete { expected, have_all_come, stays, control: self.control.clone() }
    }

    /// The topic of a publisher.
    pub fn topic_of_publisher(&self, publisher: u32) -> String {
        let topology = self.spec.topology;
        topology.topic(&self.spec.topic, topology.topic_of_publisher(publisher))
    }

    /// The payload of this run's messages, with room for the stamp in front. Behind it are bytes that differ, so
    /// that nothing on the way can shorten them.
    pub fn payload(&self) -> StampedPayload {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let bytes = (0..self.spec.payload).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        });
        StampedPayload(bytes.collect())
    }
}

/// Count of a receiver's messages that tells when all have come.
#[derive(Clone)]
pub struct Complete {
    expected: Option<u64>,
    have_all_come: Arc<AtomicBool>,
    /// Log of a receiver that goes on all the same.
    stays: Option<SharedLog>,
    control: Control,
}

impl Complete {
    /// So many have come.
    pub fn received(&self, count: u64) {
        if self.expected != Some(count) || self.have_all_come.swap(true, Ordering::AcqRel) {
            return;
        }
        match &self.stays {
            Some(log) => {
                if let Err(error) = log.say_done() {
                    self.control.fail(error);
                }
            }
            None => self.control.wake(),
        }
    }

    /// True if the role is over: all have come, or it was told to stop.
    pub fn is_over(&self) -> bool {
        let is_complete = self.stays.is_none() && self.have_all_come.load(Ordering::Acquire);
        is_complete || self.control.interrupted()
    }
}

/// A payload that is stamped again for each message.
pub struct StampedPayload(Vec<u8>);

impl StampedPayload {
    pub fn stamped(&mut self, stamp: Stamp) -> &[u8] {
        let stamp = stamp.encode();
        // The command line was checked: there is room.
        self.0[..stamp.len()].copy_from_slice(&stamp);
        &self.0
    }
}
