//! RTPS: composed messages byte by byte, fragments in any order, hostile bytes, and real traffic
//! against tshark.

mod captures;
mod fragments;
mod hostile;
mod messages;
mod ros;
mod source_timestamp;
mod watch;
