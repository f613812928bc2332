//! The colours of segments.

use ratatui::style::Color;
use wirelap_events::Segment;

/// A segment's colour in the palette of 256. All are light enough for black letters and dark enough for a light ground. They were
/// searched so that segments that can be neighbours in a bar differ clearly, also for eyes without red or green cones (the test
/// says how clearly); the scheduler's two segments are orange, the wire is blue, the broker's dwell is violet.
pub const fn of_256(segment: Segment) -> u8 {
    match segment {
        Segment::ClientTx => 246,
        Segment::Write => 166,
        Segment::SocketTx => 221,
        Segment::Loss => 201,
        Segment::Qdisc => 180,
        Segment::Wire => 74,
        Segment::StackRx => 51,
        Segment::Wakeup => 208,
        Segment::RunQueue => 209,
        Segment::Handoff => 133,
        Segment::Busy => 243,
        Segment::InKernel => 147,
        Segment::Read => 121,
        Segment::ClientRx => 188,
        Segment::BrokerDwell => 98,
    }
}

/// The colours of a segment's letters and of its ground among the 16. What the terminal's user has made of them is not known:
/// the letters tell the segments apart.
pub const fn of_16(segment: Segment) -> (Color, Color) {
    let ground = match segment {
        Segment::ClientTx => Color::Gray,
        Segment::Write => Color::LightRed,
        Segment::SocketTx => Color::LightYellow,
        Segment::Loss => Color::LightMagenta,
        Segment::Qdisc => Color::Yellow,
        Segment::Wire => Color::LightBlue,
        Segment::StackRx => Color::LightCyan,
        Segment::Wakeup => Color::Magenta,
        Segment::RunQueue => return (Color::White, Color::Red),
        Segment::Handoff => Color::Cyan,
        Segment::Busy => Color::DarkGray,
        Segment::InKernel => Color::Green,
        Segment::Read => Color::LightGreen,
        Segment::ClientRx => Color::White,
        Segment::BrokerDwell => return (Color::White, Color::Blue),
    };
    (Color::Black, ground)
}
