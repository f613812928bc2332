//! The sizes of client programs, as `make footprint` has measured them.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wirelap_process::Failure;
use wirelap_report::{ClientSize, RunReport};

/// The value of the file's `schema`.
const SCHEMA: &str = "wirelap/client-sizes/1";

/// The largest file that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The sizes of client programs, each built with one middleware and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ClientSizes {
    schema: String,
    /// Build of the programs, in words.
    build: String,
    without_middleware_bytes: u64,
    /// The bytes of the stripped program by middleware.
    clients: BTreeMap<String, u64>,
}

impl ClientSizes {
    /// Reads the file that `make footprint` writes.
    ///
    /// # Errors
    /// The file cannot be read, or is another one.
    pub fn read(path: &Path) -> Result<ClientSizes, Failure> {
        let shown = path.display();
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text)).map_err(
            |error| Failure::Usage(format!("cannot read the client sizes {shown}: {error}")),
        )?;
        ClientSizes::parse(&text).map_err(|error| {
            Failure::Usage(format!(
                "{shown} has no client sizes ({error}): name a file of `make footprint`"
            ))
        })
    }

    fn parse(text: &str) -> Result<ClientSizes, String> {
        let sizes: ClientSizes = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if sizes.schema == SCHEMA { Ok(sizes) } else { Err(format!("its schema is not {SCHEMA}")) }
    }

    /// Adds the sizes to the results of the middlewares that have one.
    pub fn add_to(&self, report: &mut RunReport) {
        for result in &mut report.results {
            result.client_size = self.clients.get(&result.middleware).map(|&bytes| ClientSize {
                bytes,
                without_middleware_bytes: self.without_middleware_bytes,
                build: self.build.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::RunResult;
    use wirelap_report::from_snapshot::run_report;

    const TEXT: &str = r#"{ "schema": "wirelap/client-sizes/1", "build": "small", "without_middleware_bytes": 5,
        "clients": { "mqtt": 9 } }"#;

    #[test]
    fn a_result_gets_the_size_of_its_middleware() {
        let mut report = run_report(&wirelap_correlate::Snapshot::default());
        let result = |name: &str| RunResult { middleware: name.into(), ..RunResult::default() };
        report.results = vec![result("mqtt"), result("tcp")];
        ClientSizes::parse(TEXT).unwrap().add_to(&mut report);
        let sizes: Vec<_> = report.results.into_iter().map(|result| result.client_size).collect();
        let expected = ClientSize { bytes: 9, without_middleware_bytes: 5, build: "small".into() };
        assert_eq!(sizes, [Some(expected), None]);
    }

    #[test]
    fn another_file_is_refused() {
        for text in ["", "{}", &TEXT.replace("sizes/1", "sizes/2"), &TEXT.replace('9', "-9")] {
            assert!(ClientSizes::parse(text).is_err(), "{text}");
        }
        let gone = ClientSizes::read(Path::new("/nonexistent/x.json")).unwrap_err().to_string();
        assert!(
            gone.starts_with("cannot read the client sizes /nonexistent/x.json: No such file"),
            "{gone}"
        );
    }
}
