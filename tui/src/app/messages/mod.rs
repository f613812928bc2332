//! The view of single messages: which list is shown, which message is selected, and which one is open.

mod view;

pub use view::{List, MessagesView};

use super::{Action, App, MAX_SCROLL, Motion, ScreenCommand, ScreenRequest, View};
use crate::{people, text, wireshark, words};
use view::identity;
use wirelap_correlate::snapshot::Group;
use wirelap_history::KeptMessage;
use wirelap_report::words::{short, title};

/// Lines that a page has.
const PAGE: usize = 10;

impl App {
    /// The list of messages that is shown.
    pub fn list(&self) -> List {
        self.messages.list
    }

    /// The messages of the shown list that have the text of the filter.
    pub fn listed(&self) -> Vec<&KeptMessage> {
        let Some(group) = self.selected() else { return Vec::new() };
        let filter = self.messages.filter.to_lowercase();
        let mut listed = self.all_of_list(group);
        listed.retain(|message| filter.is_empty() || self.has_text(message, &filter));
        listed
    }

    fn all_of_list(&self, group: &Group) -> Vec<&KeptMessage> {
        let messages = self.history().messages();
        match self.messages.list {
            List::Slowest => messages.slowest(group.id).collect(),
            List::Latest => messages.latest(group.id).collect(),
            List::Undelivered => messages.undelivered(group.id).collect(),
            List::Others => messages.aside(group.id).collect(),
        }
    }

    /// The message that is shown step by step; `None` if the list is shown.
    pub fn message(&self) -> Option<&KeptMessage> {
        let group = self.selected()?.id;
        self.messages.open.as_ref().filter(|message| message.delivery.group == group)
    }

    /// The leg that is selected in the shown message, 0 for the first.
    pub fn message_leg(&self) -> usize {
        self.messages.leg
    }

    /// The position of the selected message among those that are listed.
    pub fn message_position(&self, listed: &[&KeptMessage]) -> usize {
        let selected = self.messages.selected;
        let found = listed.iter().position(|message| Some(identity(message)) == selected);
        found.unwrap_or(self.messages.position).min(listed.len().saturating_sub(1))
    }

    /// The name of a message's topic; `None` if it has none, or it is not known.
    pub fn topic(&self, message: &KeptMessage) -> Option<String> {
        let name = self.history().topic(message.delivery.topic?)?;
        Some(text::clean(name))
    }

    /// True if a message has a text in its topic, the names of its processes, its cause or its number.
    fn has_text(&self, message: &KeptMessage, wanted: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        let snapshot = self.snapshot();
        let cause = message.cause.map(|cause| cause.kind);
        self.topic(message).is_some_and(|topic| has(&topic))
            || cause.is_some_and(|kind| has(short(kind)) || has(title(kind)))
            || has(&text::message_number(&message.delivery))
            || has(words::fate(message))
            || message.delivery.legs.iter().any(|leg| {
                has(&people::sender(leg, snapshot)) || has(&people::reader(leg, snapshot))
            })
    }

    /// Carries out a command in the view of single messages; `None` if it has no meaning of its own there.
    pub(super) fn perform_on_messages(&mut self, command: ScreenCommand) -> Option<Action> {
        if self.view != View::Messages {
            return None;
        }
        let is_open = self.message().is_some();
        match command {
            ScreenCommand::Back | ScreenCommand::Open if is_open => self.close_message(),
            ScreenCommand::Open => self.open_selected(),
            ScreenCommand::Move(motion) if is_open => self.move_in_message(motion),
            ScreenCommand::Move(motion) => self.move_in_list(motion),
            ScreenCommand::NextList if is_open => self.select_leg(1, true),
            ScreenCommand::NextList => self.next_list(),
            ScreenCommand::EarlierMessage | ScreenCommand::LaterMessage => self.step(command),
            ScreenCommand::Export => return Some(self.export()),
            ScreenCommand::CopyFilter => return Some(self.copy_filter()),
            _ => return None,
        }
        Some(Action::Redraw)
    }

    /// Selects the slowest message of all rows, and its row, if `!` asked for it. Returns whether it did.
    pub fn select_slowest(&mut self) -> bool {
        if !std::mem::take(&mut self.messages.seeks_slowest) {
            return false;
        }
        let messages = self.history().messages();
        let of_row =
            |group: &Group| messages.slowest(group.id).max_by_key(|message| message.one_way);
        let all = self.snapshot().groups.iter().filter_map(of_row);
        let Some(slowest) = all.max_by_key(|message| message.one_way) else { return true };
        let (group, identity) = (slowest.group(), identity(slowest));
        if self.rows().all(|row| row.id != group) {
            self.rows.filter.clear();
            self.arrange();
        }
        self.rows.selected = Some(group);
        self.messages.filter.clear();
        self.messages.list = List::Slowest;
        self.messages.selected = Some(identity);
        self.close_message();
        true
    }

