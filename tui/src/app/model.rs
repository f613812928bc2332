//! The screen's state.

use super::by_name::ByName;
use super::compare::Comparing;
use super::distribution::SpreadState;
use super::experiments::ExperimentsPanel;
use super::messages::MessagesView;
use super::overlay::Overlay;
use super::probes::{ProbeHistory, ProbeSetup};
use super::request::ReplayState;
use super::silence::{LastDeliveries, Silence};
use super::threads::ThreadsState;
use super::view::View;
use crate::bars::BarScale;
use crate::columns::{self, Column, ColumnChoice, Sort};
use crate::theme::Theme;
use std::sync::Arc;
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::{Group, Snapshot, Trust};
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{FigureWindow, SessionHistory, Slice, Update};

/// The largest scroll position, in lines; no panel has more lines. Drawing stops at the panel's end in any case, but
/// without this limit the key for scrolling up would first have to undo each press past the end.
pub const MAX_SCROLL: u16 = 400;

/// The most updates that are kept while the screen is paused; later ones are taken when it goes on.
const MAX_HELD: usize = 2_400;

/// The figures that are shown.
#[derive(Debug, Default)]
pub(super) struct ShownFigures {
    /// The newest snapshot, with the figures of the chosen window.
    pub snapshot: Arc<Snapshot>,
    pub window: FigureWindow,
    pub last_deliveries: LastDeliveries,
}

/// The rows that are listed, and how.
#[derive(Debug, Default)]
pub(super) struct RowList {
    /// Indices of the shown snapshot's groups in the sorted order, without those that the filter hides.
    pub order: Vec<usize>,
    /// Number of rows that there would be without the filter.
    pub unfiltered: usize,
    pub selected: Option<GroupId>,
    pub marked: Vec<GroupId>,
    pub sort: Sort,
    pub columns: ColumnChoice,
    pub filter: String,
}

/// The look of the screen.
#[derive(Debug)]
pub(super) struct Appearance {
    pub theme: Theme,
    /// The theme that the user chose; `None` if the terminal decides.
    pub chosen_theme: Option<Theme>,
    pub scale: BarScale,
    /// True if the screen takes clicks and the wheel.
    pub mouse: bool,
}

/// The pause of the screen.
#[derive(Debug, Default)]
pub(super) struct ScreenPause {
    pub is_on: bool,
    /// Updates that came meanwhile.
    pub held: Vec<Update>,
}

/// The probes, as the screen knows them.
#[derive(Debug, Default)]
pub(super) struct ProbeView {
    pub history: ProbeHistory,
    pub setup: ProbeSetup,
}

