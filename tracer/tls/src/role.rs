//! The two ends of a connection.

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRole {
    /// The end that sends the first hello.
    Client,
    /// The other one.
    Server,
}
