//! The origin of the messages of a table of single messages.

/// The properties that the messages of one trial, or of one row of a capture, have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleOrigin {
    /// The middleware, as in [`RunResult`](crate::RunResult).
    pub middleware: String,
    /// The broker; `None` if there is none, or if it is not known.
    pub broker: Option<String>,
    /// The host that observed; `None` if it is not known, as in a capture.
    pub host: Option<String>,
    /// The variant under comparison, `A` or `B`.
    pub variant: Option<String>,
    /// The payload bytes that the trial asked for; `None` if the messages are not wirelap's own.
    pub payload_bytes: Option<u64>,
    /// The rate of the trial in messages a second; `None` without a rate.
    pub rate_msg_per_s: Option<f64>,
    /// The number of the repetition, 1 for the first; `None` if nothing was repeated.
    pub repetition: Option<u32>,
    /// The difference from the clock of the messages' times to the wall clock in nanoseconds: the sum of a time and this is the
    /// time since 1970 (UTC). `None` if it is not known.
    pub wall_offset_ns: Option<i64>,
}
