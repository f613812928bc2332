//! The roles, written once for all middlewares.

mod ping;
mod pong;
mod publish;
mod subscribe;

use crate::control::Control;
use crate::link::{Family, Handler, Link};
use crate::log::SharedLog;
use crate::stopped_is_fine;
use anyhow::Result;
use std::time::Duration;
use wirelap_contract::{Done, Role, Spec, Stamp};

/// How long a run's last messages may take to be written out and acknowledged.
const FLUSH: Duration = Duration::from_secs(30);
/// How long a link may wait for messages before it looks whether the run is over.
const POLL: Duration = Duration::from_millis(100);

/// What a role works with.
struct Run<'a> {
    spec: &'a Spec,
    family: &'a dyn Family,
    control: &'a Control,
    log: &'a SharedLog,
}

/// Plays `spec.role` until it is done or told to stop. The truth file is written in any case.
pub fn drive(spec: &Spec, family: &dyn Family, control: &Control) -> Result<Done> {
    let log = SharedLog::create(spec)?;
    let run = Run { spec, family, control, log: &log };
    let result = match spec.role {
        Role::Pub => publish::run(&run),
        Role::Sub => subscribe::run(&run),
        Role::Ping => ping::run(&run),
        Role::Pong | Role::Broker => pong::run(&run),
    };
    let done = log.finish();
    stopped_is_fine(result, control)?;
    done
}

impl Run<'_> {
    fn open(&self, handler: Option<Handler>) -> Result<Box<dyn Link>> {
        let link = self.family.open(self.spec, handler, self.control)?;
        self.control.say_ready(std::process::id(), link.facts());
        Ok(link)
    }

    /// The payload of this run's messages, with room for the stamp in front. Behind it are bytes that differ, so
    /// that nothing on the way can shorten them.
    fn payload(&self) -> Payload {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let bytes = (0..self.spec.payload).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        });
        Payload(bytes.collect())
    }
}

/// A payload that is stamped again for each message.
struct Payload(Vec<u8>);

impl Payload {
    fn stamped(&mut self, stamp: Stamp) -> &[u8] {
        let stamp = stamp.encode();
        // The command line was checked: there is room.
        self.0[..stamp.len()].copy_from_slice(&stamp);
        &self.0
    }
}
