use super::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use wirelap_events::{
    Comm, Cpu, FlowKey, Holder, Hop, MessageId, NetNs, Pid, TaskId, Tid, Transport,
};
use wirelap_test_support::delivered;

/// Numbers that look like chance and are the same every time (Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn task(pid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(pid + 1) }
}

fn flow(from: u16, to: u16) -> FlowKey {
    let addr = |port| format!("10.0.0.1:{port}").parse().unwrap();
    FlowKey::new(Transport::Tcp, addr(from), addr(to), NetNs(0))
}

fn leg(flow: FlowKey, stages: &[(Stage, u64)], who: (u32, u32)) -> Leg {
    let (sender, reader) = (Some(task(who.0)), Some(task(who.1)));
    Leg { flow, sender, reader, ..delivered::leg(stages) }
}

fn delivery(message: u64, legs: impl IntoIterator<Item = Leg>) -> Delivery {
    Delivery { message: MessageId(message), ..delivered::delivery(legs) }
}

/// A leg of some stages, with a wake chain now and then.
fn some_leg(chance: &mut Chance, at: &mut u64, flow: FlowKey, who: (u32, u32)) -> Leg {
    let mut stages = Vec::new();
    for stage in Stage::ALL {
        if matches!(stage, Stage::Send | Stage::Read) || chance.below(4) > 0 {
            *at += chance.below(3) * chance.below(50_000);
            stages.push((stage, *at));
        }
    }
    let mut leg = leg(flow, &stages, who);
    if let (Some(woken), Some(running)) =
        (leg.times.get(Stage::Wakeup), leg.times.get(Stage::Running))
    {
        let middle = Nanos(u64::midpoint(woken.0, running.0));
        let hop = |pid, woken, running| Hop { task: task(pid), woken, running, ..Hop::default() };
        leg.chain.push(hop(who.1 + 10, woken, middle));
        leg.chain.push(hop(who.1, middle, running));
    }
    leg
}

/// Messages over a broker, of which many are under way at once.
fn some_deliveries(count: u64) -> Vec<Delivery> {
    let mut chance = Chance(7);
    let one = |message| {
        let mut at = 5_000_000_000 + message * 40_000;
        let first = some_leg(&mut chance, &mut at, flow(1, 2), (100, 200));
        at += chance.below(30_000);
        let second = some_leg(&mut chance, &mut at, flow(2, 3), (200, 300));
        delivery(message, [first, second])
    };
    (0..count).map(one).collect()
}

fn draw(deliveries: &[Delivery]) -> (Json, TraceTotals) {
    let mut writer = TraceWriter::new(Vec::new(), TraceMetadata::default(), None);
    let (at, cpu) = (Nanos(5_000_000_000), Cpu(0));
    writer.learn(&Event { at, cpu, body: Body::Window(true) });
    for delivery in deliveries {
        writer.delivery(delivery, Some("a/b")).unwrap();
    }
    let (bytes, totals) = writer.end(&Snapshot::default()).unwrap();
    (serde_json::from_slice(&bytes).unwrap(), totals)
}

fn events<'a>(trace: &'a Json, ph: &'a str) -> impl Iterator<Item = &'a Json> {
    let all = trace["traceEvents"].as_array().unwrap().iter();
    all.filter(move |event| ph.contains(event["ph"].as_str().unwrap()))
}

fn ns(event: &Json, field: &str) -> u64 {
    Nanos::from_f64(event[field].as_f64().unwrap() * 1e3).0
}

fn place(event: &Json) -> (u64, u64) {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

/// Time of the slices of each leg.
fn leg_sums(trace: &Json) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for slice in events(trace, "X").filter(|slice| slice["cat"] == "segment") {
        *sums.entry(slice["args"]["leg_id"].as_u64().unwrap()).or_default() += ns(slice, "dur");
    }
    sums
}

