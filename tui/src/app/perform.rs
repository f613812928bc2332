//! The effects of each command.

use super::command::last_place;
use super::{
    Action, App, MAX_SCROLL, Motion, Overlay, ReplayControl, ScreenCommand, ScreenRequest,
    TextInput, View,
};
use crate::bars::BarScale;
use crate::columns::{self, Column, Sort};

/// Lines that a page has when the selection moves by one.
const PAGE: i16 = 5;
/// Number of lines of the log that are shown before the oldest one, when the selection moves to the last.
const OLDEST: u16 = 9;

impl App {
    /// Carries out a command.
    pub fn perform(&mut self, command: ScreenCommand) -> Action {
        if let Some(action) = self.perform_on_messages(command) {
            return action;
        }
        if let Some(action) = self.perform_by_name(command) {
            return action;
        }
        match command {
            ScreenCommand::Quit => return Action::Quit,
            ScreenCommand::Back => return self.back(),
            ScreenCommand::Help => self.toggle_help(),
            ScreenCommand::Palette => self.overlay = Some(Overlay::Palette(TextInput::default())),
            ScreenCommand::Filter => self.begin_filter(),
            ScreenCommand::Show(View::ByName) if self.view != View::ByName => self.show_by_name(),
            ScreenCommand::Show(view) => self.toggle(view),
            ScreenCommand::NextView => self.show(self.view.next()),
            ScreenCommand::PreviousView => self.show(self.view.previous()),
            ScreenCommand::Move(motion) => self.go(motion),
            ScreenCommand::Open => self.open(),
            ScreenCommand::Pause => self.pause(),
            ScreenCommand::NextWindow => self.set_window(self.figures.window.next()),
            ScreenCommand::PreviousWindow => self.set_window(self.figures.window.previous()),
            ScreenCommand::SetMark => self.set_mark(),
            ScreenCommand::NextPlot if self.view == View::Compare => self.comparing.next(),
            ScreenCommand::NextPlot => self.distribution.next(),
            ScreenCommand::MarkRow => self.mark_row(),
            ScreenCommand::NextSort => {
                self.sort_by(self.rows.sort.next(&self.rows.columns.shown()));
            }
            ScreenCommand::PreviousSort => {
                self.sort_by(self.rows.sort.previous(&self.rows.columns.shown()));
            }
            ScreenCommand::ReverseSort => {
                self.sort_by(Sort { reverse: !self.rows.sort.reverse, ..self.rows.sort });
            }
            ScreenCommand::BarScale => self.appearance.scale = self.appearance.scale.next(),
            ScreenCommand::NextTheme => {
                self.appearance.theme = self.appearance.theme.next();
                self.appearance.chosen_theme = Some(self.appearance.theme);
                self.say(format!("theme: {}", self.appearance.theme.name()));
            }
            ScreenCommand::Screenshot => return Action::Screenshot,
            ScreenCommand::Replay(control) => {
                if control == ReplayControl::Worst {
                    self.show(View::Messages);
                    self.messages.seeks_slowest = true;
                }
                return Action::Request(ScreenRequest::Replay(control));
            }
            ScreenCommand::MuteRow => return self.mute_row(),
            ScreenCommand::Grouping => self.choose_grouping(),
            ScreenCommand::Columns => self.overlay = Some(Overlay::Columns(0)),
            ScreenCommand::NextList
            | ScreenCommand::EarlierMessage
            | ScreenCommand::LaterMessage
            | ScreenCommand::Export
            | ScreenCommand::CopyFilter => return Action::Ignore,
            ScreenCommand::Experiments => self.overlay = Some(Overlay::Experiments),
        }
        self.compare();
        Action::Redraw
    }

    /// Closes the help, then the open view, then removes the filter, and leaves the screen if there is nothing of that.
    fn back(&mut self) -> Action {
        self.scroll = 0;
        if self.overlay.take().is_some() {
            return Action::Redraw;
        }
        if self.view == View::Distribution && self.distribution.clear_span() {
            return Action::Redraw;
        }
        if self.view != View::Overview {
            self.view = View::Overview;
        } else if self.rows.filter.is_empty() {
            return Action::Quit;
        } else {
            self.rows.filter.clear();
            self.refresh();
        }
        Action::Redraw
    }

    fn toggle_help(&mut self) {
        self.overlay = if self.is_help() { None } else { Some(Overlay::Help) };
        self.scroll = 0;
    }

