//! Packets that one host has seen and that wait until another one tells of them.

use std::collections::VecDeque;
use wirelap_events::{Nanos, PacketHook};

/// Seconds for which a packet waits: an agent may be so far behind.
pub const WAIT: u32 = 20;

/// Slots for each host.
const SLOTS_PER_HOST: usize = 1 << 14;

/// The most slots.
const MAX_SLOTS: usize = 1 << 19;

/// Places at which a packet's slot may be.
const PROBES: usize = 8;

/// Sightings of one packet that are kept.
const SIGHTINGS: usize = 4;

/// A packet that is seen again so soon is the same one on another device, or sent again at once: when it was there first is
/// known. A later sighting may be of another packet.
const AT_ONCE: Nanos = Nanos::from_millis(20);

/// After so many seconds a packet that was matched makes place for another one.
const MATCHED_WAIT: u32 = 2;

/// The most packets that hosts pass on and that wait until it is known who received them last.
const MAX_PASSED_ON: usize = 4_096;

/// Seconds for which they wait.
const PASSED_ON_WAIT: u32 = 2;

/// A packet that one host sent and another one received, each time by the host's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The host that sent it, or passed it on.
    pub from: usize,
    /// A host that received it.
    pub to: usize,
    /// Time of the sending.
    pub sent: Nanos,
    /// Time of the receipt.
    pub received: Nanos,
}

/// First sighting of a packet by a host, at one hook.
#[derive(Clone, Copy, Debug)]
struct HostSighting {
    at: Nanos,
    host: u8,
    hook: PacketHook,
    /// The host's clock is the one that it had then if this is the host's own number.
    epoch: u16,
}

/// One packet. It is free if it is of second 0.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    token: u64,
    /// Second of the last sighting that matters, counted in [`SightingTable::second`].
    second: u32,
    /// It was seen again later, so it is not known which sighting is of which packet.
    repeated: bool,
    matched: bool,
    seen: [Option<HostSighting>; SIGHTINGS],
}

impl Slot {
    fn of(&self, host: u8, hook: PacketHook) -> Option<Nanos> {
        let seen = self.seen.iter().flatten();
        seen.clone().find(|seen| seen.host == host && seen.hook == hook).map(|seen| seen.at)
    }

    /// True if the sighting is the first one of its host: what a host passes on it has received before, and what it sends may
    /// come back to it.
    fn is_first(&self, seen: &HostSighting) -> bool {
        match seen.hook {
            PacketHook::Xmit => self.of(seen.host, PacketHook::Rx).is_none_or(|rx| seen.at < rx),
            PacketHook::Rx => self.of(seen.host, PacketHook::Xmit).is_none_or(|tx| seen.at <= tx),
        }
    }

    /// Tells of the packet's way from a host that passed it on to the host that received it and did not. Of two hosts that pass
    /// it on, it is not known which is nearer to the sender.
    fn pass_on(&self, latest: &[Nanos], mut out: impl FnMut(Passage)) {
        let seen = || self.seen.iter().flatten();
        let is_last = |receiver: &&HostSighting| {
            let until = latest.get(usize::from(receiver.host)).copied().unwrap_or_default();
            receiver.hook == PacketHook::Rx
                && self.of(receiver.host, PacketHook::Xmit).is_none()
                && until > receiver.at + AT_ONCE
        };
        let passed_on = seen().filter(|s| s.hook == PacketHook::Xmit && !self.is_first(s));
        for (router, receiver) in
            passed_on.flat_map(|s| seen().filter(is_last).map(move |r| (s, r)))
        {
            out(Passage {
                from: router.host.into(),
                to: receiver.host.into(),
                sent: router.at,
                received: receiver.at,
            });
        }
    }

    /// Tells of the packet's way from the host that sent it first to a host that received it, if one of both sightings is this.
    fn pass(&mut self, new: &HostSighting, mut out: impl FnMut(Passage)) {
        let slot = *self;
        let firsts = || slot.seen.iter().flatten().filter(|seen| slot.is_first(seen));
        let mut senders = firsts().filter(|seen| seen.hook == PacketHook::Xmit);
        let (Some(sender), None) = (senders.next(), senders.next()) else { return };
        let is_new = |seen: &HostSighting| seen.host == new.host && seen.hook == new.hook;
        for receiver in firsts().filter(|seen| seen.hook == PacketHook::Rx) {
            if is_new(sender) || is_new(receiver) {
                self.matched = true;
                out(Passage {
                    from: sender.host.into(),
                    to: receiver.host.into(),
                    sent: sender.at,
                    received: receiver.at,
                });
            }
        }
    }

    /// Keeps a sighting. If there is no space, it takes the place of one of a receiver, not always of the same one.
    fn keep(&mut self, new: HostSighting) {
        let mixed = usize::from(new.host) ^ usize::from(self.token.to_le_bytes()[6]);
        let receiver = (0..SIGHTINGS)
            .map(|index| (mixed.wrapping_add(index)) % SIGHTINGS)
            .find(|&index| self.seen[index].is_some_and(|seen| seen.hook == PacketHook::Rx));
        let free = self.seen.iter().position(Option::is_none);
        if let Some(index) = free.or(receiver) {
            self.seen[index] = Some(new);
        }
    }
}

