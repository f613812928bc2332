//! How far a row's figures can be trusted, and why not further.

/// Whether a row's figures can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reliability {
    /// As they stand.
    #[default]
    Good,
    /// With the reasons in mind.
    Reduced,
    /// Not at all.
    Unusable,
}

impl Reliability {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Reliability::Good => "good",
            Reliability::Reduced => "reduced",
            Reliability::Unusable => "unusable",
        }
    }

    /// What stands before the row's name in a table.
    pub const fn mark(self) -> &'static str {
        match self {
            Reliability::Good => "",
            Reliability::Reduced => "! ",
            Reliability::Unusable => "✗ ",
        }
    }
}

/// Why a row's figures are not simply good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoubtKind {
    /// Probes had to throw events away.
    EventsLost,
    /// Deliveries were not followed from the first send to the last read.
    NotFollowed,
    /// Packets passed that no probe saw.
    Unseen,
    /// Bytes were in no frame that was found.
    Undecoded,
    /// Payload was not captured, and no message was found in the rest.
    Uncaptured,
    /// Messages were in batches that could not be opened.
    Unread,
    /// Flows or messages were given up to keep memory bounded.
    GivenUp,
    /// Two readers of a group were sent the same messages.
    ReadTwice,
    /// Readers are on another host, or left out by a filter.
    ReaderNotSeen,
    /// Latencies begin after the send call.
    SendNotSeen,
    /// More was followed than the programs delivered.
    TooMany,
    /// The programs' own records contradict the trace.
    Contradicted,
    /// Segments do not add up to the latency.
    NotTelescoping,
    /// The clocks of two hosts differ by too much.
    Clocks,
    /// The programs did not get what was sent. The figures are right, and of the rest.
    Undelivered,
}

impl DoubtKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DoubtKind::EventsLost => "events_lost",
            DoubtKind::NotFollowed => "not_followed",
            DoubtKind::Unseen => "unseen",
            DoubtKind::Undecoded => "undecoded",
            DoubtKind::Uncaptured => "uncaptured",
            DoubtKind::Unread => "unread",
            DoubtKind::GivenUp => "given_up",
            DoubtKind::ReadTwice => "read_twice",
            DoubtKind::ReaderNotSeen => "reader_not_seen",
            DoubtKind::SendNotSeen => "send_not_seen",
            DoubtKind::TooMany => "too_many",
            DoubtKind::Contradicted => "contradicted",
            DoubtKind::NotTelescoping => "not_telescoping",
            DoubtKind::Clocks => "clocks",
            DoubtKind::Undelivered => "undelivered",
        }
    }
}

/// A reason, with the numbers that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What.
    pub kind: DoubtKind,
    /// What it makes of the row.
    pub reliability: Reliability,
    /// One sentence without a full stop.
    pub text: String,
}

/// The gravest of them.
pub fn reliability(doubts: &[Doubt]) -> Reliability {
    doubts.iter().map(|doubt| doubt.reliability).max().unwrap_or_default()
}
