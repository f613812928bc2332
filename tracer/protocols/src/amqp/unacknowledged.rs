//! Messages that a client was sent and has not acknowledged: the broker puts them back into their queues, and sends them again, when the
//! client refuses them (`basic.nack`, `basic.reject`, `basic.recover`) or when their channel ends (AMQP 0-9-1 §1.8.3, `RabbitMQ`,
//! "Automatic Requeueing").

use super::method::{AmqpAcknowledgement, AmqpDelivery, Method, is_put_back, needs_no_acks};
use crate::{FrameSink, PutBack};
use rustc_hash::FxHashMap;
use wirelap_events::{Saturate, Size};

/// The most channels of a connection that are kept.
const MAX_CHANNELS: usize = 1024;

/// The most ranges of tags of a channel; a client that acknowledges in another order than it got the messages leaves several.
const MAX_RANGES: usize = 128;

/// The channels of one connection.
#[derive(Debug, Default)]
pub(super) struct Unacknowledged {
    channels: FxHashMap<u16, UnacknowledgedTags>,
    /// Bytes of memory that the ranges use.
    held: Size,
}

/// Delivery tags of one channel that are not acknowledged.
#[derive(Debug, Default)]
struct UnacknowledgedTags {
    /// The first and the last tag of each range, in their order.
    ranges: Vec<(u64, u64)>,
    /// The client acknowledges what it gets on the channel.
    has_acks: bool,
    /// Somebody on the channel gets messages that need no acknowledgement.
    has_automatic: bool,
    /// The channel is being closed: what is sent on it until the other end has confirmed that goes back for the same reason.
    closed: Option<PutBack>,
}

impl UnacknowledgedTags {
    fn delivered(&mut self, tag: u64) {
        let is_full = self.ranges.len() >= MAX_RANGES;
        match self.ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(tag) => *last = tag,
            Some((_, last)) if *last >= tag => {}
            // Fewer are counted then than there are.
            _ if is_full => self.ranges.clear(),
            _ => self.ranges.push((tag, tag)),
        }
    }

    /// Removes the tags from `first` to `last`. Returns their number.
    fn remove(&mut self, first: u64, last: u64) -> u64 {
        let (mut removed, mut behind) = (0_u64, None);
        self.ranges.retain_mut(|range| {
            let (from, to) = (range.0.max(first), range.1.min(last));
            if from > to {
                return true;
            }
            removed.grow(to.saturating_sub(from).saturating_add(1));
            let (before, after) = (from.saturating_sub(1), to.saturating_add(1));
            match (range.0 < from, to < range.1) {
                (true, true) => behind = Some((after, std::mem::replace(&mut range.1, before))),
                (true, false) => range.1 = before,
                (false, true) => range.0 = after,
                (false, false) => return false,
            }
            true
        });
        if let Some(behind) = behind.filter(|_| self.ranges.len() < MAX_RANGES) {
            let place = self.ranges.partition_point(|range| range.0 < behind.0);
            self.ranges.insert(place, behind);
        }
        removed
    }

    /// Number of the messages that are put back if the channel ends; 0 if some of them may need no acknowledgement.
    fn count(&self) -> u64 {
        let all = self.ranges.iter().map(|(first, last)| last.saturating_sub(*first));
        let all = all.fold(0_u64, |sum, rest| sum.saturating_add(rest).saturating_add(1));
        if self.has_acks && !self.has_automatic { all } else { 0 }
    }

    fn held_bytes(&self) -> Size {
        Size(size_of::<(u64, u64)>()) * self.ranges.capacity()
    }
}

