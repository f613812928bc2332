//! OPC UA: real traffic of asyncua against tshark, channels that sign or encrypt, and messages in
//! chunks, cut everywhere.

mod captures;
mod chunks;
mod connections;
