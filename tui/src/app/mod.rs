//! The screen's state. Keys and updates go in; nothing here draws or waits.

mod columns_list;
mod command;
mod compare;
mod distribution;
mod experiments;
pub mod keys;
pub mod log;
mod messages;
mod overlay;
mod perform;
mod probes;
mod request;
mod silence;
mod state;
pub mod threads;
mod view;

pub use command::{Command, Motion, ReplayControl};
pub use compare::{Compared, Comparing, MARGIN, Row, Side, What};
pub use distribution::{Distribution, Plot};
pub use experiments::{ExperimentsPanel, Form};
use messages::MessagesView;
pub use overlay::{Input, Overlay, palette};
pub use probes::{ProbeHistory, ProbeHook, ProbePoint, ProbeSetup};
pub use request::{
    ExperimentChoice, ExperimentRequest, ExperimentSetting, ExperimentSettings, Experiments,
    ReadShare, ReplayState, Request, Source,
};
pub use silence::Silence;
pub use state::ScreenState;
pub use view::View;

use crate::bars::Scale;
use crate::columns::{self, Column, ColumnChoice, Sort};
use crate::theme::Theme;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use silence::LastDeliveries;
use std::sync::Arc;
use threads::ThreadsState;
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::{Group, Snapshot, Trust};
use wirelap_events::GroupId;
use wirelap_history::{History, Slice, Update, Window};

/// What the terminal loop has to do after a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: the key has no meaning here.
    Ignore,
    /// Draw the screen again.
    Redraw,
    /// Leave the screen.
    Quit,
    /// Put a text into the terminal's clipboard.
    Copy(String),
    /// Draw the screen into files.
    Screenshot,
    /// Ask the program around the screen.
    Request(Request),
}

/// The most updates that are kept while the screen is paused; later ones are taken when it goes on.
const MAX_HELD: usize = 2_400;

/// The screen's state.
#[derive(Debug)]
pub struct App {
    history: History,
    /// The newest snapshot, with the figures of the chosen window.
    shown: Arc<Snapshot>,
    /// Indices of the shown snapshot's groups in the sorted order, without those that the filter hides.
    order: Vec<usize>,
    /// How many rows there would be without the filter.
    unfiltered: usize,
    selected: Option<GroupId>,
    marked: Vec<GroupId>,
    view: View,
    window: Window,
    sort: Sort,
    columns: ColumnChoice,
    scale: Scale,
    last_deliveries: LastDeliveries,
    filter: String,
    messages: MessagesView,
    wall: Option<i64>,
    scroll: u16,
    paused: bool,
    held: Vec<Update>,
    overlay: Option<Overlay>,
    distribution: Distribution,
    comparing: Comparing,
    status: Option<String>,
    replay: Option<ReplayState>,
    notes: Vec<String>,
    experiments: ExperimentsPanel,
    theme: Theme,
    probes: ProbeHistory,
    probe_setup: ProbeSetup,
    threads: ThreadsState,
    /// Whether the screen takes clicks and the wheel.
    mouse: bool,
    /// The theme that the user chose; `None` if the terminal decides.
    chosen_theme: Option<Theme>,
}

impl Default for App {
    fn default() -> App {
        App::new()
    }
}

impl App {
    /// The state before the first snapshot.
    pub fn new() -> App {
        App {
            history: History::default(),
            shown: Arc::default(),
            order: Vec::new(),
            unfiltered: 0,
            selected: None,
            marked: Vec::new(),
            view: View::default(),
            window: Window::default(),
            sort: Sort::default(),
            columns: ColumnChoice::default(),
            last_deliveries: LastDeliveries::default(),
            scale: Scale::default(),
            filter: String::new(),
            messages: MessagesView::default(),
            wall: None,
            scroll: 0,
            paused: false,
            held: Vec::new(),
            overlay: None,
            distribution: Distribution::default(),
            comparing: Comparing::default(),
            status: None,
            replay: None,
            notes: Vec::new(),
            experiments: ExperimentsPanel::default(),
            theme: Theme::DARK,
            probes: ProbeHistory::default(),
            probe_setup: ProbeSetup::default(),
            threads: ThreadsState::default(),
            mouse: true,
            chosen_theme: None,
        }
    }

