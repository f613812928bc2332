//! Captures of two hosts and more. The folder has both ends of a publisher, a subscriber and a broker, by tcpdump in two network
//! namespaces whose packets took 5 ms and more each way: one clock, so that every offset of it is known.

#![allow(missing_docs, reason = "a test")]

mod bench;
mod captures;
mod clocks;
mod joined;
mod recorded;
mod recordings;
mod three;
mod times;
