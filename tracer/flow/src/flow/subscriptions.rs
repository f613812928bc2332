//! Subscriptions of an end of a conversation, and when they began.

use wirelap_events::Nanos;
use wirelap_figures::Ring;
use wirelap_protocols::Side;

/// Subscriptions of a connection that are remembered. Some clients make one for each request.
const KEPT: usize = 64;

/// Queues of a connection that are remembered.
const QUEUES_KEPT: usize = 32;

/// A change of an end's subscriptions as a decoder tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSubscription {
    /// The end that subscribes.
    pub side: Side,
    /// The change.
    pub change: SubscriptionChange,
}

/// A change of an end's subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionChange {
    /// A subscription begins.
    Begins {
        /// The number that its messages have.
        number: u32,
        /// A number for the queue that it reads; 0 if there is none, or it is not known.
        queue: u32,
    },
    /// The server has chosen a number for a subscription.
    Renumbered {
        /// The number that it was begun with.
        begun: u32,
        /// The number that its messages have.
        number: u32,
    },
    /// The server says that a queue holds no message.
    QueueIsEmpty {
        /// The queue's number.
        queue: u32,
        /// True if the queue has the same number on every connection of the server.
        is_server_wide: bool,
    },
}

/// The start of a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionStart {
    /// Time at which it began.
    pub begun: Nanos,
    /// Time before that at which its queue held no message; 0 if none is known.
    pub was_empty: Nanos,
}

/// Starts of the last subscriptions of an end.
#[derive(Debug, Default)]
pub struct Subscriptions {
    starts: Ring<(u32, SubscriptionStart), KEPT>,
    /// Queues that held no message, and when.
    empty: Option<Box<Ring<(u32, Nanos), QUEUES_KEPT>>>,
}

impl Subscriptions {
    /// A decoder has told of a change at `at`.
    pub fn note(&mut self, change: SubscriptionChange, at: Nanos) {
        match change {
            SubscriptionChange::Begins { number, queue } => {
                let was_empty = self.was_empty(queue);
                self.starts.push((number, SubscriptionStart { begun: at, was_empty }));
            }
            SubscriptionChange::Renumbered { begun, number } => {
                // One that the client has named keeps its name.
                if let Some(start) = self.start(begun)
                    && self.start(number).is_none_or(|known| known.begun < start.begun)
                {
                    self.starts.push((number, start));
                }
            }
            SubscriptionChange::QueueIsEmpty { queue, .. } => {
                self.empty.get_or_insert_default().push((queue, at));
            }
        }
    }

    fn was_empty(&self, queue: u32) -> Nanos {
        let mut all = self.empty.iter().flat_map(|empty| empty.iter()).filter(|_| queue != 0);
        all.find(|(known, _)| *known == queue).map_or(Nanos(0), |&(_, at)| at)
    }

    /// The start of the subscription with this number; `None` for none, for one that was not seen to begin, and for one of long
    /// ago.
    pub fn start(&self, number: u32) -> Option<SubscriptionStart> {
        let mut all = self.starts.iter().filter(|_| number != 0);
        all.find(|(known, _)| *known == number).map(|&(_, start)| start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(all: &mut Subscriptions, number: u32, at: u64) {
        all.note(SubscriptionChange::Begins { number, queue: 0 }, Nanos(at));
    }

    fn renumber(all: &mut Subscriptions, begun: u32, number: u32, at: u64) {
        all.note(SubscriptionChange::Renumbered { begun, number }, Nanos(at));
    }

    fn begun(all: &Subscriptions, number: u32) -> Option<u64> {
        all.start(number).map(|start| start.begun.0)
    }

    #[test]
    fn the_last_beginning_counts() {
        let mut all = Subscriptions::default();
        assert_eq!((begun(&all, 0), begun(&all, 5)), (None, None));
        begin(&mut all, 5, 10);
        begin(&mut all, 6, 20);
        begin(&mut all, 5, 30);
        assert_eq!((begun(&all, 5), begun(&all, 6), begun(&all, 7)), (Some(30), Some(20), None));
    }

    #[test]
    fn one_that_the_server_names_began_when_it_was_asked_for() {
        const UNNAMED: u32 = 1;
        let mut all = Subscriptions::default();
        renumber(&mut all, UNNAMED, 9, 5);
        assert_eq!(begun(&all, 9), None, "nothing was seen of its beginning");
        begin(&mut all, UNNAMED, 10);
        renumber(&mut all, UNNAMED, 9, 15);
        assert_eq!(begun(&all, 9), Some(10));
        // The client has named this one, and is told so.
        begin(&mut all, 8, 20);
        renumber(&mut all, UNNAMED, 8, 25);
        assert_eq!(begun(&all, 8), Some(20));
    }

    #[test]
    fn a_subscription_knows_when_its_queue_was_empty_before_it_began() {
        let is_empty = |queue| SubscriptionChange::QueueIsEmpty { queue, is_server_wide: true };
        let mut all = Subscriptions::default();
        all.note(is_empty(3), Nanos(10));
        all.note(is_empty(4), Nanos(20));
        for (number, queue) in [(5, 3), (6, 4), (7, 9), (8, 0)] {
            all.note(SubscriptionChange::Begins { number, queue }, Nanos(30));
        }
        all.note(is_empty(3), Nanos(40));
        renumber(&mut all, 6, 9, 50);
        let was_empty = |number| all.start(number).unwrap().was_empty.0;
        assert_eq!([5, 6, 7, 8, 9].map(was_empty), [10, 20, 0, 0, 20]);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = Subscriptions::default();
        (1..=200).for_each(|number| begin(&mut all, number, number.into()));
        assert_eq!((begun(&all, 100), begun(&all, 200)), (None, Some(200)));
    }
}
