//! Captures of several hosts as one, in the order of the first one's clock.

use super::renumber::Renumbering;
use super::retime::retime;
use super::tree::ClockChain;
use crate::read::{Peek, Recording, WantedEntries};
use crate::record::Entry;
use rustc_hash::FxHashSet;
use std::io::Read;
use std::net::IpAddr;
use std::rc::Rc;
use wirelap_events::{Body, Event, Nanos, PacketHook, TaskId};

/// Kind of events that is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergedEvents {
    /// Everything: all are recordings of wirelap's.
    Everything,
    /// Packets alone, as at least one has nothing else.
    Packets,
}

/// Recordings of one kernel, each of which has all that it saw.
#[derive(Clone, Debug, Default)]
pub struct SharedKernel {
    /// Times of the first packet and the last of each, by the first clock.
    pub spans: Vec<(Nanos, Nanos)>,
}

impl SharedKernel {
    /// Index of the recording whose events are taken at a time: the first one that reaches over it, else the nearest.
    fn owner(&self, at: Nanos) -> usize {
        let distance = |&(first, last): &(Nanos, Nanos)| (first - at).max(at - last);
        let spans = self.spans.iter().enumerate();
        spans.min_by_key(|(_, span)| distance(span)).map_or(0, |(index, _)| index)
    }
}

/// Makes one capture's events different from the others', and puts them in order.
#[derive(Clone, Debug)]
pub struct Placing {
    chain: ClockChain,
    numbers: Renumbering,
    what: MergedEvents,
    mine: FxHashSet<IpAddr>,
    others: FxHashSet<IpAddr>,
    /// Recordings of the same kernel, and the index of this one among them.
    shared: Option<(Rc<SharedKernel>, usize)>,
}

impl Placing {
    /// A capture of the `host`th host, 1 for the first, with its addresses and those of all other hosts.
    pub fn new(
        chain: ClockChain,
        host: u8,
        what: MergedEvents,
        mine: FxHashSet<IpAddr>,
        others: FxHashSet<IpAddr>,
    ) -> Placing {
        Placing { chain, numbers: Renumbering::of(host), what, mine, others, shared: None }
    }

    /// Takes each event from one of several recordings of one kernel, of which this one has an index.
    pub fn share(&mut self, kernel: Rc<SharedKernel>, index: usize) {
        self.shared = Some((kernel, index));
    }

    /// A time of the capture, by the first clock.
    pub fn to_first(&self, at: Nanos) -> Nanos {
        self.chain.to_first(at)
    }

    /// True if an event that is placed is taken from this capture.
    fn takes(&self, event: &Event<'_>) -> bool {
        self.shared.as_ref().is_none_or(|(kernel, index)| kernel.owner(event.at) == *index)
    }

    /// An event by the first clock. `wall` leads to the wall clock of its host.
    fn place(&self, event: &mut Event<'_>, wall: i64) {
        retime(event, |seen| self.chain.to_first(Nanos(seen.0.saturating_add_signed(wall))));
        self.numbers.renumber(event);
    }

    /// A packet on a device of its host, sent or received there. What a host passes on is received there.
    fn packet(&self, event: &mut Event<'_>, is_own: bool) {
        let Body::Packet(packet) = &mut event.body else { return };
        let flow = packet.flow;
        // A recording knows itself which way its packets went.
        if is_own {
            (packet.socket, packet.task) = (None, TaskId::default());
        } else if self.mine.contains(&flow.src.ip()) {
            packet.hook = PacketHook::Xmit;
        } else if self.mine.contains(&flow.dst.ip()) || self.others.contains(&flow.src.ip()) {
            packet.hook = PacketHook::Rx;
        }
    }
}

/// One of the captures.
struct MergeSource<'r, 'p, R> {
    peek: Peek<'r, R>,
    placing: &'p Placing,
    /// The time of the last entry that had one.
    at: Nanos,
    is_over: bool,
}

impl<'r, 'p, R: Read> MergeSource<'r, 'p, R> {
    fn new(recording: &'r mut Recording<R>, placing: &'p Placing) -> Self {
        let wanted = match placing.what {
            MergedEvents::Everything => WantedEntries::AllButTicks,
            MergedEvents::Packets => WantedEntries::Packets,
        };
        let peek = Peek::new(recording, wanted);
        let mut source = MergeSource { peek, placing, at: Nanos(0), is_over: false };
        source.advance();
        source
    }

    fn advance(&mut self) {
        loop {
            self.is_over = !self.peek.advance();
            let (at, is_taken) = match self.entry() {
                Some(Entry::Event(event)) => (event.at, self.placing.takes(&event)),
                _ => (self.at, true),
            };
            self.at = at;
            if is_taken || self.is_over {
                return;
            }
        }
    }

    /// The entry at hand. Ticks are left out: they are of one host's events alone.
    fn entry(&self) -> Option<Entry<'_>> {
        let recording = self.peek.recording();
        let (is_own, wall) = (recording.is_own(), recording.wall().unwrap_or(0));
        let mut entry = self.peek.entry()?;
        if let Entry::Event(event) | Entry::Known(event) = &mut entry {
            self.placing.place(event, wall);
            if self.placing.what == MergedEvents::Packets {
                self.placing.packet(event, is_own);
            }
        }
        Some(entry)
    }
}

/// Hands out the entries of all recordings in the order of the first one's clock, each with its recording's index.
///
/// # Errors
/// What `out` fails with.
pub fn merge<R: Read, E>(
    recordings: &mut [Recording<R>],
    placings: &[Placing],
    mut out: impl FnMut(usize, &Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let pairs = recordings.iter_mut().zip(placings);
    let mut sources: Vec<_> =
        pairs.map(|(file, placing)| MergeSource::new(file, placing)).collect();
    loop {
        let open = sources.iter_mut().enumerate().filter(|(_, source)| !source.is_over);
        let Some((index, source)) = open.min_by_key(|(_, source)| source.at) else { return Ok(()) };
        source.entry().iter().try_for_each(|entry| out(index, entry))?;
        source.advance();
    }
}

/// A recording's next packet, by its host's wall clock.
pub fn next_on_wall<R: Read>(recording: &mut Recording<R>) -> Option<Event<'_>> {
    let wall = recording.wall().unwrap_or(0);
    let mut event = recording.next_packet()?;
    retime(&mut event, |seen| Nanos(seen.0.saturating_add_signed(wall)));
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_kernels_recordings_each_time_is_taken_from_one() {
        let spans = [(10, 20), (15, 30), (40, 50)];
        let spans = spans.map(|(first, last)| (Nanos(first), Nanos(last))).to_vec();
        let kernel = SharedKernel { spans };
        let owners = [1, 10, 20, 21, 30, 34, 36, 99].map(|at| kernel.owner(Nanos(at)));
        assert_eq!(owners, [0, 0, 0, 1, 1, 1, 2, 2]);
    }
}
