//! The section on bytes: a stacked bar of the parts of each result, per message.

use crate::chart::bars::{Bar, BarAxis, BarPart, stacked};
use crate::chart::frame::{Caption, figure};
use crate::chart::look::{Look, field};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::sentence;
use maud::{Markup, html};
use wirelap_events::human::{bytes, exact, mean_bytes};
use wirelap_report::{PartsBytes, bytes_table};

/// The parts of the ledger in its order.
fn names() -> [&'static str; 17] {
    PartsBytes::default().named().map(|(name, _)| name)
}

/// The bytes of a part per message.
fn parts(subject: &Subject<'_>) -> [(&'static str, f64); 17] {
    let overhead = &subject.result.overhead;
    let deliveries = overhead.deliveries.max(1) as f64;
    overhead.parts_bytes.named().map(|(name, bytes)| (name, bytes as f64 / deliveries))
}

fn whole(subject: &Subject<'_>) -> f64 {
    parts(subject).iter().map(|part| part.1).fold(0.0, |sum, bytes| sum + bytes)
}

/// The section; `None` if no bytes were counted.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let counted: Vec<&Subject<'_>> = subjects
        .all
        .iter()
        .filter(|subject| subject.result.overhead.deliveries > 0 && whole(subject) > 0.0)
        .collect();
    if counted.is_empty() {
        return None;
    }
    Some(html! {
        p {
            "Every byte that the device carried for a result's connections is in exactly one part, for each delivered message."
        }
        (chart(&counted))
        (subjects.each_result(|subject| {
            let lines = bytes_table::lines(&subject.result.overhead);
            (!lines.is_empty()).then(|| html! {
                @for (head, line) in lines {
                    p { strong { (sentence(head)) } " " (line) "." }
                }
                @if !subject.result.overhead.operations.is_empty() { (operations(subject)) }
            })
        }).unwrap_or_default())
    })
}

fn chart(counted: &[&Subject<'_>]) -> Markup {
    let sums = counted.iter().map(|subject| whole(subject)).collect();
    let tick = |value: f64| bytes(value.round());
    let axis = BarAxis::of(Some(sums), "bytes", "bytes per message", tick);
    let caption = Caption {
        id: "bytes-bars".into(),
        title: "Bytes per message by part".into(),
        description: format!(
            "One bar for each result, from the payload at the left outwards to the link; {}. Numbers stand for names that \
             have no room: they are in the legend.",
            axis.in_words("bytes")
        ),
    };
    let bars: Vec<Bar> = counted.iter().map(|subject| bar(subject, axis.is_shared)).collect();
    let used = |name: &str| {
        counted
            .iter()
            .any(|subject| parts(subject).iter().any(|part| part.0 == name && part.1 > 0.0))
    };
    let legend =
        names().into_iter().enumerate().filter(|(_, name)| used(name)).map(|(number, name)| {
            (field(look(number)), format!("{} {name}", wirelap_events::human::ordinal(number)))
        });
    let legend: Vec<_> = legend.collect();
    figure(&caption, &stacked(&caption, &axis.axis, &bars), &legend, &figures(counted))
}

fn bar(subject: &Subject<'_>, is_shared: bool) -> Bar {
    let sum = whole(subject);
    let part = |(number, (name, bytes)): (usize, (&'static str, f64))| BarPart {
        name: name.to_owned(),
        number: wirelap_events::human::ordinal(number),
        look: look(number),
        amount: if is_shared { bytes } else { bytes / sum },
    };
    let parts = parts(subject).into_iter().enumerate().map(part);
    Bar {
        name: subject.name.clone(),
        value: format!("{} B", mean_bytes(sum)),
        parts: parts.filter(|part| part.amount > 0.0).collect(),
    }
}

/// Payload, copies and repeats; the protocol's own; headers below; packets without data: neighbours differ.
fn look(number: usize) -> Look {
    const LOOKS: [usize; 17] = [0, 5, 3, 1, 4, 7, 2, 4, 7, 2, 6, 2, 3, 6, 5, 4, 1];
    Look::of(LOOKS.get(number).copied().unwrap_or_default())
}

fn figures(counted: &[&Subject<'_>]) -> Table {
    let used: Vec<usize> = (0..names().len())
        .filter(|&number| {
            counted
                .iter()
                .any(|subject| parts(subject).get(number).is_some_and(|part| part.1 > 0.0))
        })
        .collect();
    let mut headings = vec!["result".to_owned(), "all".to_owned()];
    headings.extend(
        used.iter().filter_map(|&number| names().get(number).map(|name| (*name).to_owned())),
    );
    let row = |subject: &&Subject<'_>| {
        let all = parts(subject);
        let cells =
            used.iter().filter_map(|&number| all.get(number)).map(|part| mean_bytes(part.1));
        [subject.name.clone(), mean_bytes(whole(subject))].into_iter().chain(cells).collect()
    };
    Table {
        caption: "Bytes per message by part: figures".into(),
        headings,
        rows: counted.iter().map(row).collect(),
        text_columns: 1,
    }
}

/// The cost of each operation of the protocol.
fn operations(subject: &Subject<'_>) -> Markup {
    let rows = subject.result.overhead.operations.iter().map(|one| {
        vec![
            one.operation.clone(),
            exact(one.count),
            exact(one.total_bytes),
            mean_bytes(one.mean_bytes),
        ]
    });
    let table = Table::of_numbers(
        format!(
            "Protocol bytes of {} by operation, without payload and lower layers",
            subject.name
        ),
        &["operation", "times", "bytes", "bytes each"],
        rows.collect(),
    );
    html! { details { summary { "What each operation of the protocol cost" } (table.render()) } }
}
