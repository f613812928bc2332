//! Scenarios: events as the kernel would send them, and exactly what must come out.

mod brokered;
mod corpus;
mod dds;
mod fan;
mod flows;
mod forged;
mod fragments;
mod given;
mod given_up;
mod joined;
mod kafka;
mod ledger;
mod loss;
mod lost;
mod lost_packets;
mod mqtt;
mod open;
mod peers;
mod places;
mod properties;
mod reassembly;
mod repairs;
mod udp;
mod unseen;
mod world;
mod zmtp;
