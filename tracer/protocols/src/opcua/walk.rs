//! Walks the services that carry values, one entry at a time (OPC 10000-4 §5.11, §5.13, §5.14).
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
//! RepublishRequest  header · subscription · sequence
//! RepublishResponse header · sequence · time · m · notification × m
//! notification      type · encoding · length · (n · (client handle, DataValue) × n · diagnostics)
//! ```
//!
//! A message may arrive in chunks: if an entry is incomplete, the walk stays before it, and the entry is read again with the
//! next chunk.

use super::fields::{FieldError, OpcuaFields};
use super::node::NodeId;
use super::service::{
    CREATE_MONITORED_ITEMS_REQUEST, DATA_CHANGE_NOTIFICATION, PUBLISH_RESPONSE, READ_REQUEST,
    READ_RESPONSE, REPUBLISH_REQUEST, REPUBLISH_RESPONSE, Service, WRITE_REQUEST,
};
use super::value::{ValueContent, data_value, diagnostic_info, extension_object, qualified_name};

/// The attribute that is a variable's value (OPC 10000-6 Annex A).
const VALUE_ATTRIBUTE: u32 = 13;

/// The position of a walk in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceWalk {
    /// The position in the body where the next entry starts.
    pub at: u64,
    stage: WalkStage,
    /// Notifications in a `PublishResponse`, of any kind.
    pub notifications: u32,
    /// The subscription that a `RepublishResponse` is for, which only its request says.
    pub asked_for: u32,
    /// The notifications were published before.
    pub is_again: bool,
}

#[derive(Clone, Copy, Debug)]
enum WalkStage {
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
    /// Inside a notification that ends at position `end`.
    Changes {
        subscription: u32,
        left: u32,
        end: u64,
        notifications: u32,
    },
    Done,
}

/// An entry with a value, or with the node of a later value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServiceEntry<'a> {
    Value {
        of: ValueSource<'a>,
        content: ValueContent<'a>,
    },
    /// The client reads this node; `None` for an attribute that is no value.
    Wanted(Option<NodeId<'a>>),
    /// The client assigns a handle to this node.
    Monitored {
        subscription: u32,
        handle: u32,
        node: NodeId<'a>,
    },
    /// The client asks for a notification message of this subscription again.
    AskedAgain {
        subscription: u32,
    },
    /// A notification message, before its entries.
    Notified {
        subscription: u32,
        number: u32,
    },
    /// A notification without a value.
    Valueless {
        subscription: u32,
        handle: u32,
    },
}

/// The way in which the node of a value is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueSource<'a> {
    Node(NodeId<'a>),
    /// The node at this index of the read request.
    Wanted(u32),
    Handle {
        subscription: u32,
        handle: u32,
    },
}

impl WalkStage {
    /// The stage behind one value.
    fn after_value(self) -> WalkStage {
        match self {
            WalkStage::Write { left } => WalkStage::Write { left: left.saturating_sub(1) },
            WalkStage::ReadResponse { left, index } => WalkStage::ReadResponse {
                left: left.saturating_sub(1),
                index: index.saturating_add(1),
            },
            WalkStage::Changes { subscription, left, end, notifications } => WalkStage::Changes {
                subscription,
                left: left.saturating_sub(1),
                end,
                notifications,
            },
            other => other,
        }
    }
}

impl ServiceWalk {
    /// A walk through a body from position `at`, after its type.
    pub fn new(service: &Service, at: u64) -> ServiceWalk {
        let stage = match service.id() {
            WRITE_REQUEST
            | READ_REQUEST
            | READ_RESPONSE
            | CREATE_MONITORED_ITEMS_REQUEST
            | PUBLISH_RESPONSE
            | REPUBLISH_REQUEST
            | REPUBLISH_RESPONSE => WalkStage::Header(service.id()),
            _ => WalkStage::Done,
        };
        ServiceWalk { at, stage, notifications: 0, asked_for: 0, is_again: false }
    }

    pub fn is_done(&self) -> bool {
        matches!(self.stage, WalkStage::Done)
    }

    pub fn stop(&mut self) {
        self.stage = WalkStage::Done;
    }

