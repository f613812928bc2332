//! The settings of one workload while they are entered.

use super::super::command::step_to;
use super::super::request::{ExperimentChoice, ExperimentSetting, ExperimentSettings};
use crossterm::event::KeyCode;

/// The most characters of a value.
const MAX_VALUE: usize = 60;

/// The fields that every workload has.
const RATE: &str = "rate";
const PAYLOAD: &str = "payload";
const PIN: &str = "pin";

/// The settings of one workload while they are entered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The middleware.
    pub middleware: String,
    /// True if the workload runs, so that it is started anew.
    pub is_running: bool,
    /// The settings.
    pub fields: Vec<ExperimentSetting>,
    /// Index of the selected setting.
    pub selected: usize,
}

impl Form {
    /// The form of a middleware, with its present settings.
    pub fn of(choice: &ExperimentChoice) -> Form {
        let field = |name: &str, value: String, words: &str| ExperimentSetting {
            name: name.into(),
            value,
            values: Vec::new(),
            words: words.into(),
        };
        let pin: Vec<String> = choice.pin.iter().map(ToString::to_string).collect();
        let mut fields = vec![
            field(RATE, choice.rate.to_string(), "messages a second; ←→ halves and doubles"),
            field(PAYLOAD, choice.payload.to_string(), "payload bytes; ←→ halves and doubles"),
        ];
        fields.extend(choice.settings.iter().cloned());
        let words = "CPUs of sender, receiver, broker, such as 0,1; one is for all; empty: any CPU";
        fields.push(field(PIN, pin.join(","), words));
        let is_running = choice.running.is_some();
        Form { middleware: choice.middleware.clone(), is_running, fields, selected: 0 }
    }

    /// Selects another setting, or changes the selected one.
    pub fn on_key(&mut self, key: KeyCode) {
        let step = |by| step_to(self.selected, by, self.fields.len());
        match key {
            KeyCode::Down | KeyCode::Tab => self.selected = step(1),
            KeyCode::Up | KeyCode::BackTab => self.selected = step(-1),
            _ => {
                if let Some(field) = self.fields.get_mut(self.selected) {
                    change(field, key);
                }
            }
        }
    }

    /// The settings that the user has entered.
    ///
    /// # Errors
    /// A value has the wrong form; the text says which.
    pub fn settings(&self) -> Result<ExperimentSettings, String> {
        let mut settings = ExperimentSettings {
            middleware: self.middleware.clone(),
            rate: 0.0,
            payload: 0,
            settings: Vec::new(),
            pin: Vec::new(),
        };
        for field in &self.fields {
            let value = field.value.trim();
            let wrong = |what: &str| format!("{}: `{value}` is not {what}", field.name);
            match field.name.as_str() {
                RATE => settings.rate = value.parse().map_err(|_| wrong("a number"))?,
                PAYLOAD => {
                    settings.payload = value.parse().map_err(|_| wrong("a number of bytes"))?;
                }
                PIN => {
                    let cpus = value.split(',').map(str::trim).filter(|cpu| !cpu.is_empty());
                    let cpus: Result<Vec<usize>, _> = cpus.map(str::parse).collect();
                    settings.pin = cpus.map_err(|_| wrong("a list of CPUs such as 0,1"))?;
                }
                name => settings.settings.push((name.to_owned(), value.to_owned())),
            }
        }
        Ok(settings)
    }
}

/// Edits the value of a setting, or takes the next or the previous one of its values.
fn change(field: &mut ExperimentSetting, key: KeyCode) {
    let doubles = matches!(field.name.as_str(), RATE | PAYLOAD);
    match key {
        KeyCode::Right | KeyCode::Char(' ') if !field.values.is_empty() => turn(field, 1),
        KeyCode::Left if !field.values.is_empty() => turn(field, -1),
        KeyCode::Right if doubles => scale(field, 2.0),
        KeyCode::Left if doubles => scale(field, 0.5),
        KeyCode::Backspace if field.values.is_empty() => drop(field.value.pop()),
        KeyCode::Char(c)
            if field.values.is_empty()
                && !c.is_control()
                && field.value.chars().count() < MAX_VALUE =>
        {
            field.value.push(c);
        }
        _ => {}
    }
}

fn turn(field: &mut ExperimentSetting, step: isize) {
    let count = isize::try_from(field.values.len()).unwrap_or(isize::MAX);
    let present = field.values.iter().position(|value| *value == field.value);
    let present = present.and_then(|at| isize::try_from(at).ok()).unwrap_or(0);
    let next = present.saturating_add(step).rem_euclid(count.max(1));
    if let Some(value) = usize::try_from(next).ok().and_then(|at| field.values.get(at)) {
        field.value.clone_from(value);
    }
}

/// Doubles or halves a number; whole numbers stay whole, and nothing becomes less than one or more than 10⁹.
fn scale(field: &mut ExperimentSetting, factor: f64) {
    if let Ok(value) = field.value.trim().parse::<f64>() {
        field.value = (value * factor).round().clamp(1.0, 1e9).to_string();
    }
}
