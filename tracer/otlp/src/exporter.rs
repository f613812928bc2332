//! The thread that makes spans of messages and sends them.

use crate::backoff::Backoff;
use crate::counts::SpanCounts;
use crate::histogram;
use crate::ids::{IdOrigin, MessageIds};
use crate::names::{BatchNames, ROW_ID, ServiceProcess, row_attributes, tell_apart};
use crate::post::{Answer, Client};
use crate::proto::{
    Attribute, CUMULATIVE, ExponentialHistogram, Metric, MetricData, MetricsRequest,
    ResourceMetrics, SCHEMA_URL, ScopeMetrics,
};
use crate::queue::{REQUEST, SpanQueue, scope};
use crate::sink::{Handover, SpanBatch, SpanChoice, SpanSink};
use crate::spans::spans;
use crate::stream::StreamExtent;
use crate::url::{CollectorUrl, METRICS, TRACES};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use wirelap_events::human::counted;
use wirelap_events::{GroupId, TopicId};
use wirelap_history::Bins;
use wirelap_process::rights;

/// Batches that may wait for the thread, a quarter of a second each: those of a time in which it waits for an answer.
pub(crate) const BATCHES: usize = 32;
/// The time that the thread has at the end beyond that for what is left.
const LAST_STEPS: Duration = Duration::from_secs(1);

/// The settings of an export.
#[derive(Clone, Debug)]
pub struct ExportSettings {
    /// The Collector.
    pub url: CollectorUrl,
    /// Headers of each request, as in `OTEL_EXPORTER_OTLP_HEADERS`.
    pub headers: String,
    /// The messages of which spans are made. Metrics are sent once an interval, too.
    pub choice: SpanChoice,
    /// The name of this host.
    pub host: String,
    /// Tells the nanoseconds by which the clock of the day is ahead of that of events.
    pub wall_offset: fn() -> i64,
}

/// The times of the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExportTimes {
    /// The longest wait for an answer.
    pub patience: Duration,
    /// The longest that a span waits for others that go with it.
    pub gathering: Duration,
    /// The first and the longest wait after a failure.
    pub backoff: [Duration; 2],
    /// The time for what is left at the end.
    pub end: Duration,
}

impl Default for ExportTimes {
    fn default() -> ExportTimes {
        ExportTimes {
            patience: Duration::from_secs(5),
            gathering: Duration::from_secs(1),
            backoff: [Duration::from_secs(1), Duration::from_mins(1)],
            end: Duration::from_secs(3),
        }
    }
}

/// A running export.
#[derive(Debug)]
pub struct Exporter {
    url: CollectorUrl,
    counts: SpanCounts,
    ended: Receiver<Complaints>,
    /// The longest wait for the end.
    end: Duration,
}

/// The last reasons why something was not taken.
#[derive(Clone, Debug, Default)]
struct Complaints {
    spans: Option<String>,
    metrics: Option<String>,
}

impl Exporter {
    /// Starts the thread, and returns the sink that feeds it.
    ///
    /// # Errors
    /// The headers are none, or the thread cannot be started; the sentence says it.
    pub fn start(settings: ExportSettings) -> Result<(SpanSink, Exporter), String> {
        Exporter::start_with(settings, ExportTimes::default())
    }

    pub(crate) fn start_with(
        settings: ExportSettings,
        times: ExportTimes,
    ) -> Result<(SpanSink, Exporter), String> {
        let client = Client::new(&settings.url, &settings.headers)?;
        let (out, batches) = sync_channel(BATCHES);
        let (counts, handover) = (SpanCounts::default(), Handover::default());
        let chosen = (settings.choice, settings.host.clone());
        let (offset, shared) = (settings.wall_offset, handover.clone());
        let sink = SpanSink::new(out, shared, counts.clone(), chosen, offset);
        let (say, ended) = sync_channel(1);
        let (url, end) = (settings.url.clone(), times.end.saturating_add(LAST_STEPS));
        let sender = Sender::new(settings, client, times, counts.clone());
        let started = rights::spawn("otlp", move || {
            let _ = say.send(sender.run(&batches, &handover));
        });
        started.map_err(|error: io::Error| format!("cannot start a thread: {error}"))?;
        Ok((sink, Exporter { url, counts, ended, end }))
    }

    /// The counts of spans, while it runs and after it.
    pub fn counts(&self) -> SpanCounts {
        self.counts.clone()
    }

