//! A message in fragments, and what each of its readers has of it.

use wirelap_events::{GlobalKey, Nanos, Pid, Saturate, SocketId, Total};
use wirelap_flow::{Direction, LegKey};
use wirelap_protocols::Fragments;

/// The most fragments of a message that are kept track of.
const MAX_FRAGMENTS: u32 = 1 << 20;

/// The fragments of one message in one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub direction: Direction,
    /// The datagram's number in that direction.
    pub number: u64,
    /// The first fragment in it, from 0.
    pub first: u32,
    /// Number of fragments in it, which follow each other.
    pub count: u32,
}

impl Carrier {
    pub fn has(&self, fragment: u32) -> bool {
        fragment.checked_sub(self.first).is_some_and(|index| index < self.count)
    }
}

/// The socket that takes a datagram, and when.
#[derive(Clone, Copy, Debug)]
pub struct Taker {
    pub socket: SocketId,
    pub pid: Option<Pid>,
    pub at: Nanos,
    /// Events lost so far.
    pub lost: u64,
}

/// The datagram that brought a reader its last missing fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    pub direction: Direction,
    pub number: u64,
    pub fragment: u32,
    /// The socket that took it.
    pub socket: SocketId,
}

/// The fragments that one reader has, and when it got the message.
#[derive(Debug)]
pub struct Reader {
    pub socket: SocketId,
    pub pid: Option<Pid>,
    /// A bit for each fragment that it has taken.
    taken: Vec<u64>,
    have: u32,
    pub last: Option<Last>,
    /// Time at which it took its last fragment.
    last_at: Nanos,
    /// With what it got the message: with `last`, or with something sent before it that it lacked.
    pub got: Option<Last>,
    /// True if it is not known when it got the message: what it may have waited for never came.
    pub is_unsure: bool,
    /// True if its delivery was handed out.
    pub told: bool,
}

/// A message in fragments, in the direction in which it was sent first.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct Assembly {
    pub(super) serial: u64,
    pub message: GlobalKey,
    pub direction: Direction,
    pub is_global: bool,
    pub is_late: bool,
    /// True if it was sent before in some direction.
    pub(super) is_known: bool,
    pub(super) of: Option<u32>,
    pub payload_len: u64,
    /// In the order in which they were seen.
    pub carriers: Vec<Carrier>,
    pub readers: Vec<Reader>,
    /// The leg of the message table, once the message was found.
    pub leg: Option<LegKey>,
    /// The direction in which it was found.
    found_on: Option<Direction>,
    /// That leg was completed.
    pub told: bool,
    pub began: Nanos,
    /// Time at which a fragment of it was last sent or taken.
    pub touched: Nanos,
    /// Messages of the same sender in the same direction.
    pub(super) order: usize,
    /// Events lost before it began.
    pub lost: u64,
    /// Number of readers, where it was sent to a group, as far as is known.
    pub group_readers: u16,
    /// Time at which its sender's library was given it, as it claims.
    pub(super) given: Option<Nanos>,
    /// The library has kept it since, as far as that can be believed.
    pub kept_since: Option<Nanos>,
}

impl Assembly {
    pub(super) fn new(direction: Direction, fragments: &Fragments) -> Assembly {
        Assembly {
            serial: 0,
            message: fragments.message,
            direction,
            is_global: false,
            is_late: false,
            is_known: false,
            of: None,
            payload_len: 0,
            carriers: Vec::new(),
            readers: Vec::new(),
            leg: None,
            found_on: None,
            told: false,
            began: Nanos(0),
            touched: Nanos(0),
            order: 0,
            lost: 0,
            group_readers: 0,
            given: None,
            kept_since: None,
        }
    }

    pub(super) fn start(
        &mut self,
        serial: u64,
        direction: Direction,
        fragments: &Fragments,
        (at, lost): (Nanos, u64),
    ) {
        self.serial = serial;
        self.message = fragments.message;
        self.direction = direction;
        self.is_global = fragments.is_global;
        self.is_late = fragments.is_late;
        self.of = fragments.of;
        self.payload_len = 0;
        self.carriers.clear();
        self.readers.clear();
        (self.leg, self.found_on, self.told) = (None, None, false);
        (self.given, self.kept_since) = (None, None);
        self.group_readers = fragments.group_readers;
        (self.began, self.touched, self.lost) = (at, at, lost);
    }

