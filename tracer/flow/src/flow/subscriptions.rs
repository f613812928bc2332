//! Subscriptions of an end of a conversation, and when they began.

use wirelap_events::Nanos;
use wirelap_figures::Ring;
use wirelap_protocols::Side;

/// Subscriptions of a connection that are remembered. Some clients make one for each request.
const KEPT: usize = 64;

/// A subscription as a decoder tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSubscription {
    /// The end that subscribes.
    pub side: Side,
    /// The number that its messages have.
    pub number: u32,
    /// The number that it was begun with, where the server has chosen another one since.
    pub begun_as: Option<u32>,
}

/// Starts of the last subscriptions of an end.
#[derive(Debug, Default)]
pub struct Subscriptions(Ring<(u32, Nanos), KEPT>);

impl Subscriptions {
    /// A decoder has told of one at `at`.
    pub fn note(&mut self, found: &FoundSubscription, at: Nanos) {
        let Some(begun_as) = found.begun_as else { return self.0.push((found.number, at)) };
        // One that the client has named keeps its name.
        if let Some(begun) = self.begun(begun_as)
            && self.begun(found.number).is_none_or(|known| known < begun)
        {
            self.0.push((found.number, begun));
        }
    }

    /// Time at which the subscription with this number began; `None` for none, for one that was not seen to begin, and for one of
    /// long ago.
    pub fn begun(&self, number: u32) -> Option<Nanos> {
        let mut all = self.0.iter().filter(|_| number != 0);
        all.find(|(known, _)| *known == number).map(|&(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &mut Subscriptions, number: u32, begun_as: Option<u32>, at: u64) {
        all.note(&FoundSubscription { side: Side::A, number, begun_as }, Nanos(at));
    }

    #[test]
    fn the_last_beginning_counts() {
        let mut all = Subscriptions::default();
        assert_eq!((all.begun(0), all.begun(5)), (None, None));
        told(&mut all, 5, None, 10);
        told(&mut all, 6, None, 20);
        told(&mut all, 5, None, 30);
        assert_eq!(
            (all.begun(5), all.begun(6), all.begun(7)),
            (Some(Nanos(30)), Some(Nanos(20)), None)
        );
    }

    #[test]
    fn one_that_the_server_names_began_when_it_was_asked_for() {
        const UNNAMED: u32 = 1;
        let mut all = Subscriptions::default();
        told(&mut all, 9, Some(UNNAMED), 5);
        assert_eq!(all.begun(9), None, "nothing was seen of its beginning");
        told(&mut all, UNNAMED, None, 10);
        told(&mut all, 9, Some(UNNAMED), 15);
        assert_eq!(all.begun(9), Some(Nanos(10)));
        // The client has named this one, and is told so.
        told(&mut all, 8, None, 20);
        told(&mut all, 8, Some(UNNAMED), 25);
        assert_eq!(all.begun(8), Some(Nanos(20)));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = Subscriptions::default();
        (1..=200).for_each(|number| told(&mut all, number, None, number.into()));
        assert_eq!((all.begun(100), all.begun(200)), (None, Some(Nanos(200))));
    }
}
