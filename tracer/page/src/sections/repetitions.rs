//! The repetitions of each result: the median and the 99th percentile of each, so that the spread is seen.

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::rows::{ENDS, PointMark, PointRow, mark_swatch, rows};
use crate::chart::scale::Scale;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::tick_time;
use maud::{Markup, html};
use wirelap_events::human::{NONE, exact};
use wirelap_report::{Repetition, human};

/// The section; `None` unless a result has several repetitions.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let several: Vec<&Subject<'_>> =
        subjects.all.iter().filter(|subject| subject.result.repetitions.len() > 1).collect();
    if several.is_empty() {
        return None;
    }
    let drawn = chart(&several);
    Some(html! {
        p { "The further apart a result's repetitions are, the less a small difference between two results means." }
        (drawn.unwrap_or_default())
        (subjects.each_result(|subject| {
            (subject.result.repetitions.len() > 1).then(|| {
                html! { details { summary { "Each repetition" } (table(subject).render()) } }
            })
        }).unwrap_or_default())
    })
}

/// Median and 99th percentile; of the round trip where no one-way latency is known.
fn times(repetition: &Repetition) -> Option<(u64, u64)> {
    let one_way = repetition.one_way_ns;
    if one_way.count > 0 {
        return Some((one_way.p50, one_way.p99));
    }
    repetition.rtt_half_ns.filter(|rtt| rtt.count > 0).map(|rtt| (rtt.p50, rtt.p99))
}

fn chart(several: &[&Subject<'_>]) -> Option<Markup> {
    let drawn: Vec<PointRow> =
        several.iter().map(|subject| row(subject)).filter(|row| !row.points.is_empty()).collect();
    if drawn.is_empty() {
        return None;
    }
    let values: Vec<f64> = drawn.iter().flat_map(|row| &row.points).map(|point| point.0).collect();
    let axis = Axis::new(Scale::fitting(&values, ENDS.0, ENDS.1), "latency", tick_time);
    let caption = Caption {
        id: "repetitions-spread".into(),
        title: "Each repetition's median and 99th percentile".into(),
        description: "One circle and one diamond for each repetition: the median and the 99th percentile of its one-way \
                      latency, or of half its round trip where nothing is traced."
            .into(),
    };
    let table = Table::of_numbers(
        "Repetitions: medians and 99th percentiles",
        &["result", "lowest p50", "highest p50", "lowest p99", "highest p99"],
        several.iter().map(|subject| spread(subject)).collect(),
    );
    let legend = [
        (mark_swatch(PointMark::Dot), "median".to_owned()),
        (mark_swatch(PointMark::Diamond), "99th percentile".to_owned()),
    ];
    Some(figure(&caption, &rows(&caption, &axis, &drawn), &legend, &table))
}

fn row(subject: &Subject<'_>) -> PointRow {
    let all = subject.result.repetitions.iter().filter_map(times);
    let points =
        all.flat_map(|(p50, p99)| [(p50 as f64, PointMark::Dot), (p99 as f64, PointMark::Diamond)]);
    PointRow {
        name: subject.name.clone(),
        look: subject.look(),
        points: points.collect(),
        range: None,
    }
}

fn spread(subject: &Subject<'_>) -> Vec<String> {
    let all: Vec<(u64, u64)> = subject.result.repetitions.iter().filter_map(times).collect();
    let (p50, p99) = (|| all.iter().map(|one| one.0), || all.iter().map(|one| one.1));
    let times = [p50().min(), p50().max(), p99().min(), p99().max()].map(human::time_ns);
    std::iter::once(subject.name.clone()).chain(times).collect()
}

fn table(subject: &Subject<'_>) -> Table {
    let row = |one: &Repetition| {
        let times = times(one);
        let bytes = one.wire_bytes.checked_div(one.byte_deliveries);
        let machine = one.machine.unwrap_or_default();
        let stolen = machine.steal_share.map(|share| format!("{:.1} %", share * 100.0));
        vec![
            format!("{}{}", one.number, if one.partial { " (partial)" } else { "" }),
            one.position.to_string(),
            exact(one.messages.sent),
            exact(one.messages.delivered),
            exact(one.messages.matched),
            human::time_ns(times.map(|times| times.0)),
            human::time_ns(times.map(|times| times.1)),
            human::time_ns(one.rtt_half_ns.map(|rtt| rtt.trimmed_p50)),
            one.throughput.in_words(one.throughput.msg_per_s).unwrap_or_else(|| NONE.to_owned()),
            bytes.map_or_else(|| NONE.to_owned(), |bytes| human::bytes(bytes as f64)),
            human::time_ns(machine.round_trip_ns),
            stolen.unwrap_or_else(|| NONE.to_owned()),
        ]
    };
    let headings = [
        "repetition",
        "position in the run",
        "sent",
        "delivered",
        "followed",
        "1-way p50",
        "p99",
        "RTT/2",
        "msg/s",
        "wire/msg",
        "reference",
        "stolen",
    ];
    let rows = subject.result.repetitions.iter().map(row).collect();
    Table::of_numbers(format!("The repetitions of {}", subject.name), &headings, rows)
}
