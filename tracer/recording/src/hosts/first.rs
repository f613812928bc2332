//! Facts about the hosts of a capture that its first packets tell.

use super::own::OwnAddresses;
use super::twice::Sightings;
use crate::read::Recording;
use crate::record::Entry;
use std::io::Read;
use std::net::IpAddr;
use wirelap_events::{Body, Event};

/// Number of packets that are looked at.
const SAMPLE: usize = 20_000;

/// Facts that the first packets of a capture tell.
#[derive(Debug, Default)]
pub struct FirstPackets {
    /// The addresses of the host that made the capture, for each of its interfaces; none where that is not known.
    pub own_addresses: Vec<Vec<IpAddr>>,
    /// Seven in ten packets are there exactly twice, and nothing says which way they went.
    pub are_twice: bool,
}

impl FirstPackets {
    /// Looks at the first packets of a capture.
    pub fn of<R: Read>(recording: &mut Recording<R>) -> FirstPackets {
        let mut own = OwnAddresses::default();
        let mut sightings = Some(Sightings::default());
        for _ in 0..SAMPLE {
            let Some(entry) = recording.next() else { break };
            let Entry::Event(Event { body: Body::Packet(packet), .. }) = entry else {
                let is_lost = matches!(entry, Entry::Event(Event { body: Body::Lost(_), .. }));
                sightings = sightings.filter(|_| is_lost);
                continue;
            };
            own.add(&packet);
            if sightings.as_mut().is_some_and(|sightings| !sightings.add(&packet)) {
                sightings = None;
            }
        }
        FirstPackets {
            own_addresses: own.all(),
            are_twice: sightings.is_some_and(|sightings| sightings.are_twice()),
        }
    }
}
