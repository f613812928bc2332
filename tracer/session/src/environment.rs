//! The environment of a run, as it goes into the JSON.

use crate::machine;
use std::collections::BTreeMap;
use std::time::SystemTime;
use wirelap_report::Environment;

/// This machine and this call, now. Versions and settings come from the workloads.
pub fn describe(seed: u64) -> Environment {
    Environment {
        kernel: machine::kernel(),
        cpu_model: machine::cpu_model(),
        cores: machine::cpus(),
        governor: machine::governor(),
        clock_source: machine::clock_source(),
        memory_bytes: machine::memory_bytes(),
        hostname: machine::hostname(),
        wirelap_version: env!("CARGO_PKG_VERSION").to_owned(),
        versions: BTreeMap::default(),
        settings: BTreeMap::default(),
        seed,
        command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    }
}
