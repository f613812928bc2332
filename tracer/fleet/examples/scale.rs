//! Plays what one agent has sent (`wirelap agent <fifo >FILE`) as that of many hosts with addresses of their own, at the same time as then:
//!
//! ```text
//! scale LOCATOR FLEET FILE HOSTS
//! ```
//! All is made before the first collector may come, so that this program takes little time while one is measured. It ends when the
//! recording does, and says how much it has sent.

#[allow(dead_code, reason = "shared with the program, which uses all of it")]
#[path = "../src/envelope.rs"]
mod envelope;
#[allow(dead_code, reason = "shared with the program, which uses all of it")]
#[path = "../src/keys.rs"]
mod keys;

use envelope::Envelope;
use keys::{Keys, Told, told};
use std::fs::File;
use std::io::BufReader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use wirelap_events::{Body, Event, FlowKey, Nanos, ReadKind};
use wirelap_hosts::stream::{
    AgentReader, AgentWriter, Frame, Hello, Question, RawFrame, answer_bytes,
};
use wirelap_recording::hosts::retime;
use wirelap_recording::{Entry, RecordBlock, RecordPacker};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::{Config, Wait};

/// Time from the first frame that is sent to the first event.
const LEAD: Nanos = Nanos::from_millis(500);

/// Bytes of one host at a time since the first event.
struct Block {
    at: Duration,
    host: usize,
    events: u64,
    tagged: Vec<u8>,
}

fn now() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap();
    Nanos(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap())
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, locator, fleet, file, hosts] = words.as_slice() else {
        panic!("scale LOCATOR FLEET FILE HOSTS")
    };
    let hosts: usize = hosts.parse().unwrap();
    let mut config = Config::default();
    config.insert_json5("mode", "\"client\"").unwrap();
    config.insert_json5("connect/endpoints", &format!("[{locator:?}]")).unwrap();
    let wait = "transport/link/tx/queue/congestion_control/drop/wait_before_drop";
    config.insert_json5(wait, "1000000").unwrap();
    let session = zenoh::open(config).wait().unwrap();
    let (hello, recorded) = read(file);
    let first = recorded.iter().find_map(first_event).expect("the file has events");
    // So long takes the making of all blocks at most.
    let began = now() + Nanos::from_millis(200 * hosts as u64 * recorded.len() as u64 / 100);
    let start = began + LEAD;
    let mut blocks: Vec<Block> = Vec::new();
    for host in 0..hosts {
        for block in &recorded {
            let (tagged, at) = shifted(block, host, first, start);
            let events = RawFrame::of_tagged(&tagged).unwrap().events();
            blocks.push(Block { at: Duration::from_nanos(at - first.0), host, events, tagged });
        }
    }
    blocks.sort_by_key(|block| block.at);
    let bytes: usize = blocks.iter().map(|block| block.tagged.len()).sum();
    let events: u64 = blocks.iter().map(|block| block.events).sum();
    let keys = Keys::new(fleet);
    let (asked_to, asked) = channel();
    let subscriber = session.declare_subscriber(keys.asked("*", "*")).callback(move |sample| {
        let key = sample.key_expr().as_str().to_owned();
        let _ = asked_to
            .send((key, String::from_utf8_lossy(&sample.payload().to_bytes()).into_owned()));
    });
    subscriber.background().wait().unwrap();
    let names: Vec<String> = (0..hosts).map(|host| format!("host{host}")).collect();
    let tokens: Vec<_> = names
        .iter()
        .map(|name| session.liveliness().declare_token(keys.alive(name)).wait().unwrap())
        .collect();
    let put = |key: String, bytes: Vec<u8>, priority| {
        let put = session.put(key, bytes).congestion_control(CongestionControl::Drop);
        put.priority(priority).wait().unwrap();
    };
    let answer = || {
        while let Ok((key, line)) = asked.try_recv() {
            let Some(Told::Asked { collector }) = told(&key) else { continue };
            let name = key.split('/').nth(3).unwrap();
            let bytes = if line == "join" {
                hello_frame(&hello, name)
            } else if let Ok(Question::Ping(number)) = line.parse() {
                let answer = answer_bytes(number, now(), 0);
                let mut tagged = Vec::new();
                RawFrame::answer_of(&answer).tagged(&mut tagged);
                tagged
            } else {
                continue;
            };
            let frame = RawFrame::of_tagged(&bytes).unwrap();
            let envelope = Envelope { run: 1, before: 0, frame };
            put(keys.reply(name, collector), envelope.bytes(), Priority::InteractiveHigh);
        }
    };
    eprintln!("ready: {bytes} bytes and {events} events of {hosts} hosts, from {:?} on", began.0);
    let mut before = vec![0; hosts];
    let mut latest = Duration::ZERO;
    for block in blocks {
        let due = start + Nanos(u64::try_from(block.at.as_nanos()).unwrap());
        while now() < due {
            answer();
            std::thread::sleep(Duration::from_micros(500));
        }
        latest = latest.max(Duration::from_nanos((now() - due).0));
        let frame = RawFrame::of_tagged(&block.tagged).unwrap();
        let envelope = Envelope { run: 1, before: before[block.host], frame };
        before[block.host] += block.events;
        put(keys.stream(&names[block.host]), envelope.bytes(), Priority::DataLow);
    }
    let end = Instant::now();
    while end.elapsed() < Duration::from_secs(8) {
        answer();
        std::thread::sleep(Duration::from_millis(1));
    }
    eprintln!("sent all; {latest:?} late at most");
    drop(tokens);
}

