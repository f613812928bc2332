//! The middlewares, and who else reads their protocols.

use super::ours::{Take, message};
use super::theirs::{self, Reading};
use crate::experts;
use std::path::Path;
use wirelap_events::Frame;
use wirelap_test_support::dissector::{self, Dissector};
use wirelap_test_support::messages::{Carried, Message, Messages};

/// The other reader of a protocol.
pub enum Reader {
    /// A dissector of Wireshark's own, and what reads it, with the ports of the servers.
    Own(&'static str, fn(&[u16]) -> Box<dyn Reading>),
    /// One of ours, in Lua.
    Lua(Dissector),
}

/// One middleware.
pub struct Case {
    /// The middleware's name for `run --on`.
    pub on: &'static str,
    /// Name of its protocol with our decoders.
    pub protocol: &'static str,
    /// True if it has a server that every message passes.
    pub brokered: bool,
    /// The choice of our frames that are messages; all others only frame them.
    pub take: Take,
    /// Makes of theirs what both speak of.
    pub same: fn(&Messages, &mut Messages),
    reader: Reader,
}

const MQTT: Reader = Reader::Own("mqtt", theirs::mqtt);
const KAFKA: Reader = Reader::Own("kafka", theirs::kafka);
const KAFKA_RECORDS: Reader = Reader::Own("kafka", theirs::kafka_records);
const RTPS: Reader = Reader::Own("rtps", theirs::rtps);
const OPCUA: Reader = Reader::Own("opcua", theirs::opcua);

fn each(frame: &Frame<'_>, messages: &mut Vec<Message>) {
    messages.push(message(frame));
}

/// Without the header of an RTPS message, which is none of its submessages, and datagrams of another kind: Cyclone DDS tries
/// with one whether multicast works.
fn submessages(frame: &Frame<'_>, messages: &mut Vec<Message>) {
    if !["RTPS", "MALFORMED"].contains(&frame.name) {
        messages.push(message(frame));
    }
}

/// Without the header of an XRCE message.
fn submessages_of_xrce(frame: &Frame<'_>, messages: &mut Vec<Message>) {
    if frame.name != "XRCE" {
        messages.push(message(frame));
    }
}

/// tshark 4.0 knows what Kafka's requests and responses are and how long, and of their content only older versions.
fn requests(frame: &Frame<'_>, messages: &mut Vec<Message>) {
    const PARTS: [&str; 3] = ["Record", "RecordBatch", "PartitionData"];
    let Message { name, .. } = message(frame);
    let bytes = frame.range.len();
    match messages.last_mut().and_then(|last| last.carried.as_mut()) {
        Some(last) if PARTS.contains(&&*name) => last.payload_len += bytes,
        _ => {
            let carried = Some(Carried { topic: String::new(), payload_len: bytes });
            messages.push(Message { name, carried });
        }
    }
}

/// Requests, responses and the records in them: versions that tshark 4.0 knows.
fn records(frame: &Frame<'_>, messages: &mut Vec<Message>) {
    const REST: [&str; 3] = ["RecordBatch", "PartitionData", "PartialRecordBatch"];
    let Message { name, carried } = message(frame);
    if !REST.contains(&&*name) {
        let carried = carried.filter(|_| name == "Record");
        messages.push(Message { name, carried });
    }
}

/// Ours leaves out what is `JetStream`'s own, and what only says that nobody listens; the dissector shows the protocol.
fn without_status(ours: &Messages, theirs: &mut Messages) {
    for (ports, ours) in ours {
        let theirs = theirs.get_mut(ports).into_iter().flatten();
        for (our, their) in ours.iter().zip(theirs) {
            let own = |carried: &Carried| carried.topic.starts_with('$') || their.name == "HMSG";
            if our.carried.is_none() && their.carried.as_ref().is_some_and(own) {
                their.carried = None;
            }
        }
    }
}

/// A sample may overtake what announces its topic on another port. tshark does not look back, and neither knows a
/// topic whose announcement was not seen; that a sequence's length stands first is then told by its value alone.
fn announced(ours: &Messages, theirs: &mut Messages) {
    for (ports, ours) in ours {
        let theirs = theirs.get_mut(ports).into_iter().flatten();
        for (our, their) in ours.iter().zip(theirs) {
            let (Some(our), Some(their)) = (&our.carried, &mut their.carried) else { continue };
            if their.topic.is_empty() && our.topic.starts_with("wirelap/") {
                their.topic.clone_from(&our.topic);
                their.payload_len -= theirs::SEQUENCE;
            } else if their.topic.is_empty()
                && our.topic.is_empty()
                && their.payload_len == our.payload_len + theirs::SEQUENCE
            {
                their.payload_len = our.payload_len;
            }
        }
    }
}

const fn case(on: &'static str, protocol: &'static str, brokered: bool, reader: Reader) -> Case {
    Case { on, protocol, brokered, take: each, same: |_, _| (), reader }
}

/// All that `wirelap-workload` can run by itself.
pub static CASES: [Case; 10] = [
    case("mqtt", "mqtt", true, MQTT),
    Case { take: requests, ..case("kafka", "kafka", true, KAFKA) },
    Case { take: submessages, same: announced, ..case("dds", "dds", false, RTPS) },
    case("opcua", "opcua", true, OPCUA),
    case("opcua-write", "opcua", false, OPCUA),
    Case { same: without_status, ..case("nats", "nats", true, Reader::Lua(dissector::NATS)) },
    case("zeromq", "zmtp", false, Reader::Lua(dissector::ZMTP)),
    case("zeromq-rust", "zmtp", false, Reader::Lua(dissector::ZMTP)),
    case("zenoh-p2p", "zenoh", false, Reader::Lua(dissector::ZENOH)),
    case("zenoh-brokered", "zenoh", true, Reader::Lua(dissector::ZENOH)),
];

/// Middlewares that are not there everywhere, or only in other versions, and the number of messages in the recording of each.
pub static RECORDED: [(Case, u64); 3] = [
    (Case { take: records, ..case("kafka", "kafka", true, KAFKA_RECORDS) }, 33),
    (
        Case {
            take: submessages_of_xrce,
            ..case("xrce-dds", "xrce", true, Reader::Lua(dissector::XRCE))
        },
        4,
    ),
    (case("zenoh-pico", "zenoh", false, Reader::Lua(dissector::ZENOH)), 26),
];

impl Case {
    /// True if somebody else reads the messages: where Wireshark has a dissector of its own, ours is not asked.
    pub fn is_read(&self) -> bool {
        match &self.reader {
            Reader::Own(..) => true,
            Reader::Lua(dissector) => !dissector::has_own(dissector.name),
        }
    }

