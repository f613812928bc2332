//! Times of single messages in bounded memory: of all messages, or once there are too many, of every second, fourth … one of each lane.

use wirelap_events::{Saturate, Size};

/// Messages whose times are kept, over all lanes. With more, those of every second one are dropped.
const MOST: usize = 1 << 20;

/// The most zeros that a number is shifted by.
const LAST: u32 = 31;

/// A message: its lane and its number in the lane.
pub type LaneMessage = (usize, u32);

/// The times of messages.
#[derive(Debug)]
pub struct KeptTimes<T> {
    lanes: Vec<Vec<T>>,
    /// Those of messages are kept whose number has so many zeros at its end, in binary.
    zeros: u32,
    kept: Size,
    most: usize,
}

impl<T: Copy + Default> KeptTimes<T> {
    /// Times of so many lanes, of which none are known.
    pub fn new(lanes: usize) -> KeptTimes<T> {
        KeptTimes { lanes: vec![Vec::new(); lanes], zeros: 0, kept: Size(0), most: MOST }
    }

    /// Makes room for so many messages of a lane.
    pub fn reserve(&mut self, lane: usize, messages: usize) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.reserve(messages.min(self.most));
        }
    }

    /// True if the times of a message with this number are kept.
    pub fn keeps(&self, number: u32) -> bool {
        number.trailing_zeros() >= self.zeros
    }

    /// True if `count` is too many for other things that are kept of each message.
    pub fn is_too_many(&self, count: usize) -> bool {
        count > self.most
    }

    /// The times of a message, if they are kept.
    pub fn get(&self, (lane, number): LaneMessage) -> Option<&T> {
        let place = self.keeps(number).then_some(number >> self.zeros)?;
        self.lanes.get(lane)?.get(place as usize)
    }

    /// The times of a message, to be changed; `None` if they are not kept.
    pub fn get_mut(&mut self, (lane, number): LaneMessage) -> Option<&mut T> {
        while self.keeps(number) {
            let place = (number >> self.zeros) as usize;
            let more = Size(place) + 1 - self.lanes.get(lane)?.len();
            let has_room = more == 0 || self.kept + more <= self.most;
            if !has_room && self.drop_half() {
                continue;
            }
            let lane = self.lanes.get_mut(lane)?;
            lane.resize((more + lane.len()).0, T::default());
            self.kept += more;
            return lane.get_mut(place);
        }
        None
    }

    /// From now on only the times of every second one of the messages are kept that are kept now. Returns false if these are so few
    /// that it cannot be half of them.
    pub fn drop_half(&mut self) -> bool {
        if self.zeros >= LAST {
            return false;
        }
        self.zeros.grow(1);
        self.kept = Size(0);
        for lane in &mut self.lanes {
            let mut stays = false;
            lane.retain(|_| {
                stays = !stays;
                stays
            });
            self.kept += lane.len();
        }
        true
    }

    /// All messages whose times are kept, also those of which none are known.
    pub fn iter(&self) -> impl Iterator<Item = (LaneMessage, &T)> {
        let zeros = self.zeros;
        self.lanes.iter().enumerate().flat_map(move |(lane, times)| {
            (0_u32..).zip(times).map(move |(place, times)| ((lane, place << zeros), times))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_too_many_messages_those_of_all_lanes_are_thinned_evenly() {
        let mut kept: KeptTimes<u64> = KeptTimes { most: 16, ..KeptTimes::new(2) };
        for number in 0..30 {
            for lane in 0..2 {
                if let Some(time) = kept.get_mut((lane, number)) {
                    *time = u64::from(number) + 1;
                }
            }
        }
        assert_eq!(kept.zeros, 2);
        let all: Vec<(LaneMessage, u64)> =
            kept.iter().map(|(message, &time)| (message, time)).collect();
        let lane = |lane| (0..8).map(move |n: u32| ((lane, n * 4), u64::from(n) * 4 + 1));
        assert_eq!(all, lane(0).chain(lane(1)).collect::<Vec<_>>());
        assert_eq!((kept.get((1, 8)), kept.get((1, 9)), kept.get((1, 32))), (Some(&9), None, None));
        assert_eq!(kept.kept, 16);
    }

    #[test]
    fn a_message_far_ahead_does_not_take_more_than_there_is() {
        let mut kept: KeptTimes<u64> = KeptTimes { most: 16, ..KeptTimes::new(1) };
        assert!(kept.get_mut((0, 5)).is_some());
        assert!(kept.get_mut((0, 1 << 20)).is_some());
        assert!(kept.kept <= 16 + 1, "{}", kept.kept);
        assert!(kept.get((0, 5)).is_none());
    }
}
