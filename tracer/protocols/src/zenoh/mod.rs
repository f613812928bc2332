//! Zenoh 1.x over TCP and UDP.

/// Zenoh 1.x over TCP and UDP.
#[derive(Debug)]
pub struct Zenoh;