/// Table of the packets that wait, of a fixed size.
#[derive(Debug)]
pub struct SightingTable {
    slots: Vec<Slot>,
    /// By host: number of its present clock.
    epochs: Vec<u16>,
    /// By host: time of the latest sighting.
    latest: Vec<Nanos>,
    /// Packets that a host passed on, and when.
    passed_on: VecDeque<(u64, u32)>,
    /// Number of refreshes, from 1.
    second: u32,
}

impl SightingTable {
    /// A table for so many hosts.
    pub fn new(hosts: usize) -> SightingTable {
        let slots = SLOTS_PER_HOST.saturating_mul(hosts.max(2)).next_power_of_two().min(MAX_SLOTS);
        SightingTable {
            slots: vec![Slot::default(); slots],
            epochs: vec![0; hosts],
            latest: vec![Nanos(0); hosts],
            passed_on: VecDeque::with_capacity(MAX_PASSED_ON),
            second: 1,
        }
    }

    /// Number of a host's packets that may be taken in each second.
    pub fn budget(&self) -> u32 {
        let waiting = (WAIT as usize).saturating_mul(2).saturating_mul(self.epochs.len().max(1));
        u32::try_from(self.slots.len().checked_div(waiting).unwrap_or(0)).unwrap_or(0)
    }

    /// A second has passed. Hands out passages that could not be known before.
    pub fn tick(&mut self, mut out: impl FnMut(Passage)) {
        self.second = self.second.saturating_add(1);
        while let Some(&(token, second)) = self.passed_on.front()
            && self.second.saturating_sub(second) >= PASSED_ON_WAIT
        {
            self.passed_on.pop_front();
            let Some(index) = self.find(token).ok() else { continue };
            self.forget_old_clocks(index);
            let slot = &self.slots[index];
            if !slot.repeated {
                slot.pass_on(&self.latest, &mut out);
            }
        }
    }

    /// Leaves out what hosts saw that have other clocks by now.
    fn forget_old_clocks(&mut self, index: usize) {
        for seen in &mut self.slots[index].seen {
            let epoch = |seen: &HostSighting| self.epochs.get(usize::from(seen.host)).copied();
            *seen = seen.filter(|seen| epoch(seen) == Some(seen.epoch));
        }
    }

    /// The host has another clock from now on.
    pub fn begin_anew(&mut self, host: usize) {
        if let Some(epoch) = self.epochs.get_mut(host) {
            *epoch = epoch.wrapping_add(1);
        }
        if let Some(latest) = self.latest.get_mut(host) {
            *latest = Nanos(0);
        }
    }

    /// A host saw a packet, of a connection or not. Hands out each passage that is known now.
    pub fn see(
        &mut self,
        token: u64,
        (host, at): (u8, Nanos),
        hook: PacketHook,
        is_stream: bool,
        out: impl FnMut(Passage),
    ) {
        let second = self.second;
        let Some(&epoch) = self.epochs.get(usize::from(host)) else { return };
        if let Some(latest) = self.latest.get_mut(usize::from(host)) {
            *latest = at.max(*latest);
        }
        let index = match self.find(token) {
            Ok(index) => index,
            Err(Some(free)) => {
                self.slots[free] = Slot { token, second, ..Slot::default() };
                free
            }
            Err(None) => return,
        };
        self.forget_old_clocks(index);
        let slot = &mut self.slots[index];
        let mut same = slot.seen.iter_mut().flatten();
        if let Some(first) = same.find(|seen| seen.host == host && seen.hook == hook) {
            if first.at.0.abs_diff(at.0) <= AT_ONCE.0 {
                first.at = first.at.min(at);
            } else {
                slot.repeated = true;
                slot.second = second;
            }
            return;
        }
        if slot.repeated {
            return;
        }
        let new = HostSighting { at, host, hook, epoch };
        slot.keep(new);
        slot.pass(&new, out);
        // A datagram may have gone to several hosts at once.
        let is_passed_on = is_stream && hook == PacketHook::Xmit && !slot.is_first(&new);
        if is_passed_on && self.passed_on.len() < MAX_PASSED_ON {
            self.passed_on.push_back((token, second));
        }
    }

    /// The slot of a packet, or else one that is free for it, if there is one.
    fn find(&self, token: u64) -> Result<usize, Option<usize>> {
        let mask = self.slots.len().saturating_sub(1);
        let start = usize::try_from(token >> 24).unwrap_or(0);
        let (mut free, mut over) = (None, None);
        for index in (0..PROBES).map(|probe| start.wrapping_add(probe) & mask) {
            let Some(slot) = self.slots.get(index) else { return Err(None) };
            let age = self.second.saturating_sub(slot.second);
            if slot.second == 0 || age > WAIT {
                over = over.or(Some(index));
            } else if slot.token == token {
                return Ok(index);
            } else if slot.matched && age > MATCHED_WAIT {
                free = free.or(Some(index));
            }
        }
        Err(over.or(free))
    }
}
