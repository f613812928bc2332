//! The scheduling of the threads of each process of a row.

use crate::render::page::Page;
use crate::text;
use wirelap_correlate::snapshot::{Group, Process, Scheduling};

/// From this width on, all figures of a process are on one line.
const ONE_LINE: usize = 106;

/// Adds the table of the processes.
pub fn write(page: &mut Page, group: &Group) {
    page.heading("processes: waits for a CPU, from wakeup or preemption until running");
    if group.processes.is_empty() {
        return page.sentence("No process of this row is known.");
    }
    let wide = page.width >= ONE_LINE;
    let more =
        if wide { format!("{:>9}{:>9}{:>9}", "WAITS", "SLEPT", "MIGRATED") } else { String::new() };
    page.columns(&format!(
        " {} {}{:>8}{:>10}{:>8}{:>8}{:>8}{:>9}{more}",
        text::left("ROLE", 10),
        text::left("PROCESS", 16),
        "CPU",
        "MEMORY",
        "WAIT50",
        "WAIT99",
        "MAX",
        "PREEMPT"
    ));
    for process in &group.processes {
        write_process(page, process, wide);
    }
}

fn write_process(page: &mut Page, process: &Process, wide: bool) {
    let Scheduling { run_queue, sleeps, preemptions, migrations } = &process.scheduling;
    let traced = process.scheduling != Scheduling::default();
    let count = |count: u64| if traced { text::number(count as f64) } else { text::NONE.into() };
    let time = |time| if run_queue.count > 0 { text::time(time) } else { text::NONE.into() };
    let memory = process.rss_bytes.map_or_else(|| text::NONE.into(), text::bytes);
    let measured = process.cpu_share.map_or_else(|| text::NONE.into(), text::cpu);
    let cpu = if process.ended { "ended".into() } else { measured };
    let mut cells = format!(
        " {} {}{}{}{}{}{}{}",
        text::left(&process.role, 10),
        text::left(&name(process), 16),
        text::right(&cpu, 8),
        text::right(&memory, 10),
        text::right(&time(run_queue.p50), 8),
        text::right(&time(run_queue.p99), 8),
        text::right(&time(run_queue.max), 8),
        text::right(&count(*preemptions), 9),
    );
    let more = [run_queue.count, *sleeps, *migrations].map(count);
    if wide {
        for cell in &more {
            cells.push_str(&text::right(cell, 9));
        }
    }
    page.row(cells, String::new());
    if let Some(place) = wirelap_report::ReportedProcess::from(process).runs_in() {
        page.say(&" ".repeat(12), &format!("in {}", text::clean(&place)), page.theme.dim());
    }
    if !wide && traced {
        let [waits, sleeps, migrations] = more.map(|cell| text::unbroken(&cell));
        let what = format!("waited {waits}×, slept {sleeps}×, migrated {migrations}×");
        page.say(&" ".repeat(12), &what, page.theme.dim());
    }
    if !traced {
        page.say(
            &" ".repeat(12),
            "none of its threads was seen to be switched to",
            page.theme.dim(),
        );
    }
}

/// A process as `mosquitto (4021)`, its name cut so that its id is whole.
fn name(process: &Process) -> String {
    let id = format!(" ({})", process.pid.0);
    format!("{}{id}", text::truncate(&process.comm, 16usize.saturating_sub(text::width(&id))))
}
