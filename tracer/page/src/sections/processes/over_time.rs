//! CPU time and memory of the processes in the course of one repetition.

use super::numbered::numbered;
use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::look::{Look, swatch};
use crate::chart::plot::{BOTTOM, Joined, LEFT, Line, Plot, RIGHT, TOP};
use crate::chart::scale::Scale;
use crate::subject::Subject;
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::{NONE, percent};
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
    let cpu = Measure {
        id: "cpu",
        name: "CPU share",
        axis: "CPU share",
        of: |point| point.cpu_share,
        tick: percent,
        format: percent,
    };
    let memory = Measure {
        id: "memory",
        name: "resident memory",
        axis: "resident memory",
        of: |point| point.rss_bytes as f64,
        tick: human::bytes,
        format: human::bytes,
    };
    let charts =
        [cpu, memory].map(|measure| chart(subject, repetition.number, &processes, &measure));
    Some(html! { div class="figures" { @for chart in charts { (chart) } } })
}

/// What a chart shows.
struct Measure {
    id: &'static str,
    name: &'static str,
    axis: &'static str,
    of: fn(&UsageAt) -> f64,
    tick: fn(f64) -> String,
    format: fn(f64) -> String,
}

fn chart(
    subject: &Subject<'_>,
    repetition: u32,
    processes: &[(String, &ProcessUse)],
    measure: &Measure,
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
            Scale::linear(zero.chain(all().map(measure.of)), BOTTOM, TOP),
            measure.axis,
            measure.tick,
        ),
        lines: processes
            .iter()
            .enumerate()
            .map(|(number, one)| line(number, one, measure))
            .collect(),
    };
    let legend: Vec<_> = processes
        .iter()
        .enumerate()
        .map(|(number, (role, _))| (swatch(Look::of(number)), role.clone()))
        .collect();
    figure(&plot.caption, &plot.render(), &legend, &table(&plot.caption, processes, measure))
}

fn line(number: usize, (role, process): &(String, &ProcessUse), measure: &Measure) -> Line {
    Line {
        name: role.clone(),
        look: Look::of(number),
        dash: None,
        has_markers: false,
        joined: Joined::Straight,
        points: process.over_time.iter().map(|point| (point.at_s, (measure.of)(point))).collect(),
    }
}

/// One row for each time at which the first process was sampled: all are sampled together.
fn table(caption: &Caption, processes: &[(String, &ProcessUse)], measure: &Measure) -> Table {
    let longest = processes.iter().map(|(_, process)| process.over_time.len()).max().unwrap_or(0);
    let row = |number: usize| {
        let at = processes.iter().find_map(|(_, process)| process.over_time.get(number));
        let time = at.map_or_else(|| NONE.to_owned(), |point| format!("{:.1}", point.at_s));
        let cells = processes.iter().map(|(_, process)| {
            let point = process.over_time.get(number);
            point.map_or_else(|| NONE.to_owned(), |point| (measure.format)((measure.of)(point)))
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
