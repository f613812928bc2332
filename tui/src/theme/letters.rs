//! The letters that mark segments.

use wirelap_events::Segment;

/// The letter that marks a segment in a bar.
pub const fn letter(segment: Segment) -> char {
    match segment {
        Segment::ClientTx => 'c',
        Segment::Write => 'w',
        Segment::SocketTx => 't',
        Segment::Loss => 'l',
        Segment::Qdisc => 'q',
        Segment::Wire => 'W',
        Segment::StackRx => 's',
        Segment::Wakeup => 'k',
        Segment::RunQueue => 'r',
        Segment::Handoff => 'h',
        Segment::Busy => 'b',
        Segment::InKernel => 'n',
        Segment::Read => 'd',
        Segment::ClientRx => 'C',
        Segment::BrokerDwell => 'B',
    }
}
