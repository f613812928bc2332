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
//! the server has chosen, and of one of this connection alone (AMQP 0-9-1 §1.7.2.1). Any other may have been declared and bound on another
//! connection before, also one that goes with its last consumer: it stays until it has had one. A stream is a log, from which nothing is taken.

use super::method::{Method, short_string};
use super::queue;
use super::table;
use crate::{FrameNote, FrameSink, Reader};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use wirelap_events::Size;

/// The most channels and queues of a connection that are kept.
const MAX_KEPT: usize = 1024;

const EXCLUSIVE: u8 = 4;

/// The virtual host of a connection, in which names of queues are unique; `None` if the connection was not seen to open.
type VirtualHost<'a> = Option<&'a [u8]>;

/// A number for a queue by its name and its virtual host, never 0.
fn number(host: VirtualHost<'_>, name: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    (host, name).hash(&mut hasher);
    let folded = hasher.finish() >> u32::BITS;
    u32::try_from(folded).unwrap_or(u32::MAX).max(1)
}

/// The last request on a channel that the server answers.
#[derive(Clone, Copy, Debug, Default)]
enum QueueRequest {
    #[default]
    Other,
    Declare {
        /// True if no other connection can have declared the queue.
        is_own: bool,
        is_stream: bool,
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

/// The queues of one connection.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// The [`VirtualHost`].
    host: Option<Box<[u8]>>,
    channels: FxHashMap<u16, ChannelQueues>,
    /// Queues that did not exist before, and whether each is bound.
    new: FxHashMap<u32, bool>,
}

impl Queues {
    /// Takes the arguments of `connection.open`, with which the client names its virtual host.
    pub fn open(&mut self, arguments: &[u8]) {
        self.host = short_string(&mut Reader::new(arguments)).map(Box::from);
    }

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
        let host = self.host.as_deref();
        let is_server_wide = host.is_some();
        let is_empty = |queue| FrameNote::QueueIsEmpty { queue, is_server_wide };
        let mut reader = Reader::new(arguments);
        match method.name {
            "queue.declare" => {
                let name = reader.skip(2).and_then(|()| short_string(&mut reader));
                let Some((name, flags)) = name.zip(reader.u8()) else { return };
                let is_own = name.is_empty() || flags & EXCLUSIVE != 0;
                let is_stream = queue::is_stream(table::arguments(&mut reader));
                of.request = QueueRequest::Declare { is_own, is_stream };
                of.declared = number(host, name);
            }
            "queue.bind" => of.request = QueueRequest::Bind(of.queue(host, &mut reader)),
            "queue.purge" | "queue.delete" => {
                let queue = of.queue(host, &mut reader);
                of.request = QueueRequest::Empty(queue);
                if method.name == "queue.delete" {
                    self.new.remove(&queue);
                }
            }
            "queue.declare-ok" => {
                let request = std::mem::take(&mut of.request);
                let Some(name) = short_string(&mut reader) else { return };
                let queue = number(host, name);
                of.declared = queue;
                let (Some(0), Some(consumers)) = (reader.u32_be(), reader.u32_be()) else { return };
                match request {
                    QueueRequest::Declare { is_stream: true, .. } => return,
                    QueueRequest::Declare { is_own: true, .. }
                        if consumers == 0 && self.new.len() < MAX_KEPT =>
                    {
                        self.new.entry(queue).or_insert(false);
                    }
                    _ => {}
                }
                out.note(is_empty(queue));
            }
            "queue.bind-ok" => {
                if let QueueRequest::Bind(queue) = std::mem::take(&mut of.request)
                    && let Some(is_bound @ false) = self.new.get_mut(&queue)
                {
                    *is_bound = true;
                    out.note(is_empty(queue));
                }
            }
            "queue.purge-ok" | "queue.delete-ok" => {
                if let QueueRequest::Empty(queue) = std::mem::take(&mut of.request) {
                    out.note(is_empty(queue));
                }
            }
            _ => {}
        }
    }

    /// The number of the queue that a consumer begins to read on a channel.
    pub fn consumed(&self, channel: u16, name: &[u8]) -> u32 {
        let declared = self.channels.get(&channel).map_or(0, |of| of.declared);
        if name.is_empty() { declared } else { number(self.host.as_deref(), name) }
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
        const QUEUE: usize = size_of::<(u32, bool)>() + 1;
        Size(CHANNEL) * self.channels.capacity() + Size(QUEUE) * self.new.capacity()
    }
}

