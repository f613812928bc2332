//! Messages of which only packets are seen, as in captures of other programs.

use wirelap_events::{Heard, Nanos, Stage, StageTimes};

/// Times at which the packets of a message passed the packet hooks, for a message of which nothing else was seen, in a flow
/// without losses. `xmit` and `rx` are of the packet with the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTimes {
    /// Time at which the packet with the message's first byte was first seen.
    pub began: Option<Nanos>,
    /// Time at which the packet left.
    pub xmit: Option<Nanos>,
    /// Time at which the packet came in.
    pub rx: Option<Nanos>,
    /// The acknowledgement of the last byte.
    pub heard: Option<Heard>,
}

/// Lets a message of which only packets were seen begin with the first packet of its first byte, which `began` is, and end with the last
/// packet that was seen. Until the packet with its last byte leaves, it is being written.
///
/// ```text
///  first packet            last packet      came in
///  ┌─ send                 ┌─ sent          ┌─ rx, read
///  ├─────── write ─────────┼───── wire ─────┤
/// ```
pub fn begin_and_end(times: &mut StageTimes, began: Option<Nanos>) {
    let (first, last) = (times.seen().next(), times.seen().next_back());
    let Some(((first, left), (_, last))) = first.zip(last) else { return };
    times.set(Stage::Read, last);
    let Some(began) = began.filter(|&began| began < left) else { return };
    times.set(Stage::Send, began);
    times.set(Stage::Sent, left);
    // It is the same moment, and the time in the queue of a device is not known.
    if matches!(first, Stage::Xmit | Stage::Rx) {
        times.clear(first);
    }
}
