//! OPC UA's chunks, and the values in them.

use super::{Field, Reading};
use std::collections::HashMap;
use wirelap_test_support::messages::{Carried, Message};

/// The attribute that is a node's value (OPC 10000-6, annex A.1).
const VALUE: u64 = 13;

#[derive(Default)]
pub struct OpcUa {
    /// The nodes behind the handles of subscriptions: connection's client port, handle.
    handles: HashMap<(u16, u64), String>,
    /// Nodes whose values a request asks to read, by the client's port and the request's number; `None` for other attributes.
    reads: HashMap<(u16, u64), Vec<Option<String>>>,
}

impl Reading for OpcUa {
    fn pdu(&mut self, (from, to): (u16, u16), pdu: Field<'_>, messages: &mut Vec<Message>) {
        let kind = pdu.named("opcua.transport.type").unwrap().show();
        let service = pdu.named("opcua.servicenodeid.numeric").filter(|_| kind == "MSG");
        let name = service.map_or(kind, service_name);
        let request = pdu.number("opcua.security.rqid").unwrap_or_default();
        let mut values = Vec::new();
        match name {
            "CreateMonitoredItemsRequest" => {
                for item in pdu.ending("]: MonitoredItemCreateRequest") {
                    let handle = item.number("opcua.ClientHandle").unwrap();
                    self.handles.insert((from, handle), node(item));
                }
            }
            "ReadRequest" => {
                let wanted = pdu.ending("]: ReadValueId");
                let wanted = wanted.map(|wanted| is_value(wanted).then(|| node(wanted)));
                self.reads.insert((from, request), wanted.collect());
            }
            "WriteRequest" => {
                let written = pdu.ending("]: WriteValue").filter(|value| is_value(*value));
                values.extend(written.map(|value| (Some(node(value)), value)));
            }
            "ReadResponse" => {
                let nodes = self.reads.remove(&(to, request)).unwrap_or_default();
                values.extend(nodes.into_iter().zip(pdu.ending("]: DataValue")));
            }
            "PublishResponse" => {
                let changes = pdu.ending("]: MonitoredItemNotification");
                values.extend(changes.map(|change| {
                    let handle = change.number("opcua.ClientHandle").unwrap();
                    (self.handles.get(&(to, handle)).cloned(), change)
                }));
            }
            _ => {}
        }
        // What belongs to the server itself is no application's.
        let values = values
            .into_iter()
            .filter(|(node, _)| node.as_ref().is_some_and(|node| node.starts_with("ns=")));
        let carried = values.filter_map(|(node, value)| {
            Some(Carried { topic: node?, payload_len: content(value)? })
        });
        let carried: Vec<_> = carried.collect();
        let message = |carried| Message { name: name.to_owned(), carried };
        if carried.is_empty() {
            messages.push(message(None));
        }
        messages.extend(carried.into_iter().map(|carried| message(Some(carried))));
    }
}

/// `… Request: WriteRequest (673)`.
fn service_name(field: Field<'_>) -> &str {
    let text = field.attribute("showname");
    let (_, name) = text.split_once(": ").unwrap();
    name.split_once(' ').map_or(name, |(name, _)| name)
}

fn is_value(field: Field<'_>) -> bool {
    field.number("opcua.AttributeId") == Some(VALUE)
}

/// The text of the first `NodeId` in a field (OPC 10000-6 §5.1.12).
fn node(field: Field<'_>) -> String {
    let id = field.ending("NodeId: NodeId").next().unwrap();
    let namespace = match id.number("opcua.nodeid.nsindex").unwrap_or(0) {
        0 => String::new(),
        namespace => format!("ns={namespace};"),
    };
    let kinds = [("numeric", 'i'), ("string", 's'), ("guid", 'g')];
    let found = kinds.into_iter().find_map(|(kind, letter)| {
        let text = id.named(&format!("opcua.nodeid.{kind}"))?.show();
        Some(format!("{namespace}{letter}={text}"))
    });
    found.unwrap()
}

/// Bytes of a value's content: without its type, and without the length of a string or an array.
fn content(value: Field<'_>) -> Option<u64> {
    /// The types that begin with their length: `String`, `ByteString`, `XmlElement`.
    const STRINGS: [u64; 3] = [12, 15, 16];
    let kind = value.number("opcua.variant.has_value").filter(|kind| *kind > 0)?;
    let size = value.ending("Value: Variant").next()?.size() - 1;
    let has_length = kind & 0x80 != 0 || STRINGS.contains(&kind);
    Some(size - if has_length { 4 } else { 0 })
}
