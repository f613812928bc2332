//! Goes through the services that carry values, one entry at a time (OPC 10000-4 §5.11, §5.13, §5.14).
//!
//! ```text
//! WriteRequest      header · n · (node, attribute, index range, DataValue) × n
//! ReadRequest       header · age · timestamps · n · (node, attribute, index range, encoding) × n
//! ReadResponse      header · n · DataValue × n
//! CreateMonitoredItemsRequest
//!                   header · subscription · timestamps · n · (node, attribute, index range,
//!                   encoding, mode, client handle, interval, filter, queue size, discard) × n
//! PublishResponse   header · subscription · n · available u32 × n · more · sequence · time ·
//!                   m · notification × m
//! notification      type · encoding · length · (n · (client handle, DataValue) × n · diagnostics)
//! ```
//!
//! A message may come in chunks: where an entry is not all here, the walk stays before it and is asked
//! again when more is.

use super::fields::{Fault, Fields};
use super::node::NodeId;
use super::service::{
    CREATE_MONITORED_ITEMS_REQUEST, DATA_CHANGE_NOTIFICATION, PUBLISH_RESPONSE, READ_REQUEST,
    READ_RESPONSE, Service, WRITE_REQUEST,
};
use super::value::{Content, data_value, diagnostic_info, extension_object, qualified_name};

/// The attribute that is a variable's value (OPC 10000-6 Annex A).
const VALUE_ATTRIBUTE: u32 = 13;

/// How far a message was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The place in the body where the next entry starts.
    pub at: u64,
    stage: Stage,
    /// Notifications in a `PublishResponse`, of any kind.
    pub notifications: u32,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Header(u32),
    Write {
        left: u32,
    },
    ReadRequest {
        left: u32,
    },
    ReadResponse {
        left: u32,
        index: u32,
    },
    Monitor {
        subscription: u32,
        left: u32,
    },
    Notifications {
        subscription: u32,
        left: u32,
    },
    /// In one of them, which ends at a place.
    Changes {
        subscription: u32,
        left: u32,
        end: u64,
        notifications: u32,
    },
    Done,
}

/// An entry that matters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<'a> {
    Value {
        of: Source<'a>,
        content: Content<'a>,
    },
    /// The client wants to read this. `None`: something else than a value.
    Wanted(Option<NodeId<'a>>),
    /// The client's name for this node.
    Monitored {
        subscription: u32,
        handle: u32,
        node: NodeId<'a>,
    },
    /// A notification came without a value.
    Valueless {
        subscription: u32,
        handle: u32,
    },
}

/// What says whose value it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    Node(NodeId<'a>),
    /// The node that was wanted at this place of the request.
    Wanted(u32),
    Handle {
        subscription: u32,
        handle: u32,
    },
}

impl Walk {
    /// A walk through a body from place `at`, after its type.
    pub fn new(service: &Service, at: u64) -> Walk {
        let stage = match service.id() {
            WRITE_REQUEST
            | READ_REQUEST
            | READ_RESPONSE
            | CREATE_MONITORED_ITEMS_REQUEST
            | PUBLISH_RESPONSE => Stage::Header(service.id()),
            _ => Stage::Done,
        };
        Walk { at, stage, notifications: 0 }
    }

    pub fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    pub fn stop(&mut self) {
        self.stage = Stage::Done;
    }

