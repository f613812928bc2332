//! The published figures of zenoh-pico: bytes on the wire and latency.

use super::file::study;
use serde::Deserialize;
use std::collections::BTreeMap;
use wirelap_report::RunResult;

/// The study.
#[derive(Deserialize)]
pub struct PicoStudy {
    /// The study's title.
    pub title: String,
    /// The study's machine.
    pub testbed: String,
    /// The method by which latency was measured.
    pub latency_method: String,
    latency_us: BTreeMap<String, f64>,
    flash_bytes: BTreeMap<String, BTreeMap<String, u64>>,
    wire_overhead: WireOverhead,
}

#[derive(Deserialize)]
struct WireOverhead {
    zenoh_minimal_bytes_per_data: f64,
    smaller_than: BTreeMap<String, f64>,
}

/// The payload of the published latencies.
pub const PAYLOAD: u64 = 16;

impl PicoStudy {
    /// The study; `None` only if its file is damaged.
    pub fn load() -> Option<PicoStudy> {
        study("zenoh_pico_2022")
    }

    /// The published latency of a middleware in nanoseconds.
    pub fn latency_ns(&self, middleware: &str) -> Option<f64> {
        let name = match middleware {
            "zenoh-pico" => "zenoh-pico-unicast",
            other => other,
        };
        self.latency_us.get(name).map(|us| us * 1e3)
    }

    /// The fewest bytes that Zenoh adds to a message.
    pub fn header_bytes(&self) -> f64 {
        self.wire_overhead.zenoh_minimal_bytes_per_data
    }

    /// By which share Zenoh's overhead is published to be smaller than that of a middleware.
    pub fn smaller_than(&self, middleware: &str) -> Option<f64> {
        self.wire_overhead.smaller_than.get(middleware).copied()
    }
}

impl PicoStudy {
    /// Sizes of programs for microcontrollers in bytes, with the system and the variant: by system, and the smallest first.
    pub fn flash(&self) -> Vec<(&str, &str, u64)> {
        let all = self.flash_bytes.iter().flat_map(|(system, variants)| {
            let of_system = variants.iter();
            of_system.map(move |(variant, &bytes)| (system.as_str(), variant.as_str(), bytes))
        });
        let mut sizes: Vec<_> = all.collect();
        sizes.sort_by_key(|&(system, _, bytes)| (system, bytes));
        sizes
    }
}

/// True if a result is of Zenoh.
pub fn is_zenoh(result: &RunResult) -> bool {
    result.middleware.starts_with("zenoh")
}

/// The bytes that the protocol adds to a message on each leg; `None` if that was not counted.
pub fn added_bytes(result: &RunResult) -> Option<f64> {
    let publish = result.overhead.operations.iter().find(|of| of.operation == "publish")?;
    (publish.count > 0).then_some(publish.mean_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_known_under_our_names() {
        let study = PicoStudy::load().unwrap();
        let flash = study.flash();
        assert_eq!((flash.len(), flash[0]), (16, ("arduino", "empty", 17_796)));
        assert_eq!(study.latency_ns("zenoh-pico"), Some(45_000.0));
        assert_eq!(study.latency_ns("zenoh-pico-multicast"), Some(15_000.0));
        assert_eq!(study.latency_ns("mqtt"), None);
        assert_eq!((study.header_bytes(), study.smaller_than("mqtt")), (5.0, Some(0.64)));
        assert!(["opcua", "xrce-dds"].iter().all(|name| study.smaller_than(name).is_some()));
    }
}
