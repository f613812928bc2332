//! The export of a session.

use super::OtlpArgs;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use wirelap_correlate::SinkPair;
use wirelap_events::Nanos;
use wirelap_otlp::{ExportSettings, Exporter, SpanChoice, SpanSink};
use wirelap_process::steward::OTLP_HEADERS;
use wirelap_process::{Failure, output};
use wirelap_session::machine;

/// A sink, and the one that chooses messages for spans beside it.
pub type ExportedSink<S> = SinkPair<S, SpanSink>;

/// An export that has not begun; none without the option.
#[derive(Debug)]
pub struct WantedExport(Option<ExportSettings>);

/// A running export; none without the option.
#[derive(Debug)]
pub struct Otlp(Option<Exporter>);

impl OtlpArgs {
    /// Checks the options.
    ///
    /// # Errors
    /// The address is none of a Collector, or the interval is too short.
    pub fn open(&self) -> Result<WantedExport, Failure> {
        let Some(url) = &self.otlp else { return Ok(WantedExport(None)) };
        let url = url.parse().map_err(|why| Failure::Usage(format!("--otlp: {why}")))?;
        if self.otlp_interval < Duration::from_secs(1) {
            return Err(Failure::Usage("--otlp-interval must be at least 1s".into()));
        }
        let interval = u64::try_from(self.otlp_interval.as_nanos()).unwrap_or(u64::MAX);
        Ok(WantedExport(Some(ExportSettings {
            url,
            headers: std::env::var(OTLP_HEADERS).unwrap_or_default(),
            choice: SpanChoice {
                slowest: self.otlp_slowest.into(),
                share: self.otlp_share.unwrap_or(0.0),
                interval: Nanos(interval),
            },
            host: machine::hostname().unwrap_or_default(),
            wall_offset: machine::wall_offset,
        })))
    }
}

impl WantedExport {
    /// Begins, and returns the sink that chooses messages beside another one. Called after rights were given up, because it starts a
    /// thread.
    ///
    /// # Errors
    /// The headers are none, or no thread can be started.
    pub fn beside<S>(self, first: S) -> Result<(Otlp, ExportedSink<S>), Failure> {
        let Some(settings) = self.0 else {
            return Ok((Otlp(None), SinkPair { first, second: None }));
        };
        let (sink, exporter) =
            Exporter::start(settings).map_err(|why| Failure::Usage(format!("--otlp: {why}")))?;
        Ok((Otlp(Some(exporter)), SinkPair { first, second: Some(sink) }))
    }
}

impl Otlp {
    /// The numbers of spans that were sent and dropped, which grow.
    pub fn counts(&self) -> Option<[Arc<AtomicU64>; 2]> {
        let counts = self.0.as_ref()?.counts();
        Some([counts.sent, counts.dropped])
    }

    /// Waits a few seconds for what is left, and says what came of it. The session must have ended, and its results must have been written.
    pub fn end(self) {
        if let Some(exporter) = self.0 {
            output::say(&format!("{}\n", exporter.end()));
        }
    }
}
