//! From a decoder's findings beside the messages to rows and flows.

use super::Context;
use wirelap_events::{Nanos, Pid, Saturate};
use wirelap_flow::{Direction, PendingRelease, RowNotes, SubscriptionChange};
use wirelap_protocols::PutBack;
use wirelap_why::{NotKeptMessages, PassedOverRecords, PutBackMessages};

/// Takes in what is there and cannot be read.
pub fn note_unread(direction: Direction, c: &mut Context<'_>) {
    if c.conversations.found_mut().gaps.unread == [0; 2] {
        return;
    }
    let unread = std::mem::take(&mut c.conversations.found_mut().gaps.unread);
    let Some(server) = c.conversations.flows().server(direction) else {
        return;
    };
    let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) else {
        return;
    };
    row.noted.unread[0].grow(unread[server.other() as usize]);
    row.noted.unread[1].grow(unread[server as usize]);
}

/// The process of the client of a conversation.
fn client_of(direction: Direction, c: &Context<'_>) -> Option<Pid> {
    let side = c.conversations.flows().server(direction)?.other();
    c.conversations.sender_of(Direction { side, ..direction })
}

/// Takes in what ended connections left undecided: what their clients had not acknowledged, and what they had not committed.
pub fn note_left(c: &mut Context<'_>) {
    for (direction, left) in c.conversations.take_left() {
        let client = client_of(direction, c);
        if let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) {
            let mut put_back = [0; PutBack::ALL.len()];
            put_back[PutBack::ConnectionEnded as usize] = left.unacknowledged;
            row.evidence.losses.discarded.rolled_back.grow(left.uncommitted);
            row.evidence.losses.put_back.add(&PutBackMessages::of(put_back, client));
        }
    }
}

/// Takes in the facts of a row that frames have told.
pub fn note_row_facts(direction: Direction, c: &mut Context<'_>) {
    let notes = std::mem::take(&mut c.conversations.found_mut().notes);
    if notes == RowNotes::default() {
        return;
    }
    let is_of_client = notes.passed_over != [0; 2]
        || notes.not_kept > 0
        || notes.put_back != [0; PutBack::ALL.len()];
    let client = if is_of_client { client_of(direction, c) } else { None };
    let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) else {
        return;
    };
    let losses = &mut row.evidence.losses;
    losses.thrown_away.grow(notes.thrown_away);
    losses.cut_short.grow(notes.uncertain.cut_short);
    losses.passed_over.add(&PassedOverRecords { records: notes.passed_over, by: client });
    losses.not_kept.add(NotKeptMessages { messages: notes.not_kept, by: client });
    losses.put_back.add(&PutBackMessages::of(notes.put_back, client));
    losses.discarded.add(&notes.discarded);
    if let Some(name) = notes.implementation {
        row.implementation.note(name);
    }
    row.uncertain.add(notes.uncertain);
    if let Some(parties) = notes.unseen_parties {
        row.uncertain.unseen_pairs = parties.pairs;
        row.uncertain.unannounced = parties.unannounced;
    }
}

/// Takes in which messages may be passed on from now on. Where only packets are seen, their receiver has it with the packet.
pub fn note_released(direction: Direction, packets_only: bool, c: &mut Context<'_>) {
    if c.conversations.found_mut().released.is_empty() {
        return;
    }
    let mut released = std::mem::take(&mut c.conversations.found_mut().released);
    for released in released.drain(..) {
        let direction = Direction { side: released.side, ..direction };
        let (flows, now) = (c.conversations.flows(), c.coverage.now());
        let receipt =
            released.receipt.and_then(|end| flows.flow(direction.back())?.receipt(end, now));
        let release = PendingRelease { of: released, receipt, read: None };
        if let Some(flow) = c.conversations.flows_mut().flow_mut(direction) {
            flow.control_mut().add_release(release);
            if packets_only {
                flow.note_read(released.end, now);
            }
        }
    }
    c.conversations.found_mut().released = released;
}

/// Takes in what servers have refused.
pub fn note_refusals(direction: Direction, c: &mut Context<'_>) {
    if c.conversations.found_mut().refusals.is_empty() {
        return;
    }
    let mut refusals = std::mem::take(&mut c.conversations.found_mut().refusals);
    if let Some(row) = c.row_of(direction).and_then(|row| c.accounts.rows.get_mut(row)) {
        for reason in &refusals {
            row.refusals.add(reason, 1);
        }
    }
    refusals.clear();
    c.conversations.found_mut().refusals = refusals;
}

/// Takes in which topics requests for messages leave out.
pub fn note_asked_topics(direction: Direction, c: &mut Context<'_>) {
    if c.conversations.found_mut().asked_topics.is_empty() {
        return;
    }
    let mut all = std::mem::take(&mut c.conversations.found_mut().asked_topics);
    for (side, topic, asks) in all.drain(..) {
        let direction = Direction { side, ..direction };
        if let Some(flow) = c.conversations.flows_mut().flow_mut(direction) {
            flow.control_mut().unasked_topics.get_or_insert_default().note(topic, asks);
        }
    }
    c.conversations.found_mut().asked_topics = all;
}

/// Takes in which subscriptions began.
pub fn note_subscriptions(at: Nanos, direction: Direction, c: &mut Context<'_>) {
    if c.conversations.found_mut().subscriptions.is_empty() {
        return;
    }
    let mut found = std::mem::take(&mut c.conversations.found_mut().subscriptions);
    for one in found.drain(..) {
        let direction = Direction { side: one.side, ..direction };
        let was_empty = c.conversations.note_queue(at, direction, one.change);
        if let Some(flow) = c.conversations.flows_mut().flow_mut(direction) {
            let subscriptions = flow.control_mut().subscriptions.get_or_insert_default();
            if let Some((queue, at)) = was_empty {
                let is_empty = SubscriptionChange::QueueIsEmpty { queue, is_server_wide: true };
                subscriptions.note(is_empty, at);
            }
            subscriptions.note(one.change, at);
        }
    }
    c.conversations.found_mut().subscriptions = found;
}
