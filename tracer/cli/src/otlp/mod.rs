//! The option `--otlp`: single messages as traces and latencies as metrics, for OpenTelemetry. Its libraries (TLS above all) take long to compile, so they
//! are in programs that were built with the feature `otlp` only.

#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
pub use export::{ExportedSink, Otlp};

#[cfg(not(feature = "otlp"))]
mod without;
#[cfg(not(feature = "otlp"))]
pub use without::{ExportedSink, Otlp};

use crate::quantity;
use clap::Args;
use std::time::Duration;

/// The most slowest messages of a row in an interval.
const MOST_SLOWEST: i64 = 64;

/// The options.
#[derive(Clone, Debug, Args)]
pub struct OtlpArgs {
    /// Send spans of some messages, and the latencies of all rows, to the OpenTelemetry Collector at this address (`http://127.0.0.1:4318`), by
    /// OTLP over HTTP: the slowest of each row, those that were lost or not read, and a share. Names of programs and topics are sent, no
    /// payload. `OTEL_EXPORTER_OTLP_HEADERS` has headers, as for others (wirelap must be built with the feature `otlp`)
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,

    /// Spans of so many slowest messages of each row in each interval
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(0..=MOST_SLOWEST),
        default_value = "5",
        requires = "otlp"
    )]
    pub otlp_slowest: u8,

    /// Also spans of this share of all messages, such as 1%, chosen by the trace's number: none unless asked for
    #[arg(long, value_name = "SHARE", value_parser = quantity::share, requires = "otlp")]
    pub otlp_share: Option<f64>,

    /// The interval, at least a second; latencies are sent as often
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "10s",
        requires = "otlp"
    )]
    pub otlp_interval: Duration,
}
