//! Consumers: which of them a message is for, and when they begin.
//!
//! ```text
//! basic.consume     reserved u16 · queue · tag · flags · arguments      the tag may be empty
//! basic.consume-ok  tag                                                 the client's, or one that the server has chosen
//! ```

use super::method::{Method, short_string};
use super::queues::Queues;
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
    queues: &mut Queues,
    out: &mut dyn FrameSink,
) {
    let mut reader = Reader::new(arguments);
    if method.is_consume() {
        let queue = reader.skip(2).and_then(|()| short_string(&mut reader));
        if let Some((queue, tag)) =
            queue.and_then(|queue| Some((queue, short_string(&mut reader)?)))
        {
            out.consumes((channel, number(tag)), queues.consume(channel, queue));
        }
    } else if method.is_consume_ok()
        && let Some(tag) = short_string(&mut reader)
    {
        out.renames_subscription((channel, number(b"")), (channel, number(tag)));
    }
}
