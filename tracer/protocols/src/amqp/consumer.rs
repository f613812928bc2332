//! Consumers: which of them a message is for, and when they begin.
//!
//! ```text
//! basic.consume     reserved u16 · queue · tag · flags · arguments      the tag may be empty; `x-stream-offset`: where in a stream it begins
//! basic.consume-ok  tag                                                 the client's, or one that the server has chosen
//! ```

use super::method::{Method, short_string};
use super::queues::Queues;
use super::table;
use crate::{FrameSink, Reader};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// The number of the consumer with this tag.
pub(super) fn number(tag: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    tag.hash(&mut hasher);
    hasher.finish()
}

/// Reports that a consumer begins on a channel, if that is what a method with these arguments does, or is told its tag.
pub(super) fn tell(
    method: &Method,
    channel: u16,
    arguments: &[u8],
    queues: &Queues,
    out: &mut dyn FrameSink,
) {
    let mut reader = Reader::new(arguments);
    if method.is_consume() {
        let queue = reader.skip(2).and_then(|()| short_string(&mut reader));
        if let Some((queue, tag)) =
            queue.and_then(|queue| Some((queue, short_string(&mut reader)?)))
        {
            // From a stream, it gets what came long before.
            let is_stream = reader.skip(1).is_some()
                && table::has(table::arguments(&mut reader), b"x-stream-offset");
            let queue = if is_stream { 0 } else { queues.consumed(channel, queue) };
            out.consumes((channel, number(tag)), queue);
        }
    } else if method.is_consume_ok()
        && let Some(tag) = short_string(&mut reader)
    {
        out.renames_subscription((channel, number(b"")), (channel, number(tag)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    #[derive(Default)]
    struct Consumed(Vec<u32>);

    impl FrameSink for Consumed {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            if let FrameNote::Subscribes { queue, .. } = note {
                self.0.push(queue);
            }
        }
    }

    #[test]
    fn who_reads_a_stream_reads_no_queue_that_may_be_empty() {
        let consumed = |arguments: &[u8]| {
            let mut out = Consumed::default();
            let len = u32::try_from(arguments.len()).unwrap().to_be_bytes();
            let whole = [&b"\0\0\x01q\x01t\0"[..], &len, arguments].concat();
            let method = Method::of(60, 20).unwrap();
            tell(method, 1, &whole, &Queues::default(), &mut out);
            out.0
        };
        let queue = Queues::default().consumed(1, b"q");
        assert_eq!(consumed(b""), [queue]);
        assert_eq!(consumed(b"\x0ax-priorityI\0\0\0\x01"), [queue]);
        assert_eq!(consumed(b"\x0fx-stream-offsetS\0\0\0\x05first"), [0]);
        assert_eq!(consumed(b"\x0fx-stream-offsetl\0\0\0\0\0\0\0\x05"), [0]);
    }
}
