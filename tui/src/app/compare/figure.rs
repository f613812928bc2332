//! The figures of a comparison, and the answer to each.

use super::side::{ByteSum, SidePeriod, merged, sort};
use std::ops::Range;
use wirelap_compare::Answer;
use wirelap_compare::live::{self, AnswerRule, FigureComparison};
use wirelap_events::{Nanos, Segment, Total};
use wirelap_history::{Bins, Second};

/// Ratios up to this one are no difference.
pub const MARGIN: f64 = 0.05;

/// At least so many messages are slower than a percentile that is compared, as `wirelap compare` has it.
const BEYOND: f64 = 10.0;

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComparedFigure {
    /// A percentile of the one-way latency, as a share.
    OneWay(f64),
    /// The median of the scheduling gap.
    SchedGap,
    /// The median of the broker's dwell.
    Dwell,
    /// Deliveries a second.
    Rate,
    /// Bytes a delivery.
    Bytes,
    /// The mean of the one-way latency, of which the segments are the parts.
    Mean,
    /// The mean time that a message spends in a leg's segment, also those that do not pass it. The first leg is 0.
    Stage(usize, Segment),
}

/// A figure of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureRow {
    /// The figure.
    pub what: ComparedFigure,
    /// That of A, in nanoseconds, messages a second or bytes; `None` if it has none.
    pub a: Option<f64>,
    /// That of B.
    pub b: Option<f64>,
    /// The answer about the difference; `None` if a side has no such figure.
    pub finding: Option<FigureComparison>,
    /// Differences up to this one are none: a logarithm of a ratio, or nanoseconds.
    pub margin: f64,
}

impl ComparedFigure {
    /// True if ratios are compared, and not differences in nanoseconds.
    pub fn is_relative(self) -> bool {
        !matches!(self, ComparedFigure::Mean | ComparedFigure::Stage(..))
    }

    /// Sort key of the figures: those of the whole message first, then the stages in the order of a message's life.
    pub fn order(self) -> (u8, u64, bool, Option<Segment>) {
        match self {
            ComparedFigure::OneWay(share) => (0, beyond(share), false, None),
            ComparedFigure::SchedGap => (1, 0, false, None),
            ComparedFigure::Dwell => (2, 0, false, None),
            ComparedFigure::Rate => (3, 0, false, None),
            ComparedFigure::Bytes => (4, 0, false, None),
            ComparedFigure::Mean => (5, 0, false, None),
            ComparedFigure::Stage(leg, segment) => {
                (6, leg as u64, segment != Segment::BrokerDwell, Some(segment))
            }
        }
    }

    /// The answer if B has more of it.
    fn if_more(self) -> Answer {
        if self == ComparedFigure::Rate { Answer::Faster } else { Answer::Slower }
    }

    /// The messages that a block needs for it.
    fn least_messages(self) -> u64 {
        match self {
            ComparedFigure::OneWay(share) => beyond(share),
            ComparedFigure::SchedGap
            | ComparedFigure::Dwell
            | ComparedFigure::Mean
            | ComparedFigure::Stage(..) => beyond(0.5),
            ComparedFigure::Rate | ComparedFigure::Bytes => 0,
        }
    }

    /// The figure's value in some seconds; `None` if there are too few messages.
    pub fn value(self, seconds: &[Second]) -> Option<f64> {
        let quantile = |bins: Bins, share| {
            (bins.count() >= beyond(share)).then(|| bins.quantile(share).0 as f64)
        };
        let messages = || -> u64 { seconds.iter().map(|second| second.one_way.count()).total() };
        let mean = |sum: u64| Some(sum as f64 / messages() as f64).filter(|mean| mean.is_finite());
        match self {
            ComparedFigure::OneWay(share) => {
                quantile(merged(seconds, |second| &second.one_way), share)
            }
            ComparedFigure::SchedGap => quantile(merged(seconds, |second| &second.sched_gap), 0.5),
            ComparedFigure::Dwell => quantile(merged(seconds, |second| &second.dwell), 0.5),
            ComparedFigure::Rate => {
                let time: Nanos = seconds.iter().map(|second| second.to - second.from).sum();
                (time > Nanos(0)).then(|| messages() as f64 / time.as_secs_f64())
            }
            ComparedFigure::Bytes => None,
            ComparedFigure::Mean => mean(seconds.iter().map(|second| second.one_way.sum()).total()),
            ComparedFigure::Stage(leg, segment) => {
                mean(seconds.iter().map(|second| second.segment(leg, segment)).total())
            }
        }
    }
}