    /// Reads one entry, at which `fields` starts. It is stored in `entry` as soon as it is known; after
    /// [`FieldError::Short`], it is a value whose end has not arrived.
    pub fn next<'a>(
        &mut self,
        mut fields: OpcuaFields<'a>,
        entry: &mut Option<ServiceEntry<'a>>,
    ) -> Result<(), FieldError> {
        let stage = match self.stage {
            WalkStage::Header(service) => self.header(service, &mut fields, entry)?,
            WalkStage::Write { left } => {
                write_value(&mut fields, entry)?;
                WalkStage::Write { left }.after_value()
            }
            WalkStage::ReadRequest { left } => {
                let node = read_value_id(&mut fields)?;
                *entry = Some(ServiceEntry::Wanted(node));
                WalkStage::ReadRequest { left: left.saturating_sub(1) }
            }
            WalkStage::ReadResponse { left, index } => {
                value_of(ValueSource::Wanted(index), &mut fields, entry)?;
                WalkStage::ReadResponse { left, index }.after_value()
            }
            WalkStage::Monitor { subscription, left } => {
                *entry = monitored_item(subscription, &mut fields)?;
                WalkStage::Monitor { subscription, left: left.saturating_sub(1) }
            }
            WalkStage::Notifications { subscription, left } => {
                notification(subscription, left.saturating_sub(1), &mut fields)?
            }
            WalkStage::Changes { subscription, .. } => {
                change(subscription, &mut fields, entry)?;
                self.stage.after_value()
            }
            WalkStage::Done => WalkStage::Done,
        };
        self.at = fields.position();
        self.stage = self.settle(stage);
        Ok(())
    }

    /// Passes over the value at which the walk is, and which ends at position `end`.
    pub fn pass_value(&mut self, end: u64) {
        self.at = end;
        self.stage = self.settle(self.stage.after_value());
    }

    /// Number of values that are published or written, from the one at which the walk is to the end of its list.
    pub fn values_left(&self) -> u32 {
        match self.stage {
            WalkStage::Write { left } | WalkStage::Changes { left, .. } => left,
            _ => 0,
        }
    }

    /// Changes to the next stage if no entries remain in this one.
    fn settle(&mut self, stage: WalkStage) -> WalkStage {
        match stage {
            WalkStage::Changes { subscription, left: 0, end, notifications } => {
                self.at = self.at.max(end);
                self.settle(WalkStage::Notifications { subscription, left: notifications })
            }
            WalkStage::Write { left: 0 }
            | WalkStage::ReadRequest { left: 0 }
            | WalkStage::ReadResponse { left: 0, .. }
            | WalkStage::Monitor { left: 0, .. }
            | WalkStage::Notifications { left: 0, .. } => WalkStage::Done,
            stage => stage,
        }
    }

    /// Reads up to the first entry.
    fn header<'a>(
        &mut self,
        service: u32,
        fields: &mut OpcuaFields<'a>,
        entry: &mut Option<ServiceEntry<'a>>,
    ) -> Result<WalkStage, FieldError> {
        match service {
            READ_RESPONSE | PUBLISH_RESPONSE | REPUBLISH_RESPONSE => response_header(fields)?,
            _ => request_header(fields)?,
        }
        Ok(match service {
            WRITE_REQUEST => WalkStage::Write { left: fields.len()? },
            READ_REQUEST => {
                fields.skip(12)?;
                WalkStage::ReadRequest { left: fields.len()? }
            }
            READ_RESPONSE => WalkStage::ReadResponse { left: fields.len()?, index: 0 },
            CREATE_MONITORED_ITEMS_REQUEST => {
                let subscription = fields.u32()?;
                fields.skip(4)?;
                WalkStage::Monitor { subscription, left: fields.len()? }
            }
            REPUBLISH_REQUEST => {
                *entry = Some(ServiceEntry::AskedAgain { subscription: fields.u32()? });
                WalkStage::Done
            }
            REPUBLISH_RESPONSE => self.notified(self.asked_for, fields, entry)?,
            _ => {
                let subscription = fields.u32()?;
                let available = fields.len()?;
                fields.skip(u64::from(available).saturating_mul(4).saturating_add(1))?;
                self.notified(subscription, fields, entry)?
            }
        })
    }

    /// Reads the start of a notification message. One without notifications is a keep-alive, with the number of the next one.
    fn notified<'a>(
        &mut self,
        subscription: u32,
        fields: &mut OpcuaFields<'a>,
        entry: &mut Option<ServiceEntry<'a>>,
    ) -> Result<WalkStage, FieldError> {
        let number = fields.u32()?;
        fields.skip(8)?;
        self.notifications = fields.len()?;
        if self.notifications > 0 {
            *entry = Some(ServiceEntry::Notified { subscription, number });
        }
        Ok(WalkStage::Notifications { subscription, left: self.notifications })
    }
}

