//! Parameter lists (DDSI-RTPS 2.5 §9.4.2.11): inline `QoS`, and the payload of discovery.

use super::byte_order::SubmessageByteOrder;
use super::entity::{Guid, GuidPrefix};
use super::shared_host::{self, SharedHost};
use crate::Reader;

const SENTINEL: u16 = 0x0001;
const TOPIC_NAME: u16 = 0x0005;
const TYPE_NAME: u16 = 0x0007;
const DOMAIN_ID: u16 = 0x000f;
const UNICAST_LOCATOR: u16 = 0x002f;
const DEFAULT_UNICAST_LOCATOR: u16 = 0x0031;
const PARTICIPANT_GUID: u16 = 0x0050;
const ENDPOINT_GUID: u16 = 0x005a;
const ENTITY_NAME: u16 = 0x0062;
const KEY_HASH: u16 = 0x0070;

/// `PL_CDR` in either byte order (§10.2.1.2).
const PL_CDR_BE: [u8; 2] = [0, 2];
const PL_CDR_LE: [u8; 2] = [0, 3];

/// The next parameter; `None` at the sentinel.
type Parameter<'a> = Option<(u16, Reader<'a>)>;

fn next<'a>(reader: &mut Reader<'a>, order: SubmessageByteOrder) -> Option<Parameter<'a>> {
    let id = order.u16(reader)?;
    let len = order.u16(reader)?;
    if id == SENTINEL {
        return Some(None);
    }
    Some(Some((id, reader.sub(usize::from(len))?)))
}

/// Skips a list and its sentinel; `None` if the sentinel is missing.
pub(super) fn skip(reader: &mut Reader, order: SubmessageByteOrder) -> Option<()> {
    while next(reader, order)?.is_some() {}
    Some(())
}

/// Reads a list and its sentinel. Returns the key of the instance in it, which is a GUID in discovery (§9.6.4.8).
pub(super) fn key_hash(reader: &mut Reader, order: SubmessageByteOrder) -> Option<Guid> {
    let mut key = None;
    while let Some((id, mut value)) = next(reader, order)? {
        if id == KEY_HASH {
            key = value.array();
        }
    }
    key
}

/// The GUID of the participant or endpoint that a discovery sample is of.
pub(super) fn discovered_key(serialized: &[u8]) -> Option<Guid> {
    let (mut reader, order) = parameters(serialized)?;
    loop {
        let (id, mut value) = next(&mut reader, order)??;
        if [PARTICIPANT_GUID, ENDPOINT_GUID].contains(&id) {
            return value.array();
        }
    }
}

/// The parameters in a discovery sample.
fn parameters(serialized: &[u8]) -> Option<(Reader<'_>, SubmessageByteOrder)> {
    let mut reader = Reader::new(serialized);
    let order = match reader.array::<2>()? {
        PL_CDR_BE => SubmessageByteOrder::Big,
        PL_CDR_LE => SubmessageByteOrder::Little,
        _ => return None,
    };
    let _options = reader.array::<2>()?;
    Some((reader, order))
}

/// The part of a discovery sample that tells of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    pub participant: GuidPrefix,
    /// The host on which it has an address in shared memory.
    pub host: Option<SharedHost>,
    pub domain: Option<u32>,
}

/// The address in shared memory that a participant or endpoint announces in a discovery sample, or that it announces none.
pub(super) fn announcement(serialized: &[u8]) -> Option<Announcement> {
    let (mut reader, order) = parameters(serialized)?;
    let (mut guid, mut address, mut domain) = (None::<Guid>, None::<[u8; 16]>, None);
    while let Some(Some((id, mut value))) = next(&mut reader, order) {
        match id {
            PARTICIPANT_GUID | ENDPOINT_GUID => guid = value.array(),
            DOMAIN_ID => domain = order.u32(&mut value),
            UNICAST_LOCATOR | DEFAULT_UNICAST_LOCATOR => {
                let is_shared = order.u32(&mut value).is_some_and(shared_host::is_shared);
                let _port = order.u32(&mut value);
                address = value.array().filter(|_| is_shared).or(address);
            }
            _ => {}
        }
    }
    let participant = *guid?.first_chunk()?;
    let host = address.map(|address| SharedHost::new(participant, address));
    Some(Announcement { participant, host, domain })
}

/// The part of a discovery sample that tells of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiscoveredEndpoint<'a> {
    pub guid: Guid,
    pub topic: &'a [u8],
    /// The name of the type; empty if it is missing or was not captured.
    pub type_name: &'a [u8],
}

/// The endpoint in a discovery sample; `None` if its GUID or topic are missing or were not captured.
pub(super) fn endpoint(serialized: &[u8]) -> Option<DiscoveredEndpoint<'_>> {
    let (guid, topic) = guid_and_name(serialized, ENDPOINT_GUID, TOPIC_NAME)?;
    let named = guid_and_name(serialized, ENDPOINT_GUID, TYPE_NAME);
    Some(DiscoveredEndpoint { guid, topic, type_name: named.map_or(&[][..], |(_, name)| name) })
}

/// The participant and the name that it gives itself, in a discovery sample; `None` if they are missing or were not captured.
pub(super) fn participant_and_name(serialized: &[u8]) -> Option<(Guid, &[u8])> {
    guid_and_name(serialized, PARTICIPANT_GUID, ENTITY_NAME)
}

fn guid_and_name(serialized: &[u8], guid_id: u16, name_id: u16) -> Option<(Guid, &[u8])> {
    let (mut reader, order) = parameters(serialized)?;
    let (mut guid, mut name) = (None, None);
    while guid.is_none() || name.is_none() {
        let (id, mut value) = next(&mut reader, order)??;
        if id == guid_id {
            guid = value.array();
        } else if id == name_id {
            name = string(&mut value, order);
        }
    }
    Some((guid?, name?))
}

/// Reads a CDR string, without its final NUL.
fn string<'a>(reader: &mut Reader<'a>, order: SubmessageByteOrder) -> Option<&'a [u8]> {
    let len = usize::try_from(order.u32(reader)?).ok()?;
    let text = reader.take(len)?;
    Some(text.strip_suffix(&[0]).unwrap_or(text))
}
