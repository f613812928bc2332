//! Threads and processes: when they were woken and by whom, how long they were off the CPU, and what for.

mod history;
mod off_cpu;
mod quotas;
mod scheduling;
mod spells;
mod states;
mod wakeups;

pub use off_cpu::{Schedules, has_slept};
pub use quotas::{QuotaSeen, Quotas};
pub use scheduling::{Processes, Scheduling};
pub use states::ProcessStates;
pub use wakeups::{Chain, CpuTime, Threads, set_off};