impl ChannelQueues {
    /// The queue that arguments begin with.
    fn queue(&self, host: VirtualHost<'_>, arguments: &mut Reader<'_>) -> u32 {
        match arguments.skip(2).and_then(|()| short_string(arguments)) {
            Some([]) => self.declared,
            Some(name) => number(host, name),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    /// The queues that were said to be empty, and whether the last one was for all connections of the server.
    #[derive(Default)]
    struct Emptied(Vec<u32>, bool);

    impl FrameSink for Emptied {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            if let FrameNote::QueueIsEmpty { queue, is_server_wide } = note {
                self.0.push(queue);
                self.1 = is_server_wide;
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
        let q = number(None, b"q");
        let mut queues = Queues::default();
        let durable: &[u8] = b"\0\0\x01q\x02\0\0\0\0";
        let said = |messages, consumers| declared(messages, consumers);
        let mut declare = |messages, consumers| {
            emptied(&mut queues, &[(DECLARE, durable), (DECLARE + 1, &said(messages, consumers))])
        };
        assert_eq!(declare(0, 0), [q]);
        assert_eq!(declare(0, 1), [q]);
        assert_eq!(declare(1, 0), [0_u32; 0]);
        let bound = [(BIND, &b"\0\0\x01q\x02ex\x01k\0\0\0\0\0"[..]), (BIND + 1, b"")];
        assert_eq!(emptied(&mut queues, &bound), [0_u32; 0], "it may have been bound before");
        for id in [PURGE, DELETE] {
            // No name is that of the queue that was declared last.
            let all = [(id, &b"\0\0\0\0"[..]), (id + 1, b"\0\0\0\x03")];
            assert_eq!(emptied(&mut queues, &all), [q]);
        }
        assert_eq!(
            (queues.consumed(1, b""), queues.consumed(2, b""), queues.consumed(2, b"q")),
            (q, 0, q)
        );
        queues.end(1);
        assert_eq!(queues.consumed(1, b""), 0);
    }

    #[test]
    fn a_new_queue_is_empty_until_it_is_bound() {
        let q = number(None, b"q");
        let bound = [(BIND, &b"\0\0\x01q\x02ex\x01k\0\0\0\0\0"[..]), (BIND + 1, b"")];
        let cases: [&[u8]; 3] =
            [b"\0\0\x01q\x04\0\0\0\0", b"\0\0\x01q\x0c\0\0\0\0", b"\0\0\0\0\0\0\0\0"];
        for declare in cases {
            let mut queues = Queues::default();
            let declare = [(DECLARE, declare), (DECLARE + 1, &declared(0, 0)[..])];
            assert_eq!(emptied(&mut queues, &declare), [q]);
            assert_eq!(emptied(&mut queues, &bound), [q]);
            assert_eq!(emptied(&mut queues, &bound), [0_u32; 0], "it had another binding");
            assert_eq!(emptied(&mut queues, &declare), [q]);
            assert_eq!(emptied(&mut queues, &bound), [0_u32; 0], "its connection keeps it");
            emptied(&mut queues, &[(DELETE, b"\0\0\x01q\0"), (DELETE + 1, b"\0\0\0\0")]);
            assert_eq!(emptied(&mut queues, &declare), [q]);
            assert_eq!(emptied(&mut queues, &bound), [q], "it was deleted");
        }
    }

    /// A queue goes with its last consumer. Another connection may have declared and bound it, and it has had none yet.
    #[test]
    fn what_others_may_have_bound_is_not_empty_until_it_is_bound_here() {
        let mut queues = Queues::default();
        let declare = [(DECLARE, &b"\0\0\x01q\x08\0\0\0\0"[..]), (DECLARE + 1, &declared(0, 0))];
        assert_eq!(emptied(&mut queues, &declare), [number(None, b"q")], "as the server says");
        let bound = [(BIND, &b"\0\0\x01q\x02ex\x01k\0\0\0\0\0"[..]), (BIND + 1, b"")];
        assert_eq!(emptied(&mut queues, &bound), [0_u32; 0]);
    }

    #[test]
    fn queues_of_two_virtual_hosts_are_two() {
        let numbers = [&b"\x01/\0\0"[..], b"\x04test\0\0", b"\x04te"].map(|open| {
            let mut queues = Queues::default();
            queues.open(open);
            queues.consumed(1, b"q")
        });
        assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2]);
        assert_eq!(numbers[2], number(None, b"q"), "the name of the host was cut off");
    }

    /// A connection that is joined in its middle may be of any virtual host.
    #[test]
    fn a_queue_of_an_unknown_virtual_host_is_empty_for_its_own_connection_alone() {
        for (open, is_known) in [(&b""[..], false), (b"\0\0\0", true), (b"\x01/\0\0", true)] {
            let (mut queues, mut out) = (Queues::default(), Emptied::default());
            queues.open(open);
            let declare =
                [(DECLARE, &b"\0\0\x01q\x02\0\0\0\0"[..]), (DECLARE + 1, &declared(0, 0))];
            for (id, arguments) in declare {
                queues.take(Method::of(50, id).unwrap(), 1, arguments, &mut out);
            }
            assert_eq!((out.0, out.1), (vec![queues.consumed(1, b"q")], is_known), "{open:?}");
        }
    }

    #[test]
    fn a_stream_is_not_empty_though_the_server_counts_none() {
        let arguments = b"\x0cx-queue-typeS\0\0\0\x06stream";
        let len = u32::try_from(arguments.len()).unwrap().to_be_bytes();
        let stream = [&b"\0\0\x01q\x02"[..], &len, arguments].concat();
        let mut queues = Queues::default();
        let declare = [(DECLARE, &stream[..]), (DECLARE + 1, &declared(0, 0))];
        assert_eq!(emptied(&mut queues, &declare), [0_u32; 0]);
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
        assert_eq!(queues.consumed(1, b""), 0);
    }
}
