//! `rmw_dds_common/msg/ParticipantEntitiesInfo`, which each participant publishes on the topic `ros_discovery_info`: its nodes,
//! and the endpoints of each.
//!
//! ```text
//! CDR header, 4 bytes | participant's GUID | u32 number of nodes | nodes
//! node: string namespace | string name | u32 number, GUIDs of readers | u32 number, GUIDs of writers
//! ```
//!
//! A GUID has 16 bytes, and in versions before ROS 2 Iron 24, of which the last 8 are unused.
//! Source: `rmw_dds_common`, `msg/*.msg`.

use super::name::{is_relative_name, node_name};
use crate::Reader;

/// The topic.
pub const DISCOVERY_TOPIC: &[u8] = b"ros_discovery_info";

/// The bytes of a GUID that count.
pub type EndpointGuid = [u8; 16];

/// The most nodes, and endpoints of a node, that are read.
const MOST: u32 = 1024;

/// Bytes of a GUID in newer and in older versions.
const GUID_BYTES: [usize; 2] = [16, 24];

/// A node of a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantNode {
    /// The fully qualified name: `/robot1/talker`.
    pub name: String,
    /// The node's readers and writers.
    pub endpoints: Vec<EndpointGuid>,
}

/// The nodes in a serialized message; `None` if it is not one, or was not captured whole.
pub fn nodes(serialized: &[u8]) -> Option<Vec<ParticipantNode>> {
    let (header, body) = serialized.split_first_chunk::<4>()?;
    // Plain CDR of either version and byte order (DDSI-RTPS 2.5 §10.2.1.2, DDS-XTypes 1.3 §7.6.3.1.2).
    let is_big = match header {
        [0, 0 | 6, ..] => true,
        [0, 1 | 7, ..] => false,
        _ => return None,
    };
    GUID_BYTES.into_iter().find_map(|guid_bytes| {
        let mut cdr = Cdr { reader: Reader::new(body), is_big, guid_bytes };
        let nodes = cdr.nodes()?;
        // Less than an alignment may be left.
        (cdr.reader.remaining() < 4).then_some(nodes)
    })
}

/// Reads a body in plain CDR, in which numbers are aligned to their size.
struct Cdr<'a> {
    reader: Reader<'a>,
    is_big: bool,
    guid_bytes: usize,
}

impl Cdr<'_> {
    fn nodes(&mut self) -> Option<Vec<ParticipantNode>> {
        self.reader.skip(self.guid_bytes)?;
        (0..self.number()?).map(|_| self.node()).collect()
    }

    fn node(&mut self) -> Option<ParticipantNode> {
        let (namespace, name) = (self.string()?, self.string()?);
        let name = Some(name).filter(|name| is_relative_name(name))?;
        let name = node_name(&namespace, &name)?;
        let mut endpoints = self.guids()?;
        endpoints.extend(self.guids()?);
        Some(ParticipantNode { name, endpoints })
    }

    fn guids(&mut self) -> Option<Vec<EndpointGuid>> {
        let number = self.number()?;
        (0..number).map(|_| self.reader.take(self.guid_bytes)?.first_chunk().copied()).collect()
    }

    fn number(&mut self) -> Option<u32> {
        self.u32().filter(|number| *number <= MOST)
    }

    fn u32(&mut self) -> Option<u32> {
        let over = self.reader.position() % 4;
        self.reader.skip(4_usize.saturating_sub(over) % 4)?;
        if self.is_big { self.reader.u32_be() } else { self.reader.u32_le() }
    }

    fn string(&mut self) -> Option<String> {
        let len = usize::try_from(self.number()?).ok()?;
        let text = self.reader.take(len)?;
        String::from_utf8(text.strip_suffix(&[0])?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(guid_bytes: usize, nodes: &[(&str, &str, &[u8], &[u8])]) -> Vec<u8> {
        let mut body = vec![9; guid_bytes];
        let number = |body: &mut Vec<u8>, number: usize| {
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend(u32::try_from(number).unwrap().to_le_bytes());
        };
        number(&mut body, nodes.len());
        for (namespace, name, readers, writers) in nodes {
            for text in [namespace, name] {
                number(&mut body, text.len() + 1);
                body.extend(text.as_bytes());
                body.push(0);
            }
            for guids in [readers, writers] {
                number(&mut body, guids.len());
                guids.iter().for_each(|guid| body.extend(vec![*guid; guid_bytes]));
            }
        }
        [&[0, 1, 0, 0][..], &body].concat()
    }

    #[test]
    fn nodes_of_both_versions_are_read() {
        for guid_bytes in GUID_BYTES {
            let two: [(&str, &str, &[u8], &[u8]); 2] =
                [("/", "talker", &[1], &[2, 3]), ("/robot1", "listener", &[], &[])];
            let bytes = message(guid_bytes, &two);
            let found = nodes(&bytes).unwrap();
            assert_eq!(found[0].name, "/talker");
            assert_eq!(found[0].endpoints, [[1; 16], [2; 16], [3; 16]]);
            assert_eq!((found[1].name.as_str(), found[1].endpoints.len()), ("/robot1/listener", 0));
            for cut in 0..bytes.len() {
                assert_eq!(nodes(&bytes[..cut]), None, "{cut} of {}", bytes.len());
            }
            assert_eq!(nodes(&message(guid_bytes, &[])), Some(vec![]));
        }
        assert_eq!(nodes(b"\0\x01\0\0hello, this is something else"), None);
        assert_eq!(nodes(&message(16, &[("/", "no node", &[], &[])])), None);
    }
}