    /// The message was found in a direction.
    pub(super) fn found(&mut self, leg: LegKey, on: Direction) {
        (self.leg, self.found_on) = (Some(leg), Some(on));
    }

    /// True if the message was found in another direction, at another address of the same reader.
    pub fn is_found_elsewhere(&self, direction: Direction) -> bool {
        self.found_on.is_some_and(|on| on != direction)
    }

    /// Takes the fragments that a datagram brought; true if a reader has the whole message now.
    pub(super) fn take(&mut self, carrier: Carrier, by: Taker) -> bool {
        let of = self.of;
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.socket == by.socket) {
            return reader.take(carrier, by, of);
        }
        // What is sent again in another direction is for a process that lacks it, whichever socket takes it.
        if carrier.direction != self.direction && by.pid.is_some() {
            let of_process = self.readers.iter_mut().filter(|reader| reader.pid == by.pid);
            let taken = of_process.map(|reader| reader.take(carrier, by, of));
            if let Some(any) = taken.reduce(|a, b| a || b) {
                return any;
            }
        }
        self.readers.push(Reader::new(by));
        self.readers.last_mut().is_some_and(|reader| reader.take(carrier, by, of))
    }

    /// Words of the bits that say which fragments its readers have.
    pub(super) fn words(&self) -> usize {
        self.readers.iter().map(|reader| reader.taken.len()).total()
    }

    /// The first datagram that carried this fragment.
    pub fn first_with(&self, fragment: u32) -> Option<&Carrier> {
        self.carriers.iter().find(|carrier| carrier.has(fragment))
    }

    /// The oldest datagram of a direction that is asked for.
    pub fn oldest_on(&self, direction: Direction) -> Option<u64> {
        self.carriers
            .iter()
            .find(|carrier| carrier.direction == direction)
            .map(|carrier| carrier.number)
    }

    /// True if the message is in one datagram.
    pub fn is_single(&self) -> bool {
        self.of == Some(1)
    }

    /// True if `socket`, or another one of its process, has the whole message.
    pub fn has(&self, socket: SocketId, pid: Option<Pid>) -> bool {
        self.readers.iter().any(|reader| reader.last.is_some() && reader.is(socket, pid))
    }

    /// True if `socket`, or another one of its process, has a part of the message.
    pub fn is_read_by(&self, socket: SocketId, pid: Option<Pid>) -> bool {
        self.readers.iter().any(|reader| reader.is(socket, pid))
    }

    /// A reader that had it got it with what was taken then, or nobody knows when. What an earlier read took may be found out
    /// only later: then the reader got it when it had it.
    pub(super) fn get(&mut self, socket: SocketId, with: Option<(Nanos, Last)>) {
        let reader = self.readers.iter_mut().find(|reader| reader.socket == socket);
        if let Some(reader) = reader.filter(|reader| reader.got.is_none()) {
            let later = with.filter(|(at, _)| *at >= reader.last_at).map(|(_, last)| last);
            reader.got = later.or(reader.last);
            reader.is_unsure = with.is_none();
        }
    }

    /// Nothing kept a reader from getting it from `since` on: it got it when it had it, if that was later, or else nobody knows when.
    pub(super) fn get_since(&mut self, socket: SocketId, since: Option<Nanos>) {
        let reader = self.readers.iter().find(|reader| reader.socket == socket);
        let late = reader.filter(|reader| since.is_some_and(|since| reader.last_at >= since));
        let with = late.and_then(|reader| Some((reader.last_at, reader.last?)));
        self.get(socket, with);
    }

    /// Number of readers that have only a part of the message.
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
            last_at: Nanos(0),
            got: None,
            is_unsure: false,
            told: false,
        }
    }

    fn is(&self, socket: SocketId, pid: Option<Pid>) -> bool {
        self.socket == socket || (pid.is_some() && self.pid == pid)
    }

    /// Takes the fragments of a datagram; true if these are the last that the reader lacked, of a
    /// message with so many fragments.
    fn take(&mut self, carrier: Carrier, by: Taker, of: Option<u32>) -> bool {
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
            self.have.grow(u32::from(is_new));
            if is_new && Some(self.have) == of {
                let Carrier { direction, number, .. } = carrier;
                self.last = Some(Last { direction, number, fragment, socket: by.socket });
                self.last_at = by.at;
                return true;
            }
        }
        false
    }
}
