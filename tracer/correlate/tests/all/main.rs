//! Scenarios: events as the kernel would send them, and exactly what must come out.

mod brokered;
mod corpus;
mod dds;
mod fan;
mod flows;
mod fragments;
mod given_up;
mod ledger;
mod loss;
mod lost;
mod lost_packets;
mod mqtt;
mod peers;
mod properties;
mod reassembly;
mod repairs;
mod udp;
mod unseen;
mod world;
mod zmtp;
