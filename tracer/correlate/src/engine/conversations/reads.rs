//! The datagram that a read took, or that a socket was told of.
//!
//! The probes name a datagram by its packet's memory and a time at which that was its. Where they cannot tell, what is left
//! is taken: if every datagram that came for a socket is known, and all but one were read by others or came later, it was
//! that one. What is still not certain then stays unknown, and is counted.

use super::super::accounts::Accounts;
use super::super::coverage::Coverage;
use super::super::sockets::{Datagrams, UnresolvedRead};
use super::Conversations;
use crate::join::{Assemblies, Carrier, Taker};
use wirelap_events::{Nanos, Packet, PacketId, Pid, Probe, ReadCall, ReadKind, SocketId, TaskId};
use wirelap_flow::{Chain, Direction, Marks, MemoryUse, Threads};
use wirelap_limits::network::{
    CPU_EVENT_DISORDER, LONGEST_WAIT_FOR_DATAGRAM, LONGEST_WAY_TO_QUEUE, SURELY_QUEUED,
};

/// Uses of one packet's memory that are looked through, the newest first.
const USES: usize = 64;

/// Reads of one socket that are left unresolved at once.
const UNRESOLVED: usize = 256;

/// The parts beside its conversation that a read bears on.
pub struct ReadOutput<'a> {
    pub assemblies: &'a mut Assemblies,
    pub accounts: &'a mut Accounts,
    pub coverage: &'a Coverage,
}

/// A read's time, its thread, and how that came to read.
struct DatagramRead {
    at: Nanos,
    task: TaskId,
    led: Chain,
}

impl Conversations {
    /// The datagram that had a packet's memory at `seen`; the last one where no time is told.
    pub(super) fn datagram_in(
        &self,
        packet: PacketId,
        seen: Option<Nanos>,
        certain: Nanos,
    ) -> Option<(Direction, u64)> {
        let mut found = self.datagrams.get(&packet).copied()?;
        let Some(seen) = seen else { return Some(found) };
        for _ in 0..USES {
            let Marks::Udp(marks) = &self.flows.flow(found.0)?.marks else {
                return None;
            };
            match marks.use_at(found.1, seen)? {
                // What came while nobody saw it may have had the memory after it.
                MemoryUse::This(since) => return (since >= certain).then_some(found),
                MemoryUse::Earlier(before) => found = before?,
            }
        }
        None
    }

    /// A datagram comes in, or leaves for this host, for the only socket at its port: its coming in may not be seen
    /// (docs/results/correctness.md, "What process 1 hides").
    pub(super) fn add_to_inbox(&mut self, packet: &Packet<'_>, direction: Direction, number: u64) {
        let port = packet.flow.dst.port();
        if let Some(socket) = self.sockets.only_at(packet.netns, port)
            && let Some(entry) = self.sockets.get_mut(socket)
        {
            entry.datagrams().put_in(direction, number);
        }
    }

    pub(super) fn datagram_read(
        &mut self,
        at: Nanos,
        read: &ReadCall,
        threads: &Threads,
        out: &mut ReadOutput<'_>,
    ) {
        let ReadKind::Datagram { packet, seen, flow, len } = read.kind else {
            return;
        };
        let found = match (packet, seen) {
            (Some(packet), Some(seen)) => {
                let found = self.datagram_in(packet, Some(seen), out.coverage.certain());
                found.filter(|&found| self.can_be_read(found, read.socket, len))
            }
            (None, _) if flow.is_none() => None,
            _ => self.datagram_of(read, out.coverage),
        };
        let led = threads.chain(read.task, at);
        if let Some(found) = found {
            self.is_covered_from(found, read.socket, out.coverage);
            self.taken(found, read.socket, DatagramRead { at, task: read.task, led }, out);
            self.forget_read(found, read.socket);
        } else {
            let since = Nanos(0);
            let unresolved = UnresolvedRead { at, task: read.task, len, led, since };
            self.leave_unresolved(read.socket, unresolved, out);
        }
        if let (None, Some(emptied)) = (packet, seen) {
            self.is_empty(read.socket, emptied, out.coverage);
        }
    }

