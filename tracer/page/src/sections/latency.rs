//! Latency of all results: against the percentile, and as a cumulative distribution.

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::plot::{BOTTOM, LEFT, LineJoin, Plot, PlotLine, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::samples::{Latencies, LatencyKind};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{percentile, tick_time, time};
use maud::{Markup, html};
use wirelap_events::human::{self, exact};

/// The shares in the table of figures.
const SHARES: [f64; 9] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0];

struct LatencyCurve<'a> {
    subject: &'a Subject<'a>,
    latencies: Latencies,
}

impl LatencyCurve<'_> {
    /// The curve's name, with what it measures if that is not the one-way latency.
    fn name(&self) -> String {
        match self.latencies.measure {
            LatencyKind::OneWay => self.subject.name.clone(),
            LatencyKind::RttHalf => format!("{} (RTT/2)", self.subject.name),
        }
    }

    fn line(&self, points: Vec<(f64, f64)>) -> PlotLine {
        PlotLine {
            name: self.name(),
            look: self.subject.look(),
            dash: None,
            has_markers: !self.latencies.is_whole,
            joined: if self.latencies.is_whole { LineJoin::Steps } else { LineJoin::Straight },
            points,
        }
    }
}

/// The section; `None` if no latency is known.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let curves = subjects.all.iter().filter_map(|subject| {
        Some(LatencyCurve { subject, latencies: Latencies::of(subject.result)? })
    });
    let curves: Vec<LatencyCurve<'_>> = curves.collect();
    if curves.is_empty() {
        return None;
    }
    Some(html! {
        p {
            "One-way latency: from the send of a message's first byte to the return of the receive call that took its last "
            "byte. " (origin(&curves))
        }
        @for curve in &curves {
            @if let Some(errors) = errors(curve.subject) { p { (errors) } }
        }
        div class="figures" { (by_percentile(&curves)) (cumulative(&curves)) }
    })
}

/// The error of a result's figures, whose messages go from one host to another; `None` on one host.
fn errors(subject: &Subject<'_>) -> Option<String> {
    let latency = &subject.result.latency;
    let (times, errors) = (latency.one_way_ns, latency.clock_error_ns?);
    let shown = |time, error| human::time_within_ns(Some(time), error);
    Some(format!(
        "{}: messages are sent on one host and read on another, and the error of their clocks is not in the curves: the median is {}, the \
         99th percentile {}.",
        subject.name,
        shown(times.p50, errors.p50),
        shown(times.p99, errors.p99),
    ))
}

/// The data that the curves are made from.
fn origin(curves: &[LatencyCurve<'_>]) -> &'static str {
    let whole = curves.iter().filter(|curve| curve.latencies.is_whole).count();
    match whole {
        0 => {
            "The file has no histograms: the lines join the quantiles that it has, which are marked."
        }
        n if n == curves.len() => "All messages of all repetitions are in the curves.",
        _ => {
            "Smooth curves are of all messages of all repetitions; lines with marks join the quantiles, where the file has no \
             histogram."
        }
    }
}

fn by_percentile(curves: &[LatencyCurve<'_>]) -> Markup {
    let points: Vec<_> = curves.iter().map(|curve| curve.latencies.by_percentile()).collect();
    let xs = || points.iter().flatten().map(|point| point.0);
    let most = xs().filter(|x| x.is_finite()).fold(10.0, f64::max);
    let x = Scale::log([1.0, most].into_iter(), LEFT, RIGHT);
    // Decades are 90 %, 99 % …; the median has a tick of its own.
    let decades = std::iter::successors(Some(10.0), |tick| Some(tick * 10.0));
    let ticks = [2.0].into_iter().chain(decades.take_while(|&tick| tick <= most * 1.001));
    let ticks = ticks.map(|tick| (tick, percentile(tick))).collect();
    let caption = Caption {
        id: "latency-percentiles".into(),
        title: "Latency against percentile".into(),
        description: "Each step to the right is the slowest tenth of what remains: 90 % of the messages are below the value \
                      at 90 %. Lower is better; a line that rises at the right has a long tail."
            .into(),
    };
    draw(curves, points, caption, |points| Plotted {
        x: Axis { scale: x, ticks, title: "share of messages with at most this latency".into() },
        y: time_axis(points.iter().flatten().map(|point| point.1), BOTTOM, TOP),
    })
}

fn cumulative(curves: &[LatencyCurve<'_>]) -> Markup {
    let points: Vec<_> = curves.iter().map(|curve| curve.latencies.cumulative()).collect();
    let caption = Caption {
        id: "latency-distribution".into(),
        title: "Cumulative distribution".into(),
        description: "The share of messages (upwards) that took at most a time (to the right). Further left is better; the \
                      steeper, the more alike the messages are. The slowest 0.1 % are not shown."
            .into(),
    };
    draw(curves, points, caption, |points| Plotted {
        x: time_axis(points.iter().flatten().map(|point| point.0), LEFT, RIGHT),
        y: Axis::new(Scale::between(0.0, 1.0, BOTTOM, TOP), "share of messages", |share| {
            format!("{:.0} %", share * 100.0)
        }),
    })
}

struct Plotted {
    x: Axis,
    y: Axis,
}

fn draw(
    curves: &[LatencyCurve<'_>],
    points: Vec<Vec<(f64, f64)>>,
    caption: Caption,
    axes: impl FnOnce(&[Vec<(f64, f64)>]) -> Plotted,
) -> Markup {
    let Plotted { x, y } = axes(&points);
    let lines = curves.iter().zip(points).map(|(curve, points)| curve.line(points)).collect();
    let plot = Plot { caption, x, y, lines };
    figure(&plot.caption, &plot.render(), &plot.legend(), &figures(curves, &plot.caption.title))
}

fn time_axis(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
    let values: Vec<f64> = values.collect();
    Axis::new(Scale::fitting(&values, from, to), "latency", tick_time)
}

fn figures(curves: &[LatencyCurve<'_>], title: &str) -> Table {
    let row = |curve: &LatencyCurve<'_>| {
        let known = |share: f64| {
            curve.latencies.is_whole || [0.0, 0.5, 0.9, 0.99, 0.999, 1.0].contains(&share)
        };
        let at =
            |share| if known(share) { time(curve.latencies.quantile(share)) } else { "–".into() };
        let mut cells = vec![curve.name(), exact(curve.latencies.count)];
        cells.extend(SHARES.map(at));
        cells
    };
    let headings = [
        "result", "messages", "minimum", "10 %", "25 %", "50 %", "75 %", "90 %", "99 %", "99.9 %",
        "maximum",
    ];
    Table::of_numbers(format!("{title}: figures"), &headings, curves.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_heading_for_each_share() {
        assert_eq!(figures(&[], "x").headings.len(), SHARES.len() + 2);
    }
}