/// Skips a request header: token, time, handle, diagnostics, audit entry, timeout, additional header (OPC 10000-4 §7.33).
pub(super) fn request_header(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    NodeId::read(fields)?;
    fields.skip(8 + 4 + 4)?;
    fields.text()?;
    fields.skip(4)?;
    extension_object(fields)
}

/// Skips a response header: time, handle, result, diagnostics, strings, additional header (OPC 10000-4 §7.34).
fn response_header(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    fields.skip(8 + 4 + 4)?;
    diagnostic_info(fields)?;
    for _ in 0..fields.len()? {
        fields.text()?;
    }
    extension_object(fields)
}

/// Reads a value whose source is known.
fn value_of<'a>(
    of: ValueSource<'a>,
    fields: &mut OpcuaFields<'a>,
    entry: &mut Option<ServiceEntry<'a>>,
) -> Result<(), FieldError> {
    let mut content = None;
    let result = data_value(fields, &mut content);
    *entry = content.map(|content| ServiceEntry::Value { of, content });
    result
}

fn write_value<'a>(
    fields: &mut OpcuaFields<'a>,
    entry: &mut Option<ServiceEntry<'a>>,
) -> Result<(), FieldError> {
    let node = NodeId::read(fields)?;
    let attribute = fields.u32()?;
    fields.text()?;
    let result = value_of(ValueSource::Node(node), fields, entry);
    if attribute != VALUE_ATTRIBUTE {
        *entry = None;
    }
    result
}

/// Reads a node; `None` if the attribute is not its value.
fn read_value_id<'a>(fields: &mut OpcuaFields<'a>) -> Result<Option<NodeId<'a>>, FieldError> {
    let node = NodeId::read(fields)?;
    let attribute = fields.u32()?;
    fields.text()?;
    qualified_name(fields)?;
    Ok((attribute == VALUE_ATTRIBUTE).then_some(node))
}

fn monitored_item<'a>(
    subscription: u32,
    fields: &mut OpcuaFields<'a>,
) -> Result<Option<ServiceEntry<'a>>, FieldError> {
    let node = read_value_id(fields)?;
    fields.skip(4)?;
    let handle = fields.u32()?;
    fields.skip(8)?;
    extension_object(fields)?;
    fields.skip(4 + 1)?;
    Ok(node.map(|node| ServiceEntry::Monitored { subscription, handle, node }))
}

/// Enters a notification with values, and skips any other.
fn notification(
    subscription: u32,
    left: u32,
    fields: &mut OpcuaFields<'_>,
) -> Result<WalkStage, FieldError> {
    let kind = NodeId::read(fields)?;
    let len = match fields.u8()? {
        0 => 0,
        _ => fields.len()?,
    };
    fields.ensure(len.into())?;
    if kind.standard() != Some(DATA_CHANGE_NOTIFICATION) {
        fields.skip(len.into())?;
        return Ok(WalkStage::Notifications { subscription, left });
    }
    let end = fields.position().saturating_add(u64::from(len));
    let changes = fields.len()?;
    Ok(WalkStage::Changes { subscription, left: changes, end, notifications: left })
}

fn change<'a>(
    subscription: u32,
    fields: &mut OpcuaFields<'a>,
    entry: &mut Option<ServiceEntry<'a>>,
) -> Result<(), FieldError> {
    let handle = fields.u32()?;
    value_of(ValueSource::Handle { subscription, handle }, fields, entry)?;
    entry.get_or_insert(ServiceEntry::Valueless { subscription, handle });
    Ok(())
}
