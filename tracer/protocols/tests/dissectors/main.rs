//! The Lua dissectors for Wireshark (`dissectors/`) against our own decoders: of each capture both must tell the
//! same messages.
//!
//! Needs tshark and editcap: `cargo test -p wirelap-protocols --features e2e --test dissectors`.

#[path = "../common/mod.rs"]
mod common;
mod messages;
mod others;
mod ours;
mod pcap;
mod quiet;
mod scripts;
mod theirs;
mod zenoh;

pub use messages::{Carried, Message, Messages, compare};
use std::path::{Path, PathBuf};

/// A recorded session among the tests.
pub fn capture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}
