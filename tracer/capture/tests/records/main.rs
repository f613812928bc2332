//! Records as the kernel would send them: every kind is read right, and cut short at every byte.

mod damage;
mod losses;
mod packets;
mod sched;
mod sockets;
mod support;
