//! CPU time and memory of the processes in the course of one repetition.

use super::measure::ProcessMeasure;
use super::numbered::numbered;
use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::chart::plot::{BOTTOM, LEFT, LineJoin, Plot, PlotLine, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::subject::Subject;
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::NONE;
use wirelap_report::{ProcessUse, UsageAt, human};

/// The fewest points that make a line.
const FEWEST: usize = 3;

/// The charts of the first repetition that has points enough; `None` if none has.
pub fn content(subject: &Subject<'_>) -> Option<Markup> {
    let repetition = subject
        .result
        .repetitions
        .iter()
        .find(|one| one.processes.iter().any(|process| process.over_time.len() >= FEWEST))?;
    let processes = numbered(&repetition.processes);
    let measures = [
        ProcessMeasure::cpu(|point: &UsageAt| Some(point.cpu_share)),
        ProcessMeasure::memory(|point: &UsageAt| Some(point.rss_bytes as f64)),
    ];
    let charts = measures.map(|measure| chart(subject, repetition.number, &processes, &measure));
    Some(html! { div class="figures" { @for chart in charts { (chart) } } })
}

fn chart(
    subject: &Subject<'_>,
    repetition: u32,
    processes: &[(String, &ProcessUse)],
    measure: &ProcessMeasure<UsageAt>,
) -> Markup {
    let all = || processes.iter().flat_map(|(_, process)| &process.over_time);
    let zero = std::iter::once(0.0);
    let plot = Plot {
        caption: Caption {
            id: format!("over-time-{}-{}", measure.id, subject.number),
            title: format!("{}: {} over time", subject.name, measure.name),
            description: format!(
                "Repetition {repetition}, from the time at which the sender was told to begin. Each point is the end of a part of it."
            ),
        },
        x: Axis::new(
            Scale::linear(zero.clone().chain(all().map(|point| point.at_s)), LEFT, RIGHT),
            "seconds",
            human::count,
        ),
        y: Axis::new(
            Scale::linear(
                zero.chain(all().filter_map(|point| measure.on_axis(point))),
                BOTTOM,
                TOP,
            ),
            measure.axis,
            measure.tick,
        ),
        lines: processes
            .iter()
            .enumerate()
            .map(|(number, one)| line(number, one, measure))
            .collect(),
    };
    let table = table(&plot.caption, processes, measure);
    figure(&plot.caption, &plot.render(), &plot.legend(), &table)
}

fn line(
    number: usize,
    (role, process): &(String, &ProcessUse),
    measure: &ProcessMeasure<UsageAt>,
) -> PlotLine {
    let point = |point: &UsageAt| Some((point.at_s, measure.on_axis(point)?));
    let points = process.over_time.iter().filter_map(point);
    PlotLine {
        name: role.clone(),
        look: Look::of(number),
        dash: None,
        has_markers: false,
        joined: LineJoin::Straight,
        points: points.collect(),
    }
}

/// One row for each time at which the first process was sampled: all are sampled together.
fn table(
    caption: &Caption,
    processes: &[(String, &ProcessUse)],
    measure: &ProcessMeasure<UsageAt>,
) -> Table {
    let longest = processes.iter().map(|(_, process)| process.over_time.len()).max().unwrap_or(0);
    let row = |number: usize| {
        let at = processes.iter().find_map(|(_, process)| process.over_time.get(number));
        let time = at.map_or_else(|| NONE.to_owned(), |point| format!("{:.1}", point.at_s));
        let cells = processes.iter().map(|(_, process)| {
            let point = process.over_time.get(number);
            point.and_then(|point| measure.text(point)).unwrap_or_else(|| NONE.to_owned())
        });
        std::iter::once(time).chain(cells).collect()
    };
    let headings = std::iter::once("seconds".to_owned());
    Table {
        caption: format!("{}: figures", caption.title),
        headings: headings.chain(processes.iter().map(|(role, _)| role.clone())).collect(),
        rows: (0..longest).map(row).collect(),
        text_columns: 0,
    }
}
