//! The last seconds.

use super::distribution::Distribution;
use super::figures::{HISTORY_SECONDS, HistoryPoint, Rate};
use super::sampled::RatesBySecond;
use super::seconds::{SECOND, TracedSeconds};
use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};

/// The last second is cut into so many slots.
const SLOTS: usize = 10;

/// Length of a slot.
const TENTH: u64 = SECOND / SLOTS as u64;

#[derive(Clone, Copy, Debug, Default)]
struct HistorySlot {
    deliveries: u64,
    payload_bytes: u64,
}

/// Deliveries a second, by the time at which they were complete.
#[derive(Debug)]
pub struct DeliveryRates {
    /// Whole seconds, the last one is `second - 1`.
    points: VecDeque<HistoryPoint>,
    /// The second that is being filled; `None` before the first delivery.
    second: Option<u64>,
    delivered: u64,
    one_way: Distribution,
    slots: [HistorySlot; SLOTS],
    slot: u64,
}

impl Default for DeliveryRates {
    fn default() -> DeliveryRates {
        DeliveryRates {
            points: VecDeque::new(),
            second: None,
            delivered: 0,
            one_way: Distribution::new(2),
            slots: [HistorySlot::default(); SLOTS],
            slot: 0,
        }
    }
}

impl DeliveryRates {
    /// Counts a delivery, and its delay if it was followed.
    pub fn add(&mut self, now: Nanos, payload_bytes: u64, one_way: Option<Nanos>) {
        self.roll(now);
        self.delivered.grow(1);
        if let Some(one_way) = one_way {
            self.one_way.add(one_way.0);
        }
        let slot = &mut self.slots[slot_of(self.slot)];
        slot.deliveries.grow(1);
        slot.payload_bytes.grow(payload_bytes);
    }

    fn roll(&mut self, now: Nanos) {
        let slot = now.0 / TENTH;
        for passed in (self.slot.saturating_add(1)..=slot).rev().take(self.slots.len()) {
            self.slots[slot_of(passed)] = HistorySlot::default();
        }
        self.slot = self.slot.max(slot);
        let second = now.0 / SECOND;
        let present = *self.second.get_or_insert(second);
        if second <= present {
            return;
        }
        self.points.push_back(self.present());
        for _ in (present.saturating_add(1)..second).take(HISTORY_SECONDS) {
            self.points.push_back(HistoryPoint::default());
        }
        while self.points.len() > HISTORY_SECONDS {
            self.points.pop_front();
        }
        self.second = Some(second);
        self.delivered = 0;
        self.one_way.clear();
    }

    fn present(&self) -> HistoryPoint {
        HistoryPoint {
            delivered: self.delivered,
            one_way_p50: Nanos(self.one_way.quantile(0.5)),
            one_way_p99: Nanos(self.one_way.quantile(0.99)),
        }
    }

    /// Whole seconds up to `now`, oldest first. The deliveries of a second of which only a part was traced are those of the `rates`;
    /// where none is known yet, it is like the one before.
    pub fn points_traced(
        &self,
        now: Nanos,
        traced: &TracedSeconds,
        rates: &RatesBySecond,
    ) -> Vec<HistoryPoint> {
        let mut points = self.points(now);
        let first = (now.0 / SECOND).saturating_sub(points.len() as u64);
        let mut before = HistoryPoint::default();
        for (second, point) in (first..).zip(&mut points) {
            let part = traced.of(second);
            if part < Nanos(SECOND) {
                if part == Nanos(0) {
                    *point = before;
                }
                point.delivered = rates.of(second).unwrap_or(before.delivered);
            }
            before = *point;
        }
        points
    }

    /// Whole seconds up to `now`, oldest first.
    fn points(&self, now: Nanos) -> Vec<HistoryPoint> {
        let mut points: Vec<_> = self.points.iter().copied().collect();
        let second = now.0 / SECOND;
        if let Some(present) = self.second.filter(|&present| present < second) {
            points.push(self.present());
            let idle = usize::try_from(second.saturating_sub(present).saturating_sub(1))
                .unwrap_or(usize::MAX);
            points.extend(vec![HistoryPoint::default(); idle.min(HISTORY_SECONDS)]);
        }
        let old = points.len().saturating_sub(HISTORY_SECONDS);
        points.split_off(old)
    }

