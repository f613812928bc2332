//! Messages of equal content, in the order in which their server hands them on.
//!
//! A server hands on what a publisher sent in its order (MQTT 5.0 §4.6, AMQP 0-9-1 §4.7, NATS by connection), so what it sends next is
//! the oldest that it has not sent, however long that waited. One that it drops would leave each later message with the time of
//! the one before it. This shows once a leg is complete and what was sent soon after it is known:
//!
//! ```text
//! came   1 2 3 4 5 6                    the server stood still: all that came are sent in the end
//! sent                1 2 3 4 5 6
//!
//! came   1   2   3   4   5
//! sent    1       3   4   5             2 was dropped: one more has come each time, and the server is as quick as before
//! ```

use super::super::index::Listed;
use super::super::new_leg::NewLeg;
use super::super::open::{LegState, Link, Message};
use super::super::turn::{Habit, Turn};
use super::Messages;
use super::matching::SEARCHED;
use wirelap_events::{Nanos, Saturate};
use wirelap_figures::ReaderGroup;
use wirelap_flow::{LegKey, Node, Way};
use wirelap_protocols::MessageRouting;

/// The most messages that are compared at once.
const MOST_COMPARED: usize = 1024;

/// The most legs that are looked at of a reader that has got its topic's messages for some time.
const MOST_LEGS: usize = 64;

/// Legs of one message that are looked at for the one that brought it to a server.
const MOST_BEFORE: usize = 16;

/// The fewest messages whose times tell by how much these vary.
const MIN_SPREAD: usize = 4;

/// A server that runs drops so few messages in a row at most; where it sends nothing for a hold, any number.
const FEW_DROPPED: usize = 4;

/// Tells whether the sender of the first leg had slept for a time of its own since it had read what the second one brought; `None` if
/// its threads are not seen.
pub type IsTimed<'a> = &'a dyn Fn(&LegState, &LegState) -> Option<bool>;

impl Messages {
    /// True if a leg may be another message's of equal content: a later one was there when it was written.
    pub fn may_be_out_of_turn(&self, key: LegKey) -> bool {
        self.leg(key).is_some_and(|leg| {
            let message = self.open.get(leg.message);
            message.is_some_and(|message| {
                message.facts.topology == MessageRouting::Brokered
                    && !leg.reader.toward.is_server()
                    && !leg.is_repeated()
                    && leg
                        .parent()
                        .is_some_and(|parent| self.legs[parent].reader.toward.is_server())
                    && self.waits_with_another(message, leg)
            })
        })
    }

    /// True if a later message of the same content was there when a leg was written.
    fn waits_with_another(&self, message: &Message, leg: &LegState) -> bool {
        if message.facts.identity.exact || !message.keeps_directions {
            return false;
        }
        let mut later = self.index.from(message.facts.identity, message.serial.saturating_add(1));
        let next = later.next().and_then(|next| self.open.get(next));
        next.is_some_and(|next| next.at <= leg.written)
    }

    /// Time that a message took at the sender of a leg; `None` if another one of its content was
    /// there.
    pub fn dwell_alone(&self, key: LegKey) -> Option<Nanos> {
        let leg = self.leg(key)?;
        let parent = self.legs.get(leg.parent()?)?;
        let message = self.open.get(leg.message)?;
        (!self.waits_with_another(message, leg)).then(|| leg.written - parent.at)
    }

    /// The first that came of the messages which are older than the last that a direction has `carried`, and came to its sender later than that.
    pub(super) fn overtaken(&self, new: &NewLeg, carried: Listed) -> Option<usize> {
        if !new.is_from_server() {
            return None;
        }
        let node = &new.ends.sender;
        let last = self.open.get(carried.1)?;
        // One that was not seen to come had come when it was found.
        let last = self.came(last, node).map_or(last.at, |(_, at)| at);
        let earlier = self.index.before(new.message.identity, carried.0).take(SEARCHED);
        let left = earlier.filter_map(|index| {
            let message = self.open.get(index)?;
            let (_, at) = self.came(message, node).filter(|&(_, at)| at >= last && at <= new.at)?;
            self.leg_on(message, new.way()).is_none().then_some((at, index))
        });
        left.min().map(|(_, index)| index)
    }

    /// True if a message came to the sender of a leg before another one did.
    pub(super) fn came_before(&self, early: usize, later: usize, new: &NewLeg) -> bool {
        let came = |index| Some(self.came(self.open.get(index)?, &new.ends.sender)?.1);
        came(early).zip(came(later)).is_some_and(|(early, later)| early < later)
    }

