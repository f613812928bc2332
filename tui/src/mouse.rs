//! The effects of clicks and the wheel. The modules that draw a part of the screen say where it is.

use crate::app::{Action, App, Motion, Overlay, ScreenCommand, View, palette, step_to};
use crate::layout::{self, PanelAreas, split_top, window};
use crate::render::{self, ScreenAreas, distribution, footer, stages, table::TableParts, tabs};
use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use wirelap_correlate::Dimension;
use wirelap_events::Nanos;

/// Lines that a step of the wheel scrolls.
const WHEEL: i16 = 3;

impl App {
    /// Reacts to the mouse on a screen of this size.
    pub fn on_mouse(&mut self, event: MouseEvent, screen: Rect) -> Action {
        if !layout::fits(screen) {
            return Action::Ignore;
        }
        let at = Position::new(event.column, event.row);
        let areas = render::areas(self, screen);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let said = self.status().map(str::to_owned);
                let action = self.on_click(at, &areas);
                // As after a key, the sentence in the last line has been read.
                if action == Action::Redraw && self.status() == said.as_deref() {
                    self.say(String::new());
                }
                action
            }
            MouseEventKind::Drag(MouseButton::Left) => self.on_drag(at, &areas.panels),
            MouseEventKind::ScrollUp => self.on_wheel(at, &areas, -1),
            MouseEventKind::ScrollDown => self.on_wheel(at, &areas, 1),
            _ => Action::Ignore,
        }
    }

    fn on_click(&mut self, at: Position, screen: &ScreenAreas) -> Action {
        let areas = &screen.panels;
        if areas.tabs.contains(at) {
            let Some(view) = tabs::view_at(self, areas.tabs, at.x) else { return Action::Ignore };
            return if view == self.view() && self.overlay().is_none() {
                Action::Ignore
            } else {
                self.show(view);
                Action::Redraw
            };
        }
        if areas.footer.contains(at) {
            let command = footer::command_at(self, areas.footer, at.x);
            return command.map_or(Action::Ignore, |command| self.perform(command));
        }
        match self.overlay().cloned() {
            Some(overlay) => self.on_overlay_click(overlay, at, screen),
            None => self.on_view_click(at, areas),
        }
    }

    /// Clicks on lines of the command palette and of the list of columns.
    fn on_overlay_click(&mut self, overlay: Overlay, at: Position, screen: &ScreenAreas) -> Action {
        let body = screen.body;
        match overlay {
            Overlay::Palette(input) => {
                let commands = palette(self, &input.text);
                // The title and the entered text are above the lines.
                let line = line_at(at, (body, 2), commands.len(), input.selected);
                let Some(binding) = line.and_then(|line| commands.get(line)) else {
                    return Action::Ignore;
                };
                self.set_overlay(None);
                self.perform(binding.command)
            }
            Overlay::Columns(selected) => {
                let all = self.columns().entries().len();
                let Some(line) = line_at(at, (body, 1), all, selected) else {
                    return Action::Ignore;
                };
                self.toggle_column(line);
                Action::Redraw
            }
            Overlay::Grouping(selected, chosen) => {
                let Some(line) = line_at(at, (body, 1), Dimension::ALL.len(), selected) else {
                    return Action::Ignore;
                };
                self.toggle_grouping(line, chosen);
                Action::Redraw
            }
            Overlay::Filter(..) => {
                self.set_overlay(None);
                Action::Redraw
            }
            // The figures above the workloads are as without them.
            Overlay::Experiments => self.on_view_click(at, &screen.panels),
            Overlay::Help => Action::Ignore,
        }
    }

    /// Clicks on headings and rows.
    fn on_view_click(&mut self, at: Position, areas: &PanelAreas) -> Action {
        if let Some(area) = areas.table.filter(|area| area.contains(at)) {
            let parts = TableParts::of(self, area);
            if parts.headings.contains(at) {
                let Some(column) = parts.column_at(at.x) else { return Action::Ignore };
                self.sort_toward(column);
                return Action::Redraw;
            }
            return self.select_clicked(parts.row_at(at.y));
        }
        if let Some(area) = areas.stages.filter(|area| area.contains(at)) {
            return self.select_clicked(stages::row_at(self, area, at.y));
        }
        match self.column_at(at, areas) {
            Some(column) => {
                self.begin_span(column);
                Action::Redraw
            }
            None => Action::Ignore,
        }
    }

    /// Selects a time on the heat map.
    fn on_drag(&mut self, at: Position, areas: &PanelAreas) -> Action {
        let column = self.column_at(at, areas);
        let changed = column.is_some_and(|column| self.extend_span(column));
        if changed { Action::Redraw } else { Action::Ignore }
    }

    /// The time of the column of the heat map at a position.
    fn column_at(&self, at: Position, areas: &PanelAreas) -> Option<(Nanos, Nanos)> {
        let area = areas.whole.filter(|_| self.view() == View::Distribution)?;
        distribution::column_at(self, area, at)
    }

    fn select_clicked(&mut self, row: Option<usize>) -> Action {
        let Some(row) = row else { return Action::Ignore };
        self.select(row);
        Action::Redraw
    }

    /// The wheel moves through lists, and scrolls text.
    fn on_wheel(&mut self, at: Position, screen: &ScreenAreas, down: i16) -> Action {
        let areas = &screen.panels;
        let motion = if down > 0 { Motion::Down } else { Motion::Up };
        let inside = |area: Option<Rect>| area.is_some_and(|area| area.contains(at));
        let is_list = inside(areas.table)
            || inside(areas.stages)
            || (inside(areas.whole)
                && matches!(self.view(), View::Messages | View::Log | View::ByName));
        match self.overlay().cloned() {
            Some(Overlay::Palette(mut input)) => {
                let listed = palette(self, &input.text).len();
                input.selected = step_to(input.selected, down.into(), listed);
                self.set_overlay(Some(Overlay::Palette(input)));
            }
            Some(Overlay::Columns(selected)) => {
                let selected = step_to(selected, down.into(), self.columns().entries().len());
                self.set_overlay(Some(Overlay::Columns(selected)));
            }
            Some(Overlay::Grouping(..)) => {
                let key = if down > 0 { KeyCode::Down } else { KeyCode::Up };
                return self.on_key(key.into());
            }
            Some(Overlay::Filter(..)) => return Action::Ignore,
            Some(Overlay::Experiments) if screen.workloads.contains(at) => {
                let key = if down > 0 { KeyCode::Down } else { KeyCode::Up };
                return self.on_key(key.into());
            }
            Some(Overlay::Experiments) | None if is_list => {
                return self.perform(ScreenCommand::Move(motion));
            }
            Some(Overlay::Help | Overlay::Experiments) | None => self.scroll_by(down * WHEEL),
        }
        Action::Redraw
    }
}

/// The line of a list at a position, if the list begins so many lines below the top of an area.
fn line_at(
    at: Position,
    (area, below): (Rect, u16),
    lines: usize,
    selected: usize,
) -> Option<usize> {
    let (_, area) = split_top(area, below);
    if !area.contains(at) {
        return None;
    }
    let shown = window(lines, selected, usize::from(area.height));
    let line = shown.start + usize::from(at.y - area.y);
    shown.contains(&line).then_some(line)
}

#[cfg(test)]
mod tests;
