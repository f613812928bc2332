//! The processes: CPU time, memory and scheduling, over time and in each repetition.

mod measure;
mod numbered;
mod over_time;

use crate::chart::columns::{BarGroup, columns};
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use measure::ProcessMeasure;
use numbered::numbered;
use wirelap_events::human::{NONE, exact, percent};
use wirelap_report::{ProcessUse, ReportedProcess, explain, human};

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
                @if let Some(place) = process.runs_in() {
                    p { (process.name) " (pid " (process.pid) ") ran in " (place) "." }
                }
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

fn row(process: &ReportedProcess) -> Vec<String> {
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
    let cpu = ProcessMeasure::cpu(|one: &ProcessUse| one.cpu_share);
    let memory = ProcessMeasure::memory(|one: &ProcessUse| Some(one.rss_bytes? as f64));
    Some(html! { div class="figures" { (chart(subject, &cpu)) (chart(subject, &memory)) } })
}

fn chart(subject: &Subject<'_>, measure: &ProcessMeasure<ProcessUse>) -> Markup {
    let repetitions: Vec<_> =
        subject.result.repetitions.iter().map(|one| numbered(&one.processes)).collect();
    let mut roles: Vec<&str> = Vec::new();
    for (role, _) in repetitions.iter().flatten() {
        if !roles.contains(&role.as_str()) {
            roles.push(role);
        }
    }
    let uses = |role: &str| -> Vec<Option<&ProcessUse>> {
        let each = repetitions.iter();
        each.map(|all| all.iter().find(|(other, _)| other == role).map(|(_, one)| *one)).collect()
    };
    let group = |(look, role): (usize, &&str)| BarGroup {
        name: (*role).to_owned(),
        look: Look::of(look),
        values: uses(role).into_iter().map(|one| measure.on_axis(one?)).collect(),
    };
    let groups: Vec<BarGroup> = roles.iter().enumerate().map(group).collect();
    let caption = Caption {
        id: format!("processes-{}-{}", measure.id, subject.number),
        title: format!("{}: {} by repetition", subject.name, measure.name),
        description: "One group for each role, one bar for each repetition in order.".into(),
    };
    let row = |role: &&str| {
        let text = |one: Option<&ProcessUse>| one.and_then(|one| measure.text(one));
        let cells = uses(role).into_iter().map(|one| text(one).unwrap_or_else(|| NONE.to_owned()));
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
