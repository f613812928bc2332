//! Helpers that tests, benchmarks and fuzz targets of several crates share. Only ever a dev-dependency, or one of a fuzz crate.
//!
//! | module | gives |
//! |---|---|
//! | [`compose`] | bytes of messages, protocol by protocol |
//! | [`world`] | a host in miniature: processes, sockets and packets that become events |
//! | [`traffic`] | traffic of such a host for benchmarks: healthy, with a slow subscriber, with a blocked broker |
//! | [`delivered`] | messages that were delivered, made of the times of their stages |
//! | [`event`] | an event that owns its payload |
//! | [`player`] | conversations played to a decoder, and what holds of its frames |
//! | [`exercise`] | the same whole, cut, from the other side and from the middle: what fuzz targets do |
//! | [`transcript`], [`packed`] | the same conversations as files, and as bytes for a fuzzer |
//! | [`over_websocket`] | MQTT over a WebSocket, in any frames and packets |
//! | [`segments`] | any segments, with gaps and overlaps, for what cuts a flow into PDUs |
//! | [`pcap`], [`committed`] | packets of captures, and the captures that are in the repository |
//! | [`tshark`], [`dissector`], [`messages`] | what tshark says of a capture, and the comparison with what we say |
//! | [`poll()`] | waiting for what other processes do |
//! | [`random`], [`mutate`] | the same random numbers each time, and files that are damaged with them |
//!
//! Whatever fails here fails a test, so functions panic where others would return an error.

#![allow(clippy::missing_panics_doc, reason = "a panic is how a test fails")]

pub mod committed;
pub mod compose;
pub mod delivered;
pub mod dissector;
pub mod event;
pub mod exercise;
pub mod messages;
pub mod mutate;
pub mod over_websocket;
pub mod packed;
pub mod pcap;
pub mod player;
mod poll;
pub mod random;
pub mod segments;
pub mod traffic;
pub mod transcript;
pub mod tshark;
pub mod world;

pub use poll::poll;