    /// The leg that brought a message to a server, and when.
    pub(super) fn came(&self, message: &Message, node: &Node) -> Option<(usize, Nanos)> {
        let mut legs = self.legs_of(message).take(MOST_BEFORE);
        let leg = legs.find(|&leg| {
            let leg = &self.legs[leg];
            leg.reader.toward.is_server() && !leg.is_repeated() && self.leads_to_node(leg, node)
        })?;
        Some((leg, self.legs[leg].at))
    }

    /// The leg of a message on a way.
    pub(super) fn leg_on(&self, message: &Message, way: Way) -> Option<usize> {
        let mut legs = self.legs_of(message).take(SEARCHED);
        legs.find(|&leg| self.legs[leg].way() == way && !self.legs[leg].is_repeated())
    }

    /// Before a leg is completed: moves it, and what was sent after it, to later messages if those that they were taken for will
    /// never come. `is_timed` tells whether the sender of a leg had slept for a time of its own since it had read what another leg
    /// brought, if that is known. Returns how many messages are left out that way, and the last leg that was moved.
    pub fn settle_turn(
        &mut self,
        key: LegKey,
        habit: Option<Habit>,
        is_timed: IsTimed<'_>,
    ) -> Option<(usize, LegKey)> {
        let leg = self.leg(key)?;
        let (_, came) = self.came(self.open.get(leg.message)?, leg.sender())?;
        let habit = habit.filter(|habit| habit.since < came);
        let is_in_turn = |habit: Habit| habit.is_usual(leg.written - came);
        if habit.is_some_and(|habit| is_in_turn(habit) || self.was_busy(leg, came)) {
            return None;
        }
        let mut turn = std::mem::take(&mut self.turn);
        let moved = self.leave_out(key, habit, is_timed, &mut turn);
        self.turn = turn;
        moved
    }

    fn leave_out(
        &mut self,
        key: LegKey,
        habit: Option<Habit>,
        is_timed: IsTimed<'_>,
        turn: &mut Turn,
    ) -> Option<(usize, LegKey)> {
        let most = if habit.is_some() { MOST_LEGS } else { MOST_COMPARED };
        self.compare(key, most, turn);
        let (left_out, until) = self.left_out(habit, turn)?;
        let was_late = self.was_late(left_out, until, is_timed, turn);
        if was_late == Some(true) {
            return None;
        }
        if turn.sent.len() >= most {
            // All that was sent since goes to other messages.
            self.compare(key, MOST_COMPARED, turn);
            self.unsent(turn).filter(|&(unsent, _)| unsent >= left_out)?;
        }
        let (_, last) = *turn.sent.last()?;
        if last.saturating_add(1) >= MOST_COMPARED || !self.may_move(turn) {
            return None;
        }
        for &(leg, _) in was_late.is_none().then_some(&turn.sent).into_iter().flatten() {
            self.legs[leg].is_guessed = true;
        }
        Some((left_out, self.pass_over(left_out, turn)?))
    }

    /// Fills `turn` with the messages that came with the content of a leg's message since that came, and with what
    /// was sent of them, `most` legs at most.
    fn compare(&self, key: LegKey, most: usize, turn: &mut Turn) {
        turn.came.clear();
        turn.sent.clear();
        let Some(leg) = self.leg(key) else { return };
        let Some(first) = self.open.get(leg.message) else { return };
        let (node, way) = (*leg.sender(), leg.way());
        let all = self.index.from(first.facts.identity, first.serial).take(MOST_COMPARED);
        let came =
            all.filter_map(|index| Some((index, self.came(self.open.get(index)?, &node)?.1)));
        turn.came.extend(came);
        // Those of several publishers may come in another order than they were sent.
        if !turn.came.is_sorted_by_key(|&(_, at)| at) {
            turn.came.sort_by_key(|&(_, at)| at);
        }
        let legs = turn.came.iter().enumerate().filter_map(|(place, &(index, _))| {
            Some((self.leg_on(self.open.get(index)?, way)?, place))
        });
        turn.sent.extend(legs.take(most));
    }

