//! RTPS's submessages. A sample in fragments is carried by the one that completes it.

use super::{Field, Reading};
use std::collections::{HashMap, HashSet};
use wirelap_test_support::messages::{Carried, Message};

/// Kinds of submessages (RTPS 2.5 §9.4.5.1.1).
const NAMES: [(u64, &str); 10] = [
    (0x01, "PAD"),
    (0x06, "ACKNACK"),
    (0x07, "HEARTBEAT"),
    (0x08, "GAP"),
    (0x09, "INFO_TS"),
    (0x0e, "INFO_DST"),
    (0x12, "NACK_FRAG"),
    (0x13, "HEARTBEAT_FRAG"),
    (DATA, "DATA"),
    (DATA_FRAG, "DATA_FRAG"),
];
const DATA: u64 = 0x15;
const DATA_FRAG: u64 = 0x16;

/// The encapsulation header in front of a sample (RTPS 2.5 §10.2.1.2).
const ENCAPSULATION: u64 = 4;

/// Our workloads' type is a sequence of octets, which begins with its length.
pub const SEQUENCE: u64 = 4;

/// A sample on its way: the ports, its writer and its number.
type Sample = ((u16, u16), u64, u64);

#[derive(Default)]
pub struct Rtps {
    /// Fragments that have come, and the padding that the first one tells of.
    open: HashMap<Sample, (HashSet<u64>, u64)>,
}

impl Reading for Rtps {
    fn pdu(&mut self, ports: (u16, u16), pdu: Field<'_>, messages: &mut Vec<Message>) {
        for field in pdu.inside().filter(|field| field.name() == "rtps.sm.id") {
            let kind = field.value().unwrap();
            let name = NAMES.iter().find(|(of, _)| *of == kind).map(|(_, name)| *name);
            let name = name.unwrap_or_else(|| panic!("submessage {kind:#x}"));
            let carried = self.sample(ports, kind, field);
            messages.push(Message { name: name.into(), carried });
        }
    }
}

impl Rtps {
    /// The sample of an application's writer that is complete with this submessage.
    fn sample(&mut self, ports: (u16, u16), kind: u64, field: Field<'_>) -> Option<Carried> {
        if kind != DATA && kind != DATA_FRAG {
            return None;
        }
        let writer = u64::from_str_radix(field.named("rtps.sm.wrEntityId")?.attribute("value"), 16);
        let writer = writer.ok().filter(|writer| writer & 0xc0 == 0)?;
        // The low bits of the options say how many bytes were added to fill a word (RTPS 2.5 §10.2.1.2).
        let padding = field.number("rtps.param.serialize.encap_len").map_or(0, |n| n & 3);
        let (size, padding) = if kind == DATA {
            let data = field.all().find(|f| f.name().is_empty() && f.show() == "serializedData")?;
            (data.size(), padding)
        } else {
            let number = |name: &str| field.number(name).unwrap();
            let sample = (ports, writer, number("rtps.sm.seqNumber"));
            let size = number("rtps.data_frag.sample_size");
            let first = number("rtps.data_frag.number");
            let count = number("rtps.data_frag.num_fragments");
            let (come, told) = self.open.entry(sample).or_default();
            let before = come.len();
            come.extend(first..first + count);
            if first == 1 {
                *told = padding;
            }
            // What comes again repairs a sample that is complete here.
            if come.len() == before
                || come.len() as u64 != size.div_ceil(number("rtps.data_frag.size"))
            {
                return None;
            }
            (size, *told)
        };
        let topic = field.named("rtps.param.topicName").map_or("", Field::show).to_owned();
        let length = if topic.starts_with("wirelap/") { SEQUENCE } else { 0 };
        Some(Carried { topic, payload_len: size - ENCAPSULATION - length - padding })
    }
}
