//! A network message, as far as it was decoded.

use super::wire::{WireExpr, ZenohCursor, ZenohId};
use wirelap_events::{FrameClass, GlobalKey};

/// The position of a message's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadRange<'a> {
    /// The first byte's position in the cursor that the message was read with.
    pub start: u64,
    /// The number of bytes according to the message.
    pub len: u64,
    /// The captured first bytes.
    pub head: &'a [u8],
}

/// A declaration about the number of a key expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExprMapping<'a> {
    /// The number means this key expression from now on.
    Declare(u16, WireExpr<'a>),
    /// The number has no meaning from now on.
    Undeclare(u16),
}

/// Part of a message in the query of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The query.
    Request(u32),
    /// A reply.
    Reply(u32),
    /// The end of all replies.
    End(u32),
}

/// A network message. It is filled in while it is read, so that fields before a truncated end are kept.
#[derive(Clone, Copy, Debug)]
pub struct NetworkMessage<'a> {
    /// The frame's name; that of the body if the message has one.
    pub name: &'static str,
    /// The class of the frame.
    pub class: FrameClass,
    /// The message's key expression.
    pub expr: WireExpr<'a>,
    /// The application's payload; empty for a deletion, `None` for a message without payload.
    pub payload: Option<PayloadRange<'a>>,
    /// The publisher's own number for the message.
    pub key: Option<GlobalKey>,
    /// True if the message is published, and no query or reply: a reply may be of what was published long ago.
    pub is_push: bool,
    /// A reply with data, and no error.
    pub is_reply: bool,
    /// By whose clock it has a timestamp.
    pub stamped_by: Option<ZenohId>,
    /// The time of the timestamp (NTP64), or 0.
    pub time: u64,
    /// The consolidation of a query's replies, as in [`OpenQueries`](super::queries::OpenQueries).
    pub consolidation: u64,
    /// The declaration about a key expression.
    pub mapping: Option<KeyExprMapping<'a>>,
    /// The query that it is, or is part of the reply to.
    pub exchange: Option<Exchange>,
    /// The body of a query, as far as it was captured.
    pub query: &'a [u8],
    /// The application's attachment, if all of it was captured.
    pub attachment: &'a [u8],
}

impl<'a> NetworkMessage<'a> {
    /// A message that is not read yet.
    pub fn unread() -> NetworkMessage<'a> {
        NetworkMessage {
            name: "",
            class: FrameClass::Other,
            expr: WireExpr::default(),
            payload: None,
            key: None,
            is_push: false,
            is_reply: false,
            stamped_by: None,
            time: 0,
            consolidation: 0,
            mapping: None,
            exchange: None,
            query: &[],
            attachment: &[],
        }
    }

    /// Sets the timestamp.
    pub(super) fn stamped(&mut self, (time, by): (u64, ZenohId)) {
        self.time = time;
        self.stamped_by = Some(by);
    }

    /// Sets the attachment.
    pub(super) fn attached(&mut self, attachment: ZenohCursor<'a>) {
        let captured = attachment.captured();
        if captured.len() as u64 == attachment.remaining() {
            self.attachment = captured;
        }
    }

    /// Sets the frame's name and class.
    pub(super) fn is(&mut self, name: &'static str, class: FrameClass) {
        self.name = name;
        self.class = class;
    }
}