    fn can_be_read(
        &self,
        (direction, number): (Direction, u64),
        socket: SocketId,
        len: u32,
    ) -> bool {
        self.flows.flow(direction).is_some_and(|flow| match &flow.marks {
            Marks::Udp(marks) => marks.can_be_read(number, socket, len),
            Marks::Tcp(_) => false,
        })
    }

    fn taken(
        &mut self,
        (direction, number): (Direction, u64),
        socket: SocketId,
        taking: DatagramRead,
        out: &mut ReadOutput<'_>,
    ) {
        let Some(flow) = self.flows.flow_mut(direction) else {
            return;
        };
        // What a participant sends to its group comes to its own sockets, too, and it leaves it unread.
        let is_own = flow.key.dst.ip().is_multicast()
            && self.sockets.pid(flow.sender).is_some_and(|pid| pid == taking.task.pid);
        if !is_own {
            flow.receiver = Some(socket);
        }
        let Marks::Udp(marks) = &mut flow.marks else {
            return;
        };
        let DatagramRead { at, task, led } = taking;
        marks.read(number, socket, at, task, led);
        if is_own {
            return;
        }
        let by = Taker { socket, pid: Some(task.pid), at, lost: out.coverage.lost() };
        for (assembly, first, count) in marks.carried(number) {
            out.assemblies.take(assembly, Carrier { direction, number, first, count }, by);
        }
    }

    /// A socket has read a datagram that is known: what it reads later came later, and was reported.
    fn is_covered_from(
        &mut self,
        (direction, number): (Direction, u64),
        socket: SocketId,
        coverage: &Coverage,
    ) {
        let came = self.flows.flow(direction).and_then(|flow| flow.marks.came_at(number));
        if let Some(entry) = self.sockets.get_mut(socket)
            && came.is_some_and(|came| came > coverage.certain())
        {
            entry.datagrams().complete = Some(coverage.reported());
        }
    }

    /// Forgets what was in a socket's queue before a datagram that it has read, and that datagram.
    fn forget_read(&mut self, (direction, number): (Direction, u64), socket: SocketId) {
        let flows = &self.flows;
        let came = flows.flow(direction).and_then(|flow| flow.marks.came_at(number));
        let Some(entry) = self.sockets.get_mut(socket) else {
            return;
        };
        let entry = entry.datagrams();
        // What a read took of which that is not known must stay.
        let came = came.filter(|_| entry.unresolved.is_empty());
        while let Some(&(direction, number)) = entry.inbox.front() {
            let is_over = match flows.flow(direction).map(|flow| &flow.marks) {
                Some(Marks::Udp(marks)) => marks.is_over(number, socket, came, SURELY_QUEUED),
                _ => true,
            };
            if !is_over {
                break;
            }
            entry.inbox.pop_front();
        }
    }

    /// A socket's queue is empty: what it reads later came later, and was reported.
    fn is_empty(&mut self, socket: SocketId, at: Nanos, coverage: &Coverage) {
        if at <= coverage.certain() + LONGEST_WAY_TO_QUEUE {
            return;
        }
        if let Some(entry) = self.sockets.get_mut(socket) {
            let own = entry.datagrams();
            own.emptied = own.emptied.max(at);
            own.complete = Some(coverage.reported());
        }
    }

    /// Leaves it open what a read took; what others take may tell.
    fn leave_unresolved(
        &mut self,
        socket: SocketId,
        read: UnresolvedRead,
        out: &mut ReadOutput<'_>,
    ) {
        let reported = out.coverage.reported();
        let is_alone = self.sockets.has_port_alone(socket);
        let pid = read.task.pid;
        let Some(entry) = self.sockets.get_mut(socket) else {
            return out.accounts.unknown_read(pid);
        };
        let own = entry.datagrams();
        if is_alone && own.complete == Some(reported) && own.unresolved.len() < UNRESOLVED {
            own.unresolved.push_back(UnresolvedRead { since: own.emptied, ..read });
            if !self.unresolved_sockets.contains(&socket) {
                self.unresolved_sockets.push(socket);
            }
        } else {
            own.complete = None;
            out.accounts.unknown_read(pid);
        }
    }

