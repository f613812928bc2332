//! The threads that had the CPU while threads of a row waited for it, and the verdicts about that.

use crate::app::{App, threads};
use crate::render::page::Page;
use crate::{text, verdicts};
use std::collections::BTreeMap;
use wirelap_correlate::snapshot::{Culprit, Group, Process};
use wirelap_events::{Comm, Delivery, Holder, Nanos, Pid, TaskId, Tid};
use wirelap_report::words;

/// The most pairs of threads that are shown.
const PAIRS: usize = 12;
/// The longest bar of a time.
const BAR: usize = 24;

/// Adds who had the CPU in all waits, who waited for whom in the kept messages, and the verdicts' threads.
pub fn write(page: &mut Page, group: &Group, app: &App) {
    page.heading("who had the CPU while others waited for it");
    if group.why.holders.is_empty() {
        page.sentence(
            "No thread was seen to have a CPU for which a thread of this row waited for long.",
        );
    }
    let most = group.why.holders.iter().map(|holder| holder.held.0).max().unwrap_or_default();
    for holder in &group.why.holders {
        let bar = text::left(&text::bar(holder.held.0, most, BAR), BAR);
        page.row(format!(" {}  ", text::right(&text::time(holder.held), 8)), format!("{bar}  "));
        let name = verdicts::name(holder.task, holder.comm);
        let what = format!("{name}, {}", text::counted(holder.waits, "wait"));
        if let Some(line) = page.lines.last_mut() {
            line.push_span(text::truncate(&what, text::columns_left(page.width, BAR + 14)));
        }
    }
    culprits(page, group);
    pairs(page, group, app);
}

/// The threads that the verdicts name, with their shares of the time that the verdict is about.
fn culprits(page: &mut Page, group: &Group) {
    let with: Vec<_> = group.why.verdicts.iter().filter(|one| !one.culprits.is_empty()).collect();
    if with.is_empty() {
        return;
    }
    page.heading("whom the verdicts name");
    for verdict in with {
        let who: Vec<String> = verdict.culprits.iter().map(culprit).collect();
        let title = words::heading(verdict);
        page.say(" · ", &format!("{title}: {}", who.join(", ")), ratatui::style::Style::new());
    }
}

fn culprit(culprit: &Culprit) -> String {
    let name = if culprit.task == TaskId::default() {
        "nobody that was seen".into()
    } else {
        verdicts::name(culprit.task, culprit.comm)
    };
    text::unbroken(&format!("{name} {}", text::percent(culprit.share)))
}

/// A process that waited, and the thread that had the CPU.
type WaitPair = (Pid, Pid, Tid);

/// The waits of a pair: the name of the thread that had the CPU, how long, and how often.
#[derive(Clone, Copy, Default)]
struct Waited {
    comm: Comm,
    held: Nanos,
    times: u64,
}

/// Adds the pairs of a waiting process and the thread that it waited for, in the messages that were kept.
fn pairs(page: &mut Page, group: &Group, app: &App) {
    let messages = threads::slowest(app.history(), group);
    if messages.is_empty() {
        return;
    }
    page.heading(&format!("who waited for whom, in the {} slowest messages", messages.len()));
    let mut all: BTreeMap<WaitPair, Waited> = BTreeMap::new();
    for delivery in &messages {
        each_wait(delivery, &mut |pid, holder| {
            let waited = all.entry((pid, holder.task.pid, holder.task.tid)).or_default();
            waited.comm = holder.comm;
            waited.held += holder.held;
            waited.times += 1;
        });
    }
    if all.is_empty() {
        return page.sentence("In none of them was another thread seen to have the CPU.");
    }
    let mut all: Vec<(WaitPair, Waited)> = all.into_iter().collect();
    all.sort_by_key(|(_, waited)| std::cmp::Reverse(waited.held));
    for &((pid, by, tid), waited) in all.iter().take(PAIRS) {
        let what = format!(
            "{} waited for {}, {}",
            process(&group.processes, pid),
            holder_name(TaskId { pid: by, tid }, waited.comm),
            text::counted(waited.times, "time"),
        );
        let time = text::right(&text::time(waited.held), 8);
        page.say(&format!(" {time}  "), &what, ratatui::style::Style::new());
    }
    let more = all.len().saturating_sub(PAIRS);
    if more > 0 {
        page.sentence(&format!("and {}", text::counted(more as u64, "more pair")));
    }
}

/// Calls `out` with each wait for a CPU of a message's threads: after wakeups, and after preemptions of sender and reader.
fn each_wait(delivery: &Delivery, out: &mut dyn FnMut(Pid, &Holder)) {
    for (at, leg) in delivery.legs.iter().enumerate() {
        for hop in leg.before.iter().chain(&leg.chain).filter(|hop| hop.holder.held > Nanos(0)) {
            out(hop.task.pid, &hop.holder);
        }
        let off = delivery.off_cpu_of(at);
        for (task, rest) in [(leg.reader, off.reader), (leg.sender, off.sender)] {
            let (Some(task), Some(rest)) = (task, rest) else { continue };
            rest.holders().for_each(|holder| out(task.pid, holder));
        }
    }
}

/// A thread that had the CPU, in words; thread 0 is the idle task.
pub fn holder_name(task: TaskId, comm: Comm) -> String {
    if task.tid.0 == 0 { "a CPU that had to wake up".into() } else { verdicts::name(task, comm) }
}

/// A process of the row, in words.
pub fn process(processes: &[Process], pid: Pid) -> String {
    let comm = processes.iter().find(|process| process.pid == pid).map(|process| &process.comm);
    let comm = comm.map_or(Comm::default(), |comm| Comm::from_name(comm));
    verdicts::name(TaskId { pid, ..TaskId::default() }, comm)
}
