//! Messages that their protocol cuts into datagrams: which fragments each reader has taken.
//!
//! ```text
//!             fragment   1     2     3     4          2
//!   sent as datagrams   [1]   [2]   [3]   [4]   …    [5]  sent again
//!   taken by a reader    ✓     ✗     ✓     ✓          ✓   now it has the message
//! ```
//!
//! What was sent, or seen as a packet, decides nothing: a full receive buffer, a packet filter or a network
//! between may lose any of it. A reader has the message when it has taken its last missing fragment.

use super::open::LegKey;
use crate::flow::Way;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::VecDeque;
use wirelap_events::{GlobalKey, Nanos, Pid, SocketId};
use wirelap_protocols::Fragments;

/// Messages in fragments that are followed at once; beyond, the one that has begun first is given up.
const MAX_OPEN: usize = 4096;

/// Datagrams of all of them together, likewise.
const MAX_CARRIERS: usize = 262_144;

/// The most fragments of a message that are kept track of.
const MAX_FRAGMENTS: u32 = 1 << 20;

/// Room of messages that are gone, kept for others.
const SPARE: usize = 64;

/// An assembly's index and serial number.
pub type AssemblyId = (usize, u64);

/// What one datagram has of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub way: Way,
    /// The datagram's number on that way.
    pub number: u64,
    /// The first fragment in it, from 0.
    pub first: u32,
    /// How many follow each other in it.
    pub count: u32,
}

impl Carrier {
    pub fn has(&self, fragment: u32) -> bool {
        fragment.checked_sub(self.first).is_some_and(|index| index < self.count)
    }
}

/// Who takes a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Taker {
    pub socket: SocketId,
    pub pid: Option<Pid>,
    pub at: Nanos,
}

/// The datagram that brought a reader its last missing fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    pub way: Way,
    pub number: u64,
    pub fragment: u32,
    /// The socket that took it.
    pub socket: SocketId,
}

/// What one reader has.
#[derive(Debug)]
pub struct Reader {
    socket: SocketId,
    pid: Option<Pid>,
    /// A bit for each fragment that it has taken.
    taken: Vec<u64>,
    have: u32,
    pub last: Option<Last>,
    /// Its delivery was handed out.
    pub told: bool,
}

/// A message in fragments, on the way on which it was sent first.
#[derive(Debug)]
pub struct Assembly {
    serial: u64,
    pub message: GlobalKey,
    pub way: Way,
    pub is_global: bool,
    pub is_late: bool,
    of: Option<u32>,
    pub payload_len: u64,
    /// In the order in which they were seen.
    pub carriers: Vec<Carrier>,
    pub readers: Vec<Reader>,
    /// The leg of the message table, once the message was found.
    pub leg: Option<LegKey>,
    /// That leg was completed.
    pub told: bool,
    pub began: Nanos,
    /// When something of it was last sent or taken.
    touched: Nanos,
    /// Events lost before it began.
    pub lost: u64,
}

/// Every message in fragments that is open.
#[derive(Debug, Default)]
pub struct Assemblies {
    open: Slab<Assembly>,
    by_way: FxHashMap<(Way, GlobalKey), usize>,
    /// Those that were sent to a multicast group: what is sent again goes to single readers.
    multicast: FxHashMap<GlobalKey, usize>,
    /// Those to be looked at once slower layers had time to report, and since when.
    due: VecDeque<(Nanos, AssemblyId)>,
    /// By the time at which something of each was known to happen.
    idle: VecDeque<(Nanos, AssemblyId)>,
    carriers: usize,
    serial: u64,
    spare: Vec<Assembly>,
}

impl Assemblies {
    pub fn get(&self, id: AssemblyId) -> Option<&Assembly> {
        self.open.get(id.0).filter(|assembly| assembly.serial == id.1)
    }

    pub fn get_mut(&mut self, id: AssemblyId) -> Option<&mut Assembly> {
        self.open.get_mut(id.0).filter(|assembly| assembly.serial == id.1)
    }

