//! Tests that attach probes to this kernel: `cargo test -p wirelap-capture --features privileged`, as
//! root. Without root they fail.
//!
//! Each works in network namespaces of its own, makes its own traffic and counts exactly.

mod crowd;
mod detail;
mod drops;
mod filter;
mod lengths;
mod life;
mod muted;
mod packet_socket;
mod packets;
mod raw;
mod rights;
mod ring;
mod rustls;
mod sched;
mod support;
mod tcp;
mod tls;
mod tx_state;
mod udp;
mod unix;
