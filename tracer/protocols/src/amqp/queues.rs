//! Queues that are empty before a consumer begins: nothing that came to the broker before that time can be delivered to it.
//!
//! ```text
//! queue.declare     reserved u16 · queue · flags · arguments          the name may be empty: the server chooses one
//! queue.declare-ok  queue · u32 number of messages · u32 number of consumers
//! queue.bind        reserved u16 · queue · …                          an empty name is the queue that was declared last on the channel
//! queue.purge, queue.delete                                           the same beginning
//! ```
//!
//! A queue that has just been created gets messages of an exchange only once it is bound. That it is new is known of one whose name
//! the server has chosen, and of one that is deleted when nobody uses it and has no consumer (AMQP 0-9-1 §1.7.2.1).

use super::method::{Method, short_string};
use crate::{FrameNote, FrameSink, Reader};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use wirelap_events::Size;

/// The most channels and queues of a connection that are kept.
const MAX_KEPT: usize = 1024;

const EXCLUSIVE: u8 = 4;
const AUTO_DELETE: u8 = 8;

/// A number for a queue by its name, never 0.
fn number(name: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    let folded = hasher.finish() >> u32::BITS;
    u32::try_from(folded).unwrap_or(u32::MAX).max(1)
}

/// The last request on a channel that the server answers.
#[derive(Clone, Copy, Debug, Default)]
enum QueueRequest {
    #[default]
    Other,
    Declare {
        /// True if the queue goes when nobody uses it.
        is_temporary: bool,
        /// True if it goes when its last consumer does.
        is_auto_deleted: bool,
    },
    Bind(u32),
    /// `queue.purge` or `queue.delete`.
    Empty(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct ChannelQueues {
    request: QueueRequest,
    /// The queue that was declared last; 0 for none.
    declared: u32,
}

/// The progress of a queue that did not exist before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewQueue {
    Unbound,
    Bound,
    Consumed,
}

/// The queues of one connection.
#[derive(Debug, Default)]
pub(super) struct Queues {
    channels: FxHashMap<u16, ChannelQueues>,
    new: FxHashMap<u32, NewQueue>,
}

impl Queues {
    /// Takes a method of the class `queue`.
    pub fn take(
        &mut self,
        method: &Method,
        channel: u16,
        arguments: &[u8],
        out: &mut dyn FrameSink,
    ) {
        if self.channels.len() >= MAX_KEPT && !self.channels.contains_key(&channel) {
            return;
        }
        let of = self.channels.entry(channel).or_default();
        let mut reader = Reader::new(arguments);
        match method.name {
            "queue.declare" => {
                let name = reader.skip(2).and_then(|()| short_string(&mut reader));
                let Some((name, flags)) = name.zip(reader.u8()) else { return };
                let is_temporary = name.is_empty() || flags & (EXCLUSIVE | AUTO_DELETE) != 0;
                let is_auto_deleted = flags & AUTO_DELETE != 0;
                of.request = QueueRequest::Declare { is_temporary, is_auto_deleted };
                of.declared = number(name);
            }
            "queue.bind" => of.request = QueueRequest::Bind(of.queue(&mut reader)),
            "queue.purge" | "queue.delete" => {
                let queue = of.queue(&mut reader);
                of.request = QueueRequest::Empty(queue);
                if method.name == "queue.delete" {
                    self.new.remove(&queue);
                }
            }
            "queue.declare-ok" => {
                let request = std::mem::take(&mut of.request);
                let Some(name) = short_string(&mut reader) else { return };
                let queue = number(name);
                of.declared = queue;
                let (Some(0), Some(consumers)) = (reader.u32_be(), reader.u32_be()) else { return };
                if let QueueRequest::Declare { is_temporary: true, is_auto_deleted } = request
                    && consumers == 0
                {
                    self.note_new(queue, is_auto_deleted);
                }
                out.note(FrameNote::QueueIsEmpty(queue));
            }
            "queue.bind-ok" => {
                if let QueueRequest::Bind(queue) = std::mem::take(&mut of.request)
                    && let Some(state @ NewQueue::Unbound) = self.new.get_mut(&queue)
                {
                    *state = NewQueue::Bound;
                    out.note(FrameNote::QueueIsEmpty(queue));
                }
            }
            "queue.purge-ok" | "queue.delete-ok" => {
                if let QueueRequest::Empty(queue) = std::mem::take(&mut of.request) {
                    out.note(FrameNote::QueueIsEmpty(queue));
                }
            }
            _ => {}
        }
    }

    /// A temporary queue without messages and consumers was declared.
    fn note_new(&mut self, queue: u32, is_auto_deleted: bool) {
        let is_new = match self.new.get(&queue) {
            // The broker deleted it with its last consumer.
            Some(state) => *state == NewQueue::Consumed && is_auto_deleted,
            None => self.new.len() < MAX_KEPT,
        };
        if is_new {
            self.new.insert(queue, NewQueue::Unbound);
        }
    }

    /// A consumer of a queue begins on a channel. Returns the queue's number.
    pub fn consume(&mut self, channel: u16, name: &[u8]) -> u32 {
        let declared = self.channels.get(&channel).map_or(0, |of| of.declared);
        let queue = if name.is_empty() { declared } else { number(name) };
        if let Some(state) = self.new.get_mut(&queue) {
            *state = NewQueue::Consumed;
        }
        queue
    }

