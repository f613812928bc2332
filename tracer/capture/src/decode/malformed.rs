//! Records that cannot be.

/// A record that is not laid out as `events.h` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends too early.
    #[error("a record of kind {kind} needs {needed} bytes and has {got}")]
    Short {
        /// `wl_head.kind`, 0 if not even that is there.
        kind: u8,
        /// Bytes needed.
        needed: usize,
        /// Bytes there.
        got: usize,
    },
    /// Its kind is not one of `enum wl_kind`.
    #[error("a record is of the unknown kind {0}")]
    Kind(u8),
    /// A field has a value that it cannot have.
    #[error("a record of kind {kind} has {value} as its {field}")]
    Value {
        /// `wl_head.kind`.
        kind: u8,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
}
