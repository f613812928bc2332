//! The Lua dissectors for Wireshark (`dissectors/`) against our own decoders: of each capture both must tell the
//! same messages.
//!
//! Needs tshark and editcap: `cargo test -p wirelap-protocols --features e2e --test dissectors`.

mod others;
mod ours;
mod quiet;
mod scripts;
mod zenoh;
