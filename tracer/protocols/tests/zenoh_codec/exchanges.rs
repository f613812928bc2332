//! Queries and their replies have the number that Zenoh's own encoder gave them.

use crate::batch;
use crate::messages::any_message;
use proptest::prelude::*;
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::{FrameNote, FrameSink, Pdu, Protocol, Side, zenoh::PROTOCOL};
use zenoh_protocol::network::NetworkBody;

/// For each exchange: whether it is a reply, its number, and its bytes.
#[derive(Default)]
struct Exchanges(Vec<(bool, u64, ByteRange)>);

impl FrameSink for Exchanges {
    fn frame(&mut self, _: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        match note {
            FrameNote::Request { number, extent, .. } => self.0.push((false, number, extent)),
            FrameNote::Reply { number, extent } => self.0.push((true, number, extent)),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn queries_and_replies_are_told_with_their_number(case in any_message()) {
        let expected = match &case.message.body {
            NetworkBody::Request(request) => Some((false, request.id)),
            NetworkBody::Response(response) => Some((true, response.rid)),
            NetworkBody::ResponseFinal(last) => Some((true, last.rid)),
            _ => None,
        };
        let bytes = batch(&encode!(&case.message));
        let range = ByteRange::new(Offset(7), bytes.len() as u64);
        let mut told = Exchanges::default();
        PROTOCOL.connection(Transport::Tcp).pdu(Side::A, Pdu { range, bytes: &bytes }, &mut told);
        let expected: Vec<_> =
            expected.into_iter().map(|(is_reply, number)| (is_reply, number.into(), range)).collect();
        prop_assert_eq!(told.0, expected);
    }
}