#[test]
fn the_slices_of_a_message_add_up_to_its_time() {
    let deliveries = some_deliveries(500);
    let (trace, totals) = draw(&deliveries);
    assert_eq!((totals.messages, totals.left_out), (500, 0));
    let sums = leg_sums(&trace);
    let mut seen = BTreeSet::new();
    for message in events(&trace, "X").filter(|slice| slice["cat"] == "message") {
        let args = &message["args"];
        let of = &deliveries[usize::try_from(args["message"].as_u64().unwrap()).unwrap()];
        let ids = args["leg_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap());
        let sum: u64 = ids.map(|id| sums[&id]).sum();
        let expected: u64 = of.segments().map(|(_, segments)| segments.sum().0).sum();
        assert_eq!(sum, expected);
        assert_eq!(ns(message, "dur"), expected);
        assert_eq!(args["one_way_ns"].as_u64(), of.one_way().map(|time| time.0));
        seen.insert(args["message"].as_u64());
    }
    assert_eq!(seen.len(), 500);
}

#[test]
fn slices_of_a_lane_do_not_overlap() {
    let (trace, _) = draw(&some_deliveries(500));
    let mut lanes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for slice in events(&trace, "X") {
        let (from, time) = (ns(slice, "ts"), ns(slice, "dur"));
        lanes.entry(place(slice)).or_default().push((from, from + time));
    }
    assert!(lanes.len() > 10);
    for lane in lanes.values_mut() {
        lane.sort_unstable();
        assert!(lane.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{lane:?}");
    }
    let named: BTreeSet<_> =
        events(&trace, "M").filter(|meta| meta["name"] == "thread_name").map(place).collect();
    assert!(lanes.keys().all(|lane| named.contains(lane)));
}

/// From each arrow's point to the slice that it is in.
#[test]
fn arrows_lead_through_the_legs_in_order() {
    let (trace, _) = draw(&some_deliveries(200));
    let slices: Vec<_> = events(&trace, "X").filter(|slice| slice["cat"] == "segment").collect();
    let mut by_lane: BTreeMap<_, Vec<&Json>> = BTreeMap::new();
    for slice in &slices {
        by_lane.entry(place(slice)).or_default().push(slice);
    }
    let mut arrows: BTreeMap<u64, Vec<&Json>> = BTreeMap::new();
    events(&trace, "stf").for_each(|arrow| {
        arrows.entry(arrow["id"].as_u64().unwrap()).or_default().push(arrow);
    });
    // Of each second leg, which begins in the first, and of all but the shortest first ones.
    assert!(arrows.len() > 300, "{}", arrows.len());
    for (id, points) in arrows {
        let steps: String = points.iter().map(|point| point["ph"].as_str().unwrap()).collect();
        assert_eq!(steps, format!("s{}f", "t".repeat(points.len() - 2)), "{points:?}");
        assert!(points.windows(2).all(|pair| ns(pair[0], "ts") <= ns(pair[1], "ts")));
        let legs: Vec<_> = points.iter().map(|point| leg_around(&by_lane, point)).collect();
        let begins_before = legs[0].0 != id;
        let leg = legs[legs.len() - 1].1;
        assert_eq!(begins_before, leg == 2, "{legs:?}");
        assert_eq!(legs[0].1, 1);
        assert!(legs[1..].iter().all(|&(of, _)| of == id), "{legs:?}");
    }
}

/// The id and the number of the leg of the slice that a point is in.
fn leg_around(by_lane: &BTreeMap<(u64, u64), Vec<&Json>>, point: &Json) -> (u64, u64) {
    let at = ns(point, "ts");
    let mut around = by_lane[&place(point)].iter().filter(|slice| {
        let from = ns(slice, "ts");
        from <= at && at < from + ns(slice, "dur").max(1)
    });
    let args = &around.next().expect("a slice around it")["args"];
    (args["leg_id"].as_u64().unwrap(), args["leg"].as_u64().unwrap())
}

#[test]
fn a_leg_that_many_share_is_drawn_once() {
    let to_broker =
        leg(flow(1, 2), &[(Stage::Send, 6_000_000_000), (Stage::Read, 6_000_001_000)], (1, 2));
    let on = |port, at| {
        leg(flow(2, port), &[(Stage::Send, at), (Stage::Read, at + 500)], (2, u32::from(port)))
    };
    let fan: Vec<_> = (0..10)
        .map(|index| delivery(1, [to_broker.clone(), on(10 + index, 6_000_002_000)]))
        .collect();
    let (trace, totals) = draw(&fan);
    assert_eq!(totals.messages, 10);
    assert_eq!(leg_sums(&trace).len(), 11);
    let starts = events(&trace, "s").count();
    // The first leg is on one track.
    assert_eq!(starts, 10);
}

#[test]
fn what_it_was_spent_on_stands_with_the_part() {
    let at = 6_000_000_000;
    let stages = [
        (Stage::Send, at),
        (Stage::Ready, at + 10),
        (Stage::Wakeup, at + 20),
        (Stage::Running, at + 300_020),
        (Stage::Read, at + 300_030),
    ];
    let mut leg = leg(flow(1, 2), &stages, (1, 2));
    let comm = Comm::from_name("stress");
    let holder = Holder { task: task(77), comm, held: Nanos(299_000) };
    leg.chain.push(Hop {
        task: task(2),
        woken: Nanos(at + 20),
        running: Nanos(at + 300_020),
        holder,
        ..Hop::default()
    });
    let delivery = delivery(1, [leg]);
    let (trace, _) = draw(std::slice::from_ref(&delivery));
    let waits = events(&trace, "X").find(|slice| slice["name"] == "runqueue").unwrap();
    assert_eq!(waits["args"]["cause_ns"]["run_queue_contention"], 300_000);
    assert_eq!(waits["args"]["cpu_held_by"], "stress (78)");
    assert_eq!(waits["args"]["cpu_held_ns"], 299_000);
    assert_eq!(place(waits), (2, 3));
    let read = events(&trace, "X").find(|slice| slice["name"] == "read").unwrap();
    assert!(read["args"].get("cause_ns").is_none());
}

#[test]
fn times_are_exact_for_a_hundred_days() {
    let mut chance = Chance(1);
    let far = 90 * 24 * 3_600 * 1_000_000_000_u64;
    for time in (0..2000).chain((0..20_000).map(|_| chance.below(far / 4) * 4 + chance.below(4))) {
        let text = serde_json::to_string(&json::Micros(time)).unwrap();
        let (whole, part) = text.split_once('.').unwrap();
        let read =
            whole.parse::<u64>().unwrap() * 1000 + format!("{part:0<3}").parse::<u64>().unwrap();
        assert_eq!(read, time, "{text}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let file = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let writer = TraceWriter::new(file, TraceMetadata::default(), None);
    let error = writer.end(&Snapshot::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