    /// Over the last second: nine whole tenths and the one that is being filled. `None` if not all of the time since the beginning of the
    /// second was traced, as `is_traced` says.
    pub fn rate_now(&self, now: Nanos, is_traced: impl Fn(Nanos) -> bool) -> Option<Rate> {
        let slot = now.0 / TENTH;
        let oldest = slot.saturating_add(1).saturating_sub(SLOTS as u64);
        let live = (oldest..=self.slot).map(|s| self.slots[slot_of(s)]);
        let sum =
            live.take(self.slots.len()).fold(HistorySlot::default(), |sum, slot| HistorySlot {
                deliveries: sum.deliveries.saturating_add(slot.deliveries),
                payload_bytes: sum.payload_bytes.saturating_add(slot.payload_bytes),
            });
        let filled = now.0 % TENTH;
        let from = now - Nanos((SECOND - TENTH).saturating_add(filled));
        let seconds = (now - from).as_secs_f64();
        (seconds > 0.0 && is_traced(from)).then(|| Rate {
            msg_per_s: sum.deliveries as f64 / seconds,
            payload_bit_per_s: sum.payload_bytes as f64 * 8.0 / seconds,
            error: 0.0,
        })
    }
}

/// The index of the slot of a tenth of a second.
fn slot_of(tenth: u64) -> usize {
    usize::try_from(tenth.checked_rem(SLOTS as u64).unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_without_deliveries_are_points_too() {
        let mut history = DeliveryRates::default();
        for ms in [0, 500, 3_200] {
            history.add(Nanos::from_millis(10_000 + ms), 8, Some(Nanos(70)));
        }
        let delivered = |ms| -> Vec<u64> {
            let points = history.points(Nanos::from_millis(ms));
            points.iter().map(|point| point.delivered).collect()
        };
        assert_eq!(delivered(13_900), [2, 0, 0]);
        assert_eq!(delivered(15_000), [2, 0, 0, 1, 0]);
        assert_eq!(delivered(900_000).len(), HISTORY_SECONDS);
        assert_eq!(history.points(Nanos::from_millis(13_900))[0].one_way_p50, Nanos(70));
    }

    #[test]
    fn the_present_rate_forgets() {
        let mut history = DeliveryRates::default();
        (0..1_000).for_each(|i| history.add(Nanos::from_millis(5_000 + i), 100, None));
        let rate_now = |ms| {
            let rate = history.rate_now(Nanos::from_millis(ms), |_| true);
            rate.unwrap()
        };
        let rate = rate_now(5_999);
        assert!((rate.msg_per_s - 1_000.0).abs() < 2.0, "{rate:?}");
        assert!((rate.payload_bit_per_s - 800_000.0).abs() < 1_600.0, "{rate:?}");
        assert!(rate_now(6_450).msg_per_s < 600.0);
        assert_eq!(rate_now(60_000), Rate::default());
    }

    #[test]
    fn where_a_part_of_the_time_is_traced_seconds_are_those_of_the_windows() {
        let mut history = DeliveryRates::default();
        // A message each millisecond, of which those of a tenth of each second are seen, and of the third second none.
        let seen = (0..5_000).filter(|ms| ms % 1_000 < 100 && ms / 1_000 != 2);
        seen.for_each(|ms| history.add(Nanos::from_millis(ms), 100, Some(Nanos(70))));
        assert_eq!(history.rate_now(Nanos::from_millis(4_990), |_| false), None);
        let ms = Nanos::from_millis;
        let pauses = [(100, 1_000), (1_100, 3_000), (3_100, 4_000), (4_100, 5_000)].into_iter();
        let pauses = pauses.map(|(since, until)| (ms(since), ms(until)));
        let mut rates = RatesBySecond::default();
        for (from, to, rate) in [(0, 100, 900.0), (100, 1_100, 1_000.0), (1_100, 3_500, 800.0)] {
            rates.add(ms(from), ms(to), rate);
        }
        let points =
            history.points_traced(ms(5_000), &TracedSeconds::new(ms(5_000), pauses), &rates);
        let delivered: Vec<u64> = points.iter().map(|point| point.delivered).collect();
        assert_eq!(delivered, [990, 820, 800, 800, 800]);
        assert_eq!(points[2].one_way_p50, points[1].one_way_p50);
    }
}
