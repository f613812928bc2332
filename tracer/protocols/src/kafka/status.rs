//! The meaning of a record for who is sent it.

/// Meaning of a record for the consumer to which it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordStatus {
    /// A message.
    Message,
    /// A message that nobody in the consumer's group was sent before it took the partition over, so many requests ago.
    TakenOver { requests_ago: u32 },
    /// A message that was sent on this connection before.
    Again,
    /// No message: the consumer requested a later offset.
    Skipped,
}
