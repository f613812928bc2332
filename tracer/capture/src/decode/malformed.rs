//! The error of a record that cannot be read.

/// A record that does not have the layout of `events.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The record is too short.
    #[error("a record of kind {kind} needs {needed} bytes and has {got}")]
    Short {
        /// `wl_head.kind`; 0 if the record ends before it.
        kind: u8,
        /// Bytes needed.
        needed: usize,
        /// Bytes found.
        got: usize,
    },
    /// The record's kind is not in `enum wl_kind`.
    #[error("a record is of the unknown kind {0}")]
    Kind(u8),
    /// A field has an impossible value.
    #[error("a record of kind {kind} has {value} as its {field}")]
    Value {
        /// `wl_head.kind`.
        kind: u8,
        /// The field.
        field: &'static str,
        /// The field's value.
        value: u32,
    },
}
