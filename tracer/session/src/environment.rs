//! The environment of a run, as the JSON reports it.

use crate::machine;
use std::collections::BTreeMap;
use std::time::SystemTime;
use wirelap_report::Environment;

/// Describes this machine and this command line. `versions` and `settings` are empty: the workloads report them.
pub fn describe(seed: u64) -> Environment {
    Environment {
        kernel: machine::kernel(),
        cpu_model: machine::cpu_model(),
        cores: machine::cpus(),
        governor: machine::governor(),
        clock_source: machine::clock_source(),
        memory_bytes: machine::memory_bytes(),
        mitigations: machine::mitigations(),
        hostname: machine::hostname(),
        wirelap_version: env!("CARGO_PKG_VERSION").to_owned(),
        versions: BTreeMap::default(),
        settings: BTreeMap::default(),
        seed,
        command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        resumed_at: Vec::new(),
    }
}