impl Unacknowledged {
    /// Takes in a method of a channel, and reports what it puts back.
    pub fn take(
        &mut self,
        method: &Method,
        channel: u16,
        arguments: &[u8],
        is_from_server: bool,
        out: &mut dyn FrameSink,
    ) {
        let closed = |by| if is_from_server { PutBack::ClosedByServer } else { by };
        if let Some(delivery) = AmqpDelivery::read(method, arguments) {
            self.change(channel, |open| open.delivered(delivery.tag));
        } else if let Some(automatic) = needs_no_acks(method, arguments) {
            self.change(channel, |open| {
                open.has_acks |= !automatic;
                open.has_automatic |= automatic;
            });
        } else if let Some(answer) = AmqpAcknowledgement::read(method, arguments) {
            if is_from_server {
                return;
            }
            let is_put_back = is_put_back(method, arguments);
            let count = self.change(channel, |open| {
                open.has_acks = true;
                match answer {
                    AmqpAcknowledgement::One(tag) => open.remove(tag, tag),
                    // 0 is all of them.
                    AmqpAcknowledgement::UpTo(0) => open.remove(0, u64::MAX),
                    AmqpAcknowledgement::UpTo(tag) => open.remove(0, tag),
                }
            });
            if is_put_back {
                // One at least, whose delivery may not have been seen.
                out.puts_back(count.unwrap_or_default().max(1), PutBack::Refused);
            }
        } else {
            match method.name {
                "basic.recover" | "basic.recover-async" => {
                    out.puts_back(self.clear(channel), PutBack::Refused);
                }
                "channel.close" => {
                    let why = closed(PutBack::ChannelClosed);
                    self.change(channel, |open| open.closed = Some(why));
                    out.puts_back(self.clear(channel), why);
                }
                "channel.close-ok" | "channel.open" => self.end(channel, out),
                "connection.close" => {
                    out.puts_back(self.count(), closed(PutBack::ConnectionEnded));
                    *self = Unacknowledged::default();
                }
                _ => {}
            }
        }
    }

    /// Changes what is known of a channel, if there is room for it.
    fn change<T>(
        &mut self,
        channel: u16,
        change: impl FnOnce(&mut UnacknowledgedTags) -> T,
    ) -> Option<T> {
        if self.channels.len() >= MAX_CHANNELS && !self.channels.contains_key(&channel) {
            return None;
        }
        let open = self.channels.entry(channel).or_default();
        let before = open.held_bytes();
        let result = change(open);
        self.held -= before;
        self.held += open.held_bytes();
        Some(result)
    }

    /// Everything on a channel goes back. Returns the number of messages.
    fn clear(&mut self, channel: u16) -> u64 {
        let Some(open) = self.channels.get_mut(&channel) else { return 0 };
        let count = open.count();
        open.ranges.clear();
        count
    }

    /// A channel has ended.
    fn end(&mut self, channel: u16, out: &mut dyn FrameSink) {
        let Some(open) = self.channels.remove(&channel) else { return };
        self.held -= open.held_bytes();
        if let Some(why) = open.closed {
            out.puts_back(open.count(), why);
        }
    }

    /// Number of messages of all channels.
    pub fn count(&self) -> u64 {
        self.channels.values().fold(0, |sum, open| sum.saturating_add(open.count()))
    }

    /// Bytes are missing: which messages are not acknowledged is not known.
    pub fn forget(&mut self) {
        self.channels.values_mut().for_each(|open| open.ranges.clear());
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(u16, UnacknowledgedTags)>() + 1;
        self.held + Size(ENTRY) * self.channels.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    #[derive(Default)]
    struct Told(Vec<(u64, PutBack)>);

    impl FrameSink for Told {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            if let FrameNote::PutBack { messages, why } = note {
                self.0.push((messages, why));
            }
        }
    }

    const CONSUME: &[u8] = b"\0\0\x01q\x01t\0\0\0\0\0";
    const CONSUME_AUTOMATIC: &[u8] = b"\0\0\x01q\x01u\x02\0\0\0\0";

    /// Sends the methods of a channel: class, method, arguments; those of the server are known by their numbers.
    fn told(methods: &[(u16, u16, Vec<u8>)]) -> (Vec<(u64, PutBack)>, u64) {
        let (mut open, mut told) = (Unacknowledged::default(), Told::default());
        for (class, id, arguments) in methods {
            let method = Method::of(*class, *id).unwrap();
            let is_from_server = matches!((class, id), (60, 60 | 71)) || arguments == b"server";
            open.take(method, 1, arguments, is_from_server, &mut told);
            let sum: Size = open.channels.values().map(UnacknowledgedTags::held_bytes).sum();
            assert_eq!(open.held, sum);
        }
        (told.0, open.count())
    }

    fn deliver(tag: u64) -> (u16, u16, Vec<u8>) {
        (60, 60, [b"\x01t", &tag.to_be_bytes()[..], b"\0\0\x01q"].concat())
    }

