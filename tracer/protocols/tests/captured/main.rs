//! Recorded sessions of foreign programs (`captures/record.sh`) against what those programs and their server
//! counted. tshark 4.0 knows neither protocol.

#[path = "../common/mod.rs"]
mod common;
mod nats;
mod pcap;
mod zmtp;
