//! Choice of the sightings of a packet that Wireshark sees, and their places among the blocks.

use crate::pcapng::{ByteOrder, CapturePoint};
use rustc_hash::FxHashMap;
use wirelap_events::{FlowKey, Nanos, PacketHook};

/// Flows whose shown point is remembered; when there are more, all are forgotten.
const MAX_FLOWS: usize = 65_536;

/// Choice of the sightings of a packet that are packets for Wireshark. The other sightings become records: a [`crate::Recording`]
/// has them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownSightings {
    /// One sighting a packet: where its flow is sent, or else where it is received first. Wireshark takes
    /// a second one for a retransmission.
    #[default]
    Once,
    /// At this hook.
    At(PacketHook),
    /// All.
    All,
}

/// Decides which sightings are shown, and remembers where each flow is.
#[derive(Debug)]
pub struct ShownFlows {
    shown: ShownSightings,
    points: FxHashMap<FlowKey, CapturePoint>,
}

impl ShownFlows {
    /// No flow was seen yet.
    pub fn new(shown: ShownSightings) -> ShownFlows {
        ShownFlows { shown, points: FxHashMap::default() }
    }

    /// True if a flow was seen before.
    pub fn is_known(&self, flow: &FlowKey) -> bool {
        self.points.contains_key(flow)
    }

    /// True if a flow's packet that was seen at a point is shown.
    pub fn is_shown(&mut self, flow: FlowKey, point: CapturePoint) -> bool {
        if self.points.len() >= MAX_FLOWS {
            self.points.clear();
        }
        let known = self.points.entry(flow).or_insert(point);
        match self.shown {
            ShownSightings::All => true,
            ShownSightings::At(hook) => hook == point.hook,
            ShownSightings::Once => {
                if (known.hook, point.hook) == (PacketHook::Rx, PacketHook::Xmit) {
                    // The packet that made it known was on its way already when recording began.
                    *known = point;
                }
                *known == point
            }
        }
    }
}

/// A packet's block among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPacket {
    /// Offset of the block in the bytes that come with it.
    pub start: usize,
    /// End of the block in these bytes.
    pub end: usize,
    /// Offset in the block at which more options have their place.
    pub options: usize,
    /// The block's byte order.
    pub order: ByteOrder,
    /// The block's number among all that Wireshark lists, from 1.
    pub frame: u64,
    /// Time of the packet.
    pub at: Nanos,
    /// The device's queue, if that is known.
    pub queue: Option<u16>,
}
