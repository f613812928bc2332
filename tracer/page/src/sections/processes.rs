//! The processes: CPU time, memory and scheduling, and both in each repetition.

use crate::chart::columns::{Group, columns};
use crate::chart::frame::{Caption, figure};
use crate::chart::look::Look;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::{NONE, exact, percent};
use wirelap_report::{Process, ProcessUse, explain, human};

/// The section; `None` if nothing is known of any process.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let processes = &subject.result.processes;
        let repeated = repeated(subject);
        if processes.is_empty() && repeated.is_none() {
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
    let cpu = chart(subject, "cpu", "CPU share", |one| one.cpu_share, percent);
    let memory = chart(
        subject,
        "memory",
        "resident memory",
        |one| one.rss_bytes.map(|bytes| bytes as f64),
        human::bytes,
    );
    Some(html! { div class="figures" { (cpu) (memory) } })
}

fn chart(
    subject: &Subject<'_>,
    id: &str,
    what: &str,
    of: fn(&ProcessUse) -> Option<f64>,
    format: fn(f64) -> String,
) -> Markup {
    let repetitions = &subject.result.repetitions;
    let mut roles: Vec<&str> = Vec::new();
    for process in repetitions.iter().flat_map(|one| &one.processes) {
        if !roles.contains(&process.role.as_str()) {
            roles.push(&process.role);
        }
    }
    let value = |role: &str, number: usize| {
        let processes = &repetitions.get(number)?.processes;
        processes.iter().find(|process| process.role == role).and_then(of)
    };
    let numbers = 0..repetitions.len();
    let groups: Vec<Group> = roles
        .iter()
        .enumerate()
        .map(|(look, role)| Group {
            name: (*role).to_owned(),
            look: Look::of(look),
            values: numbers.clone().map(|number| value(role, number)).collect(),
        })
        .collect();
    let caption = Caption {
        id: format!("processes-{id}-{}", subject.number),
        title: format!("{}: {what} by repetition", subject.name),
        description: "One group for each role, one bar for each repetition in order.".into(),
    };
    let rows = groups.iter().map(|group| {
        let cells = group.values.iter().map(|value| value.map_or_else(|| NONE.to_owned(), format));
        std::iter::once(group.name.clone()).chain(cells).collect()
    });
    let mut headings = vec!["role".to_owned()];
    headings.extend(repetitions.iter().map(|one| format!("repetition {}", one.number)));
    let table =
        Table { caption: caption.title.clone(), headings, rows: rows.collect(), text_columns: 1 };
    figure(&caption, &columns(&caption, what, &groups, format), &[], &table)
}
