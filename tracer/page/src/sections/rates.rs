//! Latency against the rate of messages, where the files have several rates.

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::chart::plot::{BOTTOM, LEFT, LineJoin, Plot, PlotLine, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{tick_count, tick_time};
use maud::Markup;
use std::collections::BTreeMap;
use wirelap_report::human;

/// Rate, median and 99th percentile of the latency.
type LatencyPoint = (f64, u64, u64);

/// Points in order of the rate, by name.
type Curves = BTreeMap<String, Vec<LatencyPoint>>;

/// The section; `None` unless there are results at two rates at least.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let curves = curves(subjects);
    let rates = || curves.values().flatten().map(|point| point.0);
    let first = rates().next()?;
    if rates().all(|rate| (rate - first).abs() < 1e-9) {
        return None;
    }
    let caption = Caption {
        id: "latency-rates".into(),
        title: "Latency against rate".into(),
        description: "One-way latency at each requested rate: the median as a solid line, the 99th percentile dashed. Where \
                      CPUs sleep between messages, latency falls as the rate rises; where something is saturated, it rises."
            .into(),
    };
    let times: Vec<f64> =
        curves.values().flatten().flat_map(|point| [point.1 as f64, point.2 as f64]).collect();
    let plot = Plot {
        caption,
        x: Axis::new(Scale::log(rates(), LEFT, RIGHT), "messages per second", tick_count),
        y: Axis::new(Scale::fitting(&times, BOTTOM, TOP), "one-way latency", tick_time),
        lines: curves
            .iter()
            .enumerate()
            .flat_map(|(number, (name, points))| lines(name.clone(), Look::of(number), points))
            .collect(),
    };
    Some(figure(&plot.caption, &plot.render(), &plot.legend(), &table(&curves)))
}

/// The curve of each middleware and payload. Points of several files are in one curve, unless it would have a rate twice: then
/// each file has curves of its own.
fn curves(subjects: &Subjects<'_>) -> Curves {
    let joined = points(subjects, |subject| subject.result.label());
    if joined.values().any(|points| has_a_rate_twice(points)) {
        return points(subjects, |subject| subject.middleware.clone());
    }
    joined
}

/// True if two points have the same rate. The points are in order of it.
fn has_a_rate_twice(points: &[LatencyPoint]) -> bool {
    points.windows(2).any(|two| matches!(two, [one, next] if (next.0 - one.0).abs() < 1e-9))
}

/// The points by name and payload, in order of the rate.
fn points(subjects: &Subjects<'_>, name: fn(&Subject<'_>) -> String) -> Curves {
    let mut curves = Curves::new();
    let sizes = || subjects.all.iter().map(|subject| subject.result.payload_bytes);
    let is_one_size = sizes().min() == sizes().max();
    for subject in &subjects.all {
        let latency = subject.result.latency.one_way_ns;
        if let Some(rate) = subject.rate().filter(|rate| rate.is_finite() && *rate > 0.0)
            && latency.count > 0
        {
            let size = human::bytes(subject.result.payload_bytes as f64);
            let name = name(subject);
            let name = if is_one_size { name } else { format!("{name}, {size}") };
            curves.entry(name).or_default().push((rate, latency.p50, latency.p99));
        }
    }
    for points in curves.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

fn lines(name: String, look: Look, points: &[LatencyPoint]) -> [PlotLine; 2] {
    let line = |name, dash, points| PlotLine {
        name,
        look,
        dash: Some(dash),
        has_markers: true,
        joined: LineJoin::Straight,
        points,
    };
    [
        line(name, "none", points.iter().map(|point| (point.0, point.1 as f64)).collect()),
        line(String::new(), "3 4", points.iter().map(|point| (point.0, point.2 as f64)).collect()),
    ]
}

fn table(curves: &Curves) -> Table {
    let row = |name: &String, point: &LatencyPoint| {
        let time = |ns| human::time_ns(Some(ns));
        vec![name.clone(), human::count(point.0), time(point.1), time(point.2)]
    };
    let rows =
        curves.iter().flat_map(|(name, points)| points.iter().map(move |point| row(name, point)));
    Table::of_numbers(
        "Latency against rate: figures",
        &["result", "requested msg/s", "1-way p50", "p99"],
        rows.collect(),
    )
}