    fn begin_filter(&mut self) {
        let text = self.filter().to_owned();
        self.overlay = Some(Overlay::Filter(TextInput { text: text.clone(), selected: 0 }, text));
    }

    /// Shows a view, or the overview if that view is already shown.
    fn toggle(&mut self, view: View) {
        self.show(if self.view == view { View::Overview } else { view });
    }

    /// Shows a view, and closes what covers it.
    pub(crate) fn show(&mut self, view: View) {
        self.overlay = None;
        self.scroll = 0;
        self.view = view;
    }

    /// Shows more of what is selected.
    fn open(&mut self) {
        self.toggle(View::Details);
    }

    fn pause(&mut self) {
        self.pause.is_on = !self.pause.is_on;
        if !self.pause.is_on {
            for update in std::mem::take(&mut self.pause.held) {
                self.history.add(update);
            }
            self.refresh();
        }
    }

    fn set_window(&mut self, window: wirelap_history::FigureWindow) {
        self.figures.window = window;
        self.distribution.clear_span();
        self.refresh();
    }

    fn set_mark(&mut self) {
        self.comparing.keep(&self.history, self.figures.window);
        self.history.mark();
        self.refresh();
        self.say("baseline kept: the view \"compare\" shows what has changed since".into());
    }

    /// Marks the selected row, or removes its mark.
    fn mark_row(&mut self) {
        let Some(id) = self.selected().map(|group| group.id) else { return };
        if self.is_marked(id) {
            self.rows.marked.retain(|marked| *marked != id);
        } else {
            self.rows.marked.push(id);
        }
    }

    /// Asks for the selected row to be muted, or for the end of that.
    fn mute_row(&self) -> Action {
        let Some(group) = self.selected() else { return Action::Ignore };
        let (name, mute) = (columns::name(group), !group.is_muted());
        Action::Request(ScreenRequest::Mute { group: group.id, name, mute })
    }

    /// Sorts by a column, or reverses the order if it is the one that the rows are sorted by.
    pub(crate) fn sort_toward(&mut self, column: Column) {
        self.sort_by(self.rows.sort.toward(column));
    }

    /// Scrolls by so many lines, upwards if it is less than 0.
    pub(crate) fn scroll_by(&mut self, lines: i16) {
        self.scroll = self.scroll.saturating_add_signed(lines).min(MAX_SCROLL);
    }

    /// Opens an overlay, or closes the one that is open.
    pub(crate) fn set_overlay(&mut self, overlay: Option<Overlay>) {
        self.overlay = overlay;
    }

    fn sort_by(&mut self, sort: Sort) {
        self.rows.sort = sort;
        self.arrange();
    }

    /// Moves the selection, or scrolls.
    fn go(&mut self, motion: Motion) {
        if self.view == View::Log {
            return self.scroll_log(motion);
        }
        match motion {
            Motion::Left | Motion::Right if self.view == View::Threads => {
                let Some(group) = self.selected() else { return };
                let messages = super::threads::slowest(&self.history, group).len();
                self.threads.go(motion, messages);
            }
            Motion::Up | Motion::Down | Motion::First | Motion::Last => {
                self.select(motion.place(self.position(), self.rows.order.len(), 0));
            }
            Motion::PageDown => self.scroll_by(PAGE),
            Motion::PageUp => self.scroll_by(-PAGE),
            Motion::Left | Motion::Right if self.view == View::Distribution => {
                self.distribution.go(motion);
            }
            Motion::Left | Motion::Right if self.view == View::Compare => {
                self.comparing.go(motion);
            }
            Motion::Left | Motion::Right => {}
        }
    }

    /// Scrolls the log, which has no selected row and more lines than other views.
    fn scroll_log(&mut self, motion: Motion) {
        let lines = super::log::lines(self.history.log(), &self.rows.filter).len();
        let lines = lines.min(u16::MAX.into());
        let at = usize::from(self.scroll).min(last_place(lines));
        let to = match motion {
            Motion::Last => last_place(lines).saturating_sub(OLDEST.into()),
            other => other.place(at, lines, PAGE.unsigned_abs().into()),
        };
        self.scroll = crate::layout::count(to);
    }
}

impl BarScale {
    /// The other scale.
    fn next(self) -> BarScale {
        if self == BarScale::Share { BarScale::Time } else { BarScale::Share }
    }
}
