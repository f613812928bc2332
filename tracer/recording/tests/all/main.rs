//! Recordings, written and read back; captures of others; damage of all kinds.

mod ahead;
mod any;
mod copies;
mod cut;
mod damage;
mod files;
mod messages;
mod order;
mod others;
mod packed;
mod packets;
mod round_trip;
mod subflows;