    /// Reads one entry, with `fields` at its place. What matters of it is in `entry` as soon as it
    /// is known; after [`Fault::Short`], that is a value of which the end is not here.
    pub fn next<'a>(
        &mut self,
        mut fields: Fields<'a>,
        entry: &mut Option<Entry<'a>>,
    ) -> Result<(), Fault> {
        let stage = match self.stage {
            Stage::Header(service) => self.header(service, &mut fields)?,
            Stage::Write { left } => {
                write_value(&mut fields, entry)?;
                Stage::Write { left: left.saturating_sub(1) }
            }
            Stage::ReadRequest { left } => {
                let node = read_value_id(&mut fields)?;
                *entry = Some(Entry::Wanted(node));
                Stage::ReadRequest { left: left.saturating_sub(1) }
            }
            Stage::ReadResponse { left, index } => {
                value_of(Source::Wanted(index), &mut fields, entry)?;
                Stage::ReadResponse { left: left.saturating_sub(1), index: index.saturating_add(1) }
            }
            Stage::Monitor { subscription, left } => {
                *entry = monitored_item(subscription, &mut fields)?;
                Stage::Monitor { subscription, left: left.saturating_sub(1) }
            }
            Stage::Notifications { subscription, left } => {
                notification(subscription, left.saturating_sub(1), &mut fields)?
            }
            Stage::Changes { subscription, left, end, notifications } => {
                change(subscription, &mut fields, entry)?;
                Stage::Changes { subscription, left: left.saturating_sub(1), end, notifications }
            }
            Stage::Done => Stage::Done,
        };
        self.at = fields.place();
        self.stage = self.settle(stage);
        Ok(())
    }

    /// Moves on where nothing is left.
    fn settle(&mut self, stage: Stage) -> Stage {
        match stage {
            Stage::Changes { subscription, left: 0, end, notifications } => {
                self.at = self.at.max(end);
                self.settle(Stage::Notifications { subscription, left: notifications })
            }
            Stage::Write { left: 0 }
            | Stage::ReadRequest { left: 0 }
            | Stage::ReadResponse { left: 0, .. }
            | Stage::Monitor { left: 0, .. }
            | Stage::Notifications { left: 0, .. } => Stage::Done,
            stage => stage,
        }
    }

    /// Reads up to the first entry.
    fn header(&mut self, service: u32, fields: &mut Fields<'_>) -> Result<Stage, Fault> {
        match service {
            READ_RESPONSE | PUBLISH_RESPONSE => response_header(fields)?,
            _ => request_header(fields)?,
        }
        Ok(match service {
            WRITE_REQUEST => Stage::Write { left: fields.len()? },
            READ_REQUEST => {
                fields.skip(12)?;
                Stage::ReadRequest { left: fields.len()? }
            }
            READ_RESPONSE => Stage::ReadResponse { left: fields.len()?, index: 0 },
            CREATE_MONITORED_ITEMS_REQUEST => {
                let subscription = fields.u32()?;
                fields.skip(4)?;
                Stage::Monitor { subscription, left: fields.len()? }
            }
            _ => {
                let subscription = fields.u32()?;
                let available = fields.len()?;
                fields.skip(
                    u64::from(available)
                        .saturating_mul(4)
                        .saturating_add(1)
                        .saturating_add(4)
                        .saturating_add(8),
                )?;
                self.notifications = fields.len()?;
                Stage::Notifications { subscription, left: self.notifications }
            }
        })
    }
}

/// OPC 10000-4 §7.33: token, time, handle, diagnostics, audit entry, timeout, more.
fn request_header(fields: &mut Fields<'_>) -> Result<(), Fault> {
    NodeId::read(fields)?;
    fields.skip(8 + 4 + 4)?;
    fields.text()?;
    fields.skip(4)?;
    extension_object(fields)
}

/// OPC 10000-4 §7.34: time, handle, result, diagnostics, strings, more.
fn response_header(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.skip(8 + 4 + 4)?;
    diagnostic_info(fields)?;
    for _ in 0..fields.len()? {
        fields.text()?;
    }
    extension_object(fields)
}

/// A value whose source is known.
fn value_of<'a>(
    of: Source<'a>,
    fields: &mut Fields<'a>,
    entry: &mut Option<Entry<'a>>,
) -> Result<(), Fault> {
    let mut content = None;
    let result = data_value(fields, &mut content);
    *entry = content.map(|content| Entry::Value { of, content });
    result
}

fn write_value<'a>(fields: &mut Fields<'a>, entry: &mut Option<Entry<'a>>) -> Result<(), Fault> {
    let node = NodeId::read(fields)?;
    let attribute = fields.u32()?;
    fields.text()?;
    let result = value_of(Source::Node(node), fields, entry);
    if attribute != VALUE_ATTRIBUTE {
        *entry = None;
    }
    result
}

/// The node, if it is its value that is meant.
fn read_value_id<'a>(fields: &mut Fields<'a>) -> Result<Option<NodeId<'a>>, Fault> {
    let node = NodeId::read(fields)?;
    let attribute = fields.u32()?;
    fields.text()?;
    qualified_name(fields)?;
    Ok((attribute == VALUE_ATTRIBUTE).then_some(node))
}

fn monitored_item<'a>(
    subscription: u32,
    fields: &mut Fields<'a>,
) -> Result<Option<Entry<'a>>, Fault> {
    let node = read_value_id(fields)?;
    fields.skip(4)?;
    let handle = fields.u32()?;
    fields.skip(8)?;
    extension_object(fields)?;
    fields.skip(4 + 1)?;
    Ok(node.map(|node| Entry::Monitored { subscription, handle, node }))
}

/// Enters a notification with values, and passes any other.
fn notification(subscription: u32, left: u32, fields: &mut Fields<'_>) -> Result<Stage, Fault> {
    let kind = NodeId::read(fields)?;
    let len = match fields.u8()? {
        0 => 0,
        _ => fields.len()?,
    };
    fields.ensure(len.into())?;
    if kind.standard() != Some(DATA_CHANGE_NOTIFICATION) {
        fields.skip(len.into())?;
        return Ok(Stage::Notifications { subscription, left });
    }
    let end = fields.place().saturating_add(u64::from(len));
    let changes = fields.len()?;
    Ok(Stage::Changes { subscription, left: changes, end, notifications: left })
}

fn change<'a>(
    subscription: u32,
    fields: &mut Fields<'a>,
    entry: &mut Option<Entry<'a>>,
) -> Result<(), Fault> {
    let handle = fields.u32()?;
    value_of(Source::Handle { subscription, handle }, fields, entry)?;
    entry.get_or_insert(Entry::Valueless { subscription, handle });
    Ok(())
}
