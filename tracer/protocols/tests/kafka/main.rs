//! Kafka: real traffic against what Kafka's own classes and tshark read in it.

mod captures;
mod pcap;