    /// Number of messages that were dropped before the first of some legs, if a server is as quick as it usually is, and of the legs that
    /// show this; `None` if none was.
    fn left_out(&self, habit: Option<Habit>, turn: &Turn) -> Option<(usize, usize)> {
        let &(first, _) = turn.sent.first()?;
        let written = |leg: usize| self.legs[leg].written;
        let (left, until) = self.unsent(turn)?;
        let takes = |leg: usize, place: usize| Some(written(leg) - turn.came.get(place)?.1);
        let all = |is_soon: &dyn Fn(Nanos) -> bool| {
            let mut legs = turn.sent.iter().take(until).enumerate();
            legs.all(|(number, &(leg, _))| {
                takes(leg, number.saturating_add(left)).is_some_and(is_soon)
            })
        };
        let Some(habit) = habit else {
            // What was stored for a reader comes at once when that is there.
            let is_stored = matches!(self.legs[first].reader.group, ReaderGroup::Named(_));
            return (!is_stored && all(&|time| time < self.limits.hold)).then_some((left, until));
        };
        let is_silent = || {
            let last = left.checked_sub(1).and_then(|last| turn.came.get(last));
            last.is_some_and(|(_, at)| *at + self.limits.hold <= written(first))
        };
        let are_usual = all(&|time| habit.is_usual(time));
        (are_usual && (left <= FEW_DROPPED || is_silent())).then_some((left, until))
    }

    /// True if the server of some legs sent each of them after a time of its own, which only seems to be as quick as usual because
    /// that is a multiple of the messages' interval; false if it dropped `left` messages. `None` if nothing tells.
    fn was_late(
        &self,
        left: usize,
        until: usize,
        is_timed: IsTimed<'_>,
        turn: &Turn,
    ) -> Option<bool> {
        let came = |number: usize| turn.came.get(number);
        let legs = || turn.sent.iter().take(until).enumerate();
        let (mut timed, mut known) = (0_usize, 0_usize);
        for (number, &(leg, _)) in legs() {
            let leg = &self.legs[leg];
            let newest = came(number.saturating_add(left))
                .and_then(|&(index, _)| self.came(self.open.get(index)?, leg.sender()));
            let is_timed = newest.and_then(|(newest, _)| is_timed(leg, &self.legs[newest]));
            known.grow(usize::from(is_timed.is_some()));
            timed.grow(usize::from(is_timed == Some(true)));
        }
        if known > 0 {
            return Some(timed.saturating_mul(2) > known);
        }
        // The interval of the messages varies: the true times vary less.
        let spread = |shift: usize| {
            let times = legs().filter_map(|(number, &(leg, _))| {
                Some(self.legs[leg].written - came(number.saturating_add(shift))?.1)
            });
            times.fold((Nanos(u64::MAX), Nanos(0)), |(least, most), time| {
                (least.min(time), most.max(time))
            })
        };
        let [late, dropped] = [0, left].map(|shift| {
            let (least, most) = spread(shift);
            most - least
        });
        (until >= MIN_SPREAD && late.max(dropped) >= Nanos(late.min(dropped).0.saturating_mul(2)))
            .then_some(late < dropped)
    }

    /// The smallest number of messages that had come and were not sent when one of some legs was written, and how many legs there are
    /// up to the last of which this is so. `None` if there was a time when none was left.
    fn unsent(&self, turn: &Turn) -> Option<(usize, usize)> {
        let (mut least, mut until) = (usize::MAX, 0);
        let (mut had, mut before) = (0_usize, Nanos(0));
        for (number, &(leg, _)) in turn.sent.iter().enumerate() {
            let written = self.legs[leg].written;
            if written < before {
                return None;
            }
            before = written;
            had.grow(turn.came.iter().skip(had).take_while(|(_, came)| *came <= written).count());
            let unsent = had.saturating_sub(number).saturating_sub(1);
            if unsent == 0 {
                return None;
            }
            if unsent <= least {
                (least, until) = (unsent, number.saturating_add(1));
            }
        }
        Some((least, until))
    }

    /// True if the sender of a leg still sent earlier messages of its content when its own came.
    fn was_busy(&self, leg: &LegState, came: Nanos) -> bool {
        let Some(message) = self.open.get(leg.message) else { return false };
        let earlier = self.index.before(message.facts.identity, message.serial).take(MOST_BEFORE);
        let mut before = earlier.filter_map(|index| self.leg_on(self.open.get(index)?, leg.way()));
        before.next().is_some_and(|before| self.legs[before].written > came)
    }

