//! Links: the rate and queue of a link, by the times at which bytes leave and are acknowledged.
//!
//! ```text
//!  sent, k bytes in flight             acknowledgements come back one after the other: nothing waits for the
//!  ┌┬┬┬┬┬┬┬┐                           ▼   ▼   ▼   ▼   ▼   ▼   ▼   ▼   sender, and each takes longer than the
//! ─┴┴┴┴┴┴┴┴┴──────────────────────────┴───┴───┴───┴───┴───┴───┴───┴──▶ shortest one: the bytes are in a queue
//! ```

use super::TcpMarks;
use super::kinds::XmitMark;
use super::queues::{Arrivals, QueueSpan};
use wirelap_events::{AckRoundTrip, ByteRange, LinkQueue, Nanos, Offset};
use wirelap_limits::causes::SHORTEST_QUEUEING;
use wirelap_limits::network::{LONGER_ROUND_TRIP_DIVISOR, MIN_STEADY_ARRIVALS, SLOW_LINK_GAP};

impl TcpMarks {
    /// A packet with so many bytes left the qdisc at `at`.
    pub(super) fn left_qdisc(&mut self, range: ByteRange, queued: Nanos, at: Nanos) {
        let time = at - queued;
        if time >= SHORTEST_QUEUEING {
            let (bytes, least) = (range.len(), Nanos(0));
            let span = QueueSpan { from: queued, to: at, longest: time, least, bytes, time };
            self.queues.get_or_insert_default().device.add_packet(span);
        }
    }

    /// The acknowledgement of everything before `upto` has come in, which is new. To be told before it is noted.
    pub(super) fn came_back(&mut self, upto: Offset, at: Nanos) {
        // Without the state of TCP at a send, nobody asks.
        if self.sends.is_unused() || upto == Offset::START {
            return;
        }
        let mut xmits = self.xmits.covering(Offset(upto.0.saturating_sub(1)));
        // Of bytes that left twice, it is not known which copy was acknowledged (RFC 6298 §3).
        let (Some(&XmitMark { range, at: left, .. }), None) = (xmits.next(), xmits.next()) else {
            return;
        };
        let Some(time) = at.since(left) else { return };
        let before = self.acks.back().is_none_or(|&(_, acked)| acked <= left);
        let AckRoundTrip { least, .. } =
            self.round_trips.add(time, before && self.acked_to >= range.start);
        let more = time - least;
        if more < SHORTEST_QUEUEING.max(Nanos(least.0 / LONGER_ROUND_TRIP_DIVISOR)) {
            return;
        }
        if let Some((bytes, over)) = self.delivered_steadily(upto, (left, at)) {
            let span = QueueSpan { from: left, to: at, longest: time, least, bytes, time: over };
            self.queues.get_or_insert_default().path.add(span);
        }
    }

    /// The receiver's socket got `range` at `ready`. Packets that come in one after the other, in their order, though they were under way
    /// together come from a queue, also where the bytes before them are those of other connections. After a pause of whatever else, they
    /// come at once. A packet comes in at each host on its way: what counts is where it came in last.
    pub(super) fn came_through(&mut self, range: ByteRange, ready: Nanos) {
        let [first, last] = [range.start, range.last()].map(|byte| self.came_in_at(byte, ready));
        let Some(at) = last else { return };
        let xmits = self.xmits.covering(range.last()).map(|mark| mark.at);
        let mut copies = xmits.filter(|&left| left <= at);
        let (Some(left), other) = (copies.next(), copies.next()) else { return };
        // Of several copies, the last may still be on its way.
        let left = left.max(copies.chain(other).max().unwrap_or_default());
        if other.is_none() {
            let way = at - left;
            self.distance = Some(self.distance.map_or(way, |least| least.min(way)));
        }
        let Arrivals { at: before, queued } = self.arrivals;
        let distance = self.round_trips.distance(self.distance.unwrap_or_default());
        let (way, apart) = (at - left, at - before);
        let least = self.round_trips.last().map_or(distance, |trip| trip.least);
        let is_late =
            way - least >= SHORTEST_QUEUEING.max(Nanos(least.0 / LONGER_ROUND_TRIP_DIVISOR));
        let is_in_order = first.is_some_and(|first| first <= at);
        let is_queued = is_late && left < before && is_in_order && !self.sends.is_unused();
        let queued =
            if is_queued { queued.saturating_add(usize::from(apart >= SLOW_LINK_GAP)) } else { 0 };
        self.arrivals = Arrivals { at, queued };
        if queued >= MIN_STEADY_ARRIVALS {
            let (bytes, time) = (range.len(), apart);
            let span = QueueSpan { from: left, to: at, longest: way, least, bytes, time };
            self.queues.get_or_insert_default().path.add(span);
        }
    }

