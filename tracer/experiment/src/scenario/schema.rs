//! The JSON Schema of scenario files, generated from the type. `UPDATE_SCHEMA=1 cargo test -p wirelap-experiment` writes it.

#[cfg(test)]
mod tests {
    use crate::scenario::ScenarioSettings;
    use wirelap_test_support::committed::repository;

    #[test]
    fn the_committed_schema_is_current() {
        let path = &repository("docs/schema/scenario-1.json");
        let text = wirelap_report::schema::text::<ScenarioSettings>();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert!(
            std::fs::read_to_string(path).unwrap_or_default() == text,
            "docs/schema/scenario-1.json differs from the type: run UPDATE_SCHEMA=1 cargo test -p wirelap-experiment"
        );
    }
}
