//! Descriptions of values in scenario files, for their JSON Schema.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use schemars::JsonSchema;

/// One value or a list of them.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several; a run measures each of them.
    More(Vec<T>),
}

/// A number, or a text that means one: `64`, `"4K"`, `"8..64K"`.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Quantity {
    /// A number.
    Number(f64),
    /// A number with a unit, or a range.
    Text(String),
}

/// The value of a library's setting.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum SettingValue {
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A text.
    Text(String),
}