    /// The number of bytes that were acknowledged between two moments, as far as is remembered, and the time that this took, if
    /// acknowledgements came all the time. A receiver that delays an acknowledgement sends no other meanwhile (RFC 9293 §3.8.6.3).
    fn delivered_steadily(&self, upto: Offset, (left, at): (Nanos, Nanos)) -> Option<(u64, Nanos)> {
        let longest = Nanos((at - left).0 / 2);
        let (mut first, mut count) = ((upto, at), 0_usize);
        for &before in self.acks.iter().rev() {
            if first.1 - before.1.max(left) > longest {
                return None;
            }
            if before.1 <= left {
                break;
            }
            first = before;
            count = count.saturating_add(1);
        }
        let is_remembered = self.acks.len() >= super::lost::ACKS;
        if !is_remembered && first.1 - left > longest {
            return None;
        }
        let bytes = upto.0.saturating_sub(first.0.0);
        (count >= MIN_STEADY_ARRIVALS).then_some((bytes, at - first.1))
    }

    /// True if bytes were seen to wait in a queue.
    pub fn has_queues(&self) -> bool {
        self.queues.is_some()
    }

    /// The queue in the qdisc and that on the path that cover most of the time between two moments.
    pub fn queues_between(&self, from: Nanos, to: Nanos) -> (Option<LinkQueue>, Option<LinkQueue>) {
        self.queues.as_ref().map_or((None, None), |queues| {
            (queues.device.between(from, to), queues.path.between(from, to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{TaskId, TxState};

    /// Bytes of a packet.
    const SEGMENT: u64 = 1_000;

    fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    fn packet(number: u64) -> ByteRange {
        ByteRange::new(Offset(number * SEGMENT), SEGMENT)
    }

    /// A path for tests, in microseconds: the round trip of a packet alone, the number of packets that leave at once at 100 ms,
    /// and when the acknowledgement of each comes in.
    fn path(alone: u64, burst: u64, acked: impl Fn(u64) -> u64) -> TcpMarks {
        let mut marks = TcpMarks::new(1_000);
        let send = |marks: &mut TcpMarks, number, at| {
            let state = Some(TxState::default());
            marks.send(packet(number), at, TaskId::default(), state);
            marks.xmit(packet(number), None, at);
        };
        send(&mut marks, 0, us(10));
        marks.acknowledged(packet(0).end, us(10 + alone));
        (1..=burst).for_each(|number| send(&mut marks, number, us(100_000)));
        (1..=burst)
            .for_each(|number| marks.acknowledged(packet(number).end, us(100_000 + acked(number))));
        marks
    }

    fn on_path(marks: &TcpMarks) -> Option<LinkQueue> {
        marks.queues_between(Nanos(0), us(10_000_000)).1
    }

    #[test]
    fn acknowledgements_that_come_at_the_rate_of_a_link_show_its_queue() {
        let queue = on_path(&path(1_000, 20, |number| 1_000 + number * 2_000)).unwrap();
        assert_eq!((queue.from, queue.to), (us(100_000), us(141_000)));
        assert_eq!((queue.longest, queue.least), (us(41_000), us(1_000)));
        // A packet every 2 ms.
        assert_eq!(queue.rate, 500_000);
        assert_eq!(queue.within(us(90_000), us(110_000)), us(10_000));
        assert_eq!(queue.within(us(141_000), us(150_000)), Nanos(0));
    }

    #[test]
    fn a_link_that_is_fast_enough_has_no_queue() {
        assert_eq!(on_path(&path(1_000, 60, |number| 1_000 + number * 10)), None);
        // Far away, and so long are all round trips.
        assert_eq!(on_path(&path(20_000, 60, |number| 20_000 + number * 100)), None);
    }

    #[test]
    fn a_receiver_that_acknowledges_late_is_no_link() {
        assert_eq!(on_path(&path(100, 20, |_| 40_000)), None);
        // The last ones of them soon after each other.
        assert_eq!(on_path(&path(100, 20, |number| 40_000 + number)), None);
        assert_eq!(on_path(&path(100, 20, |number| if number < 10 { 100 } else { 40_000 })), None);
    }

    /// 20 packets leave at once, and each comes in at the time that `came` gives it, in microseconds.
    fn one_way(came: impl Fn(u64) -> u64) -> Option<LinkQueue> {
        let mut marks = TcpMarks::new(1_000);
        let leave = |marks: &mut TcpMarks, number, at| {
            let state = Some(TxState::default());
            marks.send(packet(number), at, TaskId::default(), state);
            marks.xmit(packet(number), None, at);
        };
        leave(&mut marks, 0, us(10));
        marks.rx(packet(0), us(20), None);
        marks.ready(packet(0).end, us(20), true);
        (1..=20).for_each(|number| leave(&mut marks, number, us(100_000)));
        // A router gets them at once.
        (1..=20).for_each(|number| marks.rx(packet(number), us(100_005), None));
        let mut arrivals: Vec<_> =
            (1..=20).map(|number| (100_000 + came(number), number)).collect();
        arrivals.sort_unstable();
        let mut there = [false; 21];
        for (at, number) in arrivals {
            marks.rx(packet(number), us(at), None);
            there[usize::try_from(number).unwrap()] = true;
            let all = there.iter().skip(1).take_while(|&&is_there| is_there).count();
            marks.ready(packet(u64::try_from(all).unwrap()).end, us(at), true);
        }
        on_path(&marks)
    }

    #[test]
    fn packets_that_come_one_after_the_other_show_a_queue_that_others_are_in() {
        let queue = one_way(|number| 500_000 + number * 1_000).unwrap();
        assert_eq!((queue.from, queue.to), (us(100_000), us(620_000)));
        assert_eq!((queue.longest, queue.rate), (us(520_000), 1_000_000));
        // Whoever passes them on was stopped, they overtake each other, or they are soon there.
        assert_eq!(one_way(|number| 500_000 + number), None);
        assert_eq!(one_way(|number| 500_000 - number * 1_000), None);
        assert_eq!(one_way(|number| number * 40), None);
    }

    #[test]
    fn of_bytes_that_left_twice_the_round_trip_is_not_known() {
        let mut marks = path(1_000, 0, |_| 0);
        for at in [200_000, 300_000] {
            (1..=20).for_each(|number| marks.xmit(packet(number), None, us(at)));
        }
        (1..=20).for_each(|number| {
            marks.acknowledged(packet(number).end, us(301_000 + number * 2_000));
        });
        assert_eq!(on_path(&marks), None);
    }

    #[test]
    fn what_a_round_trip_takes_without_a_queue_is_known_of_bytes_alone() {
        let trip = |marks: &mut TcpMarks| {
            marks.round_trips.last().map(|trip| (trip.time, trip.is_short(), trip.is_without_queue))
        };
        let mut far = path(20_000, 30, |number| 20_000 + number * 100);
        assert_eq!(trip(&mut far), Some((us(23_000), true, true)));
        let mut slow = path(20_000, 30, |number| 20_000 + number * 1_000);
        assert_eq!(trip(&mut slow), Some((us(50_000), false, true)));
        // The queue was there before anybody looked: all round trips are as long.
        let mut joined = TcpMarks::new(100);
        joined.send(packet(0), us(1), TaskId::default(), None);
        (10..60).for_each(|number| joined.xmit(packet(number), None, us(number * 1_000)));
        (10..60).for_each(|number| {
            joined.acknowledged(packet(number).end, us(number * 1_000 + 40_000));
        });
        let trip = joined.round_trips.last().unwrap();
        assert_eq!((trip.time, trip.least), (us(40_000), us(40_000)));
        assert!(!trip.is_short());
    }

    #[test]
    fn packets_that_wait_before_a_device_show_its_queue() {
        let mut marks = TcpMarks::new(100);
        let leaves = |marks: &mut TcpMarks, number: u64, took: u64| {
            marks.xmit(packet(number), Some(us(1_000)), us(1_000 + took));
        };
        leaves(&mut marks, 0, 900);
        assert!(!marks.has_queues());
        (1..=10).for_each(|number| leaves(&mut marks, number, number * 1_000));
        let (queue, none) = marks.queues_between(Nanos(0), us(100_000));
        let queue = queue.unwrap();
        assert_eq!((queue.from, queue.to, none), (us(1_000), us(11_000), None));
        assert_eq!((queue.longest, queue.rate), (us(10_000), 1_000_000));
    }
}
