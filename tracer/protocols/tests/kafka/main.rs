//! Kafka: real traffic against what Kafka's own classes and tshark read in it, PDUs of any size, and what is
//! taken for Kafka.

#[path = "../common/mod.rs"]
mod common;

mod captures;
#[allow(dead_code)] // The tests of the joining use more of it.
mod compose;
mod large;
mod pcap;
mod recognition;