/// Number of messages that a percentile needs.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn beyond(share: f64) -> u64 {
    (BEYOND / (1.0 - share.clamp(0.0, 0.9999))).round() as u64
}

/// All figures of two sides, with their answers.
pub fn rows(a: &SidePeriod, b: &SidePeriod, at_once: bool) -> Vec<FigureRow> {
    let all = figures(a, b);
    let tested = all.iter().filter(|what| **what != ComparedFigure::Bytes).count();
    // A stage that takes a twentieth of the whole time more or less is the same.
    let whole = ComparedFigure::Mean.value(&a.seconds).unwrap_or_default() * MARGIN;
    let row = |what: ComparedFigure| {
        let margin = if what.is_relative() { MARGIN.ln_1p() } else { whole };
        let (least_messages, if_more) = (what.least_messages(), what.if_more());
        let rule = AnswerRule { at_once, margin, figures: tested, least_messages, if_more };
        row(what, a, b, rule)
    };
    all.into_iter().map(row).collect()
}

/// The figures to compare: those that at least one side has.
fn figures(a: &SidePeriod, b: &SidePeriod) -> Vec<ComparedFigure> {
    let mut all: Vec<ComparedFigure> = [0.5, 0.9, 0.99, 0.999].map(ComparedFigure::OneWay).to_vec();
    let has = |what: ComparedFigure| [a, b].iter().any(|side| what.value(&side.seconds).is_some());
    all.extend(
        [ComparedFigure::SchedGap, ComparedFigure::Dwell].into_iter().filter(|what| has(*what)),
    );
    all.extend([ComparedFigure::Rate, ComparedFigure::Bytes, ComparedFigure::Mean]);
    let mut stages: Vec<_> = [a, b].iter().flat_map(|side| side.segments()).collect();
    sort(&mut stages);
    // A stage that takes no whole nanosecond on either side would be one more row of zeros.
    let takes_time = |stage: &ComparedFigure| {
        [a, b].iter().any(|side| stage.value(&side.seconds).is_some_and(|mean| mean >= 0.5))
    };
    let stages = stages.into_iter().map(|(leg, segment)| ComparedFigure::Stage(leg, segment));
    all.extend(stages.filter(takes_time));
    all
}

fn row(what: ComparedFigure, a: &SidePeriod, b: &SidePeriod, rule: AnswerRule) -> FigureRow {
    if what == ComparedFigure::Bytes {
        return bytes(a.bytes, b.bytes);
    }
    let counts = [a.counts(), b.counts()];
    let scaled = |seconds: &[Second]| {
        let value = what.value(seconds)?;
        let value = if what.is_relative() { value.max(1e-3).ln() } else { value };
        value.is_finite().then_some(value)
    };
    let of_a = |range: Range<usize>| scaled(a.seconds.get(range)?);
    let of_b = |range: Range<usize>| scaled(b.seconds.get(range)?);
    let sides = (
        live::LiveSide { messages: &counts[0], figure: &of_a },
        live::LiveSide { messages: &counts[1], figure: &of_b },
    );
    let (value_a, value_b) = (what.value(&a.seconds), what.value(&b.seconds));
    // A gap or a dwell that one side never has cannot be compared, however long one waits.
    let has_not = matches!(what, ComparedFigure::SchedGap | ComparedFigure::Dwell)
        && (value_a.is_none() || value_b.is_none());
    let finding = (!has_not).then(|| live::compare(&sides.0, &sides.1, rule, 1));
    FigureRow { what, a: value_a, b: value_b, finding, margin: rule.margin }
}

/// Bytes are those of the protocol and do not vary by chance: they are compared as they are.
fn bytes(a: ByteSum, b: ByteSum) -> FigureRow {
    let margin = MARGIN.ln_1p();
    let (a, b) = (a.each(), b.each());
    let ratio = a.zip(b).map(|(a, b)| (b / a).ln()).filter(|ratio| ratio.is_finite());
    let answer = |ratio: f64| match ratio {
        ratio if ratio.abs() <= margin => Answer::Same,
        ratio if ratio > 0.0 => Answer::Slower,
        _ => Answer::Faster,
    };
    let finding =
        ratio.map(|ratio| FigureComparison { answer: answer(ratio), difference: None, wait: None });
    FigureRow { what: ComparedFigure::Bytes, a, b, finding, margin }
}
