//! The choices that the screen remembers from one start to the next, as text.
//!
//! ```toml
//! view = "overview"
//! window = "last 10 s"
//! sort = "p99"
//! reversed = false
//! columns = ["name", "rate", "p50"]
//! bars = "share"
//! theme = "dark"
//! ```

use super::{App, View};
use crate::bars::BarScale;
use crate::columns::{Column, ColumnChoice, Sort};
use crate::theme::Theme;
use serde::{Deserialize, Serialize};
use wirelap_history::FigureWindow;

/// The choices that the screen remembers from one start to the next. A field that is missing, or whose value is not known, is as
/// usual, so that a file of another version is no failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenState {
    /// The view, by its name.
    view: Option<String>,
    /// The window, by its name.
    window: Option<String>,
    /// The column that the rows are sorted by, by its id; `None` is the order in which they were found.
    sort: Option<String>,
    /// True if the order is reversed.
    reversed: bool,
    /// The shown columns by their ids, from left to right; `None` is the usual choice.
    columns: Option<Vec<String>>,
    /// The quantity that the lengths of the bars show.
    bars: Option<String>,
    /// The theme, by its name; `None` if the user chose none, and the terminal decides.
    theme: Option<String>,
}

impl ScreenState {
    /// Reads the text of [`ScreenState::to_text`].
    ///
    /// # Errors
    /// The text is no TOML, or a field has a value of another kind. The error does not quote the text.
    pub fn from_text(text: &str) -> Result<ScreenState, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    /// The state as TOML; empty if it cannot be written, which no state causes.
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

impl App {
    /// The choices that are remembered until the next start.
    pub fn state(&self) -> ScreenState {
        let columns = self.rows.columns.shown().into_iter().map(|column| column.id().to_owned());
        ScreenState {
            view: Some(self.view.name().into()),
            window: Some(self.figures.window.name().into()),
            sort: self.rows.sort.by.map(|column| column.id().into()),
            reversed: self.rows.sort.reverse,
            columns: (!self.rows.columns.is_usual()).then(|| columns.collect()),
            bars: Some(self.appearance.scale.name().into()),
            theme: self.appearance.chosen_theme.map(|theme| theme.name().into()),
        }
    }

    /// Makes the screen as it was when it was left. A theme without colours, which the environment asks for, is kept.
    pub fn restore(&mut self, state: &ScreenState) {
        fn find<T: Copy>(all: &[T], name: fn(T) -> &'static str, of: Option<&String>) -> Option<T> {
            all.iter().copied().find(|one| of.is_some_and(|of| name(*one) == of))
        }
        if let Some(view) = find(&View::ALL, View::name, state.view.as_ref()) {
            self.view = view;
        }
        // A mark does not outlive the program, so nothing is since one.
        let window = find(&FigureWindow::ALL, FigureWindow::name, state.window.as_ref());
        self.figures.window =
            window.filter(|window| *window != FigureWindow::SinceMark).unwrap_or_default();
        let by = state.sort.as_deref().and_then(Column::from_id);
        self.rows.sort = Sort { by, reverse: state.reversed };
        if let Some(columns) = &state.columns {
            self.rows.columns = ColumnChoice::of_ids(columns.iter().map(String::as_str));
        }
        if let Some(scale) =
            find(&[BarScale::Share, BarScale::Time], BarScale::name, state.bars.as_ref())
        {
            self.appearance.scale = scale;
        }
        self.appearance.chosen_theme = state.theme.as_deref().and_then(Theme::from_name);
        if let Some(theme) =
            self.appearance.chosen_theme.filter(|_| self.appearance.theme != Theme::NONE)
        {
            self.appearance.theme = theme;
        }
        self.refresh();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyCode;
    use proptest::prelude::*;

    fn press(app: &mut App, keys: &str) {
        keys.chars().for_each(|c| drop(app.on_key(KeyCode::Char(c).into())));
    }

    #[test]
    fn what_was_chosen_is_there_after_the_next_start() {
        let mut app = App::new();
        press(&mut app, "ttoorbzcjj Jcw");
        let text = app.state().to_text();
        let mut again = App::new();
        again.restore(&ScreenState::from_text(&text).unwrap());
        assert_eq!(again.state(), app.state());
        assert_eq!((again.view(), again.sort()), (View::Why, app.sort()));
        assert_eq!((again.theme(), again.scale()), (Theme::LIGHT, BarScale::Time));
        assert_eq!(again.columns().shown(), app.columns().shown());
    }

    #[test]
    fn a_mark_and_a_theme_that_nobody_chose_are_not_remembered() {
        let mut app = App::new();
        app.set_theme(Theme::LIGHT);
        press(&mut app, "mt");
        assert_eq!(app.window(), FigureWindow::SinceMark);
        let mut again = App::new();
        again.restore(&app.state());
        assert_eq!((again.window(), again.theme()), (FigureWindow::SinceStart, Theme::DARK));
    }

    #[test]
    fn who_wants_no_colours_gets_none() {
        let mut app = App::new();
        press(&mut app, "z");
        let mut again = App::new();
        again.set_theme(Theme::NONE);
        again.restore(&app.state());
        assert_eq!(again.theme(), Theme::NONE);
        assert_eq!(again.state().theme.as_deref(), Some("light"), "it is kept for the next start");
    }

    #[test]
    fn names_of_another_version_are_as_usual() {
        let text = "view = \"globe\"\nsort = \"colour\"\ncolumns = [\"?\"]\nfuture = [1, 2]\n";
        let mut app = App::new();
        app.restore(&ScreenState::from_text(text).unwrap());
        assert_eq!(app.state(), App::new().state());
        assert!(ScreenState::from_text("view = 7").is_err());
        let secret = ScreenState::from_text("root:x:0:0:secret").unwrap_err();
        assert!(!secret.contains("secret"), "{secret}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", columns in prop::collection::vec(".{0,8}", 0..4)) {
            let _ = ScreenState::from_text(&text);
            let state = ScreenState { columns: Some(columns), theme: Some(text), ..ScreenState::default() };
            prop_assert_eq!(ScreenState::from_text(&state.to_text()), Ok(state.clone()));
            App::new().restore(&state);
        }
    }
}
