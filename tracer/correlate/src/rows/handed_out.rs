//! The figures that a delivery adds to its row.

use super::row::Row;
use wirelap_events::{Delivery, Nanos, Saturate};
use wirelap_figures::{Pauses, read_at};
use wirelap_why::DelayCause;

impl Row {
    /// A delivery was read at `read`, in the window with this start if in any, and handed out at `now`.
    pub fn delivered(
        &mut self,
        delivery: &Delivery,
        read: (Nanos, Option<Nanos>),
        one_way: Option<Nanos>,
        now: Nanos,
    ) {
        self.counts.delivered.grow(1);
        self.stats.delivered(now, read, delivery.payload_len, one_way);
    }

    /// A delivery is known from first send to last read; `rests` fills in how its threads rested. Returns what held it up.
    pub fn matched(
        &mut self,
        delivery: &mut Delivery,
        one_way: Nanos,
        rests: impl FnOnce(&mut Delivery),
    ) -> Option<DelayCause> {
        self.counts.matched.grow(1);
        self.stats.matched(delivery, one_way);
        rests(delivery);
        self.evidence.delivery(delivery, one_way)
    }

    /// A delivery of a capture was handed out at `now`, of which no thread is known and which no pause can have cut.
    pub(super) fn add_of_capture(&mut self, delivery: &mut Delivery, is_whole: bool, now: Nanos) {
        let read = read_at(delivery);
        if delivery.stamp.is_some_and(|stamp| stamp.warmup) {
            return self.warmed_up.grow(u64::from(read.is_some()));
        }
        let Some(read) = read else { return };
        let one_way = delivery.one_way().filter(|_| is_whole);
        self.delivered(delivery, (read, None), one_way, now);
        if let Some(one_way) = one_way {
            self.matched(delivery, one_way, |_| {});
        } else {
            let may_be_cut = self.may_be_cut(&Pauses::default(), read);
            self.counts.of_unfollowed(may_be_cut).grow(1);
        }
    }
}
