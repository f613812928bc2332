//! How values in scenario files are described in their JSON Schema.

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

/// The JSON Schema of scenario files.
pub fn text() -> String {
    let schema = schemars::schema_for!(super::ScenarioSettings);
    // A schema is maps, strings and numbers: serialising it cannot fail.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/scenario-1.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, super::text()).unwrap();
        }
        assert!(
            std::fs::read_to_string(path).unwrap_or_default() == super::text(),
            "docs/schema/scenario-1.json differs from the type: run UPDATE_SCHEMA=1 cargo test -p wirelap-experiment"
        );
    }
}
