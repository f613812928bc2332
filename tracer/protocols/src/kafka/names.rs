//! The names in requests: that of the client, and that of the group that it reads in.
//!
//! Each request repeats the client's ID, so that it is known soon also if the connection was open before. The requests of a
//! group's member go to the group's coordinator, mostly on another connection than those for records.
//!
//! ```text
//! OffsetCommit, OffsetFetch 0-7, JoinGroup, Heartbeat, LeaveGroup, SyncGroup,
//! ConsumerGroupHeartbeat, ShareGroupHeartbeat, ShareFetch, ShareAcknowledge, StreamsGroupHeartbeat
//!   group, …
//! OffsetFetch 8+
//!   groups, array of
//!     group, …
//! ```
//!
//! `TxnOffsetCommit` is sent by a producer and has the group of another client, the consumer.

use super::apis::{ApiCall, OFFSET_FETCH};
use super::fields::KafkaFields;
use super::head::PduHead;
use crate::{FrameSink, MAX_CLIENT_NAME, Side};

/// Requests that start with the sender's group.
const OF_MEMBERS: [i16; 11] = [8, OFFSET_FETCH, 11, 12, 13, 14, 68, 76, 78, 79, 88];

/// The names that were reported last.
#[derive(Debug, Default)]
pub(super) struct RequestNames {
    client: Vec<u8>,
    group: Vec<u8>,
}

impl RequestNames {
    /// Reports the names in a request, if they are not those of the request before.
    pub fn report(&mut self, side: Side, head: &PduHead<'_>, out: &mut dyn FrameSink) {
        if let Some(client) = head.client_id.filter(|&client| *client != *self.client) {
            keep(&mut self.client, client);
            out.client(side, client);
        }
        let group = head.call.and_then(|call| group_of(call, head.body));
        if let Some(group) = group.filter(|&group| *group != *self.group) {
            keep(&mut self.group, group);
            out.member(side, group);
        }
    }
}

fn keep(place: &mut Vec<u8>, name: &[u8]) {
    place.clear();
    place.extend_from_slice(name);
}

/// The group that the sender of a request is a member of, if the request says it.
fn group_of(call: ApiCall, mut body: KafkaFields<'_>) -> Option<&[u8]> {
    if !OF_MEMBERS.contains(&call.key) {
        return None;
    }
    // Only tools ask for the offsets of several groups.
    if call.key == OFFSET_FETCH && call.version >= 8 && body.count().ok()? != 1 {
        return None;
    }
    body.string().ok().flatten().filter(|group| group.len() <= MAX_CLIENT_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::PROTOCOL;
    use crate::{FrameNote, Pdu, Protocol};
    use wirelap_events::{ByteRange, Frame, Offset, Transport};

    /// The head and the body of a request.
    fn request(key: u8, version: u8, client: &[u8], body: &[u8]) -> Vec<u8> {
        let len = [0, u8::try_from(client.len()).unwrap()];
        let head = [&[0, key, 0, version, 0, 0, 0, 7][..], &len, client].concat();
        let size = u32::try_from(head.len() + body.len()).unwrap().to_be_bytes();
        [&size[..], &head, body].concat()
    }

    /// The names that are reported, with `c` or `g` before them.
    #[derive(Default)]
    struct Names(Vec<String>);

    impl FrameSink for Names {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            let (what, name) = match note {
                FrameNote::Client { side: Side::A, name } => ('c', name),
                FrameNote::Member { side: Side::A, group } => ('g', group),
                _ => return,
            };
            self.0.push(format!("{what} {}", String::from_utf8_lossy(name)));
        }
    }

    fn names(requests: &[Vec<u8>]) -> Vec<String> {
        let mut connection = PROTOCOL.connection(Transport::Tcp);
        let mut names = Names::default();
        for bytes in requests {
            let range = ByteRange::new(Offset::START, bytes.len() as u64);
            connection.pdu(Side::A, Pdu { range, bytes }, &mut names);
        }
        names.0
    }

    #[test]
    fn a_name_is_reported_once_and_again_when_it_changes() {
        let ask = |client: &[u8]| request(3, 9, client, b"\0\x01\x01\0\0");
        let all = [ask(b"one"), ask(b"one"), ask(b"two"), ask(b"one")];
        assert_eq!(names(&all), ["c one", "c two", "c one"]);
    }

    #[test]
    fn the_group_is_in_what_members_send() {
        let plain = b"\0\x01g\0\0\0\x01\0\x01m";
        let compact = b"\0\x02g\0\0\0\x01\x02m\0\0";
        assert_eq!(names(&[request(12, 3, b"c", plain)]), ["c c", "g g"]);
        assert_eq!(names(&[request(12, 4, b"c", compact)]), ["c c", "g g"]);
        // OffsetFetch: one group, then two, of which nobody is a member of both.
        let one = b"\0\x02\x02g\x01\0\0\0";
        let two = b"\0\x03\x02g\x01\0\x02h\x01\0\0\0";
        assert_eq!(names(&[request(9, 8, b"c", one)]), ["c c", "g g"]);
        assert_eq!(names(&[request(9, 8, b"c", two)]), ["c c"]);
        // TxnOffsetCommit has another client's group.
        assert_eq!(names(&[request(28, 2, b"c", b"\0\x01t\0\x01g")]), ["c c"]);
        assert_eq!(names(&[request(12, 3, b"c", b"\0\0\0\0\0\x01\0\x01m")]), ["c c"]);
    }
}
