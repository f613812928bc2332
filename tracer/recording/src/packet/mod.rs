//! The headers of packets: link, IP, TCP and UDP.
//!
//! | file | what |
//! |---|---|
//! | `build` | IP, TCP and UDP headers for a packet that was seen |
//! | `parse` | IP, TCP and UDP headers of a packet that was captured |
//! | `link` | link headers of captures that others made |
//! | `encapsulation` | headers between a link or a tunnel and IP |
//! | `multipath` | options of Multipath TCP |
//! | `fragments` | datagrams that come in IP fragments |
//! | `tunnel` | where the packet begins that a tunnel carries |
//! | `protocol` | numbers and lengths that both have |
//! | `unreadable` | why a captured packet gives no event |

pub mod build;
mod encapsulation;
pub mod fragments;
pub mod link;
pub mod multipath;
pub mod parse;
mod protocol;
pub mod tunnel;
mod unreadable;

pub use unreadable::UnreadablePacket;