    pub fn find(&self, way: Way, message: GlobalKey) -> Option<AssemblyId> {
        let index = *self.by_way.get(&(way, message))?;
        Some((index, self.open.get(index)?.serial))
    }

    /// A datagram was sent that carries these fragments. `lost` is how many events were lost so far.
    pub fn carry(
        &mut self,
        (way, number): (Way, u64),
        fragments: &Fragments,
        is_multicast: bool,
        at: Nanos,
        lost: u64,
    ) -> AssemblyId {
        let known = self.by_way.get(&(way, fragments.message)).copied();
        let repaired = || {
            let may = fragments.is_global && !is_multicast;
            self.multicast.get(&fragments.message).copied().filter(|_| may)
        };
        let index = known.or_else(repaired);
        let index = index.unwrap_or_else(|| self.begin(way, fragments, is_multicast, at, lost));
        let assembly = &mut self.open[index];
        assembly.of = assembly.of.or(fragments.of);
        assembly.payload_len = assembly.payload_len.max(fragments.payload_len);
        assembly.touched = assembly.touched.max(at);
        let carrier = Carrier { way, number, first: fragments.first, count: fragments.count };
        let follows = |last: &Carrier| {
            (last.way, last.number) == (way, number)
                && last.first.checked_add(last.count) == Some(carrier.first)
        };
        match assembly.carriers.last_mut().filter(|last| follows(last)) {
            Some(last) => last.count = last.count.saturating_add(carrier.count),
            None => {
                assembly.carriers.push(carrier);
                self.carriers += 1;
            }
        }
        (index, assembly.serial)
    }

    fn begin(
        &mut self,
        way: Way,
        fragments: &Fragments,
        is_multicast: bool,
        at: Nanos,
        lost: u64,
    ) -> usize {
        self.serial += 1;
        let mut assembly = self.spare.pop().unwrap_or_else(|| Assembly::new(way, fragments));
        assembly.start(self.serial, way, fragments, (at, lost));
        let index = self.open.insert(assembly);
        self.by_way.insert((way, fragments.message), index);
        if is_multicast && fragments.is_global {
            self.multicast.insert(fragments.message, index);
        }
        self.idle.push_back((at, (index, self.serial)));
        index
    }

    /// The one to give up because there are too many.
    pub fn surplus(&mut self) -> Option<AssemblyId> {
        let is_full = self.open.len() > MAX_OPEN || self.carriers > MAX_CARRIERS;
        let (_, oldest) = *self.idle.front().filter(|_| is_full)?;
        self.idle.pop_front();
        Some(oldest)
    }

    /// The message was found: its leg is to be looked at soon, whoever has taken something.
    pub fn found(&mut self, id: AssemblyId, leg: LegKey, at: Nanos) {
        if let Some(assembly) = self.get_mut(id) {
            assembly.leg = Some(leg);
            self.due.push_back((at, id));
        }
    }

    /// A reader has taken a datagram that has these fragments of a message.
    pub fn take(&mut self, id: AssemblyId, carrier: Carrier, by: Taker) {
        let Some(assembly) = self.get_mut(id) else { return };
        assembly.touched = assembly.touched.max(by.at);
        if assembly.take(carrier, by) {
            self.due.push_back((by.at, id));
        }
    }

    /// The next that is due: something was known of it before `limit`.
    pub fn next_due(&mut self, limit: Nanos) -> Option<AssemblyId> {
        let (_, id) = *self.due.front().filter(|(at, _)| *at <= limit)?;
        self.due.pop_front();
        Some(id)
    }

    /// The next that nothing has happened to since `limit`, or that began before `cut`.
    pub fn next_idle(&mut self, limit: Nanos, cut: Nanos) -> Option<AssemblyId> {
        while let Some(&(at, id)) = self.idle.front()
            && (at <= limit || at < cut)
        {
            self.idle.pop_front();
            let Some(assembly) = self.get(id) else { continue };
            let touched = assembly.touched;
            if touched <= limit || assembly.began < cut {
                return Some(id);
            }
            // Later than the others, so that they stay in order.
            let newest = self.idle.back().map_or(touched, |(at, _)| touched.max(*at));
            self.idle.push_back((newest, id));
        }
        None
    }