    fn answer(id: u16, tag: u64, bits: u8) -> (u16, u16, Vec<u8>) {
        (60, id, [&tag.to_be_bytes()[..], &[bits]].concat())
    }

    #[test]
    fn what_is_refused_is_counted_if_it_goes_back() {
        let mut all: Vec<_> = (1..=9).map(deliver).collect();
        all.insert(0, (60, 20, CONSUME.to_vec()));
        all.extend([
            answer(80, 5, 0),
            answer(90, 1, 1),
            answer(90, 2, 0),
            answer(120, 7, 3),
            answer(120, 9, 2),
            answer(120, 0, 1),
        ]);
        let expected = [(1, PutBack::Refused), (4, PutBack::Refused), (1, PutBack::Refused)];
        assert_eq!(told(&all), (expected.to_vec(), 0), "3, 4, 6 and 7 at once; 8 does not go back");
    }

    #[test]
    fn what_is_left_goes_back_when_its_channel_or_connection_ends() {
        let mut all: Vec<_> = (1..=5_000).map(deliver).collect();
        all.insert(0, (60, 20, CONSUME.to_vec()));
        all.push(answer(80, 1_000, 1));
        assert_eq!(told(&all), (Vec::new(), 4_000));
        let ends: [(u16, u16, &[u8], PutBack); 5] = [
            (60, 110, b"\x01", PutBack::Refused),
            (20, 40, b"", PutBack::ChannelClosed),
            (20, 40, b"server", PutBack::ClosedByServer),
            (10, 50, b"", PutBack::ConnectionEnded),
            (10, 50, b"server", PutBack::ClosedByServer),
        ];
        for (class, id, arguments, why) in ends {
            let ended = [&all[..], &[(class, id, arguments.to_vec())]].concat();
            assert_eq!(told(&ended), (vec![(4_000, why)], 0));
        }
    }

    #[test]
    fn what_is_on_its_way_when_a_channel_is_closed_goes_back_too() {
        let close = (20, 40, Vec::new());
        let consume = (60, 20, CONSUME.to_vec());
        let confirmed = (20, 41, b"server".to_vec());
        let all = [consume, deliver(1), close, deliver(2), deliver(3), confirmed, deliver(4)];
        let expected = [(1, PutBack::ChannelClosed), (2, PutBack::ChannelClosed)];
        assert_eq!(told(&all), (expected.to_vec(), 0));
    }

    #[test]
    fn what_needs_no_acknowledgement_does_not_go_back() {
        let mut all = vec![(60, 20, CONSUME_AUTOMATIC.to_vec())];
        all.extend((1..=9).map(deliver));
        all.push((20, 40, Vec::new()));
        assert_eq!(told(&all), (Vec::new(), 0));
        // Neither is it known of a consumer that began before and has acknowledged nothing.
        assert_eq!(told(&[deliver(1), deliver(2)]), (Vec::new(), 0));
        assert_eq!(told(&[deliver(1), deliver(2), answer(80, 1, 0)]), (Vec::new(), 1));
        // A refusal is one, whether the delivery was seen or not.
        assert_eq!(told(&[answer(120, 7, 2)]), (vec![(1, PutBack::Refused)], 0));
    }

    #[test]
    fn acknowledgements_in_any_order_take_bounded_memory() {
        let (mut open, mut told) = (Unacknowledged::default(), Told::default());
        let take = |open: &mut Unacknowledged, told: &mut Told, method: (u16, u16, Vec<u8>)| {
            let server = method.1 == 60;
            open.take(Method::of(method.0, method.1).unwrap(), 1, &method.2, server, told);
        };
        (1..=10_000).for_each(|tag| take(&mut open, &mut told, deliver(tag)));
        (1..=5_000).for_each(|half| take(&mut open, &mut told, answer(80, half * 2, 0)));
        assert!(open.channels[&1].ranges.len() <= MAX_RANGES);
        assert!(open.count() > 0);
        (1..=5_000).for_each(|half| take(&mut open, &mut told, answer(80, half * 2 - 1, 0)));
        assert_eq!((open.count(), told.0), (0, Vec::new()));
    }
}
