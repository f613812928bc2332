//! The thing that a broker waits for when it has a message and does not pass it on.

/// The thing that a broker waits for, and where that was, as far as the kind of cause does not say it: lost packets are the
/// network's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaited {
    /// Nothing of the kind.
    #[default]
    Nothing,
    /// A request for messages.
    Request,
    /// The answer to an earlier request, before which no other one is made.
    Answer,
    /// The broker's own confirmation, on its way to the publisher, which releases the message after that.
    Receipt,
    /// The publisher's release.
    Release,
    /// The publisher's release, where it is not known when the publisher could have given it.
    UnseenRelease,
    /// Messages before it, on their way to the subscriber, or the subscriber's acknowledgement of them.
    Acknowledgement,
    /// Messages before it that were lost on their way to the subscriber.
    Earlier,
    /// The acknowledgement of a subscriber that had the messages before it.
    LateAcknowledgement,
    /// An acknowledgement, where it is not known when the subscriber could have given it.
    UnseenAcknowledgement,
    /// The end of the time that its queue keeps messages.
    Expiry,
    /// Another server, which copies its log and had not asked for more.
    Replica,
    /// Data of another connection: the answer of a backend, or of another server of its cluster.
    Others,
}

impl Awaited {
    /// All of them.
    pub const ALL: [Awaited; 13] = [
        Awaited::Nothing,
        Awaited::Request,
        Awaited::Answer,
        Awaited::Receipt,
        Awaited::Release,
        Awaited::UnseenRelease,
        Awaited::Acknowledgement,
        Awaited::Earlier,
        Awaited::LateAcknowledgement,
        Awaited::UnseenAcknowledgement,
        Awaited::Expiry,
        Awaited::Replica,
        Awaited::Others,
    ];
}
