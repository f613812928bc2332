//! The published comparison of Zenoh, NATS and `ZeroMQ`: a handle of its own for each task, or one behind a mutex.

use super::file::study;
use serde::Deserialize;
use std::collections::BTreeMap;
use wirelap_report::RunResult;

/// The study.
#[derive(Deserialize)]
pub struct HandleStudy {
    /// The study's title.
    pub title: String,
    results: BTreeMap<String, MeasuredRate>,
}

#[derive(Deserialize)]
struct MeasuredRate {
    msg_per_s: f64,
}

impl HandleStudy {
    /// The study; `None` only if its file is damaged.
    pub fn load() -> Option<HandleStudy> {
        study("zenoh_nats_zeromq")
    }

    /// The name that the study gives to a result, and the messages a second that it published; `None` if it did not measure that.
    pub fn rate_of(&self, result: &RunResult) -> Option<(String, f64)> {
        let name = match result.middleware.as_str() {
            "zenoh-p2p" | "zenoh-brokered" => "zenoh",
            "nats" => "nats",
            "zeromq" | "zeromq-rust" => "zeromq",
            _ => return None,
        };
        let name = match result.topology.as_ref()?.handles.as_deref()? {
            "own" => name.to_owned(),
            "shared" => format!("{name}-mutex"),
            _ => return None,
        };
        let measured = self.results.get(&name)?;
        Some((name, measured.msg_per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::Topology;

    #[test]
    fn handles_decide_which_figure_is_beside_a_result() {
        let study = HandleStudy::load().unwrap();
        let of = |middleware: &str, handles: Option<&str>| {
            let topology = Topology { handles: handles.map(str::to_owned), ..Topology::default() };
            let result = RunResult {
                middleware: middleware.into(),
                topology: Some(topology),
                ..RunResult::default()
            };
            study.rate_of(&result)
        };
        assert_eq!(of("nats", Some("own")), Some(("nats".into(), 1_221_000.0)));
        assert_eq!(of("zenoh-p2p", Some("shared")), Some(("zenoh-mutex".into(), 1_342_700.0)));
        assert_eq!(of("zeromq-rust", Some("shared")), Some(("zeromq-mutex".into(), 472_090.0)));
        // The study has no figure of ZeroMQ with handles of their own.
        assert_eq!(of("zeromq-rust", Some("own")), None);
        assert_eq!(of("nats", None), None);
        assert_eq!(of("mqtt", Some("own")), None);
    }
}