    /// True if no delivery was handed out with legs that may be moved.
    fn may_move(&self, turn: &Turn) -> bool {
        turn.sent.iter().all(|&(leg, place)| {
            let message = turn.came.get(place).and_then(|&(index, _)| self.open.get(index));
            message.is_some_and(|message| {
                let mut its = self.legs_of(message).filter(|&one| self.leads_on(leg, one));
                !its.any(|one| self.legs[one].emitted)
            })
        })
    }

    /// True if a leg is another one, or continues it.
    fn leads_on(&self, leg: usize, later: usize) -> bool {
        std::iter::successors(Some(later), |&one| self.legs[one].parent()).any(|one| one == leg)
    }

    /// Moves legs so that a number of messages is left out. Returns the last that was moved.
    fn pass_over(&mut self, left_out: usize, turn: &mut Turn) -> Option<LegKey> {
        let mut last = None;
        for number in (0..turn.sent.len()).rev() {
            let &(leg, place) = turn.sent.get(number)?;
            let target = number.saturating_add(left_out);
            if place >= target {
                continue;
            }
            let &(message, _) = turn.came.get(target)?;
            self.move_to_message(leg, message, &mut turn.moved);
            last = last.or(Some((leg, self.legs[leg].serial)));
        }
        if let Some(&(leg, _)) = turn.sent.last() {
            // The newest that this direction has carried.
            self.tell_direction(leg);
        }
        last
    }

    pub(super) fn tell_direction(&mut self, leg: usize) {
        let leg = &self.legs[leg];
        let Some(message) = self.open.get(leg.message) else { return };
        self.index.add_direction(message.facts.identity, leg.way(), (message.serial, leg.message));
    }

    /// A leg and those that continue it are another message's, which came to the same server.
    fn move_to_message(&mut self, leg: usize, to: usize, moved: &mut Vec<usize>) {
        let from = self.legs[leg].message;
        let node = *self.legs[leg].sender();
        let parent = self.open.get(to).and_then(|message| self.came(message, &node));
        let (Some((parent, came)), Some(message)) = (parent, self.open.get(from)) else { return };
        if from == to {
            return;
        }
        moved.clear();
        moved.extend(self.legs_of(message).filter(|&one| self.leads_on(leg, one)));
        self.unlink(from, moved);
        self.leave(leg, from);
        for &one in moved.iter() {
            self.link(one, to);
        }
        let serial = self.legs[leg].serial;
        let position = self.legs[parent].links.add_child(leg, serial);
        self.legs[parent].links.has_child = true;
        self.legs[leg].continue_from(parent, position, came);
        self.note_finished(from);
        self.note_finished(to);
        for &one in moved.iter() {
            self.tell_direction(one);
        }
    }

    /// A leg does not continue the one before it any more.
    fn leave(&mut self, leg: usize, message: usize) {
        let Some(parent) = self.legs[leg].parent() else { return };
        let Some(message) = self.open.get(message) else { return };
        let another = self.legs_of(message).find(|&one| self.legs[one].parent() == Some(parent));
        let another = another.map(|one| (one, self.legs[one].serial));
        self.legs[parent].links.remove_child(leg, another);
        self.legs[parent].links.has_child = another.is_some();
    }

    /// Takes legs, none of which is the first, out of those of a message.
    fn unlink(&mut self, message: usize, legs: &[usize]) {
        let Some(entry) = self.open.get(message) else { return };
        let (mut last, mut next) = (entry.first, self.legs[entry.first].links.next.get());
        while let Some(one) = next {
            next = self.legs[one].links.next.get();
            if !legs.contains(&one) {
                self.legs[last].links.next = one.into();
                last = one;
            }
        }
        self.legs[last].links.next = Link::NONE;
        let open = legs.iter().filter(|&&one| !self.legs[one].leg.is_known()).count();
        let entry = &mut self.open[message];
        entry.last = last;
        entry.legs.shrink(u32::try_from(legs.len()).unwrap_or(u32::MAX));
        entry.open.shrink(u32::try_from(open).unwrap_or(u32::MAX));
    }

    /// Adds a leg to those of a message.
    pub(super) fn link(&mut self, leg: usize, message: usize) {
        let is_open = !self.legs[leg].leg.is_known();
        let Some(entry) = self.open.get_mut(message) else { return };
        let last = std::mem::replace(&mut entry.last, leg);
        entry.legs.grow(1);
        entry.open.grow(u32::from(is_open));
        self.legs[last].links.next = leg.into();
        (self.legs[leg].links.next, self.legs[leg].message) = (Link::NONE, message);
    }
}
