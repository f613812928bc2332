//! JSON Schemas, generated from the types. `UPDATE_SCHEMA=1 cargo test -p wirelap-report` writes them.

use crate::{DoctorReport, RunReport};
use schemars::schema_for;

/// The committed schemas: file name under docs/schema, and its text.
pub fn all() -> [(&'static str, String); 2] {
    [
        ("run-1.json", text(&schema_for!(RunReport))),
        ("doctor-1.json", text(&schema_for!(DoctorReport))),
    ]
}

fn text(schema: &schemars::Schema) -> String {
    // A schema is maps, strings and numbers: serialising it cannot fail.
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}
