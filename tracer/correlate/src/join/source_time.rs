//! The time at which a sender's library was given a message: what the message itself claims, and how
//! that is checked.
//!
//! ```text
//!   write()           ┌ sleeps: no room ┐            send
//!   ────┬─────────────┴─────────────────┴─────────────┬────▶  the sending thread
//!       claimed                                       entered
//! ```
//!
//! A claim is no observation: an application may set it, a bridge hands on another one's, clocks are set. So it
//! is compared with what the sending thread did. It was on its way between both moments, or went to sleep after
//! the first; one that slept *at* the claimed moment cannot have made it.

use wirelap_events::{Nanos, Tid};
use wirelap_flow::Threads;

/// The credibility of one sender's claims, by the threads that send what it claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimHistory {
    /// The thread that was seen to claim and send in one run, the last one.
    proved: Option<Tid>,
    /// The thread of which a claim was impossible, the last one: it sends for others, or tells something else.
    refuted: Option<Tid>,
}

/// The result of comparing one claim with the sending thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimCheck {
    /// The message was sent at once: nothing slept in between.
    SentAtOnce,
    /// The thread slept in between, and was awake at the claimed moment.
    KeptWaiting,
    /// The claim cannot be true.
    Impossible,
    /// The thread was not followed.
    Nothing,
}

/// A thread sends a message that claims to have been `given` to its library at that moment. `entered`: when it called.
/// Returns the claim if it can be believed, and the library kept the message since.
pub fn kept_since(
    claims: &mut ClaimHistory,
    threads: &Threads,
    tid: Tid,
    given: Nanos,
    entered: Nanos,
) -> Option<Nanos> {
    match shown(threads, tid, given, entered) {
        ClaimCheck::Impossible => {
            claims.refuted = Some(tid);
            claims.proved = claims.proved.filter(|&proved| proved != tid);
        }
        ClaimCheck::SentAtOnce if claims.refuted != Some(tid) => claims.proved = Some(tid),
        ClaimCheck::KeptWaiting if claims.proved == Some(tid) => return Some(given),
        ClaimCheck::SentAtOnce | ClaimCheck::KeptWaiting | ClaimCheck::Nothing => {}
    }
    None
}

fn shown(threads: &Threads, tid: Tid, given: Nanos, entered: Nanos) -> ClaimCheck {
    if given > entered {
        return ClaimCheck::Impossible;
    }
    let Some(rested) = threads.rested(tid, given, entered) else { return ClaimCheck::Nothing };
    if rested.asleep == Nanos(0) {
        return ClaimCheck::SentAtOnce;
    }
    match threads.was_awake(tid, given) {
        Some(true) => ClaimCheck::KeptWaiting,
        Some(false) => ClaimCheck::Impossible,
        None => ClaimCheck::Nothing,
    }
}
