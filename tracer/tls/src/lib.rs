//! TLS 1.2 and 1.3, and QUIC, read with the keys that one of its ends has written down: bytes of a connection in, text out.
//!
//! ```text
//!  packets in order ─▶ deframer ─▶ records ─▶ direction: which key, which number ─▶ text
//!                                     └─ hello messages ─▶ session: version, cipher suite, random numbers
//!  key log (SSLKEYLOGFILE, pcapng) ─▶ secrets ─▶ key schedule ─────────┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`key_log`] | the secrets in a key log, by the client's random number |
//! | [`session`] | both directions of a connection |
//! | [`quic`] | a QUIC connection: datagrams → bytes of its streams |
//! | `direction` | one direction: its keys, and the numbers of its records |
//! | `keys` | the key logs that the caller has, and what became of the connections |
//! | `deframer` | bytes with gaps → records |
//! | `hello` | what hello messages say |
//! | `role` | the two ends |
//! | `cursor` | bytes → fields |
//! | `suite`, `schedule`, `key` | cipher suites, secrets → keys, a key → the text of a record |
//! | `aead`, `cbc` | keys of ciphers that authenticate what they encrypt, and of those in CBC mode |
//!
//! Only reading is done here, nothing is sent, and no secret of an end's own is protected: the key log has it. A record is read
//! only if it authenticates. No I/O; no input makes it panic, and all memory is bounded.

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod aead;
mod cbc;
mod cursor;
mod deframer;
mod direction;
mod hello;
mod key;
pub mod key_log;
mod keys;
pub mod quic;
mod role;
mod schedule;
pub mod session;
mod suite;

pub use hello::client_random;
pub use key_log::{AddedSecrets, KeyLog, Random, Secret, Secrets};
pub use keys::{TlsCounts, TlsEvent, TlsKeys};
pub use quic::{QuicFound, QuicSession};
pub use role::TlsRole;
pub use session::{DecryptionObstacle, OpenedContent, OpenedRecords, TlsSession};