    /// Waits until what was left has been sent, for a few seconds at most, and returns a sentence that says what came of the export. The sink must have been
    /// dropped.
    pub fn end(self) -> String {
        let ended = self.ended.recv_timeout(self.end);
        let is_known = ended.is_ok();
        let complaints = ended.unwrap_or_default();
        let (sent, dropped) = (self.counts.sent(), self.counts.dropped());
        let mut text =
            format!("OpenTelemetry: {} sent to {}", counted(sent, "span"), self.url.shown());
        if dropped > 0 {
            let _ = write!(text, ", {dropped} dropped");
        }
        if let Some(why) = complaints.spans.filter(|_| dropped > 0) {
            let _ = write!(text, " ({why})");
        }
        if let Some(why) = complaints.metrics {
            let _ = write!(text, "; metrics were not taken ({why})");
        }
        if !is_known {
            text.push_str("; what became of the rest is not known: no answer came in time");
        }
        text
    }
}

/// A row's latencies since the beginning.
#[derive(Debug, Default)]
struct RowLatencies {
    bins: Bins,
    attributes: Vec<Attribute>,
}

/// The state of the thread.
struct Sender {
    settings: ExportSettings,
    times: ExportTimes,
    client: Client,
    counts: SpanCounts,
    queue: SpanQueue,
    topics: FxHashMap<TopicId, Box<str>>,
    /// In order, so that of equal rows always the same are given a number.
    rows: BTreeMap<GroupId, RowLatencies>,
    spans_backoff: Backoff,
    metrics_backoff: Backoff,
    complaints: Complaints,
    /// When the spans that wait are sent, full requests sooner; `None` if none waits.
    spans_due: Option<Instant>,
    /// When metrics are sent; `None` if the Collector takes none.
    metrics_due: Option<Instant>,
    /// The time that the latencies are of; `None` before the first batch.
    extent: Option<StreamExtent>,
    /// When everything ends; `None` as long as there may be further batches.
    end: Option<Instant>,
}

impl Sender {
    fn new(
        settings: ExportSettings,
        client: Client,
        times: ExportTimes,
        counts: SpanCounts,
    ) -> Sender {
        let [first, longest] = times.backoff;
        let metrics_due = Instant::now().checked_add(interval(&settings));
        Sender {
            settings,
            times,
            client,
            counts,
            queue: SpanQueue::default(),
            topics: FxHashMap::default(),
            rows: BTreeMap::new(),
            spans_backoff: Backoff::new(first, longest),
            metrics_backoff: Backoff::new(first, longest),
            complaints: Complaints::default(),
            spans_due: None,
            metrics_due,
            extent: None,
            end: None,
        }
    }

