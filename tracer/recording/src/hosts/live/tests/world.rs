//! Hosts with clocks of their own that exchange packets.

use super::super::{HostClockState, LiveClocks};
use std::net::SocketAddr;
use wirelap_events::{
    FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId, PacketKind, Seq, TaskId,
    TcpFields, Transport, tcp_flags,
};
use wirelap_test_support::random::Random;

/// A host's clock, and how late its agent tells what it saw.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Its clock at the beginning, in nanoseconds.
    pub base: i64,
    /// By how much it is faster, in nanoseconds a second.
    pub drift: f64,
    /// Its rate goes up and down by so many nanoseconds a second, in so many seconds.
    pub wander: Option<(f64, f64)>,
    /// Seconds between which it is steered, by so many nanoseconds a second.
    pub steered: Option<([f64; 2], f64)>,
    /// Seconds at which it is set, and by how many nanoseconds.
    pub steps: Vec<(f64, i64)>,
    /// Its rate changes at random, by so many nanoseconds a second within a second.
    pub walk: f64,
    /// Seconds.
    pub lag: f64,
}

impl Host {
    pub fn new(base: i64, drift: f64) -> Host {
        Host { base, drift, ..Host::default() }
    }

    /// Time of its oscillator, which nobody steers.
    pub fn oscillator(&self, t: f64) -> i64 {
        let own = Host { steered: None, walk: 0.0, ..self.clone() };
        own.time(t).0.cast_signed()
    }

    /// Its time so many seconds after the beginning.
    pub fn time(&self, t: f64) -> Nanos {
        let set: i64 = self.steps.iter().filter(|(at, _)| t >= *at).map(|(_, by)| by).sum();
        let wander = self.wander.map_or(0.0, |(by, period)| {
            let turn = std::f64::consts::TAU / period;
            by / turn * (1.0 - (turn * t).cos())
        });
        let steered = self.steered.map_or(0.0, |([from, to], by)| (t.clamp(from, to) - from) * by);
        let walk = self.walk * walked(t);
        let run = whole(t * 1e9 + self.drift * t + wander + steered + walk);
        Nanos((self.base + run + set).cast_unsigned())
    }
}

/// The integral of a rate that changes each half second by a number between −1/2 and 1/2.
fn walked(t: f64) -> f64 {
    let (mut random, mut rate, mut sum, mut left) = (Random::new(11), 0.0, 0.0, t);
    while left > 0.0 {
        rate += share(&mut random) - 0.5;
        sum += rate * left.min(0.5);
        left -= 0.5;
    }
    sum
}

/// Two hosts that send packets to each other, by way of a router or not.
#[derive(Clone, Debug)]
pub struct Link {
    pub hosts: [usize; 2],
    /// Shortest time there, and back, in nanoseconds.
    pub delays: [f64; 2],
    /// Mean time in queues there, and back, in nanoseconds.
    pub queues: [f64; 2],
    /// Packets a second each way.
    pub rate: f64,
    /// Seconds in which it is used.
    pub seconds: [f64; 2],
    /// The host that passes the packets on.
    pub router: Option<usize>,
    /// Addresses are translated.
    pub nat: bool,
    /// Datagrams rather than a connection.
    pub udp: bool,
}

impl Link {
    pub fn new(a: usize, b: usize, delays: [f64; 2], rate: f64) -> Link {
        Link {
            hosts: [a, b],
            delays,
            queues: delays.map(|delay| delay / 4.0),
            rate,
            seconds: [0.0, f64::INFINITY],
            router: None,
            nat: false,
            udp: false,
        }
    }
}

/// A host's sighting of a packet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    told: f64,
    host: usize,
    at: Nanos,
    hook: PacketHook,
    number: u64,
    link: usize,
    back: bool,
    translated: bool,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct World {
    pub hosts: Vec<Host>,
    pub links: Vec<Link>,
    pub seconds: u32,
    /// Host that is asked over its control stream each second, and the shortest time of each way in nanoseconds.
    pub pings: Vec<(usize, f64)>,
    /// One in so many packets is lost, doubled, sent again for nothing, and not told by an agent; 0 for none.
    pub lost: usize,
    pub doubled: usize,
    pub again: usize,
    pub untold: usize,
    pub seed: u64,
    /// Hosts tell how their clocks run against their oscillators.
    pub told: bool,
}

