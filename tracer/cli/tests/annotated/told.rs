//! Readings of tshark with our dissector.

use crate::root;
use crate::truth::{Fields, Key, truth};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wirelap_events::{FlowId, Nanos};
use wirelap_test_support::tshark::{command, quiet_output};

pub fn tshark(file: &Path, words: &[&str]) -> String {
    let script = root().join("dissectors/wirelap.lua").canonicalize().unwrap();
    let mut tshark = command();
    tshark.args(["-X", &format!("lua_script:{}", script.display()), "-r"]).arg(file).args(words);
    quiet_output(&mut tshark)
}

/// A packet that tells of a message.
struct Told {
    frame: u64,
    /// Nanoseconds since 1970.
    at: u64,
    fields: Fields,
}

impl Told {
    fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name).map(|value| value.parse().unwrap())
    }

    /// True if the packet tells just that, and no verdict nor segment beyond.
    fn says(&self, expected: &Fields) -> bool {
        let all = ["verdict", "segment.", "last_seen."];
        let mut told =
            self.fields.keys().filter(|name| all.iter().any(|all| name.starts_with(all)));
        expected.iter().all(|(name, value)| self.fields.get(name) == Some(value))
            && told.all(|name| expected.contains_key(name))
    }

    /// True if the packet has the message's last byte.
    fn has_end(&self) -> bool {
        self.number("part.to") == self.number("part.of")
    }
}

/// Reads a file with tshark. Of its outputs only PDML keeps the messages of one packet apart.
fn told(file: &Path) -> Vec<Told> {
    let pdml = tshark(file, &["-2", "-Y", "wirelap", "-T", "pdml", "-J", "frame wirelap"]);
    let mut all: Vec<Told> = Vec::new();
    let (mut frame, mut at) = (0, 0);
    for line in pdml.lines() {
        let attribute = |name: &str| {
            let start = line.find(&format!(" {name}=\""))? + name.len() + 3;
            line[start..].split('"').next()
        };
        let (name, show) =
            (attribute("name").unwrap_or_default(), attribute("show").unwrap_or_default());
        match name {
            "frame.number" => frame = show.parse().unwrap(),
            "frame.time_epoch" => at = show.replace('.', "").parse().unwrap(),
            "wirelap" => all.push(Told { frame, at, fields: Fields::new() }),
            _ => {
                if let Some(name) = name.strip_prefix("wirelap.") {
                    let plain = show.replace("&quot;", "\"").replace("&amp;", "&");
                    all.last_mut().unwrap().fields.insert(name.to_owned(), plain);
                }
            }
        }
    }
    all
}

/// Compares what packets tell with what is true. Returns how many packets there were to compare.
pub fn compare(file: &Path) -> usize {
    let (truth, wall) = truth(file);
    let told = told(file);
    let mut left: BTreeSet<Key> = truth.all.keys().copied().collect();
    let mut ends: BTreeMap<(u64, usize), Vec<&Told>> = BTreeMap::new();
    for packet in &told {
        let leg = usize::try_from(packet.number("leg").unwrap()).unwrap();
        let key = (packet.number("msg.id").unwrap(), leg);
        let flows = (key.0, key.1, FlowId(0))..=(key.0, key.1, FlowId(u64::MAX));
        let expected: Vec<_> = truth.all.range(flows).collect();
        let Some((key_of_flow, _)) = expected.iter().find(|(_, (_, fields))| packet.says(fields))
        else {
            panic!("{key:?} in {}: {:#?} is none of {expected:#?}", packet.frame, packet.fields)
        };
        left.remove(key_of_flow);
        if packet.has_end() {
            ends.entry(key).or_default().push(packet);
        }
    }
    assert!(left.is_empty(), "{}: no packet tells of {left:?}", file.display());
    for (&(message, leg), packets) in &ends {
        let times = &truth.packets[&(message, leg)];
        let is_named = |packet: &&&Told| {
            let at = Nanos(packet.at.wrapping_sub(wall.cast_unsigned()));
            // A Kafka record is there when the last byte of its response is, in whichever packet.
            let is_record =
                packet.fields.get("middleware").is_some_and(|middleware| middleware == "kafka");
            times.contains(&at) || is_record && times.iter().any(|&end| end > at)
        };
        assert!(
            packets.iter().any(|packet| is_named(&packet)),
            "message {message}, leg {leg}: not its packet"
        );
        for (field, other) in [("previous_leg", leg - 1), ("next_leg", leg + 1)] {
            let other = ends.get(&(message, other));
            for packet in packets {
                let linked = packet.number(field);
                let is_right = match other {
                    None => linked.is_none(),
                    Some(others) => others.iter().any(|other| Some(other.frame) == linked),
                };
                assert!(is_right, "message {message}, leg {leg}: {field} is {linked:?}");
            }
        }
    }
    told.len()
}
