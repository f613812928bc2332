//! Throughput against payload, ours as solid lines and published ones dashed.

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::chart::plot::{BOTTOM, LEFT, LineJoin, Plot, PlotLine, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::published::{Study, name_of};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::tick_count;
use maud::{Markup, html};
use wirelap_report::{Pacing, RunKind, human};

/// Ours or a published one, over payloads.
struct ThroughputCurve {
    name: String,
    look: Look,
    is_published: bool,
    /// Payload, messages per second, payload bits per second.
    points: Vec<(u64, f64, f64)>,
}

impl ThroughputCurve {
    /// True if the curve has points of several payloads, which are in order.
    fn has_several_payloads(&self) -> bool {
        self.points.first().map(|point| point.0) != self.points.last().map(|point| point.0)
    }
}

/// The section; `None` unless a middleware was measured with several payloads.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let mut curves = measured(subjects);
    if !curves.iter().any(ThroughputCurve::has_several_payloads) {
        return None;
    }
    let is_throughput =
        subjects.files.iter().any(|file| file.report.scenario.kind == RunKind::Throughput);
    if is_throughput {
        let published = published(subjects, &curves);
        curves.extend(published);
    }
    let shown = |title, id, of: fn(&(u64, f64, f64)) -> f64| chart(&curves, title, id, of);
    Some(html! {
        @if is_throughput && curves.iter().any(|curve| curve.is_published) {
            p { "Solid lines with marks are measured here; dotted lines without marks are published, on another machine "
                "(" a href="#published" { "conditions" } ")." }
        }
        div class="figures" {
            (shown("Messages per second", "throughput-messages", |point| point.1))
            (shown("Payload bits per second", "throughput-bits", |point| point.2))
        }
    })
}

/// The curve of each middleware, without results whose rate was requested or is not known.
fn measured(subjects: &Subjects<'_>) -> Vec<ThroughputCurve> {
    let mut curves: Vec<ThroughputCurve> = Vec::new();
    for subject in &subjects.all {
        let (result, rate) = (subject.result, &subject.result.throughput);
        if result.payload_bytes == 0 || !rate.is_known() || is_paced(subject) {
            continue;
        }
        let point = (result.payload_bytes, rate.msg_per_s, rate.payload_bit_per_s);
        match curves.iter_mut().find(|curve| curve.name == subject.middleware) {
            Some(curve) => curve.points.push(point),
            None => curves.push(ThroughputCurve {
                name: subject.middleware.clone(),
                look: Look::of(curves.len()),
                is_published: false,
                points: vec![point],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by_key(|point| point.0);
    }
    curves
}

/// True if the rate of a result was requested: it says nothing of the payload.
fn is_paced(subject: &Subject<'_>) -> bool {
    subject.result.rate_msg_per_s.is_some() || subject.report.scenario.pacing == Pacing::Rate
}

/// The published curves of the middlewares that were measured, each once, in the colour of the measured curve and over the
/// payloads that were measured.
fn published(subjects: &Subjects<'_>, measured: &[ThroughputCurve]) -> Vec<ThroughputCurve> {
    let Some(study) = Study::load() else { return Vec::new() };
    let sizes = || measured.iter().flat_map(|curve| &curve.points).map(|point| point.0);
    let (low, high) = (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default());
    let mut curves: Vec<ThroughputCurve> = Vec::new();
    for subject in &subjects.all {
        let Some(name) = name_of(subject.result) else { continue };
        let Some(ours) = measured.iter().find(|curve| curve.name == subject.middleware) else {
            continue;
        };
        let title = format!("{name}, published");
        let rates = study.throughput(name).into_iter();
        let points: Vec<_> = rates
            .filter(|(size, _)| (low..=high).contains(size))
            .map(|(size, rate)| (size, rate.msg_per_s, rate.bit_per_s))
            .collect();
        if points.is_empty() || curves.iter().any(|curve| curve.name == title) {
            continue;
        }
        curves.push(ThroughputCurve { name: title, look: ours.look, is_published: true, points });
    }
    curves
}

fn chart(
    curves: &[ThroughputCurve],
    title: &str,
    id: &str,
    of: fn(&(u64, f64, f64)) -> f64,
) -> Markup {
    let caption = Caption {
        id: id.into(),
        title: format!("{title} against payload"),
        description: "Both axes are logarithmic. Higher is better.".into(),
    };
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let sizes = all().map(|point| point.0 as f64);
    let plot = Plot {
        x: Axis::of_sizes(Scale::log(sizes, LEFT, RIGHT), "payload", human::bytes),
        y: Axis::new(Scale::log(all().map(of), BOTTOM, TOP), &title.to_lowercase(), tick_count),
        lines: curves
            .iter()
            .map(|curve| PlotLine {
                name: if curve.is_published { String::new() } else { curve.name.clone() },
                look: curve.look,
                dash: Some(if curve.is_published { "2 4" } else { "none" }),
                has_markers: !curve.is_published,
                joined: LineJoin::Straight,
                points: curve.points.iter().map(|point| (point.0 as f64, of(point))).collect(),
            })
            .collect(),
        caption,
    };
    figure(&plot.caption, &plot.render(), &plot.legend(), &table(curves, title, of))
}

fn table(curves: &[ThroughputCurve], title: &str, of: fn(&(u64, f64, f64)) -> f64) -> Table {
    let mut sizes: Vec<u64> = curves
        .iter()
        .filter(|curve| !curve.is_published)
        .flat_map(|curve| &curve.points)
        .map(|p| p.0)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cell = |curve: &ThroughputCurve, size: u64| {
        let point = curve.points.iter().find(|point| point.0 == size);
        point.map_or_else(|| "–".to_owned(), |point| human::count(of(point)))
    };
    let row = |curve: &ThroughputCurve| {
        let cells = sizes.iter().map(|&size| cell(curve, size));
        std::iter::once(curve.name.clone()).chain(cells).collect()
    };
    let mut headings = vec!["result".to_owned()];
    headings.extend(sizes.iter().map(|&size| human::bytes(size as f64)));
    Table {
        caption: format!("{title} by payload"),
        headings,
        rows: curves.iter().map(row).collect(),
        text_columns: 1,
    }
}
