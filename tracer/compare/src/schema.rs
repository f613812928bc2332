//! The JSON Schema of a comparison, generated from the types.

use crate::comparison::Comparison;

/// The file name of the schema under docs/schema, and its text.
pub fn compare() -> (&'static str, String) {
    ("compare-1.json", wirelap_report::schema::text::<Comparison>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_described() {
        let (_, text) = compare();
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let types = schema["$defs"].as_object().unwrap().values().chain([&schema]);
        for one in types {
            assert!(one["description"].is_string(), "{one}");
            for (name, field) in one["properties"].as_object().into_iter().flatten() {
                assert!(field["description"].is_string(), "{name}");
            }
        }
    }
}
