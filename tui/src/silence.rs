//! The sentences about rows that have become silent, and all warnings of the screen.

use crate::app::App;
use crate::{columns, text, words};
use wirelap_correlate::snapshot::{Group, Process};

/// One sentence for each reason to use the figures with care, the most serious first, then the notes.
pub fn warnings(app: &App) -> Vec<String> {
    let groups = app.history().latest().groups.iter();
    let gone = groups.filter_map(|group| {
        let broker = ended_broker(group).filter(|_| app.silence(group).is_some())?;
        Some(format!("{}: {}", columns::name(group), gone(app, group, broker)))
    });
    gone.chain(words::all_warnings(app)).collect()
}

/// `1 row silent`; `None` if no row is.
pub fn summary(app: &App) -> Option<String> {
    let groups = app.history().latest().groups.iter();
    match groups.filter(|group| app.silence(group).is_some()).count() {
        0 => None,
        1 => Some("1 row silent".into()),
        rows => Some(format!("{rows} rows silent")),
    }
}

/// Since when a row has been silent, what is known of its processes, and what to look at; `None` if it is not silent.
pub fn sentence(app: &App, group: &Group) -> Option<String> {
    let silence = app.silence(group)?;
    if let Some(broker) = ended_broker(group) {
        return Some(gone(app, group, broker));
    }
    let since = text::clock(silence.since - app.snapshot().since);
    let lasts = text::unbroken(&text::time(silence.lasts));
    let ended = group.processes.iter().filter(|process| has_ended(process));
    let ended: Vec<String> = ended
        .map(|process| {
            format!("{} {} ({})", process.role, text::clean(&process.comm), process.pid.0)
        })
        .collect();
    let advice = match (ended.as_slice(), group.why.open.is_empty()) {
        ([], true) => "its processes run: does anything still send?".to_owned(),
        ([], false) => "messages are on their way: see \"open\"".to_owned(),
        (ended, _) => format!("ended: {}", ended.join(", ")),
    };
    Some(format!("no delivery for {lasts}, since {since}; {advice}"))
}

fn gone(app: &App, group: &Group, broker: &Process) -> String {
    let since = app.silence(group).map(|silence| silence.since).unwrap_or_default();
    format!(
        "the broker {} ({}) has ended, no delivery since {}; start it again, and its clients",
        text::clean(&broker.comm),
        broker.pid.0,
        text::clock(since - app.snapshot().since),
    )
}

/// The broker of a row if it has ended and no other one is there.
fn ended_broker(group: &Group) -> Option<&Process> {
    let mut brokers = group.processes.iter().filter(|process| process.role == "broker");
    let all_ended = brokers.clone().all(has_ended);
    brokers.next_back().filter(|_| all_ended)
}

fn has_ended(process: &Process) -> bool {
    process.cpu_share.is_none() && process.rss_bytes.is_none()
}
