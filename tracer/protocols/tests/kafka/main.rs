//! Kafka: real traffic against what Kafka's own classes and tshark read in it, PDUs of any size, and what is
//! taken for Kafka.

mod captures;
mod large;
mod recognition;
