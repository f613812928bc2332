//! The file with the results of others: `data/published.json`.

use serde::de::DeserializeOwned;
use serde_json::Value;

const TEXT: &str = include_str!("../../data/published.json");

/// The study of this name; `None` only if the file is damaged.
pub fn study<T: DeserializeOwned>(name: &str) -> Option<T> {
    let mut all: Value = serde_json::from_str(TEXT).ok()?;
    serde_json::from_value(all.get_mut(name)?.take()).ok()
}
