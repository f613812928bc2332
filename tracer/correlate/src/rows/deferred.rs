//! Deliveries that were handed out and are in no figure yet: what they add to their rows can be added elsewhere, on another thread.

use crate::join::kept::PacketLeg;
use arrayvec::ArrayVec;
use wirelap_events::{
    Delivery, FlowKey, FlowRange, GroupId, Leg, MAX_LEGS, MessageId, MessageTrace, Nanos, Stamp,
    TopicId,
};

/// Deliveries that were handed out since the last batch was taken.
#[derive(Debug, Default)]
pub struct DeferredFigures {
    pub(super) all: Vec<DeferredDelivery>,
    /// The legs of all deliveries, one behind the other.
    pub(super) legs: Vec<DeferredLeg>,
    /// The legs of which more than packets is known, in the same order.
    pub(super) whole: Vec<Leg>,
}

/// A delivery, and when it was handed out.
#[derive(Clone, Copy, Debug)]
pub struct DeferredDelivery {
    pub message: MessageId,
    pub group: GroupId,
    pub stamp: Option<Stamp>,
    pub payload_len: u64,
    pub topic: Option<TopicId>,
    /// Up to when events had been taken in.
    pub now: Nanos,
    /// Every end of every leg was seen.
    pub is_whole: bool,
    /// The number of its legs.
    pub legs: usize,
}

/// A leg of a delivery.
#[derive(Debug)]
pub(super) enum DeferredLeg {
    Packets { flow: FlowKey, range: FlowRange, leg: PacketLeg },
    Whole,
}

impl DeferredFigures {
    /// Number of deliveries.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a leg of the next delivery of which only packets are known.
    pub fn packet_leg(&mut self, flow: FlowKey, range: FlowRange, leg: PacketLeg) {
        self.legs.push(DeferredLeg::Packets { flow, range, leg });
    }

    /// Adds a leg of the next delivery.
    pub fn leg(&mut self, leg: Leg) {
        self.legs.push(DeferredLeg::Whole);
        self.whole.push(leg);
    }

    /// Adds a delivery, whose legs were added before.
    pub fn delivery(&mut self, delivery: DeferredDelivery) {
        self.all.push(delivery);
    }
}

/// Fills in a delivery whose legs are there.
pub(super) fn fill_in(delivery: &mut Delivery, deferred: &DeferredDelivery) {
    delivery.message = deferred.message;
    delivery.group = deferred.group;
    delivery.stamp = deferred.stamp;
    delivery.payload_len = deferred.payload_len;
    delivery.topic = deferred.topic;
}

/// To be filled in.
pub fn nothing() -> Delivery {
    Delivery {
        message: MessageId::default(),
        group: GroupId::default(),
        stamp: None,
        payload_len: 0,
        topic: None,
        trace: MessageTrace::default(),
        clock_error: Nanos(0),
        legs: ArrayVec::<Leg, MAX_LEGS>::new(),
        off_cpu: ArrayVec::new(),
    }
}
