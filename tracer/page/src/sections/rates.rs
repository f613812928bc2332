//! Latency against the rate of messages, where the files have several rates.

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::look::{Look, swatch};
use crate::chart::plot::{BOTTOM, Joined, LEFT, Line, Plot, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::subject::Subjects;
use crate::tables::Table;
use crate::write::{tick_count, tick_time};
use maud::Markup;
use std::collections::BTreeMap;
use wirelap_report::human;

/// Rate, median and 99th percentile of the latency.
type Point = (f64, u64, u64);

/// The section; `None` unless there are results at two rates at least.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let by_name = points(subjects);
    let rates = || by_name.values().flatten().map(|point| point.0);
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
        by_name.values().flatten().flat_map(|point| [point.1 as f64, point.2 as f64]).collect();
    let plot = Plot {
        caption,
        x: Axis::new(Scale::log(rates(), LEFT, RIGHT), "messages per second", tick_count),
        y: Axis::new(Scale::fitting(&times, BOTTOM, TOP), "one-way latency", tick_time),
        lines: by_name
            .values()
            .enumerate()
            .flat_map(|(number, points)| {
                let name = by_name.keys().nth(number).cloned().unwrap_or_default();
                lines(name, Look::of(number), points)
            })
            .collect(),
    };
    let legend: Vec<_> = by_name
        .keys()
        .enumerate()
        .map(|(number, name)| (swatch(Look::of(number)), name.clone()))
        .collect();
    Some(figure(&plot.caption, &plot.render(), &legend, &table(&by_name)))
}

/// The points of each middleware and payload, over all files, in order of the rate.
fn points(subjects: &Subjects<'_>) -> BTreeMap<String, Vec<Point>> {
    let mut by_name: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let sizes = || subjects.all.iter().map(|subject| subject.result.payload_bytes);
    let is_one_size = sizes().min() == sizes().max();
    for subject in &subjects.all {
        let own = subject.result.rate_msg_per_s;
        let rate = own.or(subject.report.scenario.rate_msg_per_s);
        let latency = subject.result.latency.one_way_ns;
        if let Some(rate) = rate.filter(|rate| rate.is_finite() && *rate > 0.0)
            && latency.count > 0
        {
            let size = human::bytes(subject.result.payload_bytes as f64);
            let label = subject.result.label();
            let name = if is_one_size { label } else { format!("{label}, {size}") };
            by_name.entry(name).or_default().push((rate, latency.p50, latency.p99));
        }
    }
    for points in by_name.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    by_name
}

fn lines(name: String, look: Look, points: &[Point]) -> [Line; 2] {
    let line = |name, dash, points| Line {
        name,
        look,
        dash: Some(dash),
        has_markers: true,
        joined: Joined::Straight,
        points,
    };
    [
        line(name, "none", points.iter().map(|point| (point.0, point.1 as f64)).collect()),
        line(String::new(), "3 4", points.iter().map(|point| (point.0, point.2 as f64)).collect()),
    ]
}

fn table(by_name: &BTreeMap<String, Vec<Point>>) -> Table {
    let row = |name: &String, point: &Point| {
        let time = |ns| human::time_ns(Some(ns));
        vec![name.clone(), human::count(point.0), time(point.1), time(point.2)]
    };
    let rows =
        by_name.iter().flat_map(|(name, points)| points.iter().map(move |point| row(name, point)));
    Table::of_numbers(
        "Latency against rate: figures",
        &["result", "requested msg/s", "1-way p50", "p99"],
        rows.collect(),
    )
}
