//! Starting, changing and stopping workloads: a list of middlewares, and a form of the settings of one of them.

mod form;
mod panel;

pub use form::Form;
pub use panel::ExperimentsPanel;

use super::request::{ExperimentRequest, Experiments};
use super::{Action, App, Overlay, ScreenRequest};
use crossterm::event::KeyCode;

impl App {
    /// The workloads that can be started, and what the user enters.
    pub fn experiments(&self) -> &ExperimentsPanel {
        &self.experiments
    }

    /// Sets what is known of the workloads.
    pub fn set_experiments(&mut self, known: Experiments) {
        self.experiments.known = known;
        self.experiments.select(0);
    }

    /// True while the workloads are on the screen.
    pub fn shows_experiments(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Experiments))
    }

    /// Reacts to a key while the workloads are on the screen.
    pub(super) fn on_experiments_key(&mut self, key: KeyCode) -> Action {
        if self.experiments.form.is_some() {
            return self.on_form_key(key);
        }
        let panel = &mut self.experiments;
        match key {
            KeyCode::Esc => {
                self.overlay = None;
                return Action::Redraw;
            }
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('s') => return Action::Screenshot,
            KeyCode::Up | KeyCode::Char('k') => panel.select(-1),
            KeyCode::Down | KeyCode::Char('j') => panel.select(1),
            KeyCode::PageUp => panel.select(-10),
            KeyCode::PageDown => panel.select(10),
            KeyCode::Home | KeyCode::Char('g') => panel.selected = 0,
            KeyCode::End | KeyCode::Char('G') => panel.select(isize::MAX),
            KeyCode::Enter => self.open_form(),
            KeyCode::Char('x') | KeyCode::Delete => {
                let stopped = panel.choice().map(|choice| choice.middleware.clone());
                return stopped.map_or(Action::Ignore, |name| {
                    Action::Request(ScreenRequest::Experiment(ExperimentRequest::Stop(name)))
                });
            }
            _ => return Action::Ignore,
        }
        Action::Redraw
    }

    fn open_form(&mut self) {
        let Some(choice) = self.experiments.choice() else { return };
        match &choice.unavailable {
            Some(why) => {
                let sentence = format!("{}: {why}", choice.middleware);
                self.say(sentence);
            }
            None => self.experiments.form = Some(Form::of(choice)),
        }
    }

    fn on_form_key(&mut self, key: KeyCode) -> Action {
        let Some(form) = &mut self.experiments.form else { return Action::Ignore };
        match key {
            KeyCode::Esc => self.experiments.form = None,
            KeyCode::Enter => match form.settings() {
                Ok(settings) => {
                    self.experiments.form = None;
                    let request = ExperimentRequest::Start(settings);
                    return Action::Request(ScreenRequest::Experiment(request));
                }
                Err(sentence) => self.say(sentence),
            },
            key => form.on_key(key),
        }
        Action::Redraw
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{ExperimentChoice, ExperimentSetting, ExperimentSettings};
    use super::*;

    fn app() -> App {
        let mut app = App::new();
        let qos = ExperimentSetting {
            name: "qos".into(),
            value: "0".into(),
            values: ["0", "1", "2"].map(String::from).to_vec(),
            words: String::new(),
        };
        let mqtt = ExperimentChoice {
            middleware: "mqtt".into(),
            rate: 1_000.0,
            payload: 64,
            settings: vec![qos],
            ..ExperimentChoice::default()
        };
        let absent = ExperimentChoice {
            middleware: "absent".into(),
            unavailable: Some("install it".into()),
            ..ExperimentChoice::default()
        };
        app.set_experiments(Experiments::Of(vec![mqtt, absent]));
        app
    }

    fn press(app: &mut App, keys: &[KeyCode]) -> Action {
        keys.iter().map(|key| app.on_key((*key).into())).last().unwrap_or(Action::Ignore)
    }

    #[test]
    fn a_workload_is_started_with_what_was_entered() {
        use KeyCode::{Backspace, Char, Down, Enter, Left, Right};
        let mut app = app();
        press(&mut app, &[Char('x'), Enter, Right, Down, Left, Down, Left, Down]);
        let action =
            press(&mut app, &[Char('0'), Char(','), Char('1'), Char('2'), Backspace, Enter]);
        let settings = ExperimentSettings {
            middleware: "mqtt".into(),
            rate: 2_000.0,
            payload: 32,
            settings: vec![("qos".into(), "2".into())],
            pin: vec![0, 1],
        };
        let request = ExperimentRequest::Start(settings);
        assert_eq!(action, Action::Request(ScreenRequest::Experiment(request)));
        assert!(app.shows_experiments() && app.experiments().form().is_none());
    }

    #[test]
    fn a_wrong_value_is_said_and_the_form_stays() {
        use KeyCode::{Char, Enter, Esc};
        let mut app = app();
        assert_eq!(press(&mut app, &[Char('x'), Enter, Char('y'), Enter]), Action::Redraw);
        assert_eq!(app.status(), Some("rate: `1000y` is not a number"));
        press(&mut app, &[Esc]);
        assert!(app.experiments().form().is_none() && app.shows_experiments());
        press(&mut app, &[Esc]);
        assert!(!app.shows_experiments());
    }

    #[test]
    fn what_cannot_be_started_says_why_and_what_runs_is_stopped() {
        use KeyCode::{Char, Down, Enter};
        let mut app = app();
        press(&mut app, &[Char('x'), Down, Enter]);
        assert_eq!(app.status(), Some("absent: install it"));
        let stop = ExperimentRequest::Stop("absent".into());
        assert_eq!(press(&mut app, &[Char('x')]), Action::Request(ScreenRequest::Experiment(stop)));
    }
}