    pub fn forget(&mut self, id: AssemblyId) {
        if self.get(id).is_none() {
            return;
        }
        let gone = self.open.remove(id.0);
        self.carriers -= gone.carriers.len();
        self.by_way.remove(&(gone.way, gone.message));
        if self.multicast.get(&gone.message) == Some(&id.0) {
            self.multicast.remove(&gone.message);
        }
        if self.spare.len() < SPARE {
            self.spare.push(gone);
        }
    }
}

impl Assembly {
    fn new(way: Way, fragments: &Fragments) -> Assembly {
        Assembly {
            serial: 0,
            message: fragments.message,
            way,
            is_global: false,
            is_late: false,
            of: None,
            payload_len: 0,
            carriers: Vec::new(),
            readers: Vec::new(),
            leg: None,
            told: false,
            began: Nanos(0),
            touched: Nanos(0),
            lost: 0,
        }
    }

    fn start(&mut self, serial: u64, way: Way, fragments: &Fragments, (at, lost): (Nanos, u64)) {
        self.serial = serial;
        self.message = fragments.message;
        self.way = way;
        self.is_global = fragments.is_global;
        self.is_late = fragments.is_late;
        self.of = fragments.of;
        self.payload_len = 0;
        self.carriers.clear();
        self.readers.clear();
        (self.leg, self.told) = (None, false);
        (self.began, self.touched, self.lost) = (at, at, lost);
    }

    /// Takes what a datagram brought. Whether a reader has all of it now.
    fn take(&mut self, carrier: Carrier, by: Taker) -> bool {
        let of = self.of;
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.socket == by.socket) {
            return reader.take(carrier, by.socket, of);
        }
        // What is sent again on another way is for a process that lacks it, whichever socket takes it.
        if carrier.way != self.way && by.pid.is_some() {
            let of_process = self.readers.iter_mut().filter(|reader| reader.pid == by.pid);
            let taken = of_process.map(|reader| reader.take(carrier, by.socket, of));
            if let Some(any) = taken.reduce(|a, b| a || b) {
                return any;
            }
        }
        self.readers.push(Reader::new(by));
        self.readers.last_mut().is_some_and(|reader| reader.take(carrier, by.socket, of))
    }

    /// The first datagram that carried this fragment.
    pub fn first_with(&self, fragment: u32) -> Option<&Carrier> {
        self.carriers.iter().find(|carrier| carrier.has(fragment))
    }

    /// The oldest datagram of a way that is asked for.
    pub fn oldest_on(&self, way: Way) -> Option<u64> {
        self.carriers.iter().find(|carrier| carrier.way == way).map(|carrier| carrier.number)
    }

    /// How many readers have a part of it.
    pub fn lacking(&self) -> usize {
        self.readers.iter().filter(|reader| reader.last.is_none()).count()
    }
}

impl Reader {
    fn new(by: Taker) -> Reader {
        Reader {
            socket: by.socket,
            pid: by.pid,
            taken: Vec::new(),
            have: 0,
            last: None,
            told: false,
        }
    }

    /// Whether these are the last that it lacked, of a message with so many fragments.
    fn take(&mut self, carrier: Carrier, socket: SocketId, of: Option<u32>) -> bool {
        let end = carrier.first.saturating_add(carrier.count).min(of.unwrap_or(u32::MAX));
        if end > MAX_FRAGMENTS {
            return false;
        }
        let words = (end.div_ceil(u64::BITS)) as usize;
        if self.taken.len() < words {
            self.taken.resize(words, 0);
        }
        for fragment in carrier.first..end {
            let bit = 1 << (fragment % u64::BITS);
            let Some(word) = self.taken.get_mut((fragment / u64::BITS) as usize) else { break };
            let is_new = *word & bit == 0;
            *word |= bit;
            self.have += u32::from(is_new);
            if is_new && Some(self.have) == of {
                let Carrier { way, number, .. } = carrier;
                self.last = Some(Last { way, number, fragment, socket });
                return true;
            }
        }
        false
    }
}