    /// A channel is closed, or opened anew.
    pub fn end(&mut self, channel: u16) {
        self.channels.remove(&channel);
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        self.channels.clear();
        self.new.clear();
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const CHANNEL: usize = size_of::<(u16, ChannelQueues)>() + 1;
        const QUEUE: usize = size_of::<(u32, NewQueue)>() + 1;
        Size(CHANNEL) * self.channels.capacity() + Size(QUEUE) * self.new.capacity()
    }
}

impl ChannelQueues {
    /// The queue that arguments begin with.
    fn queue(&self, arguments: &mut Reader<'_>) -> u32 {
        match arguments.skip(2).and_then(|()| short_string(arguments)) {
            Some([]) => self.declared,
            Some(name) => number(name),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    #[derive(Default)]
    struct Emptied(Vec<u32>);

    impl FrameSink for Emptied {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            if let FrameNote::QueueIsEmpty(queue) = note {
                self.0.push(queue);
            }
        }
    }

    const DECLARE: u16 = 10;
    const BIND: u16 = 20;
    const PURGE: u16 = 30;
    const DELETE: u16 = 40;

    /// Takes requests on channel 1, and their answers, and returns which queues were said to be empty.
    fn emptied(queues: &mut Queues, methods: &[(u16, &[u8])]) -> Vec<u32> {
        let mut emptied = Emptied::default();
        for (id, arguments) in methods {
            queues.take(Method::of(50, *id).unwrap(), 1, arguments, &mut emptied);
        }
        emptied.0
    }

    fn declared(messages: u8, consumers: u8) -> Vec<u8> {
        [b"\x01q\0\0\0", &[messages][..], b"\0\0\0", &[consumers]].concat()
    }

    #[test]
    fn queues_are_empty_as_the_server_says() {
        let q = number(b"q");
        let mut queues = Queues::default();
        let durable: &[u8] = b"\0\0\x01q\x02\0\0\0\0";
        let said = |messages, consumers| declared(messages, consumers);
        let mut declare = |messages, consumers| {
            emptied(&mut queues, &[(DECLARE, durable), (DECLARE + 1, &said(messages, consumers))])
        };
        assert_eq!(declare(0, 0), [q]);
        assert_eq!(declare(0, 1), [q]);
        assert_eq!(declare(1, 0), []);
        let bound = [(BIND, &b"\0\0\x01q\x02ex\x01k\0\0\0\0\0"[..]), (BIND + 1, b"")];
        assert_eq!(emptied(&mut queues, &bound), [], "it may have been bound before");
        for id in [PURGE, DELETE] {
            // No name is that of the queue that was declared last.
            let all = [(id, &b"\0\0\0\0"[..]), (id + 1, b"\0\0\0\x03")];
            assert_eq!(emptied(&mut queues, &all), [q]);
        }
        assert_eq!(
            (queues.consume(1, b""), queues.consume(2, b""), queues.consume(2, b"q")),
            (q, 0, q)
        );
        queues.end(1);
        assert_eq!(queues.consume(1, b""), 0);
    }

    #[test]
    fn a_new_queue_is_empty_until_it_is_bound() {
        let q = number(b"q");
        let bound = [(BIND, &b"\0\0\x01q\x02ex\x01k\0\0\0\0\0"[..]), (BIND + 1, b"")];
        let cases: [(&[u8], bool); 3] = [
            (b"\0\0\x01q\x08\0\0\0\0", true),
            (b"\0\0\x01q\x04\0\0\0\0", false),
            (b"\0\0\0\0\0\0\0\0", false),
        ];
        for (declare, is_auto_deleted) in cases {
            let mut queues = Queues::default();
            let declare = [(DECLARE, declare), (DECLARE + 1, &declared(0, 0)[..])];
            assert_eq!(emptied(&mut queues, &declare), [q]);
            assert_eq!(emptied(&mut queues, &bound), [q]);
            assert_eq!(emptied(&mut queues, &bound), [], "it had another binding");
            queues.consume(1, b"q");
            // With its last consumer it is gone, unless its connection keeps it.
            assert_eq!(emptied(&mut queues, &declare), [q]);
            let expected: &[u32] = if is_auto_deleted { &[q] } else { &[] };
            assert_eq!(emptied(&mut queues, &bound), expected);
            emptied(&mut queues, &[(DELETE, b"\0\0\x01q\0"), (DELETE + 1, b"\0\0\0\0")]);
            assert_eq!(emptied(&mut queues, &declare), [q]);
            assert_eq!(emptied(&mut queues, &bound), [q], "it was deleted");
        }
    }

    #[test]
    fn what_was_cut_off_tells_nothing_and_memory_is_bounded() {
        let mut queues = Queues::default();
        for id in [10, 11, 20, 21, 30, 31, 40, 41] {
            for cut in 0..9 {
                emptied(&mut queues, &[(id, &b"\0\0\x01q\x08\0\0\0\0"[..cut])]);
            }
        }
        let mut out = Emptied::default();
        for n in 0..=u16::MAX {
            let name = n.to_be_bytes();
            let declare = [b"\0\0\x02", &name[..], b"\x08\0\0\0\0"].concat();
            queues.take(Method::of(50, 10).unwrap(), n, &declare, &mut out);
            let said = [b"\x02", &name[..], &[0; 8]].concat();
            queues.take(Method::of(50, 11).unwrap(), n % 7, &said, &mut out);
        }
        assert!(queues.channels.len() <= MAX_KEPT && queues.new.len() <= MAX_KEPT);
        queues.forget();
        assert_eq!(queues.consume(1, b""), 0);
    }
}
