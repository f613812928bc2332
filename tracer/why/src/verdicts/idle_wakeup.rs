//! A CPU had to be woken first.
//!
//! The cause is found where the idle task had the CPU between a thread's wakeup and its run. It falls as the rate rises, and is usually
//! harmless.

use crate::clause::Clause;
use crate::definition::{Definition, InStartUp, Nature};
use wirelap_limits::kinds::{IDLE_WAKEUP, NOTE_OF_IDLE_WAKEUP};

pub const DEFINITION: Definition = Definition {
    limits: Some(IDLE_WAKEUP),
    note: Some(NOTE_OF_IDLE_WAKEUP),
    nature: Nature::ThreadWait,
    in_start_up: InStartUp::Usually,
    // Each of these waits is short, and what they add up to has been said.
    facts: |_| vec![Clause::CpuIdle],
    ..Definition::USUAL
};