    fn close_message(&mut self) {
        self.messages.open = None;
        self.scroll = 0;
    }

    fn open_selected(&mut self) {
        let open = self.selected_message().cloned();
        self.open_message(open);
    }

    fn open_message(&mut self, message: Option<KeptMessage>) {
        self.scroll = 0;
        self.messages.leg = 0;
        if let Some(message) = message {
            self.messages.selected = Some(identity(&message));
            self.messages.open = Some(message);
        }
    }

    fn selected_message(&self) -> Option<&KeptMessage> {
        let listed = self.listed();
        listed.get(self.message_position(&listed)).copied()
    }

    fn next_list(&mut self) {
        let list = self.messages.list.next();
        let filter = std::mem::take(&mut self.messages.filter);
        self.messages = MessagesView { list, filter, ..MessagesView::default() };
    }

    fn move_in_list(&mut self, motion: Motion) {
        let listed = self.listed();
        let at = self.message_position(&listed);
        let to = match motion {
            Motion::Up => at.saturating_sub(1),
            Motion::Down => at.saturating_add(1),
            Motion::PageUp => at.saturating_sub(PAGE),
            Motion::PageDown => at.saturating_add(PAGE),
            Motion::First => 0,
            Motion::Last => usize::MAX,
            Motion::Left | Motion::Right => return,
        };
        let to = to.min(listed.len().saturating_sub(1));
        let selected = listed.get(to).map(|message| identity(message));
        (self.messages.selected, self.messages.position) = (selected, to);
    }

    fn move_in_message(&mut self, motion: Motion) {
        let page = u16::try_from(PAGE).unwrap_or(u16::MAX);
        let scroll = self.scroll;
        self.scroll = match motion {
            Motion::Up => scroll.saturating_sub(1),
            Motion::Down => scroll.saturating_add(1),
            Motion::PageUp => scroll.saturating_sub(page),
            Motion::PageDown => scroll.saturating_add(page),
            Motion::First => 0,
            Motion::Last => MAX_SCROLL,
            Motion::Left => return self.select_leg(-1, false),
            Motion::Right => return self.select_leg(1, false),
        }
        .min(MAX_SCROLL);
    }

    fn select_leg(&mut self, by: isize, wraps: bool) {
        let legs = self.message().map_or(0, |message| message.delivery.legs.len());
        let to = self.messages.leg.saturating_add_signed(by);
        self.messages.leg = match legs.checked_sub(1) {
            Some(last) if to > last && wraps => 0,
            Some(last) => to.min(last),
            None => 0,
        };
    }

    /// Opens the neighbour of the open or the selected message on its connection.
    fn step(&mut self, command: ScreenCommand) {
        let Some(message) = self.message().or_else(|| self.selected_message()) else {
            return self.say("no message is selected".into());
        };
        let messages = self.history().messages();
        let (neighbour, which) = match command {
            ScreenCommand::EarlierMessage => (messages.before(message), "earlier"),
            _ => (messages.after(message), "later"),
        };
        match neighbour.cloned() {
            Some(neighbour) => self.open_message(Some(neighbour)),
            None => self.say(format!(
                "no {which} message on this connection was kept: of fast connections a sample is kept"
            )),
        }
    }

    fn export(&mut self) -> Action {
        if let Some(message) = self.message().or_else(|| self.selected_message()) {
            return Action::Request(ScreenRequest::Export(message.delivery.clone()));
        }
        self.say("no message is selected: there is nothing to write".into());
        Action::Redraw
    }

    /// Copies the filter of the selected leg.
    fn copy_filter(&mut self) -> Action {
        let open = self.message().map(|message| (message, self.messages.leg));
        let message = open.or_else(|| Some((self.selected_message()?, 0)));
        let leg = message.and_then(|(message, leg)| message.delivery.legs.get(leg));
        let Some(filter) = leg.map(|leg| wireshark::filter(leg, self.wall())) else {
            self.say("no message is selected: there is nothing to copy".into());
            return Action::Redraw;
        };
        self.say(filter.clone());
        Action::Copy(filter)
    }
}
