//! Reads scenario files. An error is one sentence with the file, the place and the setting.

use super::settings::{NAMES, ScenarioSettings};
use serde::Deserialize;
use toml::de::DeTable;
use toml::{Table, Value};

/// The settings in the text of a scenario file, which messages name as `shown`.
///
/// # Errors
/// The text is not TOML, has a setting that does not exist, or a value that a setting does not take.
pub fn parse(shown: &str, text: &str) -> Result<ScenarioSettings, String> {
    let at = |error: toml::de::Error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        format!("{shown}:{line}:{column}: {}", error.message().replace('\n', ": "))
    };
    let spans = DeTable::parse(text).map_err(at)?;
    let table: Table = toml::from_str(text).map_err(at)?;
    let mut places: Vec<_> = spans
        .get_ref()
        .iter()
        .map(|(key, value)| (key.span().start, value.span().start, key.get_ref().to_string()))
        .collect();
    places.sort();
    let mut settings = ScenarioSettings::default();
    for (key_at, value_at, key) in places {
        let Some(value) = table.get(&key) else { continue };
        settings = setting(&key, value.clone())
            .map_err(|error| {
                let (line, column) = place(text, if is_known(&key) { value_at } else { key_at });
                format!("{shown}:{line}:{column}: {error}")
            })?
            .over(&settings);
    }
    Ok(settings)
}

/// A single setting.
///
/// # Errors
/// There is no such setting, or it does not take the value; the sentence names the setting.
pub fn setting(name: &str, value: Value) -> Result<ScenarioSettings, String> {
    if !is_known(name) {
        let shown = name.escape_default();
        return Err(match similar(name) {
            Some(similar) => format!("`{shown}` is not a setting; did you mean `{similar}`?"),
            None => format!("`{shown}` is not a setting; known: {}", NAMES.join(", ")),
        });
    }
    let table = Table::from_iter([(name.to_owned(), value)]);
    ScenarioSettings::deserialize(Value::Table(table))
        .map_err(|error| format!("`{name}`: {}", error.message()))
}

fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The line and the column of a byte of a text, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let lines = before.matches('\n').count();
    (lines.saturating_add(1), line.chars().count().saturating_add(1))
}

/// The setting that a word with a mistake in it probably means.
fn similar(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_");
    let near = NAMES.iter().map(|known| (distance(&name, known), *known));
    // More mistakes would make any short word of another.
    near.min()
        .filter(|&(mistakes, known)| mistakes <= known.len().div_ceil(3).min(2))
        .map(|(_, known)| known)
}

/// Number of letters that must be added, removed or replaced to make one word of the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for letter in a.chars() {
        let mut diagonal = row[0];
        row[0] = row[0].saturating_add(1);
        for (at, other) in b.iter().enumerate() {
            let (left, above) = (row[at], row[at.saturating_add(1)]);
            let replaced = diagonal.saturating_add(usize::from(letter != *other));
            row[at.saturating_add(1)] = replaced.min(left.min(above).saturating_add(1));
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::PayloadSizes;
    use std::time::Duration;

    fn error(text: &str) -> String {
        parse("my.toml", text).unwrap_err()
    }

    #[test]
    fn a_file_may_have_all_settings() {
        let text = r#"
            name = "mine"
            about = "x"
            measure = "latency"
            on = ["tcp", "mqtt"]
            broker = "mosquitto,rumqttd"
            payload = [64, "1K", "8..32"]
            max_payload = "1M"
            rate = [100, 2.5]
            saturation = false
            messages = 5000
            duration = "1m"
            warmup = 0
            warmup_time = "500ms"
            idle = "3s"
            repeat = 5
            seed = 7
            qos = 1
            transport = "udp"
            reliability = "best-effort"
            nodelay = false
            pin = [0, 1]
            hosts = true
            link_rate = "1Gbit"
            link_queue = "64K"
            link_delay = "2ms"
            sample = "50ms/500ms"
            truth_check = "off"
            [set]
            client.tcp_nodelay = false
            "kafka:linger.ms" = 5
        "#;
        let settings = parse("my.toml", text).unwrap();
        assert_eq!(settings.on.as_deref(), Some(&["tcp".to_owned(), "mqtt".into()][..]));
        assert_eq!(settings.broker.map(|brokers| brokers.len()), Some(2));
        let range = PayloadSizes::PowersOfTwo { first: 8, last: 32 };
        let payload = vec![PayloadSizes::Bytes(64), PayloadSizes::Bytes(1024), range];
        assert_eq!(settings.payload, Some(payload));
        assert_eq!((settings.max_payload, settings.rate), (Some(1 << 20), Some(vec![100.0, 2.5])));
        assert_eq!(settings.duration, Some(Duration::from_mins(1)));
        let mut set = settings.set.unwrap();
        set.sort();
        let expected = [("client.tcp_nodelay", "false"), ("kafka:linger.ms", "5")];
        assert_eq!(set, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn every_setting_can_be_read_and_no_other() {
        for name in NAMES {
            let error = setting(name, Value::Array(vec![Value::Array(vec![])])).unwrap_err();
            assert!(error.starts_with(&format!("`{name}`: must be ")), "{error}");
        }
    }

    #[test]
    fn a_typo_is_told_with_its_place_and_what_was_meant() {
        let text = "# mine\nname = \"x\"\n\n  paylod = 64\n";
        let expected = "my.toml:4:3: `paylod` is not a setting; did you mean `payload`?";
        assert_eq!(error(text), expected);
        assert!(error("max-payload = 8").ends_with("did you mean `max_payload`?"));
        assert!(
            error("colour = 1").starts_with("my.toml:1:1: `colour` is not a setting; known: name,")
        );
        assert!(error("repeat = 3\n[sets]\na = 1").starts_with("my.toml:2:2: `sets`"));
    }

    #[test]
    fn a_value_that_a_setting_does_not_take_is_told() {
        for (text, expected) in [
            ("qos = 3", "my.toml:1:7: `qos`: must be a whole number from 0 to 2"),
            ("\nrepeat = \"x\"", "my.toml:2:10: `repeat`: must be a whole number from 1 to 1000"),
            (
                "payload = \"8x\"",
                "my.toml:1:11: `payload`: `8x` is not a number of bytes such as 64, 4K or 1M",
            ),
            ("rate = [10, 0]", "my.toml:1:8: `rate`: `0` is not a rate above 0"),
            ("on = []", "my.toml:1:6: `on`: must not be an empty list"),
            (
                "duration = 10",
                "my.toml:1:12: `duration`: must be a time such as \"10s\" or \"500ms\"",
            ),
            ("transport = \"tpc\"", "my.toml:1:13: `transport`: must be \"tcp\" or \"udp\""),
            (
                "truth_check = true",
                "my.toml:1:15: `truth_check`: must be \"auto\", \"on\" or \"off\"",
            ),
            ("nodelay = 1", "my.toml:1:11: `nodelay`: must be true or false"),
        ] {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_place() {
        for text in ["name = \"x\"\nrate = [1,", "name = x y", "a = 1\na = 2", "= 5", "\u{0}"] {
            let error = error(text);
            assert!(error.starts_with("my.toml:") && !error.contains('\n'), "{error}");
        }
        assert!(error("name = \"x\"\nname = \"y\"").starts_with("my.toml:2:"));
    }
}