    /// Returns the messages that others read in a recording.
    pub fn theirs(&self, file: &Path, servers: &[u16]) -> Messages {
        match &self.reader {
            Reader::Own(name, reading) => theirs::read(file, name, servers, reading(servers)),
            Reader::Lua(dissector) => dissector.read(file, 1),
        }
    }

    /// Nobody complains: nothing malformed, no error, no warning. But for Kafka's versions that tshark 4.0 does not know,
    /// what really befell a connection, and what tshark takes for protocols that nobody here speaks, by a port or a few bytes.
    pub fn assert_quiet(&self, file: &Path, servers: &[u16]) {
        let experts = ["-q", "-z", "expert"];
        let (own, told) = match &self.reader {
            Reader::Own(name, _) => (*name, theirs::tshark(file, name, servers, &experts)),
            Reader::Lua(dissector) => {
                (dissector.name, dissector::read_with(dissector.name, file, &experts))
            }
        };
        let complaints = experts::complaints(&told);
        let is_true = |line: &&str| {
            let protocol = experts::protocol(line).to_lowercase();
            let is_own = protocol.contains(own) && protocol != "kafka";
            is_own || experts::LAYERS.contains(&&*protocol)
        };
        assert!(!complaints.iter().any(is_true), "{}: {told}", self.on);
    }
}