/// The screen's state.
#[derive(Debug)]
pub struct App {
    pub(super) history: SessionHistory,
    pub(super) figures: ShownFigures,
    pub(super) rows: RowList,
    pub(super) view: View,
    pub(super) messages: MessagesView,
    pub(super) wall: Option<i64>,
    pub(super) scroll: u16,
    pub(super) pause: ScreenPause,
    pub(super) overlay: Option<Overlay>,
    pub(super) distribution: SpreadState,
    pub(super) comparing: Comparing,
    pub(super) status: Option<String>,
    pub(super) replay: Option<ReplayState>,
    pub(super) notes: Vec<String>,
    pub(super) experiments: ExperimentsPanel,
    pub(super) appearance: Appearance,
    pub(super) probes: ProbeView,
    pub(super) threads: ThreadsState,
    pub(super) by_name: ByName,
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
            history: SessionHistory::default(),
            figures: ShownFigures::default(),
            rows: RowList::default(),
            view: View::default(),
            messages: MessagesView::default(),
            wall: None,
            scroll: 0,
            pause: ScreenPause::default(),
            overlay: None,
            distribution: SpreadState::default(),
            comparing: Comparing::default(),
            status: None,
            replay: None,
            notes: Vec::new(),
            experiments: ExperimentsPanel::default(),
            appearance: Appearance {
                theme: Theme::DARK,
                chosen_theme: None,
                scale: BarScale::default(),
                mouse: true,
            },
            probes: ProbeView::default(),
            threads: ThreadsState::default(),
            by_name: ByName::default(),
        }
    }

    /// Shows a newer snapshot of which nothing else is known.
    pub fn update(&mut self, snapshot: Arc<Snapshot>) {
        self.take(Update { snapshot, slice: Slice::default() });
        self.refresh();
    }

    /// Takes an update. It is shown after [`App::refresh`], or, while the screen is paused, when it goes on.
    pub fn take(&mut self, update: Update) {
        if !self.pause.is_on {
            self.history.add(update);
        } else if self.pause.held.len() < MAX_HELD {
            self.pause.held.push(update);
        }
    }

    /// Forgets all updates, because a replay was moved back.
    pub fn restart(&mut self) {
        self.history = SessionHistory::default();
        self.figures.last_deliveries = LastDeliveries::default();
        self.comparing = Comparing::default();
        self.distribution.clear_span();
        self.pause.held.clear();
    }

    /// Shows what was taken. The same row stays selected, wherever it moves.
    pub fn refresh(&mut self) {
        let position = self.position();
        self.figures.last_deliveries.add(self.history.latest());
        self.probes.history.take(self.history.latest());
        self.figures.snapshot = self.history.snapshot(self.figures.window);
        self.by_name.follow(self.figures.snapshot.breakdown.as_ref());
        self.arrange();
        let gone = self.rows.selected.is_none_or(|id| self.rows().all(|group| group.id != id));
        if gone {
            self.select(position);
        }
        self.compare();
    }

    /// Sorts and filters the rows.
    pub(super) fn arrange(&mut self) {
        let groups = &self.figures.snapshot.groups;
        // A row that had no messages in the window had some before, and its trust is of all the time.
        let latest = self.history.latest();
        let all = &latest.groups;
        let sorted = if self.rows.sort.by == Some(Column::Trust) { all } else { groups };
        let mut order = self.rows.sort.order(sorted, &latest.trust);
        order.retain(|&at| columns::is_shown(all, at));
        self.rows.unfiltered = order.len();
        order.retain(|&at| columns::matches(&groups[at], &self.rows.filter));
        self.rows.order = order;
    }

    /// The snapshot that is shown, with the figures of the chosen window.
    pub fn snapshot(&self) -> &Snapshot {
        &self.figures.snapshot
    }

    /// Everything that has been seen so far.
    pub fn history(&self) -> &SessionHistory {
        &self.history
    }

    /// The window that the figures are of.
    pub fn window(&self) -> FigureWindow {
        self.figures.window
    }

    /// The groups in the sorted order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &Group> + '_ {
        self.rows.order.iter().map(|&index| &self.figures.snapshot.groups[index])
    }

    /// The selected row's index in [`App::rows`]; 0 without rows.
    pub fn position(&self) -> usize {
        self.rows().position(|group| Some(group.id) == self.rows.selected).unwrap_or(0)
    }

    /// The selected group.
    pub fn selected(&self) -> Option<&Group> {
        self.rows().nth(self.position())
    }

    /// The rows that are marked for the comparison, in the order in which they were marked.
    pub fn marked(&self) -> impl Iterator<Item = &Group> + '_ {
        let groups = &self.figures.snapshot.groups;
        self.rows.marked.iter().filter_map(|id| groups.iter().find(|group| group.id == *id))
    }

    /// True if a row is marked.
    pub fn is_marked(&self, id: GroupId) -> bool {
        self.rows.marked.contains(&id)
    }

    /// The state of the view "spread".
    pub fn distribution(&self) -> SpreadState {
        self.distribution
    }

    /// Begins to select a time on the heat map.
    pub(crate) fn begin_span(&mut self, column: (Nanos, Nanos)) {
        self.distribution.begin_span(column);
    }

    /// Selects up to a column of the heat map. Returns whether anything has changed.
    pub(crate) fn extend_span(&mut self, column: (Nanos, Nanos)) -> bool {
        self.distribution.extend_span(column)
    }

    /// The view that fills the body.
    pub fn view(&self) -> View {
        self.view
    }

    /// The order of the rows.
    pub fn sort(&self) -> Sort {
        self.rows.sort
    }

    /// The text that the rows are filtered by, or in the view of single messages the messages, or in that of rows by name those; empty
    /// if they are not.
    pub fn filter(&self) -> &str {
        match self.view {
            View::Messages => &self.messages.filter,
            View::ByName => self.by_name.text(),
            _ => &self.rows.filter,
        }
    }

    /// The text that the rows are filtered by, whatever the view.
    pub fn row_filter(&self) -> &str {
        &self.rows.filter
    }

    pub(super) fn filter_mut(&mut self) -> &mut String {
        match self.view {
            View::Messages => &mut self.messages.filter,
            View::ByName => self.by_name.text_mut(),
            _ => &mut self.rows.filter,
        }
    }

    /// The difference from the clock of the figures to the wall clock in nanoseconds; `None` if it is not known.
    pub fn wall(&self) -> Option<i64> {
        self.wall
    }

    /// Sets the difference from the clock of the figures to the wall clock.
    pub fn set_wall(&mut self, wall: Option<i64>) {
        self.wall = wall;
    }

    /// Number of rows that there would be without the filter.
    pub fn unfiltered_rows(&self) -> usize {
        self.rows.unfiltered
    }

    /// The columns that the user chose, and their order.
    pub(crate) fn columns(&self) -> &ColumnChoice {
        &self.rows.columns
    }

    /// A row's figures of the whole observation, whatever the window.
    pub(crate) fn since_start<'a>(&'a self, group: &'a Group) -> (&'a Group, &'a Trust) {
        let latest = self.history.latest();
        let whole = latest.groups.iter().find(|whole| whole.id == group.id);
        whole.map_or((group, &self.figures.snapshot.trust), |whole| (whole, &latest.trust))
    }

    /// Tells whether a row's figures can be used, by what is known of the whole observation.
    pub(crate) fn reliability(&self, group: &Group) -> Reliability {
        let (group, trust) = self.since_start(group);
        columns::reliability(group, trust)
    }

    /// Since when a row has been silent; `None` if it is not.
    pub fn silence(&self, group: &Group) -> Option<Silence> {
        self.figures.last_deliveries.silence(group)
    }

    /// The quantity that the lengths of the bars show.
    pub(crate) fn scale(&self) -> BarScale {
        self.appearance.scale
    }

    /// Number of lines of the view or the help that are scrolled out at the top.
    pub fn scroll(&self) -> u16 {
        self.scroll
    }

    /// True while the screen is paused: the figures stay as they are.
    pub fn is_paused(&self) -> bool {
        self.pause.is_on
    }

    /// The overlay that covers the body.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref()
    }

    /// True while the help covers the body.
    pub fn is_help(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Help))
    }

    /// The state of the replay; `None` if the figures are of now.
    pub fn replay(&self) -> Option<ReplayState> {
        self.replay
    }

    /// True if files are replayed.
    pub fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// Sets the state of the replay.
    pub fn set_replay(&mut self, replay: Option<ReplayState>) {
        self.replay = replay;
    }

    /// Sentences that the user should know about the figures beside what the snapshots say.
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

    /// The activity of the probes in the last minutes.
    pub fn probes(&self) -> &ProbeHistory {
        &self.probes.history
    }

    /// The chosen hooks and settings with which the probes are attached.
    pub fn probe_setup(&self) -> &ProbeSetup {
        &self.probes.setup
    }

    /// Sets how the probes are attached.
    pub fn set_probe_setup(&mut self, setup: ProbeSetup) {
        self.probes.setup = setup;
    }

    /// The choice of the message whose threads are shown.
    pub fn threads(&self) -> ThreadsState {
        self.threads
    }

    /// The colours.
    pub fn theme(&self) -> Theme {
        self.appearance.theme
    }

    /// Sets the colours.
    pub fn set_theme(&mut self, theme: Theme) {
        self.appearance.theme = theme;
    }

    /// True if the screen takes clicks and the wheel.
    pub fn has_mouse(&self) -> bool {
        self.appearance.mouse
    }

    /// Sets whether the screen takes clicks and the wheel; it does by default.
    pub fn set_mouse(&mut self, mouse: bool) {
        self.appearance.mouse = mouse;
    }

    /// Selects the row at a position, or the last row if there are fewer.
    pub(crate) fn select(&mut self, position: usize) {
        let last = self.rows.order.len().saturating_sub(1);
        let id = self.rows().nth(position.min(last)).map(|group| group.id);
        self.rows.selected = id;
    }
}
