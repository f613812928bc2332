//! JSON Schemas, generated from the types. `UPDATE_SCHEMA=1 cargo test -p wirelap-report` writes them.

use crate::{DoctorReport, RunReport};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};

/// The committed schemas: file name under docs/schema, and its text.
pub fn all() -> [(&'static str, String); 2] {
    [("run-1.json", text::<RunReport>()), ("doctor-1.json", text::<DoctorReport>())]
}

/// The schema of a type as it is committed.
pub fn text<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(StandardFormats);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    // A schema is maps, strings and numbers: serialising it cannot fail.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Leaves out formats of numbers (`uint64`, `double`): the specification has none (JSON Schema Validation 2020-12, §7.3), and strict
/// validators refuse a schema with formats that they do not know.
#[derive(Clone, Debug)]
struct StandardFormats;

impl Transform for StandardFormats {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(map) = schema.as_object_mut()
            && is_of_a_number(map.get("type"))
        {
            map.remove("format");
        }
        transform_subschemas(self, schema);
    }
}

fn is_of_a_number(kind: Option<&serde_json::Value>) -> bool {
    let is_number = |kind: &serde_json::Value| kind == "integer" || kind == "number";
    kind.is_some_and(|kind| {
        is_number(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_number))
    })
}
