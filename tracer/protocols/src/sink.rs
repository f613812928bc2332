//! Receivers of what a decoder finds: frames, and notes of what it knows beyond them.

use crate::queues::{Discard, PutBack};
use crate::{FrameNote, ReadIn, RequestContent, Side};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{ByteRange, Frame, Offset, TraceContext};

/// The longest name of a client, its title, or a group that is reported, in bytes; longer ones count as not known.
pub const MAX_CLIENT_NAME: usize = 1024;

/// Receives the frames that a decoder finds, in the order of the flow's bytes, and what the decoder knows about them.
///
/// A decoder calls [`FrameSink::frame`] and [`FrameSink::note`], and for notes that take some thought the methods of `dyn FrameSink`, which
/// end in [`FrameSink::note`]: what passes frames on passes on every note, also those that are added later, and asks its own sink what that takes.
pub trait FrameSink {
    /// Receives one frame.
    fn frame(&mut self, frame: &Frame<'_>);

    /// Receives what the decoder knows beyond the frames.
    fn note(&mut self, note: FrameNote<'_>);

    /// True if the sink is told of the traces that messages name ([`FrameNote::TraceContext`]). Otherwise, nobody looks for them.
    fn takes_trace_contexts(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Frame<'_>)> FrameSink for F {
    fn frame(&mut self, frame: &Frame<'_>) {
        self(frame);
    }

    fn note(&mut self, _note: FrameNote<'_>) {}
}

/// A number for a topic, by its name in messages.
#[inline]
pub fn topic_number(topic: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    topic.hash(&mut hasher);
    hasher.finish()
}

/// The number of a subscription with this name, never 0.
fn subscription_number(name: impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    let folded = hasher.finish() >> u32::BITS;
    u32::try_from(folded).unwrap_or(u32::MAX).max(1)
}

/// A name, if it is not too long to be kept.
fn bounded(name: &[u8]) -> Option<&[u8]> {
    (name.len() <= MAX_CLIENT_NAME).then_some(name)
}

impl dyn FrameSink + '_ {
    /// Reports the name that the client at this end of the conversation gives itself. An empty name, and one that is longer than
    /// [`MAX_CLIENT_NAME`], says that it is not known, also if it was before.
    pub fn client(&mut self, side: Side, name: &[u8]) {
        self.note(FrameNote::Client { side, name: bounded(name).unwrap_or_default() });
    }

    /// Reports that the client with this name is also called `title`, which several clients may be.
    pub fn client_title(&mut self, name: &[u8], title: &[u8]) {
        if let Some(title) = bounded(title).filter(|title| !title.is_empty()) {
            self.note(FrameNote::ClientTitle { name, title });
        }
    }

    /// Reports that the client at this end says that it reads as a member of this group.
    pub fn member(&mut self, side: Side, group: &[u8]) {
        if let Some(group) = bounded(group).filter(|group| !group.is_empty()) {
            self.note(FrameNote::Member { side, group });
        }
    }

    /// Reports in which group the reader of the message in the next frame reads it.
    pub fn reader_group(&mut self, group: ReadIn<'_>) {
        match group {
            ReadIn::Group(name) if !name.is_empty() && bounded(name).is_some() => {
                self.note(FrameNote::ReaderGroup(Some(name)));
            }
            ReadIn::NoGroup => self.note(FrameNote::ReaderGroup(None)),
            ReadIn::Group(_) | ReadIn::Unknown => {}
        }
    }

    /// Reports which of its receiver's subscriptions the message in the next frame is for. `name` is different for each of
    /// them.
    pub fn subscription(&mut self, name: impl Hash) {
        self.note(FrameNote::Subscription(subscription_number(name)));
    }

    /// Reports that the message in the next frame has its publisher's mark as retained, and for which of its receiver's subscriptions it is, if that
    /// is known.
    pub fn has_publishers_mark(&mut self, subscription: Option<impl Hash>) {
        self.note(FrameNote::HasPublishersMark(subscription.map_or(0, subscription_number)));
    }

    /// Reports that the next frame begins the sender's subscription with this name.
    pub fn subscribes(&mut self, name: impl Hash) {
        self.consumes(name, 0);
    }

    /// Reports that the next frame begins the sender's subscription with this name, which reads the queue with this number.
    pub fn consumes(&mut self, name: impl Hash, queue: u32) {
        self.note(FrameNote::Subscribes { number: subscription_number(name), queue });
    }

    /// Reports that the server names a subscription in the next frame, which began with another name.
    pub fn renames_subscription(&mut self, begun: impl Hash, name: impl Hash) {
        let (begun, number) = (subscription_number(begun), subscription_number(name));
        self.note(FrameNote::Renumbers { begun, number });
    }

    /// Reports that the next frame allows its receiver to forward the message that begins at `start` of the same direction.
    /// The receiver may have waited for it. The sender had to wait for a confirmation, which ends before `receipt` in the other
    /// direction; `None` if that was not captured.
    pub fn releases(&mut self, message: Offset, receipt: Option<Offset>) {
        self.note(FrameNote::Releases { first: message, message, receipt });
    }

    /// Reports that the next frame allows its receiver to forward the messages of the same direction that begin between `first` and
    /// `last`: they were published in a transaction, which it commits.
    pub fn commits(&mut self, first: Offset, last: Offset) {
        self.note(FrameNote::Releases { first, message: last, receipt: None });
    }

    /// Reports that the next frame acknowledges a message of the other direction, which ends before `message`, while the number
    /// of unacknowledged messages was at its maximum so far: its receiver may have been at the limit and unable to send, since it had
    /// sent what ends before `full_with`. `None` if the message was not captured, so that this number is not known.
    pub fn permits_more(&mut self, message: Option<Offset>, full_with: Option<Offset>) {
        self.note(FrameNote::Acknowledges { message, full_with, permits_more: true });
    }

    /// Reports that the next frame confirms a message of the other direction, which ends before `message`, at such a time,
    /// and that its receiver may send more only after another frame.
    pub fn confirms(&mut self, message: Offset, full_with: Offset) {
        let (message, full_with) = (Some(message), Some(full_with));
        self.note(FrameNote::Acknowledges { message, full_with, permits_more: false });
    }

    /// Reports the trace that the message in the next frame names, which is looked for only if the sink takes it.
    pub fn trace_context(&mut self, find: impl FnOnce() -> Option<TraceContext>) {
        if self.takes_trace_contexts()
            && let Some(context) = find()
        {
            self.note(FrameNote::TraceContext(context));
        }
    }

    /// Reports what a server of queues discards, or will.
    pub fn discards(&mut self, what: Discard) {
        if what.is_any() {
            self.note(FrameNote::Discards(what));
        }
    }

    /// Reports that the server puts messages back into their queues that the client has not acknowledged.
    pub fn puts_back(&mut self, messages: u64, why: PutBack) {
        if messages > 0 {
            self.note(FrameNote::PutBack { messages, why });
        }
    }

    /// Reports that the bytes of `extent`, of which some may still have to come, are a request. The other end answers it with a
    /// reply of the same number, and no other open request of this direction has that number.
    pub fn requests(&mut self, number: u64, extent: ByteRange) {
        self.note(FrameNote::Request { number, extent, content: RequestContent::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that are reported.
    #[derive(Default)]
    struct Names(Vec<Vec<u8>>);

    impl FrameSink for Names {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Client { name, .. } | FrameNote::ReaderGroup(Some(name)) => {
                    self.0.push(name.to_vec());
                }
                FrameNote::ClientTitle { title, .. } => self.0.push(title.to_vec()),
                FrameNote::Member { group, .. } => self.0.push(group.to_vec()),
                note => panic!("{note:?}"),
            }
        }
    }

    #[test]
    fn names_that_are_too_long_are_not_known() {
        let mut names = Names::default();
        let out: &mut dyn FrameSink = &mut names;
        for len in [0, 5, MAX_CLIENT_NAME, MAX_CLIENT_NAME + 1, 70_000] {
            let name = vec![b'n'; len];
            out.client(Side::A, &name);
            out.client_title(b"n", &name);
            out.member(Side::A, &name);
            out.reader_group(ReadIn::Group(&name));
        }
        let lengths: Vec<usize> = names.0.iter().map(Vec::len).collect();
        let fits = [MAX_CLIENT_NAME; 4];
        assert_eq!(lengths, [&[0, 5, 5, 5, 5][..], &fits, &[0, 0]].concat());
    }
}
