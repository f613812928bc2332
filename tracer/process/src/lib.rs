//! Safe behaviour of a program that starts as root: it gives up rights, writes files that are private and complete, waits
//! for no reader of its standard streams, handles signals, and explains each error in one sentence.
//!
//! | module | what |
//! |---|---|
//! | [`rights`] | capabilities and Landlock: which rights are kept, by which process, until when |
//! | [`steward`] | the second process, which keeps the rights that this one gives up |
//! | [`outputs`] | files: allowed first, created by the steward, named when they are complete |
//! | [`RememberedText`] | a text that is remembered for the user from one start to the next |
//! | [`output`], [`stdio`] | text to stdout and stderr, which does not block when nobody reads it |
//! | [`signals`], [`catch_signals`] | SIGINT (Ctrl-C), SIGTERM, SIGHUP, and terminals that hang up |
//! | [`service`] | what systemd is told of a service |
//! | [`memory_limit`] | the memory that control groups leave to this process |
//! | [`mend`] | what a machine may lack, and the command that mends it on its distribution |
//! | [`Failure`], [`remedy`] | why a command failed, its exit status, and the remedy |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// `print!` panics when stdout cannot be written and blocks when nobody reads; the module `output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod failure;
mod files;
mod interrupt;
mod memory;
mod memory_limit;
pub mod mend;
pub mod output;
pub mod outputs;
pub mod remedy;
pub mod rights;
pub mod service;
pub mod signals;
pub mod stdio;
pub mod steward;
mod user;

pub use failure::Failure;
pub use interrupt::catch_signals;
pub use memory::RememberedText;
pub use memory_limit::{MemoryLimit, memory_limit};
pub use outputs::Outputs;
pub use signals::Signals;
