//! The correlator's word for every message.

use std::collections::BTreeMap;
use std::path::Path;
use wirelap_correlate::{Config, Correlator, DelayCause, DeliverySink, Label, Nondelivery};
use wirelap_events::{Delivery, FlowId, GroupId, Leg, Nanos, Pid, Segment, Stage};
use wirelap_recording::{Entry, Note, Recording};

/// Values that are told of a message on a leg, by the name of the field.
pub type Fields = BTreeMap<String, String>;

/// A message, a leg, from 1, and the flow: each of several readers has one.
pub type Key = (u64, usize, FlowId);

/// The correlator's word for every message.
#[derive(Default)]
pub struct TruthRecord {
    pub all: BTreeMap<Key, (Option<Nanos>, Fields)>,
    /// Times when the packet with the last byte was handed to a device, or else received.
    pub packets: BTreeMap<(u64, usize), Vec<Nanos>>,
    /// And their standing.
    pub deliveries: Vec<(Delivery, &'static str)>,
    /// That of the last packet is taken for a read, and not told.
    packets_only: bool,
}

impl TruthRecord {
    fn hear(&mut self, delivery: &Delivery, held_up: Option<DelayCause>, standing: &'static str) {
        let last_seen = ["undelivered", "under way"].contains(&standing);
        let is_told = |time: &Nanos| !self.packets_only || time.0 > 0;
        let is_whole = ["counted", "warm-up"].contains(&standing);
        let one_way = delivery.one_way().filter(|time| is_whole && is_told(time));
        for (index, segments) in delivery.segments() {
            let leg: &Leg = &delivery.legs[index];
            let mut fields = Fields::new();
            let mut put = |name: &str, value: String| drop(fields.insert(name.into(), value));
            put("standing", standing.into());
            put("legs", delivery.legs.len().to_string());
            put("payload_bytes", delivery.payload_len.to_string());
            let is_told = |segment| !self.packets_only || segment != Segment::Busy;
            let told: Vec<_> = segments.iter().filter(|(segment, _)| is_told(*segment)).collect();
            if !told.is_empty() {
                put("leg_ns", segments.sum().0.to_string());
            }
            for (segment, time) in told {
                put(&format!("segment.{}_ns", segment.name()), time.0.to_string());
            }
            if let Some(one_way) = one_way {
                put("one_way_ns", one_way.0.to_string());
            }
            for (name, task) in [("sender", leg.sender), ("reader", leg.reader)] {
                if let Some(task) = task.filter(|task| task.pid != Pid(0)) {
                    put(&format!("{name}.pid"), task.pid.0.to_string());
                    put(&format!("{name}.tid"), task.tid.0.to_string());
                }
            }
            if let Some(held_up) = held_up {
                put("verdict", held_up.kind.name().into());
                put("verdict.leg", (held_up.leg + 1).to_string());
                put("verdict.segment", held_up.segment.name().into());
                put("verdict.ns", held_up.time.0.to_string());
            }
            let key = (delivery.message.0, index + 1, leg.flow_range.flow);
            let times = [Stage::Xmit, Stage::Rx].map(|stage| leg.times.get(stage));
            // Of packets alone, a message in several packets has been sent with the last of them.
            let sent = leg.times.get(Stage::Sent).filter(|_| self.packets_only);
            let times = times.into_iter().flatten().chain(sent);
            self.packets.entry((key.0, key.1)).or_default().extend(times);
            if last_seen {
                let times = &delivery.legs.last().unwrap().times;
                // Of packets alone, the read is the last packet.
                let mut seen =
                    times.seen().filter(|(stage, _)| !self.packets_only || *stage != Stage::Read);
                fields.insert("last_seen.leg".into(), delivery.legs.len().to_string());
                fields.insert("last_seen.stage".into(), seen.next_back().unwrap().0.name().into());
            }
            let known = self.all.entry(key).or_insert_with(|| (one_way, fields.clone()));
            let rank = |one_way, fields: &Fields| (one_way, !fields.contains_key("last_seen.leg"));
            if rank(one_way, &fields) > rank(known.0, &known.1) {
                *known = (one_way, fields);
            }
        }
        self.deliveries.push((delivery.clone(), standing));
    }
}

impl DeliverySink for TruthRecord {
    fn delivery(&mut self, _: &Delivery) {
        unreachable!("it is judged");
    }

    fn judged(&mut self, delivery: &Delivery, held_up: Option<DelayCause>) {
        self.hear(delivery, held_up, "counted");
    }

    fn aside(&mut self, delivery: &Delivery) {
        let warmup = delivery.stamp.is_some_and(|stamp| stamp.warmup);
        self.hear(delivery, None, if warmup { "warm-up" } else { "incomplete" });
    }

    fn takes_given_up(&self, _: GroupId, _: Option<Nondelivery>) -> bool {
        true
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        let is_under_way = why == Nondelivery::UnderWay;
        self.hear(so_far, None, if is_under_way { "under way" } else { "undelivered" });
    }
}

fn label(note: Note<'_>) -> Option<Label> {
    let told: serde_json::Value = serde_json::from_str(note.text).ok()?;
    let numbers = |name: &str| told[name].as_array().into_iter().flatten();
    let number = |value: &serde_json::Value| u32::try_from(value.as_u64()?).ok();
    Some(Label {
        name: told["name"].as_str()?.to_owned(),
        broker: told["broker"].as_str().map(str::to_owned),
        ports: numbers("ports").filter_map(|port| u16::try_from(number(port)?).ok()).collect(),
        pids: numbers("pids").filter_map(number).map(Pid).collect(),
    })
}

/// And the difference from the events' clock to the wall clock.
pub fn truth(file: &Path) -> (TruthRecord, i64) {
    let mut recording = Recording::new(wirelap_recording::open(file).unwrap()).unwrap();
    let wall = recording.wall().unwrap_or_default();
    let packets_only = !recording.is_own();
    let mut correlator =
        Correlator::new(Config { topics: true, packets_only, ..Config::default() });
    let mut truth = TruthRecord { packets_only, ..TruthRecord::default() };
    while let Some(entry) = recording.next() {
        match entry {
            Entry::Event(event) => correlator.take(&event, &mut truth),
            Entry::Known(event) => correlator.event(&event),
            Entry::Tick(at) => correlator.tick(at, &mut truth),
            Entry::Note(note) if note.subject == "label" => {
                correlator.add_label(label(note).unwrap());
            }
            Entry::Note(_) | Entry::TlsKeys(_) => {}
        }
    }
    correlator.finish(&mut truth);
    for (delivery, _) in &truth.deliveries {
        let Some(topic) = delivery.topic.and_then(|id| correlator.topic(id)) else { continue };
        for (index, leg) in delivery.legs.iter().enumerate() {
            let key = (delivery.message.0, index + 1, leg.flow_range.flow);
            let (_, fields) = truth.all.get_mut(&key).unwrap();
            fields.insert("topic".into(), String::from_utf8(topic.to_vec()).unwrap());
        }
    }
    (truth, wall)
}
