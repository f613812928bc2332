//! The values of a family, as they are encoded.

use crate::buckets::{self, NATIVE_SCHEMA, NativeBuckets};
use crate::kinds::FamilyKind;
use crate::row::{Label, MeasuredRow};
use prometheus_client::encoding::{
    MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
};
use std::fmt;
use std::time::SystemTime;
use wirelap_history::Bins;

/// Values below this are counted as 0 in native buckets: 2^-128, as Prometheus recommends.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// Takes the values of a family.
pub(crate) struct Emit<'a> {
    metric: MetricEncoder<'a>,
    kind: FamilyKind,
    since: SystemTime,
    result: fmt::Result,
}

impl<'a> Emit<'a> {
    /// Takes the values of a family of this kind. `since`: when counting began.
    pub fn new(metric: MetricEncoder<'a>, kind: FamilyKind, since: SystemTime) -> Emit<'a> {
        Emit { metric, kind, since, result: Ok(()) }
    }

    /// Says whether all values could be encoded.
    ///
    /// # Errors
    /// One could not.
    pub fn end(self) -> fmt::Result {
        self.result
    }

    /// A value of a row, with further labels.
    pub fn row(&mut self, row: &MeasuredRow, more: &[(&'static str, &str)], value: f64) {
        self.series(&row.labels, more, value);
    }

    /// A value of the whole session.
    pub fn value(&mut self, labels: &[(&'static str, &str)], value: f64) {
        self.series(&[], labels, value);
    }

    fn series(&mut self, labels: &[Label], more: &[(&'static str, &str)], value: f64) {
        if self.result.is_ok() {
            self.result = self.encode(labels, more, value);
        }
    }

    fn encode(
        &mut self,
        labels: &[Label],
        more: &[(&'static str, &str)],
        value: f64,
    ) -> fmt::Result {
        let is_counter = self.kind == FamilyKind::Counter;
        let write = |metric: &mut MetricEncoder<'_>| {
            if is_counter {
                metric.encode_counter::<NoLabelSet, f64, f64>(&value, None)
            } else {
                metric.encode_gauge(&value)
            }
        };
        match (labels, more) {
            ([], []) => write(&mut self.metric),
            ([], _) => write(&mut self.metric.encode_family(&more)?),
            (_, []) => write(&mut self.metric.encode_family(&labels)?),
            _ => write(&mut self.metric.encode_family(&(labels, more))?),
        }
    }

    /// A distribution of a row.
    pub fn histogram(&mut self, row: &MeasuredRow, bins: &Bins) {
        if self.result.is_ok() && bins.count() > 0 {
            self.result = self.encode_histogram(row, bins);
        }
    }

    fn encode_histogram(&mut self, row: &MeasuredRow, bins: &Bins) -> fmt::Result {
        let native = NativeBuckets::of(bins);
        let none = NativeHistogramBuckets { spans: &[], deltas: &[] };
        let native = NativeHistogram {
            schema: NATIVE_SCHEMA,
            zero_threshold: ZERO_THRESHOLD,
            zero_count: native.zero,
            negative: none,
            positive: NativeHistogramBuckets { spans: &native.spans, deltas: &native.deltas },
            created: Some(self.since),
        };
        let labels = row.labels.as_slice();
        let mut metric = self.metric.encode_family(&labels)?;
        metric.encode_histogram_with_native::<NoLabelSet>(
            buckets::seconds(bins),
            bins.count(),
            &buckets::classic(bins),
            None,
            native,
        )
    }
}