    /// Shows a newer snapshot of which nothing else is known.
    pub fn update(&mut self, snapshot: Arc<Snapshot>) {
        self.take(Update { snapshot, slice: Slice::default() });
        self.refresh();
    }

    /// Takes an update. It is shown after [`App::refresh`], or, while the screen is paused, when it goes on.
    pub fn take(&mut self, update: Update) {
        if !self.paused {
            self.history.add(update);
        } else if self.held.len() < MAX_HELD {
            self.held.push(update);
        }
    }

    /// Forgets all updates, because a replay was moved back.
    pub fn restart(&mut self) {
        self.history = History::default();
        self.last_deliveries = LastDeliveries::default();
        self.comparing = Comparing::default();
        self.held.clear();
    }

    /// Shows what was taken. The same row stays selected, wherever it moves.
    pub fn refresh(&mut self) {
        let position = self.position();
        self.last_deliveries.add(self.history.latest());
        self.probes.take(self.history.latest());
        self.shown = self.history.snapshot(self.window);
        self.arrange();
        let gone = self.selected.is_none_or(|id| self.rows().all(|group| group.id != id));
        if gone {
            self.select(position);
        }
        self.compare();
    }

    /// Sorts and filters the rows.
    fn arrange(&mut self) {
        let groups = &self.shown.groups;
        // A row that had no messages in the window had some before, and its trust is of all the time.
        let latest = self.history.latest();
        let all = &latest.groups;
        let sorted = if self.sort.by == Some(Column::Trust) { all } else { groups };
        let mut order = self.sort.order(sorted, &latest.trust);
        order.retain(|&at| columns::is_shown(all, at));
        self.unfiltered = order.len();
        order.retain(|&at| columns::matches(&groups[at], &self.filter));
        self.order = order;
    }

    /// The snapshot that is shown, with the figures of the chosen window.
    pub fn snapshot(&self) -> &Snapshot {
        &self.shown
    }

