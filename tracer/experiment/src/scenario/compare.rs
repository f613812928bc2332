//! `--ab`: the two requests under comparison.

use super::parse::setting;
use super::settings::ScenarioSettings;
use crate::request::{RunRequest, VariantComparison};
use toml::{Table, Value};
use wirelap_process::Failure;

/// Settings that both variants have in common, whatever is compared.
const COMMON: [&str; 8] = ["name", "about", "measure", "on", "repeat", "seed", "saturation", "ab"];

/// The request that compares the settings `a` and `b`, each added to `base`.
///
/// # Errors
/// One of the texts is not a list of settings that can be compared.
pub fn compare(
    base: &ScenarioSettings,
    [a, b]: [&str; 2],
    rest: &RunRequest,
) -> Result<RunRequest, Failure> {
    let request = |text: &str| {
        let own =
            variant(text).map_err(|error| Failure::Usage(format!("--ab '{text}': {error}")))?;
        Ok(own.over(base).request(rest))
    };
    let variants = [request(a)?, request(b)?];
    let settings = [a.to_owned(), b.to_owned()];
    let ab = Some(Box::new(VariantComparison { settings, variants }));
    Ok(RunRequest { ab, ..base.request(rest) })
}

/// Settings `KEY=VALUE` separated by spaces; `set:NAME=VALUE` is a library's own setting.
fn variant(text: &str) -> Result<ScenarioSettings, String> {
    let mut settings = ScenarioSettings::default();
    for word in text.split_whitespace() {
        let (key, value) = word
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| format!("`{word}` is not KEY=VALUE, such as qos=1"))?;
        let value = value_of(value);
        let own = match key.split_once(':') {
            Some(("set", name)) if !name.is_empty() => {
                setting("set", Value::Table(Table::from_iter([(name.to_owned(), value)])))?
            }
            _ if COMMON.contains(&key) => {
                return Err(format!("`{key}` is the same for A and B: set it for the whole run"));
            }
            _ => setting(key, value)?,
        };
        settings = own.over(&settings);
    }
    if settings == ScenarioSettings::default() {
        return Err("no setting is given, such as qos=1".to_owned());
    }
    Ok(settings)
}

/// The value that a word means: a number, `true`, `false`, or a text.
fn value_of(word: &str) -> Value {
    let number = word.parse().map(Value::Integer).or_else(|_| word.parse().map(Value::Boolean));
    number.unwrap_or_else(|_| Value::String(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::PayloadSizes;
    use crate::scenario::parse;

    fn compared(a: &str, b: &str) -> Result<RunRequest, String> {
        let base = parse("x", "on = \"mqtt\"\nqos = 2\n[set]\n\"keep.alive\" = 1").unwrap();
        compare(&base, [a, b], &RunRequest::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_side_has_its_own_settings_and_the_common_ones() {
        let request = compared(
            "qos=0 broker=mosquitto payload=64,1K nodelay=false",
            "set:keep.alive=9 set:mqtt:x=y transport=udp rate=2.5",
        )
        .unwrap();
        let comparison = request.ab.unwrap();
        let [a, b] = &comparison.variants;
        assert_eq!((a.workloads.qos, b.workloads.qos), (0, 2));
        assert_eq!(a.payload, [PayloadSizes::Bytes(64), PayloadSizes::Bytes(1024)]);
        assert_eq!((a.workloads.nodelay, b.workloads.nodelay), (false, true));
        let set = |request: &RunRequest| {
            let all = request.workloads.set.iter().map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>()
        };
        assert_eq!(set(a), ["keep.alive=1"]);
        assert_eq!(set(b), ["keep.alive=9", "mqtt:x=y"]);
        assert_eq!((b.rates.as_slice(), b.on.as_slice()), (&[2.5][..], &["mqtt".to_owned()][..]));
        assert_eq!(comparison.settings[1], "set:keep.alive=9 set:mqtt:x=y transport=udp rate=2.5");
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        for (a, expected) in [
            ("qoss=1", "--ab 'qoss=1': `qoss` is not a setting; did you mean `qos`?"),
            ("qos=3", "--ab 'qos=3': `qos`: must be a whole number from 0 to 2"),
            ("qos", "--ab 'qos': `qos` is not KEY=VALUE, such as qos=1"),
            ("", "--ab '': no setting is given, such as qos=1"),
            ("on=tcp", "--ab 'on=tcp': `on` is the same for A and B: set it for the whole run"),
        ] {
            assert_eq!(compared(a, "qos=1").unwrap_err(), expected);
        }
    }
}
