//! Kafka's requests and responses, and their lengths, or the records in them.

use super::{Field, Reading};
use std::collections::HashMap;
use wirelap_test_support::messages::{Carried, Message};

/// The API keys of what the workloads ask for (kafka.apache.org/protocol).
const NAMES: [(u64, &str); 7] = [
    (0, "Produce"),
    (1, "Fetch"),
    (2, "ListOffsets"),
    (3, "Metadata"),
    (10, "FindCoordinator"),
    (18, "ApiVersions"),
    (71, "GetTelemetrySubscriptions"),
];

/// The size that stands before each request and response, and does not count itself.
const SIZE: u64 = 4;

/// The part of Kafka that is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Requests and responses, with their lengths.
    Requests,
    /// Requests, responses and records, with the lengths of the values.
    Records,
}

pub struct Kafka {
    servers: Vec<u16>,
    depth: Depth,
    /// Names of open requests, by the client's port and the correlation id.
    asked: HashMap<(u16, u64), &'static str>,
}

impl Kafka {
    pub fn new(servers: &[u16], depth: Depth) -> Kafka {
        Kafka { servers: servers.to_vec(), depth, asked: HashMap::new() }
    }
}

impl Reading for Kafka {
    fn pdu(&mut self, (from, to): (u16, u16), pdu: Field<'_>, messages: &mut Vec<Message>) {
        let id = pdu.number("kafka.correlation_id").unwrap();
        let name = if self.servers.contains(&to) {
            let key = pdu.number("kafka.api_key").unwrap();
            let name = NAMES.iter().find(|(of, _)| *of == key).map(|(_, name)| *name);
            let name = name.unwrap_or_else(|| panic!("API key {key}"));
            self.asked.insert((from, id), name);
            format!("{name}Request")
        } else {
            format!("{}Response", self.asked.remove(&(to, id)).unwrap())
        };
        if self.depth == Depth::Records {
            messages.push(Message { name, carried: None });
            return records(pdu, messages);
        }
        let payload_len = SIZE + pdu.number("kafka.len").unwrap();
        let carried = Some(Carried { topic: String::new(), payload_len });
        messages.push(Message { name, carried });
    }
}

/// Each is said to be of the topic and partition named last before it.
fn records(pdu: Field<'_>, messages: &mut Vec<Message>) {
    let (mut topic, mut partition) = ("", "");
    for field in pdu.all() {
        match field.name() {
            "kafka.topic_name" => topic = field.show(),
            "kafka.partition_id" => partition = field.show(),
            "kafka.message_value" => {
                let topic = format!("{topic}-{partition}");
                let carried = Some(Carried { topic, payload_len: field.size() });
                messages.push(Message { name: "Record".into(), carried });
            }
            _ => {}
        }
    }
}
