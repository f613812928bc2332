//! What lets a broker deliver: acknowledgements, as it delivers only so many messages on a channel before one comes
//! (`basic.qos`, AMQP 0-9-1 §1.8.3.1), and requests for single messages (`basic.get`).

use super::method::{Acknowledgement, Delivery};
use crate::in_flight::InFlight;
use crate::{FrameSink, Permission};
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, RequestLimits, Total};

/// The most channels of a connection that are kept.
const MOST_CHANNELS: usize = 1024;

/// The channels of one connection.
#[derive(Debug, Default)]
pub(super) struct Permits {
    /// What is not acknowledged on each.
    channels: FxHashMap<u16, InFlight>,
    /// The channel on which an acknowledgement made room last.
    room: Option<u16>,
    /// The channel on which a message was asked for last.
    asked: Option<u16>,
}

impl Permits {
    /// A message is delivered on a channel.
    pub fn delivered(&mut self, channel: u16, delivery: Delivery) {
        if self.channels.len() < MOST_CHANNELS || self.channels.contains_key(&channel) {
            self.channels.entry(channel).or_default().sent(delivery.tag);
        }
    }

    /// The client acknowledges on a channel.
    pub fn acknowledged(
        &mut self,
        channel: u16,
        acknowledgement: Acknowledgement,
        out: &mut dyn FrameSink,
    ) {
        let Some(open) = self.channels.get_mut(&channel) else { return };
        let makes_room = match acknowledgement {
            Acknowledgement::One(tag) => open.acknowledged(tag),
            // 0 is all of them.
            Acknowledgement::UpTo(0) => open.acknowledged_up_to(u64::MAX),
            Acknowledgement::UpTo(tag) => open.acknowledged_up_to(tag),
        };
        if makes_room {
            self.room = Some(channel);
            out.makes_room();
        }
    }

    /// The client asks for a message on a channel.
    pub fn asks(&mut self, channel: u16, out: &mut dyn FrameSink) {
        self.asked = Some(channel);
        // It is answered at once, if only by there being no message.
        out.asks(RequestLimits { longest: Nanos(u64::MAX), least_bytes: 1 });
    }

    /// Tells what the next message on a channel did not wait for; `was_asked` if it is the answer to a request.
    pub fn tell(&self, channel: u16, was_asked: bool, out: &mut dyn FrameSink) {
        if self.asked.is_some_and(|asked| asked != channel || !was_asked) {
            out.unrelated(Permission::Request);
        }
        if self.room.is_some_and(|room| room != channel) {
            out.unrelated(Permission::Acknowledgement);
        }
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        self.channels.values_mut().for_each(InFlight::forget);
    }

    /// A channel is closed, or opened anew.
    pub fn end(&mut self, channel: u16) {
        self.channels.remove(&channel);
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> usize {
        const ENTRY: usize = size_of::<(u16, InFlight)>() + 1;
        let own = self.channels.capacity().saturating_mul(ENTRY);
        own.saturating_add(self.channels.values().map(InFlight::held_bytes).total())
    }
}
