//! XRCE: real traffic of Micro XRCE-DDS against what its clients counted, and what they send again.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod pcap;
mod repeats;