    /// What has been seen so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The window that the figures are of.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The groups in the sorted order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &Group> + '_ {
        self.order.iter().map(|&index| &self.shown.groups[index])
    }

    /// The selected row's index in [`App::rows`]; 0 without rows.
    pub fn position(&self) -> usize {
        self.rows().position(|group| Some(group.id) == self.selected).unwrap_or(0)
    }

    /// The selected group.
    pub fn selected(&self) -> Option<&Group> {
        self.rows().nth(self.position())
    }

    /// The rows that are marked for the comparison, in the order in which they were marked.
    pub fn marked(&self) -> impl Iterator<Item = &Group> + '_ {
        let groups = &self.shown.groups;
        self.marked.iter().filter_map(|id| groups.iter().find(|group| group.id == *id))
    }

    /// Whether a row is marked.
    pub fn is_marked(&self, id: GroupId) -> bool {
        self.marked.contains(&id)
    }

    /// The state of the view "spread".
    pub fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// What fills the body.
    pub fn view(&self) -> View {
        self.view
    }

    /// The order of the rows.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// The text that the rows are filtered by, or in the view of single messages the messages; empty if they are not.
    pub fn filter(&self) -> &str {
        if self.view == View::Messages { &self.messages.filter } else { &self.filter }
    }

    /// The text that the rows are filtered by, whatever the view.
    pub fn row_filter(&self) -> &str {
        &self.filter
    }

    fn filter_mut(&mut self) -> &mut String {
        if self.view == View::Messages { &mut self.messages.filter } else { &mut self.filter }
    }

    /// The difference from the clock of the figures to the wall clock in nanoseconds; `None` if it is not known.
    pub fn wall(&self) -> Option<i64> {
        self.wall
    }

    /// Sets the difference from the clock of the figures to the wall clock.
    pub fn set_wall(&mut self, wall: Option<i64>) {
        self.wall = wall;
    }

    /// How many rows there would be without the filter.
    pub fn unfiltered_rows(&self) -> usize {
        self.unfiltered
    }

    /// The columns that the user chose, and their order.
    pub(crate) fn columns(&self) -> &ColumnChoice {
        &self.columns
    }

    /// A row's figures of the whole observation, whatever the window.
    pub(crate) fn since_start<'a>(&'a self, group: &'a Group) -> (&'a Group, &'a Trust) {
        let latest = self.history.latest();
        let whole = latest.groups.iter().find(|whole| whole.id == group.id);
        whole.map_or((group, &self.shown.trust), |whole| (whole, &latest.trust))
    }

    /// Whether a row's figures can be used, by what is known of the whole observation.
    pub(crate) fn reliability(&self, group: &Group) -> Reliability {
        let (group, trust) = self.since_start(group);
        columns::reliability(group, trust)
    }

    /// Since when a row has been silent; `None` if it is not.
    pub fn silence(&self, group: &Group) -> Option<Silence> {
        self.last_deliveries.silence(group)
    }

    /// What the lengths of the bars show.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// How many lines of the view or the help are scrolled out at the top.
    pub fn scroll(&self) -> u16 {
        self.scroll
    }

    /// Whether the screen is paused: the figures stay as they are.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// What covers the body.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref()
    }

    /// Whether the help covers the body.
    pub fn is_help(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Help))
    }

    /// The state of the replay; `None` if the figures are of now.
    pub fn replay(&self) -> Option<ReplayState> {
        self.replay
    }

    /// Whether files are replayed.
    pub fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// Sets the state of the replay.
    pub fn set_replay(&mut self, replay: Option<ReplayState>) {
        self.replay = replay;
    }

    /// What the user should know of the figures beside what the snapshots say.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Sets what the user should know of the figures beside what the snapshots say.
    pub fn set_notes(&mut self, notes: Vec<String>) {
        self.notes = notes;
    }

    /// The sentence in the last line: the answer to the last request; `None` if there is none.
    pub fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// Shows a sentence in the last line until the next key.
    pub fn say(&mut self, sentence: String) {
        self.status = Some(sentence).filter(|sentence| !sentence.is_empty());
    }

    /// Shows a sentence in the last line until the next key, and keeps it in the log.
    pub fn note(&mut self, sentence: String) {
        self.history.note(sentence.clone());
        self.say(sentence);
    }

    /// What the probes did in the last minutes.
    pub fn probes(&self) -> &ProbeHistory {
        &self.probes
    }

    /// How the probes are attached.
    pub fn probe_setup(&self) -> &ProbeSetup {
        &self.probe_setup
    }

    /// Sets how the probes are attached.
    pub fn set_probe_setup(&mut self, setup: ProbeSetup) {
        self.probe_setup = setup;
    }

    /// Which message's threads are shown.
    pub fn threads(&self) -> ThreadsState {
        self.threads
    }

    /// The colours.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Sets the colours.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Whether the screen takes clicks and the wheel.
    pub fn has_mouse(&self) -> bool {
        self.mouse
    }

    /// Sets whether the screen takes clicks and the wheel; it does by default.
    pub fn set_mouse(&mut self, mouse: bool) {
        self.mouse = mouse;
    }

    /// Reacts to a key.
    pub fn on_key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Ignore;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Action::Quit } else { Action::Ignore };
        }
        let said = self.status.take();
        let action = self.on_overlay_key(key.code).unwrap_or_else(|| {
            let command = keys::command(self, key.code);
            command.map_or(Action::Ignore, |command| self.perform(command))
        });
        match action {
            Action::Ignore if said.is_some() => Action::Redraw,
            Action::Screenshot => {
                // The picture has what was in the last line.
                self.status = said;
                action
            }
            action => action,
        }
    }

    /// Selects the row at a position, or the last row if there are fewer.
    pub(crate) fn select(&mut self, position: usize) {
        let last = self.order.len().saturating_sub(1);
        let id = self.rows().nth(position.min(last)).map(|group| group.id);
        self.selected = id;
    }
}

