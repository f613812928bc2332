//! Messages from the moment that they are found until they are handed out, or given up.

mod assemble;
mod breakdown;
mod busy_readers;
mod circumstances;
mod datagrams;
mod expire;
mod found;
mod hand_out;
mod handed_on;
mod hosts;
mod kept;
mod lag;
mod new_leg;
mod noted;
mod outstanding;
mod overdue;
mod partial;
mod passed_on;
mod places;
mod prune;
mod requests;
mod round_trips;
mod settle;
mod turn;
mod under_way;
mod unplaced;

use super::accounts::Accounts;
use super::conversations::Conversations;
use super::coverage::Coverage;
use super::host::HostState;
use crate::join::{Assemblies, Messages};
use crate::rows::Rows;
use handed_on::HandedOnRequests;
use hosts::HostClocks;
use std::collections::VecDeque;
use std::sync::Arc;
use unplaced::Unplaced;
use wirelap_events::{Delivery, GroupId, HostBounds, Nanos, Pid, Saturate};
use wirelap_figures::Pauses;
use wirelap_flow::{Config, Direction, Node};

/// The messages that are open, and the deliveries that they become.
pub struct Deliveries {
    config: Arc<Config>,
    messages: Messages,
    assemblies: Assemblies,
    /// Messages that are known by their places alone, before these are known.
    unplaced: VecDeque<Unplaced>,
    /// Legs that end a delivery. Reused from leg to leg.
    ends: Vec<usize>,
    /// Room for a delivery, which is large. Reused from delivery to delivery.
    scratch: Option<Box<Delivery>>,
    /// Time of the last look at who is behind.
    looked: Nanos,
    clocks: HostClocks,
    /// Requests that came to processes which may hand them on.
    handed_on: HandedOnRequests,
}

/// The parts that deliveries are made from, and those that they add to.
pub struct Context<'a> {
    pub conversations: &'a mut Conversations,
    pub accounts: &'a mut Accounts,
    pub host: &'a HostState,
    pub coverage: &'a Coverage,
}

/// The parts that deliveries are made from, to be looked at.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    pub conversations: &'a Conversations,
    pub rows: &'a Rows,
    pub host: &'a HostState,
    pub coverage: &'a Coverage,
}

impl Context<'_> {
    /// The parts that deliveries are made from, to be looked at.
    fn observed(&self) -> Observed<'_> {
        Observed {
            conversations: self.conversations,
            rows: &self.accounts.rows,
            host: self.host,
            coverage: self.coverage,
        }
    }

    /// True if a conversation is of a row that is muted, though it may have come into view since.
    fn is_muted(&mut self, direction: Direction) -> bool {
        self.accounts.rows.has_muted()
            && self.row_of(direction).is_some_and(|row| self.accounts.rows.is_muted(row))
    }

    /// True if what was read of a row at `read` may have begun in a pause, or before observation.
    fn may_be_cut(&self, row: GroupId, read: Nanos) -> bool {
        let all = self.coverage.pauses();
        self.accounts.rows.get(row).is_some_and(|row| row.may_be_cut(all, read))
    }

    /// Notes that a message was found on a connection of a row that was open when observation began, as long as it may have been sent before.
    fn note_joined(&mut self, at: Nanos, direction: Direction, row: GroupId) {
        if let Some(until) = self.coverage.beginning(at)
            && let Some(conversation) = self.conversations.flows().get(direction)
            && conversation.was_open_before()
            && let Some(row) = self.accounts.rows.get_mut(row)
        {
            row.joined_until = until;
        }
    }

    /// The row of a conversation, once its protocol is known.
    fn row_of(&mut self, direction: Direction) -> Option<GroupId> {
        self.conversations.row_of(direction, &mut self.accounts.rows)
    }
}

impl Deliveries {
    /// Nothing found yet.
    pub fn new(config: Arc<Config>) -> Deliveries {
        Deliveries {
            messages: Messages::new(config.max_messages, config.hold, config.patience),
            assemblies: Assemblies::new(config.wall),
            unplaced: VecDeque::new(),
            ends: Vec::new(),
            scratch: None,
            looked: Nanos(0),
            clocks: HostClocks::default(),
            handed_on: HandedOnRequests::default(),
            config,
        }
    }

    /// Takes how exact times between hosts are from now on.
    pub fn set_host_bounds(&mut self, bounds: HostBounds) {
        self.clocks.bounds = Some(bounds);
    }

    /// True if events are of several hosts.
    pub fn are_of_several_hosts(&self) -> bool {
        self.clocks.bounds.is_some()
    }

    /// True if most of the room for messages is taken by what is waited for.
    pub fn is_pressed(&self) -> bool {
        self.messages.is_pressed()
    }

    /// Makes room for the messages of one more event. Returns false where that takes a message that was found since the last
    /// pause began and is still on its way.
    pub fn make_room(&mut self, pauses: &Pauses, accounts: &mut Accounts) -> bool {
        while self.messages.is_nearly_full()
            && let Some(least) = self.messages.least()
        {
            let is_recent =
                self.messages.message(least).is_some_and(|message| message.at >= pauses.cut());
            if is_recent && self.messages.is_waited_for(least) {
                return false;
            }
            self.evict(least, pauses, accounts);
        }
        true
    }

    /// Gives up a message because there is no room for it.
    fn evict(&mut self, message: usize, pauses: &Pauses, accounts: &mut Accounts) {
        let gone = self.give_up(message, pauses, accounts);
        accounts.totals.evicted.grow(u64::from(gone.was_open));
    }

    /// Number of messages that were found between two times and are still on their way, unless these are
    /// few.
    pub fn waited_for(&self, from: Nanos, to: Nanos) -> u64 {
        self.messages.waited_for(from, to)
    }

    /// True if a process only hands on to a server what its clients say, and back.
    pub fn is_relay(&self, pid: Pid) -> bool {
        self.messages.is_relay(pid)
    }

    /// True if the events are packets alone.
    pub fn packets_only(&self) -> bool {
        self.config.packets_only
    }

    /// True if a node is a proxy of this host that speaks TCP itself.
    pub fn is_unseen_proxy(&self, node: &Node) -> bool {
        self.messages.is_unseen_proxy(node)
    }

    /// The open messages, to be changed.
    pub fn messages_mut(&mut self) -> &mut Messages {
        &mut self.messages
    }

    /// The messages in fragments, to be changed.
    pub fn assemblies_mut(&mut self) -> &mut Assemblies {
        &mut self.assemblies
    }
}
