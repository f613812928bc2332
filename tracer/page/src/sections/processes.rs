//! The processes: CPU time, memory and scheduling, over time and in each repetition.

mod numbered;
mod over_time;

use crate::chart::columns::{Group, columns};
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use numbered::numbered;
use wirelap_events::human::{NONE, exact, percent};
use wirelap_report::{Process, ProcessUse, explain, human};

/// The section; `None` if nothing is known of any process.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let processes = &subject.result.processes;
        let (repeated, over_time) = (repeated(subject), over_time::content(subject));
        if processes.is_empty() && repeated.is_none() && over_time.is_none() {
            return None;
        }
        Some(html! {
            @if !processes.is_empty() { (table(subject).render()) }
            @for process in processes {
                @if let Some(unix) = &process.unix_clients {
                    p {
                        (process.name) " also serves " (exact(unix.connections)) " connections on the Unix socket "
                        (explain::clean(&unix.path)) ", which wirelap does not follow."
                    }
                }
            }
            @if let Some(over_time) = over_time { (over_time) }
            @if let Some(repeated) = repeated { (repeated) }
        })
    })
}

fn table(subject: &Subject<'_>) -> Table {
    let rows = subject.result.processes.iter().map(row).collect();
    let headings = [
        "process",
        "role",
        "pid",
        "CPU (1 core = 100 %)",
        "memory",
        "waits for a CPU, p50",
        "p99",
        "slept",
        "preempted",
        "moved to another CPU",
    ];
    Table::of_text(format!("The processes of {}", subject.name), &headings, rows, 2)
}

fn row(process: &Process) -> Vec<String> {
    let scheduling = process.scheduling.as_ref();
    let wait = scheduling.map(|seen| seen.run_queue_ns).filter(|wait| wait.count > 0);
    let count = |count: Option<u64>| count.map_or_else(|| NONE.to_owned(), exact);
    vec![
        process.name.clone(),
        process.role.clone(),
        process.pid.to_string(),
        process.cpu_share.map_or_else(|| NONE.to_owned(), percent),
        process.rss_bytes.map_or_else(|| NONE.to_owned(), |bytes| human::bytes(bytes as f64)),
        human::time_ns(wait.map(|wait| wait.p50)),
        human::time_ns(wait.map(|wait| wait.p99)),
        count(scheduling.map(|seen| seen.sleeps)),
        count(scheduling.map(|seen| seen.preemptions)),
        count(scheduling.map(|seen| seen.migrations)),
    ]
}

/// CPU share and memory of each process in each repetition; `None` unless there are several repetitions with processes.
fn repeated(subject: &Subject<'_>) -> Option<Markup> {
    let repetitions = &subject.result.repetitions;
    if repetitions.iter().filter(|one| !one.processes.is_empty()).count() < 2 {
        return None;
    }
    let cpu = Measure {
        id: "cpu",
        name: "CPU share",
        axis: "CPU share",
        unit: 1.0,
        of: |one| one.cpu_share,
        tick: percent,
        format: percent,
    };
    let memory = Measure {
        id: "memory",
        name: "resident memory",
        axis: "resident memory, MiB",
        unit: 1_048_576.0,
        of: |one| one.rss_bytes.map(|bytes| bytes as f64),
        tick: human::count,
        format: human::bytes,
    };
    Some(html! { div class="figures" { (chart(subject, &cpu)) (chart(subject, &memory)) } })
}

/// What a chart of processes shows.
struct Measure {
    id: &'static str,
    name: &'static str,
    axis: &'static str,
    /// What 1 on the axis is.
    unit: f64,
    of: fn(&ProcessUse) -> Option<f64>,
    tick: fn(f64) -> String,
    format: fn(f64) -> String,
}

fn chart(subject: &Subject<'_>, measure: &Measure) -> Markup {
    let repetitions: Vec<_> =
        subject.result.repetitions.iter().map(|one| numbered(&one.processes)).collect();
    let mut roles: Vec<&str> = Vec::new();
    for (role, _) in repetitions.iter().flatten() {
        if !roles.contains(&role.as_str()) {
            roles.push(role);
        }
    }
    let values = |role: &str| -> Vec<Option<f64>> {
        let of = |all: &Vec<(String, &ProcessUse)>| {
            all.iter().find(|one| one.0 == role).and_then(|one| (measure.of)(one.1))
        };
        repetitions.iter().map(of).collect()
    };
    let group = |(look, role): (usize, &&str)| Group {
        name: (*role).to_owned(),
        look: Look::of(look),
        values: values(role).into_iter().map(|value| Some(value? / measure.unit)).collect(),
    };
    let groups: Vec<Group> = roles.iter().enumerate().map(group).collect();
    let caption = Caption {
        id: format!("processes-{}-{}", measure.id, subject.number),
        title: format!("{}: {} by repetition", subject.name, measure.name),
        description: "One group for each role, one bar for each repetition in order.".into(),
    };
    let row = |role: &&str| {
        let cells = values(role)
            .into_iter()
            .map(|value| value.map_or_else(|| NONE.to_owned(), measure.format));
        std::iter::once((*role).to_owned()).chain(cells).collect()
    };
    let mut headings = vec!["role".to_owned()];
    headings
        .extend(subject.result.repetitions.iter().map(|one| format!("repetition {}", one.number)));
    let table = Table {
        caption: caption.title.clone(),
        headings,
        rows: roles.iter().map(row).collect(),
        text_columns: 1,
    };
    figure(&caption, &columns(&caption, measure.axis, &groups, measure.tick), &[], &table)
}
