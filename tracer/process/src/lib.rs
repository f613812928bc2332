//! What a program that starts as root owes the machine: rights that are given up, files that are private and whole, standard
//! streams that nobody is waited for at, signals, and one sentence for each error.
//!
//! | module | what |
//! |---|---|
//! | [`rights`] | capabilities and Landlock: which are kept, by whom, until when |
//! | [`steward`] | the second process, which keeps the rights that this one gives up |
//! | [`outputs`] | files: allowed first, created by the steward, named when they are whole |
//! | [`output`], [`stdio`] | text to stdout and stderr, whoever reads there or not |
//! | [`signals`], [`catch_signals`] | Ctrl-C and its kin, terminals that go away |
//! | [`Failure`], [`remedy`] | why a command ended, its exit status, and what to do about it |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// They panic where stdout or stderr cannot be written, and wait for whoever reads there: `output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod failure;
mod files;
mod interrupt;
pub mod output;
pub mod outputs;
pub mod remedy;
pub mod rights;
pub mod signals;
pub mod stdio;
pub mod steward;
mod user;

pub use failure::Failure;
pub use interrupt::catch_signals;
pub use outputs::Outputs;
pub use signals::Signals;