/// The largest scroll position, in lines; no panel has more lines. Drawing stops at the panel's end in any case, but
/// without this limit the key for scrolling up would first have to undo each press past the end.
const MAX_SCROLL: u16 = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn app(rates: &[f64]) -> App {
        let mut app = App::new();
        app.update(snapshot(rates));
        app
    }

    fn snapshot(rates: &[f64]) -> Arc<Snapshot> {
        let groups = rates.iter().zip(0..).map(|(&rate, id)| {
            let mut group = Group { id: GroupId(id), ..Group::default() };
            group.rate_now.msg_per_s = rate;
            group
        });
        Arc::new(Snapshot { groups: groups.collect(), ..Snapshot::default() })
    }

    fn press(app: &mut App, keys: &str) -> Vec<Action> {
        keys.chars().map(|c| app.on_key(KeyCode::Char(c).into())).collect()
    }

    fn shown(app: &App) -> Vec<u32> {
        app.rows().map(|group| group.id.0).collect()
    }

    #[test]
    fn arrows_and_letters_select_and_stop_at_the_ends() {
        let mut app = app(&[1.0, 2.0, 3.0]);
        assert_eq!(app.position(), 0);
        press(&mut app, "kjjjj");
        assert_eq!(app.position(), 2);
        app.on_key(KeyCode::Up.into());
        assert_eq!(app.position(), 1);
        press(&mut app, "G");
        assert_eq!(app.position(), 2);
        app.on_key(KeyCode::Home.into());
        assert_eq!(app.position(), 0);
    }

    #[test]
    fn the_selection_follows_its_group() {
        let mut app = app(&[1.0, 2.0, 3.0]);
        press(&mut app, "j");
        press(&mut app, "oo");
        assert_eq!(app.sort().by, Some(Column::Rate));
        assert_eq!(shown(&app), [2, 1, 0]);
        app.update(snapshot(&[1.0, 9.0, 3.0]));
        assert_eq!(shown(&app), [1, 2, 0]);
        assert_eq!(app.selected().map(|group| group.id), Some(GroupId(1)));
        press(&mut app, "r");
        assert_eq!(shown(&app), [0, 2, 1]);
        assert_eq!(app.position(), 2);
        press(&mut app, "<<");
        assert_eq!(app.sort(), Sort::default());
    }

    #[test]
    fn a_selected_group_that_went_away_leaves_its_neighbour_selected() {
        let mut app = app(&[1.0, 2.0, 3.0]);
        press(&mut app, "G");
        app.update(snapshot(&[1.0, 2.0]));
        assert_eq!(app.position(), 1);
        app.update(snapshot(&[]));
        assert!(app.selected().is_none());
        press(&mut app, "jGk");
        app.update(snapshot(&[1.0]));
        assert!(app.selected().is_some());
    }

    #[test]
    fn esc_closes_from_the_inside_out() {
        let mut app = app(&[1.0]);
        app.on_key(KeyCode::Enter.into());
        press(&mut app, "?");
        assert!(app.is_help());
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
        assert_eq!((app.is_help(), app.view()), (false, View::Details));
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
        assert_eq!(app.view(), View::Overview);
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Quit);
    }

    #[test]
    fn details_and_why_are_a_key_away_from_each_other() {
        let mut app = app(&[1.0]);
        press(&mut app, "w");
        assert_eq!(app.view(), View::Why);
        app.on_key(KeyCode::Enter.into());
        assert_eq!(app.view(), View::Details);
        press(&mut app, "ww");
        assert_eq!(app.view(), View::Overview);
        press(&mut app, "w");
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
        assert_eq!(app.view(), View::Overview);
    }

    #[test]
    fn q_and_ctrl_c_quit_from_everywhere() {
        for before in ["", "?", "p", "2"] {
            let mut app = app(&[1.0]);
            press(&mut app, before);
            assert_eq!(press(&mut app, "q"), [Action::Quit]);
            let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(app.on_key(ctrl_c), Action::Quit);
        }
    }

    #[test]
    fn pause_toggles_and_unknown_keys_do_nothing() {
        let mut app = app(&[]);
        assert_eq!(press(&mut app, "p"), [Action::Redraw]);
        assert!(app.is_paused());
        press(&mut app, "p");
        assert!(!app.is_paused());
        assert_eq!(press(&mut app, "%"), [Action::Ignore]);
        let released =
            KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(app.on_key(released), Action::Ignore);
    }

    #[test]
    fn scrolling_starts_over_with_each_panel() {
        let mut app = app(&[1.0]);
        app.on_key(KeyCode::Tab.into());
        for _ in 0..100 {
            app.on_key(KeyCode::PageDown.into());
        }
        assert_eq!(app.scroll(), MAX_SCROLL);
        app.on_key(KeyCode::PageUp.into());
        assert_eq!(app.scroll(), MAX_SCROLL - 5);
        press(&mut app, "h");
        assert_eq!(app.scroll(), 0);
    }
}
