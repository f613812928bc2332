//! Messages that tshark's own dissectors read in a recording. Of its outputs only PDML keeps the messages of one packet apart.

mod kafka;
mod mqtt;
mod opcua;
mod rtps;

use roxmltree::{Document, Node, ParsingOptions};
pub use rtps::SEQUENCE;
use std::path::Path;
use wirelap_test_support::messages::{Message, Messages};
use wirelap_test_support::tshark;

/// Reads what tshark says of one protocol.
pub trait Reading {
    /// One PDU of it, sent from one port to another.
    fn pdu(&mut self, ports: (u16, u16), pdu: Field<'_>, messages: &mut Vec<Message>);
}

/// MQTT's control packets.
pub fn mqtt(_: &[u16]) -> Box<dyn Reading> {
    Box::new(mqtt::Mqtt)
}

/// Kafka's requests and responses.
pub fn kafka(servers: &[u16]) -> Box<dyn Reading> {
    Box::new(kafka::Kafka::new(servers, kafka::Depth::Requests))
}

/// … and the records in them.
pub fn kafka_records(servers: &[u16]) -> Box<dyn Reading> {
    Box::new(kafka::Kafka::new(servers, kafka::Depth::Records))
}

/// RTPS submessages.
pub fn rtps(_: &[u16]) -> Box<dyn Reading> {
    Box::<rtps::Rtps>::default()
}

/// OPC UA's messages.
pub fn opcua(_: &[u16]) -> Box<dyn Reading> {
    Box::<opcua::OpcUa>::default()
}

/// Reads a protocol, by the name that tshark has for it. `servers` are the ports that its connections were opened to.
pub fn read(
    recording: &Path,
    name: &str,
    servers: &[u16],
    mut reading: Box<dyn Reading>,
) -> Messages {
    let pdml = tshark(recording, name, servers, &["-Y", name, "-T", "pdml"]);
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&pdml, options).unwrap();
    let mut messages = Messages::new();
    for packet in document.descendants().filter(|node| node.has_tag_name("packet")) {
        let ends = ["tcp", "udp"].into_iter().find_map(|transport| {
            let header = Field::protocols(packet, transport).next()?;
            let port =
                |end: &str| u16::try_from(header.number(&format!("{transport}.{end}port"))?).ok();
            Some((port("src")?, port("dst")?))
        });
        let Some(ports) = ends else { continue };
        for pdu in Field::protocols(packet, name) {
            let mut found = Vec::new();
            reading.pdu(ports, pdu, &mut found);
            if !found.is_empty() {
                messages.entry(ports).or_default().append(&mut found);
            }
        }
    }
    messages
}

/// tshark's output, with everything at these ports taken for this protocol.
pub fn tshark(recording: &Path, name: &str, servers: &[u16], words: &[&str]) -> String {
    let mut tshark = tshark::command();
    for port in servers {
        tshark.args(["-d", &format!("tcp.port=={port},{name}")]);
    }
    tshark
        // Some ports of DDS domains are registered for other protocols.
        .args(["-o", "udp.try_heuristic_first:TRUE", "-r"])
        .arg(recording)
        .args(words);
    tshark::output(&mut tshark)
}

/// A protocol or a field in PDML.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a>(Node<'a, 'a>);

impl<'a> Field<'a> {
    fn protocols(packet: Node<'a, 'a>, name: &str) -> impl Iterator<Item = Field<'a>> {
        let protocols = packet.children().filter(move |node| node.has_tag_name("proto"));
        protocols.filter(move |node| node.attribute("name") == Some(name)).map(Field)
    }

    /// Returns the field and everything in it, in order.
    fn all(self) -> impl Iterator<Item = Field<'a>> {
        self.0.descendants().filter(Node::is_element).map(Field)
    }

    /// Returns the fields directly in this one.
    fn inside(self) -> impl Iterator<Item = Field<'a>> {
        self.0.children().filter(Node::is_element).map(Field)
    }

    fn attribute(self, name: &str) -> &'a str {
        self.0.attribute(name).unwrap_or_default()
    }

    fn name(self) -> &'a str {
        self.attribute("name")
    }

    fn show(self) -> &'a str {
        self.attribute("show")
    }

    /// Bytes of it.
    fn size(self) -> u64 {
        self.attribute("size").parse().unwrap()
    }

    /// Returns the value that the field shows, decimal or hexadecimal; `None` if it is no number.
    fn value(self) -> Option<u64> {
        let show = self.show();
        match show.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => show.parse().ok(),
        }
    }

    /// The first field of this name.
    fn named(self, name: &str) -> Option<Field<'a>> {
        self.all().find(|field| field.name() == name)
    }

    /// Returns the number that the first field of this name shows.
    fn number(self, name: &str) -> Option<u64> {
        self.named(name)?.value()
    }

    /// The fields whose text ends so.
    fn ending(self, end: &str) -> impl Iterator<Item = Field<'a>> {
        self.all().filter(move |field| field.show().ends_with(end))
    }
}
