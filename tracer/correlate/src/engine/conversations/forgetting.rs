//! Forgetting what is no longer of use.

use super::super::accounts::Accounts;
use super::Conversations;
use wirelap_events::{Nanos, Saturate, SocketId};
use wirelap_flow::{Conversation, Direction};

/// Time between two looks at what is closed.
const SWEEP: Nanos = Nanos::from_millis(1_000);

impl Conversations {
    /// Forgets the conversations that matter least when there are too many.
    pub(super) fn make_room(&mut self, accounts: &mut Accounts) {
        if self.flows.count() < self.config.max_flows {
            return;
        }
        for direction in self.flows.idlest(|_, _| true) {
            self.give_up(direction, accounts);
        }
    }

    fn give_up(&mut self, direction: Direction, accounts: &mut Accounts) {
        // Nothing is lost with one that has ended.
        let is_over = self.flows.get(direction).is_some_and(|c| c.life.is_closed && !c.active);
        accounts.totals.evicted.grow(u64::from(!is_over));
        self.forget(direction, accounts);
    }

    /// Forgets the conversations that matter least when all together hold on to too much memory. The one at hand stays.
    pub fn weigh(&mut self, current: Direction, accounts: &mut Accounts) {
        if self.flows.weigh(current) <= self.config.max_bytes {
            return;
        }
        let others = |direction: Direction, one: &Conversation| {
            one.held > 0 && direction.serial != current.serial
        };
        for direction in self.flows.idlest(others) {
            self.give_up(direction, accounts);
        }
    }

    /// Gives up the holes of a flow behind which packets have waited since before `limit`, or `longest` if their bytes are known not
    /// to have arrived; all, without a limit. True if anything waited: then messages may have been found.
    pub fn give_up_holes(
        &mut self,
        direction: Direction,
        limit: Option<Nanos>,
        longest: Nanos,
    ) -> bool {
        let Some(conversation) = self.flows.get_mut(direction) else {
            return false;
        };
        let had_streams = conversation.give_up_streams(direction.side, limit, &mut self.found);
        let flow = conversation.flow(direction.side);
        if !flow.bytes.is_waiting() {
            return had_streams;
        }
        // What is certain not to have arrived will be sent again, however long that takes.
        let comes_yet = !conversation.life.is_closed && !flow.interrupted && flow.lacks_next();
        let limit = limit.map(|limit| if comes_yet { longest } else { limit });
        conversation.reassemble(direction.side, &mut self.found, |flow, out| match limit {
            Some(limit) => flow.give_up(limit, out),
            None => flow.interrupt(out),
        });
        true
    }

    /// Once a second: forgets what is closed, and frees what idle conversations do not need. Its cost does
    /// not grow with the conversations that are open.
    pub fn sweep(&mut self, now: Nanos, accounts: &mut Accounts) {
        if now < self.swept + SWEEP {
            return;
        }
        self.swept = now;
        for _ in 0..self.closing.len() {
            let Some(direction) = self.closing.pop_front() else {
                break;
            };
            let Some(conversation) = self.flows.get(direction) else {
                continue;
            };
            if self.is_over(conversation, now) {
                self.forget(direction, accounts);
            } else {
                self.closing.push_back(direction);
            }
        }
        self.sockets.sweep(now - self.config.patience);
        self.flows.shrink_some(now - self.config.patience);
    }

    /// True if nothing more is expected of a conversation that ends: soon after both of its sockets
    /// are gone; the other end of one alone may still have to read.
    fn is_over(&self, conversation: &Conversation, now: Nanos) -> bool {
        let flow = &conversation.flows[0];
        let is_gone =
            |id: SocketId| self.sockets.get(id).is_none_or(|entry| entry.closed.is_some());
        let are_gone = [flow.sender, flow.receiver].into_iter().flatten().all(is_gone);
        let rest = if are_gone { self.config.hold } else { self.config.patience };
        !conversation.active && conversation.life.seen + rest < now
    }

    /// Forgets a conversation; what it added up to stays.
    fn forget(&mut self, direction: Direction, accounts: &mut Accounts) {
        let row = self.row_of(direction, &mut accounts.rows);
        for (row, holes) in self.hidden_of(direction, &accounts.rows) {
            accounts.keep_hidden(row, holes);
        }
        if let Some((key, unknown)) = self.unknown_of(direction, &accounts.rows) {
            accounts.keep_unknown(key, unknown);
        }
        self.note_named_end(Nanos(0), direction, None);
        if let Some(gone) = self.flows.remove(direction) {
            accounts.keep(row, gone);
        }
    }
}
