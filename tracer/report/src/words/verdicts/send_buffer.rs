//! Words of `send_buffer`.

use super::VerdictWords;
use wirelap_correlate::Clause;
use wirelap_events::TxState;

pub const WORDS: VerdictWords = VerdictWords {
    title: "send buffer full",
    short: "send buffer",
    means: "the sender's socket buffer is full",
    evidence: "bytes unsent at the send, a send larger than the buffer, or one of which the socket took a part only: until the acknowledgement came that made room",
    helps: "send less, or a larger send buffer",
    remedy: |_| "send slower, let the receiver read faster, or give the socket room: SO_SNDBUF, net.ipv4.tcp_wmem",
    own_remedy: |own, _| own.send_buffer,
    clause: |clause| {
        Some(match clause {
            Clause::SendBuffer { tx, bytes } => send_buffer(tx, *bytes),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

fn send_buffer(tx: &TxState, bytes: u32) -> String {
    match (tx.unsent, tx.send_buffer) {
        (0, room) => format!(
            "{bytes} B were to be sent, and the socket's buffer has {room} B with all book-keeping: what did not fit waited for an ACK"
        ),
        (unsent, _) => format!("{unsent} B were waiting in the socket before it"),
    }
}
