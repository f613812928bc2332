//! Single messages as traces, and latencies as metrics, sent to an OpenTelemetry Collector by OTLP over HTTP.
//!
//! ```text
//!  Delivery ─▶ SpanSink ──SpanBatch──▶ thread: spans ─▶ queue ─▶ requests ─▶ Collector
//!             (tracing thread, (bounded channel)     (bounded, the oldest go)
//!              which never waits)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`SpanSink`] | chooses messages where deliveries are made, and hands them to the thread |
//! | `choice` | the slowest messages of a row in an interval, and its latencies |
//! | [`Exporter`] | the thread: makes spans, sends them, tries again, and says at the end what came of it |
//! | `spans`, `histogram` | a message as spans; a distribution as an exponential histogram |
//! | `stream` | the time that cumulative values are of |
//! | `ids`, `names` | numbers of traces and spans; names of rows and processes |
//! | `post`, `proxy` | a request over HTTP and what its answer means; the proxy that it goes through |
//! | [`CollectorUrl`] | the address of a Collector |
//! | `proto` | the messages of OTLP |

// Numbers from a packet or an answer may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod backoff;
mod choice;
mod counts;
mod exporter;
mod histogram;
mod ids;
mod names;
mod post;
mod proto;
mod proxy;
mod queue;
mod sink;
mod spans;
mod stream;
#[cfg(test)]
mod tests;
mod url;

pub use counts::SpanCounts;
pub use exporter::{ExportSettings, Exporter};
pub use sink::{SpanChoice, SpanSink};
pub use url::CollectorUrl;