/// Refreshes in a second.
pub const REFRESHES: u32 = 4;

/// Whole nanoseconds.
#[allow(clippy::cast_possible_truncation)] // Below 2^53 here.
pub fn whole(ns: f64) -> i64 {
    ns.round() as i64
}

/// A number from 0 to 1.
pub fn share(random: &mut Random) -> f64 {
    (random.number() >> 11) as f64 / (1_u64 << 53) as f64
}

fn wait(random: &mut Random, mean: f64) -> f64 {
    -mean * (1.0 - share(random)).ln()
}

impl World {
    pub fn new(hosts: Vec<Host>, links: Vec<Link>, seconds: u32) -> World {
        World {
            hosts,
            links,
            seconds,
            pings: Vec::new(),
            lost: 50,
            doubled: 50,
            again: 0,
            untold: 0,
            seed: 1,
            told: true,
        }
    }

    /// All sightings in the order in which they are told.
    fn sightings(&self, random: &mut Random) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut number = 0;
        for (index, link) in self.links.iter().enumerate() {
            let end = f64::from(self.seconds).min(link.seconds[1]);
            for back in [false, true] {
                let mut t = link.seconds[0] + share(random) / link.rate;
                while t < end {
                    number += 1;
                    self.send(index, back, number, t, random, &mut seen);
                    if self.again > 0 && random.one_in(self.again) {
                        self.send(index, back, number, t + 0.05 + share(random), random, &mut seen);
                    }
                    t += 2.0 * share(random) / link.rate;
                }
            }
        }
        seen.retain(|_| self.untold == 0 || !random.one_in(self.untold));
        seen.sort_by(|a, b| a.told.total_cmp(&b.told));
        seen
    }

    fn send(
        &self,
        link: usize,
        back: bool,
        number: u64,
        t: f64,
        random: &mut Random,
        out: &mut Vec<Seen>,
    ) {
        let Link { hosts: [from, to], delays, queues, router, .. } = self.links[link];
        let (from, to) = if back { (to, from) } else { (from, to) };
        let way = usize::from(back);
        let mut see = |host: usize, t: f64, hook, translated| {
            let at = self.hosts[host].time(t);
            let told = t + self.hosts[host].lag;
            out.push(Seen { told, host, at, hook, number, link, back, translated });
        };
        see(from, t, PacketHook::Xmit, false);
        let delay = (delays[way] + wait(random, queues[way])) / 1e9;
        if let Some(router) = router {
            see(router, t + delay / 3.0, PacketHook::Rx, false);
            see(router, t + delay / 2.0, PacketHook::Xmit, true);
        }
        if self.lost > 0 && random.one_in(self.lost) {
            see(from, t + 0.2, PacketHook::Xmit, false);
            see(to, t + 0.2 + delay, PacketHook::Rx, true);
            return;
        }
        see(to, t + delay, PacketHook::Rx, true);
        if self.doubled > 0 && random.one_in(self.doubled) {
            let later = if random.one_in(2) { 0.004 } else { 0.3 };
            see(to, t + delay + later, PacketHook::Rx, true);
        }
    }

    fn packet<'a>(&self, seen: &Seen, payload: &'a [u8]) -> Packet<'a> {
        let Link { nat, udp, .. } = self.links[seen.link];
        let port = 40_000 + u16::try_from(seen.link).unwrap();
        let client =
            if nat && seen.translated != seen.back { [192, 0, 2, 9] } else { [10, 0, 0, 1] };
        let client = SocketAddr::from((client, port));
        let server = SocketAddr::from(([10, 0, 0, 2], 1883));
        let (src, dst) = if seen.back { (server, client) } else { (client, server) };
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mixed = seen.number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
        let half = |from: usize| u32::from_le_bytes(mixed[from..from + 4].try_into().unwrap());
        let tcp =
            TcpFields { seq: Seq(half(0)), ack: Seq(half(4)), flags: tcp_flags::ACK, window: 9 };
        Packet {
            hook: seen.hook,
            flow: FlowKey::new(transport, src, dst, NetNs(0)),
            id: PacketId(seen.number),
            socket: None,
            task: TaskId::default(),
            netns: NetNs(0),
            device: IfIndex(2),
            queued: None,
            queue: 0,
            wire_bytes: 100,
            link_header: 14,
            ip_header: 20,
            transport_header: 20,
            payload_len: u32::try_from(payload.len()).unwrap(),
            segments: 1,
            deferred: false,
            kind: PacketKind::Whole,
            tcp: (!udp).then_some(tcp),
            payload,
        }
    }

    /// Hands a packet of the first link to `take`, sent or received.
    pub fn one_packet(&self, number: u64, sent: bool, take: impl FnOnce(&Packet<'_>)) {
        let hook = if sent { PacketHook::Xmit } else { PacketHook::Rx };
        let seen = Seen {
            told: 0.0,
            host: 0,
            at: Nanos(0),
            hook,
            number,
            link: 0,
            back: false,
            translated: false,
        };
        take(&self.packet(&seen, &[]));
    }

    /// Lets everything happen. After each refresh, `check` gets its second and the clocks.
    pub fn run(&self, mut check: impl FnMut(&World, f64, &mut LiveClocks)) -> LiveClocks {
        let mut random = Random::new(self.seed);
        let seen = self.sightings(&mut random);
        let mut seen = seen.iter().peekable();
        let mut clocks = LiveClocks::new(self.hosts.len());
        for refresh in 1..=(self.seconds * REFRESHES) {
            let second = f64::from(refresh) / f64::from(REFRESHES);
            while let Some(one) = seen.next_if(|one| one.told <= second) {
                let payload = one.number.to_le_bytes();
                clocks.packet(one.host, one.at, &self.packet(one, &payload));
            }
            for (host, clock) in self.hosts.iter().enumerate().filter(|_| self.told) {
                let told = second - clock.lag - share(&mut random) / 100.0;
                let noise = whole(100.0 * (share(&mut random) - 0.5));
                let at = clock.time(told.max(0.0));
                clocks.oscillator(
                    host,
                    at,
                    clock.oscillator(told.max(0.0)) - at.0.cast_signed() + noise,
                );
            }
            for &(host, way) in &self.pings {
                let sent = second - 0.5 / f64::from(REFRESHES);
                let there = sent + (way + wait(&mut random, way)) / 1e9;
                let back = there + (way + wait(&mut random, way)) / 1e9;
                let [zero, host_clock] = [&self.hosts[0], &self.hosts[host]];
                clocks.ping(host, zero.time(sent), host_clock.time(there), zero.time(back));
            }
            clocks.refresh(self.hosts[0].time(second));
            check(self, second, &mut clocks);
        }
        clocks
    }

    /// True offset of a host at a second.
    pub fn offset(&self, host: usize, t: f64) -> i64 {
        let [host, zero] = [host, 0].map(|host| self.hosts[host].time(t).0.cast_signed());
        host - zero
    }

    /// Fails if a clock is not where it is said to be.
    pub fn check(&self, t: f64, clocks: &mut LiveClocks) {
        for host in 0..self.hosts.len() {
            if let HostClockState::Known { offset_ns, at_most, within, .. } = clocks.state(host) {
                let error = (offset_ns - self.offset(host, t)).unsigned_abs();
                assert!(error <= at_most.0, "host {host} at {t}: {error} {:?}", clocks.state(host));
                assert!(within <= at_most);
            }
        }
        for ago in [0.0, 0.13, 0.25, -0.24] {
            let at = t - ago;
            let same = self
                .hosts
                .iter()
                .all(|h| h.steps.iter().all(|(when, _)| (*when < at) == (*when < t)));
            // Times are handed out only when it is known that nobody has begun to steer a clock.
            if at < 0.0 || !same || ago < 0.0 && self.told {
                continue;
            }
            let time = |host: usize| clocks.to_reference(host, self.hosts[host].time(at));
            for a in 0..self.hosts.len() {
                for b in 0..a {
                    let (Some(first), Some(second)) = (time(a), time(b)) else {
                        assert_eq!(clocks.bound(a, b), None);
                        continue;
                    };
                    let bound = clocks.bound(a, b).unwrap();
                    let error = first.0.abs_diff(second.0);
                    assert!(error <= bound.0 + 1, "{a} {b} at {at}: {error} above {bound:?}");
                }
            }
        }
    }
}
