//! Takes events in, drives the other rooms, and hands deliveries and snapshots out.

mod assemble;
mod build;
mod calls;
mod correlator;
mod counters;
mod datagrams;
mod drops;
mod ends;
mod evidence;
mod expire;
mod found;
mod hand_out;
mod notes;
mod overdue;
mod packets;
mod settle;
mod sink;
mod sockets;
mod sweep;
mod tcp_packets;
mod udp_packets;
mod unattributed;
mod unite;

pub use correlator::Correlator;
pub use sink::DeliverySink;
