//! Foundation of the crates of the middlewares. Each implements [`link::Family`] and [`link::Link`]; what else they have in
//! common is here, and no library of a middleware is.
//!
//! | module | has |
//! |---|---|
//! | [`link`] | what a middleware implements, and what is said about a link |
//! | [`control`] | the conversation with whoever started the process: READY, GO, stop |
//! | [`clock`] | the clock of the kernel's events |
//! | [`rtt`] | round-trip times and their summary |
//! | [`pump`] | libraries that want tokio, driven by the thread that uses them |
//! | [`own_sockets`] | sockets that a library opened and does not show |
//! | [`installed`] | which programs of others are here |
//! | [`guard`], [`daemon`] | programs of others as child processes that cannot outlive this one |
//! | [`foreign`] | programs that users build themselves |

pub mod clock;
pub mod control;
pub mod daemon;
mod facts;
pub mod foreign;
pub mod guard;
pub mod installed;
pub mod link;
pub mod own_sockets;
pub mod pump;
pub mod rtt;