    /// Finds out what reads took, where only one datagram is left that it can have been.
    pub fn solve(&mut self, all: bool, out: &mut ReadOutput<'_>) {
        let mut unresolved_sockets = std::mem::take(&mut self.unresolved_sockets);
        unresolved_sockets.retain(|&socket| {
            loop {
                let solved = self.solved(socket, all, out.coverage);
                let solved = solved.or_else(|| self.in_turn(socket, all, out.coverage));
                if let Some((found, taking)) = solved {
                    self.taken(found, socket, taking, out);
                    self.forget_read(found, socket);
                } else if let Some(pid) = self.given_up(socket, all, out.coverage) {
                    out.accounts.unknown_read(pid);
                } else {
                    break;
                }
            }
            let entry = self.sockets.get_mut(socket);
            entry.is_some_and(|entry| !entry.datagrams().unresolved.is_empty())
        });
        self.unresolved_sockets = unresolved_sockets;
    }

    /// Sockets with reads of which it is not known yet what they took.
    pub fn unresolved_sockets(&self) -> &[SocketId] {
        &self.unresolved_sockets
    }

    /// The oldest read of which it is not known yet what it took.
    pub fn unresolved_since(&self) -> Option<Nanos> {
        let oldest = |socket| Some(self.sockets.get(socket)?.udp()?.unresolved.front()?.at);
        self.unresolved_sockets.iter().filter_map(|&socket| oldest(socket)).min()
    }

    /// The process of a read of which it will not be known what it took.
    fn given_up(&mut self, socket: SocketId, all: bool, coverage: &Coverage) -> Option<Pid> {
        let (now, reported) = (coverage.now(), coverage.reported());
        let is_alone = self.sockets.has_port_alone(socket);
        let own = self.sockets.get_mut(socket)?.datagrams();
        let is_hopeless = all || !is_alone || own.complete != Some(reported);
        let oldest = own.unresolved.front()?;
        if !is_hopeless && oldest.at + LONGEST_WAIT_FOR_DATAGRAM > now {
            return None;
        }
        let given_up = own.unresolved.pop_front()?;
        // Of those that were left, which is left for them is not known either.
        let same = own.unresolved.iter_mut().take_while(|read| read.since == given_up.since);
        same.for_each(|read| read.since = Nanos(0));
        // One of those that were left was taken, for good.
        if own.emptied <= given_up.at {
            own.complete = None;
        }
        Some(given_up.task.pid)
    }

    /// A read that can have taken but one datagram, which is its no more.
    fn solved(
        &mut self,
        socket: SocketId,
        all: bool,
        coverage: &Coverage,
    ) -> Option<((Direction, u64), DatagramRead)> {
        let now = coverage.now();
        let own = self.unresolved_of(socket, coverage)?;
        let ordered = |read: &&UnresolvedRead| all || read.at + CPU_EVENT_DISORDER <= now;
        let (index, found) =
            own.unresolved.iter().take_while(ordered).enumerate().find_map(|(index, read)| {
                let mut left = self.can_have_taken(own, socket, read);
                let found = left.next()?;
                left.next().is_none().then_some((index, found))
            })?;
        self.take_out(socket, index, found)
    }

    /// The oldest read, if nothing else will tell what it took, and the thread was the only one that read between two times at
    /// which the queue was empty: it took the first of a flow's datagrams.
    fn in_turn(
        &mut self,
        socket: SocketId,
        all: bool,
        coverage: &Coverage,
    ) -> Option<((Direction, u64), DatagramRead)> {
        let now = coverage.now();
        let own = self.unresolved_of(socket, coverage)?;
        let oldest = own
            .unresolved
            .front()
            .filter(|oldest| all || oldest.at + LONGEST_WAIT_FOR_DATAGRAM <= now)?;
        let mut others = own.unresolved.iter().take_while(|read| read.since == oldest.since);
        if oldest.since == Nanos(0) || others.any(|read| read.task.tid != oldest.task.tid) {
            return None;
        }
        let earlier = |first: (Direction, u64), (direction, number): (Direction, u64)| {
            (direction == first.0).then_some((direction, number.min(first.1)))
        };
        let found = {
            let mut left = self.can_have_taken(own, socket, oldest);
            let first = left.next()?;
            left.try_fold(first, earlier)?
        };
        self.take_out(socket, 0, found)
    }