    /// Takes batches and sends spans until the sink is gone, and then what is left.
    fn run(mut self, batches: &Receiver<SpanBatch>, handover: &Handover) -> Complaints {
        loop {
            match batches.recv_timeout(self.next_due(Instant::now())) {
                Ok(batch) => self.take(batch, handover),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for batch in batches.try_iter() {
                self.take(batch, handover);
            }
            self.send_due(Instant::now());
        }
        if let Some(batch) = handover.take_last() {
            self.take(batch, handover);
        }
        self.send_rest();
        self.complaints
    }

    /// The time until something is to be sent.
    fn next_due(&self, now: Instant) -> Duration {
        let wait = |due: Option<Instant>, backoff: &Backoff| {
            let until = due?.saturating_duration_since(now);
            Some(until.max(backoff.remaining(now).unwrap_or_default()))
        };
        let spans = wait(self.spans_due, &self.spans_backoff);
        let metrics = wait(self.metrics_due, &self.metrics_backoff);
        [spans, metrics].into_iter().flatten().min().unwrap_or(interval(&self.settings))
    }

    /// Makes spans of a batch's messages, and adds its latencies.
    fn take(&mut self, batch: SpanBatch, handover: &Handover) {
        let SpanBatch { snapshot, wall_offset, messages, topics, latencies } = batch;
        handover.note_taken(messages.len());
        self.topics.extend(topics);
        let host = &self.settings.host;
        let names = BatchNames { snapshot: &snapshot, topics: &self.topics, host, wall_offset };
        for message in messages {
            let delivery = &*message.message.delivery;
            let ids = MessageIds::of(delivery, IdOrigin { host, wall_offset });
            let own = self.queue.own_number(ids.own, delivery.message);
            for span in spans(&message, MessageIds { own, ..ids }, &names) {
                self.queue.add(span, &self.counts);
            }
        }
        if self.queue.len() > 0 && self.spans_due.is_none() {
            self.spans_due = Instant::now().checked_add(self.times.gathering);
        }
        let (extent, is_new) =
            StreamExtent::until(self.extent, [snapshot.since, snapshot.at], wall_offset);
        self.extent = Some(extent);
        if is_new {
            self.rows.clear();
        }
        for (part, whole) in &snapshot.united {
            if let Some(of_part) = self.rows.remove(part) {
                self.rows.entry(*whole).or_default().bins.merge(&of_part.bins);
            }
        }
        for (id, bins) in latencies {
            let Some(row) = names.row(id) else { continue };
            let known = self.rows.entry(row.id).or_default();
            known.bins.merge(&bins);
        }
        for (id, known) in &mut self.rows {
            if let Some(row) = names.row(*id) {
                known.attributes = row_attributes(row);
            }
            known.attributes.retain(|attribute| attribute.key != ROW_ID);
        }
        tell_apart(self.rows.iter_mut().map(|(id, known)| (*id, &mut known.attributes)));
    }

    /// Sends what is due, unless an answer has asked to wait.
    fn send_due(&mut self, now: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if is_due(self.metrics_due) && self.metrics_backoff.remaining(now).is_none() {
            self.metrics_due = now.checked_add(interval(&self.settings));
            self.send_metrics();
        }
        if self.spans_backoff.remaining(now).is_some() {
            return;
        }
        let is_whole = |queue: &SpanQueue| queue.len() >= REQUEST;
        while is_whole(&self.queue) || (is_due(self.spans_due) && self.queue.len() > 0) {
            if !self.send_spans() {
                return;
            }
        }
        if is_due(self.spans_due) {
            self.spans_due = None;
        }
    }

    /// Sends the oldest spans. Returns whether further ones can be sent at once.
    fn send_spans(&mut self) -> bool {
        let (request, spans) = self.queue.request();
        match self.client.post(&self.settings.url.at(TRACES), &request, self.patience()) {
            Answer::Taken { rejected, why } => {
                let rejected = rejected.min(spans as u64);
                self.counts.add_sent((spans as u64).saturating_sub(rejected));
                self.counts.add_dropped(rejected);
                self.queue.remove_first(spans);
                self.complaints.spans = why.or(self.complaints.spans.take());
                self.spans_backoff.succeeded();
                true
            }
            Answer::Refused { why, .. } => {
                self.queue.drop_first(spans, &self.counts);
                self.complaints.spans = Some(why);
                self.spans_backoff.succeeded();
                true
            }
            Answer::TryLater { after, why } => {
                // At the end, a try is cut short: what an earlier one met says more.
                let earlier = self.complaints.spans.take().filter(|_| self.end.is_some());
                self.complaints.spans = earlier.or(Some(why));
                self.spans_backoff.failed(Instant::now(), after, fastrand::f64());
                false
            }
        }
    }

    /// Sends the latencies of all rows. Those that are not taken are in the next ones, too.
    fn send_metrics(&mut self) {
        let Some(extent) = self.extent.filter(|_| !self.rows.is_empty()) else { return };
        let points = self.rows.values().map(|row| {
            histogram::point(&row.bins, row.attributes.clone(), [extent.start, extent.end])
        });
        let metric = Metric {
            name: "wirelap.message.latency".into(),
            description: "One-way latency, from the send call to the return of the read".into(),
            unit: "s".into(),
            data: Some(MetricData::ExponentialHistogram(ExponentialHistogram {
                data_points: points.collect(),
                aggregation_temporality: CUMULATIVE,
            })),
        };
        let request = MetricsRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(ServiceProcess::wirelap(&self.settings.host).resource()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope()),
                    metrics: vec![metric],
                    schema_url: SCHEMA_URL.into(),
                }],
                schema_url: SCHEMA_URL.into(),
            }],
        };
        let url = self.settings.url.at(METRICS);
        let answer = self.client.post(&url, &request, self.patience());
        if let Answer::TryLater { after, .. } = answer {
            self.metrics_backoff.failed(Instant::now(), after, fastrand::f64());
        } else {
            self.metrics_backoff.succeeded();
        }
        self.complaints.metrics = match answer {
            Answer::Taken { why, .. } => why,
            Answer::TryLater { why, .. } => {
                self.complaints.metrics.take().filter(|_| self.end.is_some()).or(Some(why))
            }
            Answer::Refused { is_for_good, why } => {
                self.metrics_due = self.metrics_due.filter(|_| !is_for_good);
                Some(why)
            }
        };
    }

    /// The longest wait for an answer.
    fn patience(&self) -> Duration {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        left.unwrap_or(self.times.patience).min(self.times.patience).max(Duration::from_millis(1))
    }

    /// Sends what is left, for a short time; what cannot be sent then is dropped.
    fn send_rest(&mut self) {
        let Some(end) = Instant::now().checked_add(self.times.end) else { return };
        self.end = Some(end);
        while self.queue.len() > 0 {
            let wait = self.spans_backoff.remaining(Instant::now()).unwrap_or_default();
            if end.saturating_duration_since(Instant::now()) <= wait {
                break;
            }
            std::thread::sleep(wait);
            self.send_spans();
        }
        self.queue.drop_first(self.queue.len(), &self.counts);
        if self.metrics_due.is_some() && self.metrics_backoff.remaining(Instant::now()).is_none() {
            self.send_metrics();
        }
    }
}

/// The interval between two sendings of metrics.
fn interval(settings: &ExportSettings) -> Duration {
    Duration::from_nanos(settings.choice.interval.0)
}
