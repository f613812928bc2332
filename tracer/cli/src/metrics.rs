//! The option `--metrics`: figures of a running session for Prometheus.

use crate::otlp::{ExportedSink, Otlp};
use crate::parquet::TabledSink;
use clap::Args;
use std::sync::mpsc::Receiver;
use wirelap_correlate::SinkPair;
use wirelap_history::{DeliveryCollector, Update};
use wirelap_metrics::{Endpoint, EndpointAddress};
use wirelap_process::{Failure, output};

/// The most updates that wait for the metrics. While more would wait, the collector puts them together.
const UPDATES: usize = 8;

/// A sink, and a collector of figures beside it.
pub type MeasuredSink<S> = SinkPair<S, DeliveryCollector>;

/// The sink of a live session: of the screen, of `--parquet-dir`, of `--otlp`, of metrics, and of what `--on-event` is told.
pub type LiveSink = MeasuredSink<MeasuredSink<ExportedSink<TabledSink<DeliveryCollector>>>>;

/// The option.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArgs {
    /// Hand out figures for Prometheus at this port, for programs on this host alone, or at this address: the page /metrics has
    /// messages, latencies, bytes and verdicts by row, and how far to trust them
    #[arg(long, value_name = "PORT|ADDRESS")]
    pub metrics: Option<EndpointAddress>,
}

/// The listener of `--metrics`, before it answers.
#[derive(Debug)]
pub struct Metrics {
    endpoint: Endpoint,
    collector: DeliveryCollector,
    updates: Receiver<Update>,
}

impl MetricsArgs {
    /// Takes the address. Call it before rights are given up.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn open(&self) -> Result<Option<Metrics>, Failure> {
        let Some(address) = self.metrics else { return Ok(None) };
        let endpoint = Endpoint::bind(address).map_err(|error| {
            Failure::Machine(format!(
                "--metrics cannot listen at {}: {error}; choose another port or address",
                address.0
            ))
        })?;
        let (collector, updates) = DeliveryCollector::new(UPDATES);
        Ok(Some(Metrics { endpoint, collector: collector.of_figures(), updates }))
    }
}

impl Metrics {
    /// Begins to answer, and returns the sink that gives the listener what it hands out, beside what `--otlp` counts.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn beside<S>(
        metrics: Option<Metrics>,
        otlp: &Otlp,
        first: S,
    ) -> Result<MeasuredSink<S>, Failure> {
        let Some(metrics) = metrics else { return Ok(SinkPair { first, second: None }) };
        let failed = |error| Failure::Machine(format!("--metrics: {error}"));
        let address = metrics.endpoint.address().map_err(failed)?;
        metrics.endpoint.serve(metrics.updates, otlp.counts()).map_err(failed)?;
        output::say(&format!("metrics: http://{address}/metrics\n"));
        Ok(SinkPair { first, second: Some(metrics.collector) })
    }
}