    /// The reads of a socket of which something can be found out.
    fn unresolved_of(&self, socket: SocketId, coverage: &Coverage) -> Option<&Datagrams> {
        let own = self.sockets.get(socket)?.udp()?;
        let is_told = own.complete == Some(coverage.reported());
        (is_told && self.sockets.has_port_alone(socket)).then_some(own)
    }

    /// The datagrams in a socket's queue that a read can have taken.
    fn can_have_taken<'c>(
        &'c self,
        own: &'c Datagrams,
        socket: SocketId,
        read: &'c UnresolvedRead,
    ) -> impl Iterator<Item = (Direction, u64)> + 'c {
        own.inbox.iter().copied().filter(move |&(direction, number)| {
            self.flows.flow(direction).is_some_and(|flow| match &flow.marks {
                Marks::Udp(marks) => {
                    marks.came_at(number).is_some_and(|came| came <= read.at)
                        && marks.can_be_read(number, socket, read.len)
                        && !marks.was_in_queue(number, socket, read.since, LONGEST_WAY_TO_QUEUE)
                }
                Marks::Tcp(_) => false,
            })
        })
    }

    fn take_out(
        &mut self,
        socket: SocketId,
        index: usize,
        found: (Direction, u64),
    ) -> Option<((Direction, u64), DatagramRead)> {
        let own = self.sockets.get_mut(socket)?.datagrams();
        let UnresolvedRead { at, task, led, .. } = own.unresolved.remove(index)?;
        Some((found, DatagramRead { at, task, led }))
    }

    /// The datagram that a read took, as the first recordings tell it: the named packet among those ready at its socket,
    /// else the first of the named flow.
    ///
    /// A call lets go of a packet before it ends: its memory may be another's by then, sent already, and ready. Only where
    /// reads or what came before them were not reported is a packet in the same memory the one that was read.
    fn datagram_of(&mut self, read: &ReadCall, coverage: &Coverage) -> Option<(Direction, u64)> {
        let ReadKind::Datagram { packet, flow, .. } = read.kind else {
            return None;
        };
        let flows = &self.flows;
        let fits = |&(direction, number): &(Direction, u64)| {
            let Some(found) = flows.flow(direction) else {
                return false;
            };
            let Marks::Udp(marks) = &found.marks else {
                return false;
            };
            let Some(datagram) = marks.get(number) else {
                return false;
            };
            match packet {
                Some(packet) => datagram.id == packet,
                None => flow.is_some_and(|key| found.key == key),
            }
        };
        let known = packet.and_then(|packet| self.datagrams.get(&packet).copied());
        let known = known.filter(|&(direction, _)| {
            flow.is_none_or(|key| flows.flow(direction).is_some_and(|found| found.key == key))
        });
        let whole = [Probe::Read, Probe::Ready].iter().all(|probe| coverage.lost_by(*probe) == 0)
            && !coverage.pauses().has_paused();
        let entry = self.sockets.get_mut(read.socket)?.datagrams();
        // An older datagram in the same memory is gone: its own read was lost.
        let index = match packet {
            Some(_) if !whole => entry.inbox.iter().rposition(fits),
            _ => entry.inbox.iter().position(fits),
        };
        let Some(index) = index else { return known };
        // Datagrams are read in order: what was ready before is gone.
        let found = entry.inbox.drain(..=index).next_back();
        // A newer one may have been read that was not reported ready, as that event was lost.
        let newer = known.filter(|known| !whole && found.is_some_and(|found| found != *known));
        newer.or(found)
    }
}
