//! The values in scenario files. Each error is the part of a sentence after the setting's name.

use crate::payload::PayloadSizes;
use crate::quantity;
use crate::request::{Measure, TruthCheck};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::time::Duration;
use toml::Value;
use wirelap_contract::topology::choices;
use wirelap_contract::{Handles, LinkReliability, LinkTransport, SubscribedTopics};
use wirelap_session::Sampling;

/// Deserializes a value by a function of it.
fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    convert: impl Fn(&Value) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    convert(&Value::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

/// Defines a function for `#[serde(deserialize_with)]` that converts a value.
macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $convert:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<$type>, D::Error> {
            read(deserializer, $convert)
        }
    )*};
}

readers! {
    /// A text.
    text: String = word;
    /// `true` or `false`.
    flag: bool = boolean;
    /// One name, or several.
    words: Vec<String> = |value| list(value, word);
    /// Payload sizes and ranges of them.
    payload: Vec<PayloadSizes> = |value| list(value, |item| quantity::payload(&number_or_text(item)?));
    /// A payload size.
    payload_size: usize = |value| quantity::payload_size(&number_or_text(value)?);
    /// A number of bytes.
    bytes: u64 = |value| quantity::bytes(&number_or_text(value)?);
    /// A rate of a link.
    bit_rate: u64 = |value| quantity::bit_rate(&number_or_text(value)?);
    /// One rate, or several.
    rates: Vec<f64> = |value| list(value, |item| quantity::rate(&number_or_text(item)?));
    /// CPUs.
    cpus: Vec<usize> = |value| list(value, |item| whole::<u16>(item, 0, 65_535).map(usize::from));
    /// Number of messages that end a repetition.
    messages: u64 = |value| whole::<u32>(value, 1, u32::MAX.into()).map(u64::from);
    /// A number of messages.
    count: u64 = |value| whole::<u32>(value, 0, u32::MAX.into()).map(u64::from);
    /// A number of repetitions.
    repeat: u32 = |value| whole(value, 1, 1000);
    /// A seed.
    seed: u64 = |value| whole(value, 0, i64::try_from(crate::plan::MAX_SEED).unwrap_or(i64::MAX));
    /// A quality of service of MQTT.
    qos: u8 = |value| whole(value, 0, 2);
    /// A time.
    time: Duration = duration;
    /// Windows of tracing, or none.
    sample: Sampling = |value| quantity::sampling(&word(value)?);
    /// The measured quantity.
    measure: Measure = |value| {
        let (latency, throughput) = (Measure::Latency, Measure::Throughput);
        let connections = Measure::Connections;
        choice(
            value,
            &[("latency", latency), ("throughput", throughput), ("connections", connections)],
        )
    };
    /// A number of clients or topics.
    clients: u32 = |value| whole(value, 1, 10_000_000);
    /// The topics of a subscriber.
    subscription: SubscribedTopics = |value| choice(value, &choices());
    /// The connections of publishers in threads of their own.
    handles: Handles = |value| choice(value, &choices());
    /// Two texts.
    pair: [String; 2] = |value| {
        let both = value.as_array().and_then(|items| <&[Value; 2]>::try_from(items.as_slice()).ok());
        let [a, b] = both.ok_or("must be a list of two texts")?;
        Ok([word(a)?, word(b)?])
    };
    /// A transport.
    transport: LinkTransport = |value| choice(value, &choices());
    /// A reliability.
    reliability: LinkReliability = |value| choice(value, &choices());
    /// The choice of whether the workloads keep records.
    truth_check: TruthCheck = |value| {
        let all = [("auto", TruthCheck::Auto), ("on", TruthCheck::On), ("off", TruthCheck::Off)];
        choice(value, &all)
    };
    /// Settings of libraries by name.
    settings: Vec<(String, String)> = table;
}

fn word(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "must be a text in quotes".to_owned())
}

fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "must be true or false".to_owned())
}

/// The items of a list; a single value is a list of one, and a text may contain several separated by commas.
fn list<T>(value: &Value, item: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    let items = match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => {
            text.split(',').map(|part| Value::String(part.trim().to_owned())).collect()
        }
        other => vec![other.clone()],
    };
    if items.is_empty() {
        return Err("must not be an empty list".to_owned());
    }
    items.iter().map(item).collect()
}

/// A number or a text as the command line would have it.
fn number_or_text(value: &Value) -> Result<String, String> {
    match value {
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text.clone()),
        _ => Err("must be a number, or a text such as \"4K\"".to_owned()),
    }
}

fn whole<T: TryFrom<i64>>(value: &Value, least: i64, most: i64) -> Result<T, String> {
    let number = match value {
        Value::Integer(number) => Some(*number),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("must be a whole number from {least} to {most}"))
}

fn duration(value: &Value) -> Result<Duration, String> {
    let time = value.as_str().and_then(|text| humantime::parse_duration(text).ok());
    time.ok_or_else(|| "must be a time such as \"10s\" or \"500ms\"".to_owned())
}

fn choice<T: Copy>(value: &Value, all: &[(impl AsRef<str>, T)]) -> Result<T, String> {
    let known = all.iter().find(|(name, _)| value.as_str() == Some(name.as_ref()));
    known.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> =
            all.iter().map(|(name, _)| format!("\"{}\"", name.as_ref())).collect();
        let (last, others) = names.split_last().map_or(("", &[][..]), |(l, o)| (l.as_str(), o));
        format!("must be {} or {last}", others.join(", "))
    })
}

/// Settings by name. A dot in a name without quotes makes a table inside the table, which means the same.
fn table(value: &Value) -> Result<Vec<(String, String)>, String> {
    let wrong = || "must be a table of names and values, such as { \"linger.ms\" = 5 }".to_owned();
    let mut settings = Vec::new();
    let mut open: Vec<(String, &Value)> = vec![(String::new(), value)];
    while let Some((prefix, value)) = open.pop() {
        for (name, value) in value.as_table().ok_or_else(wrong)? {
            let name = format!("{prefix}{name}");
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Boolean(flag) => flag.to_string(),
                Value::Table(_) => {
                    open.push((format!("{name}."), value));
                    continue;
                }
                Value::Array(_) | Value::Datetime(_) => return Err(wrong()),
            };
            settings.push((name, text));
        }
    }
    Ok(settings)
}
