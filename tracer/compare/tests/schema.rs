//! The committed schema is that of the types.

use wirelap_compare::schema;
use wirelap_test_support::committed::repository;

#[test]
fn committed_schema_is_current() {
    let (name, text) = schema::compare();
    let path = repository("docs/schema").join(name);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/schema/{name} differs from the types: run UPDATE_SCHEMA=1 cargo test -p wirelap-compare"
    );
}