fn read(file: &str) -> (Hello, Vec<RecordBlock>) {
    let from = BufReader::new(File::open(file).unwrap());
    let mut reader = AgentReader::begin(from, |_| Ok(())).unwrap();
    let (mut hello, mut blocks) = (Hello::default(), Vec::new());
    while let Ok(frame) = reader.next_frame() {
        match frame {
            Frame::Hello(its) => hello = its,
            Frame::Records(block) => blocks.push(block),
            _ => {}
        }
    }
    (hello, blocks)
}

fn first_event(block: &RecordBlock) -> Option<Nanos> {
    let mut first = None;
    block.survey(|entry| {
        if let Entry::Event(event) = entry {
            first.get_or_insert(event.at);
        }
    });
    first
}

fn hello_frame(hello: &Hello, name: &str) -> Vec<u8> {
    let its = Hello { host: name.into(), boot: name.into(), ..hello.clone() };
    tagged(|writer| writer.hello(&its).unwrap())
}

fn tagged(write: impl FnOnce(&mut AgentWriter<&mut Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = AgentWriter::begin(&mut bytes).unwrap();
    write(&mut writer);
    let mut reader = AgentReader::begin(bytes.as_slice(), |_| Ok(())).unwrap();
    let mut out = Vec::new();
    reader.next_raw().unwrap().tagged(&mut out);
    out
}

/// The block as that of a host which has begun at another time, and its own time of its end.
fn shifted(block: &RecordBlock, host: usize, first: Nanos, start: Nanos) -> (Vec<u8>, u64) {
    let mut records = RecordPacker::default();
    let mut end = first.0;
    let later = |at: Nanos| Nanos((at.0 + start.0).saturating_sub(first.0));
    let found = block.survey(|entry| match entry {
        Entry::Event(event) => {
            let mut event: Event<'_> = *event;
            end = end.max(event.at.0);
            retime(&mut event, later);
            readdress(&mut event, host);
            records.event(&event);
        }
        Entry::Note(note) => records.note(*note),
        _ => {}
    });
    if let Some(tick) = found.last_tick {
        end = end.max(tick.0);
        records.tick(later(tick));
    }
    (tagged(|writer| writer.records(&mut records).unwrap()), end)
}

fn readdress(event: &mut Event<'_>, host: usize) {
    let other = |address: &mut SocketAddr| {
        if let IpAddr::V4(ip) = address.ip()
            && !ip.is_loopback()
        {
            let [_, _, _, last] = ip.octets();
            let [_, _, high, low] = u32::try_from(host).unwrap().to_be_bytes();
            address.set_ip(Ipv4Addr::from([10, high, low, last]).into());
        }
    };
    let flow = |flow: &mut FlowKey| {
        other(&mut flow.src);
        other(&mut flow.dst);
    };
    match &mut event.body {
        Body::Socket(socket) => {
            other(&mut socket.local);
            socket.remote.iter_mut().for_each(other);
        }
        Body::Packet(packet) => flow(&mut packet.flow),
        Body::Drop(drop) => flow(&mut drop.flow),
        Body::Read(read) => {
            if let ReadKind::Datagram { flow: Some(its), .. } = &mut read.kind {
                flow(its);
            }
        }
        _ => {}
    }
}
