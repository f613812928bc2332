//! Recordings, written and read back; captures of others; damage of all kinds.

mod any;
mod damage;
mod files;
mod others;
mod packets;
mod round_trip;
