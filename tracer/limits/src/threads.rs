//! Times and counts that tell what threads did.

use super::{ms, us};
use wirelap_events::Nanos;

/// Time after which a thread that let go of a lock which others ask for by the clock is not thought to have it any more.
pub const LOCK_HOLDER_MEMORY: Nanos = ms(1_000);

/// Time that a thread runs at most between two sleeps on the same lock, if it only looks whether the lock is free.
pub const LONGEST_LOCK_CHECK: Nanos = us(200);

/// Age up to which a look at a thread tells what it does now.
pub const THREAD_STATE_FRESHNESS: Nanos = ms(2_000);

/// A thread that could run waited for a CPU for more than this part of the time between two looks: others have it. One that could run
/// for a moment when it was looked at did not.
pub const WAITING_DIVISOR: u64 = 2;

/// Part of the time between two looks below which a process that could run, and was on a CPU for no more, waited for one, where its waits are not
/// known.
pub const RUNNABLE_DIVISOR: u64 = 10;

/// Wait for a CPU from which on it may keep others of the process waiting for long.
pub const LONG_CPU_WAIT: Nanos = ms(1);

/// Time for which all that a thread did is kept: messages are looked up some tens of milliseconds after they were read.
pub const THREAD_HISTORY: Nanos = ms(200);
