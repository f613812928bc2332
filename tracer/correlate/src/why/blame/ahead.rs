//! What a forwarder waits for that does not read because it cannot send.

use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::held_back::held_back;
use wirelap_events::{Leg, Nanos};

/// Bytes of the next leg were in their sender's socket while a message was on its way to that sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// What kept them there.
    pub cause: Cause,
    /// How long, as far as no time was put down to it.
    pub left: Nanos,
}

impl Ahead {
    /// What kept the forwarder from sending on the leg `next`, by what TCP knew when the message was sent there, or what was before it.
    pub fn of(next: &Leg) -> Option<Ahead> {
        let seen = &next.circumstances;
        let time = seen.held_before;
        let tx = seen.behind.map(|earlier| earlier.tx).or(seen.tx)?;
        let cause = (time > Nanos(0)).then(|| held_back(tx, seen, time))?;
        let is_full = matches!(
            cause,
            Cause::Of(
                VerdictKind::ReceiveWindow
                    | VerdictKind::CongestionWindow
                    | VerdictKind::SendBuffer
            )
        );
        is_full.then_some(Ahead { cause, left: time })
    }
}
