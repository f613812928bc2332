//! Our figures beside published ones of the same middlewares: latency of 64 B in ping-pong, throughput, and the studies of the
//! modules below.

mod handle;
mod mqtt;
mod pico;

use crate::chart::axis::Axis;
use crate::chart::frame::{Caption, figure};
use crate::chart::rows::{ENDS, PointMark, PointRow, mark_swatch, rows};
use crate::chart::scale::Scale;
use crate::published::{PublishedLatency, Study, name_of, other_broker};
use crate::sections::stages::largest;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{list, ratio, tick_time, time};
use maud::{Markup, html};
use wirelap_report::{Pacing, RunKind, human};

/// The payload of the published latencies.
const PAYLOAD: u64 = 64;
/// From this ratio on, or below its inverse, the difference gets a sentence.
const LARGE: f64 = 3.0;

struct PublishedPair<'a> {
    subject: &'a Subject<'a>,
    name: &'static str,
    published: PublishedLatency,
    /// Ours in nanoseconds: half the round trip, trimmed as the study does.
    ours: f64,
}

impl PublishedPair<'_> {
    fn ratio(&self) -> f64 {
        self.ours / (self.published.median_us * 1e3)
    }
}

/// The section; `None` if nothing that is published was measured here.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let studies = [
        study_of_2023(subjects),
        mqtt::content(subjects),
        handle::content(subjects),
        pico::content(subjects),
    ];
    let studies: Vec<Markup> = studies.into_iter().flatten().collect();
    (!studies.is_empty()).then(|| html! {
        @for study in studies { (study) }
        p { "Absolute times of two machines cannot be compared; the order of the middlewares, and ratios between them, can." }
    })
}

/// The study that measured as wirelap does; `None` if nothing of it was measured here.
fn study_of_2023(subjects: &Subjects<'_>) -> Option<Markup> {
    let study = Study::load()?;
    let pairs: Vec<PublishedPair<'_>> =
        subjects.all.iter().filter_map(|subject| pair(&study, subject)).collect();
    let rates = throughput(&study, subjects);
    if pairs.is_empty() && rates.is_empty() {
        return None;
    }
    Some(html! {
        p { "Published: " cite { (study.title) } "." }
        (conditions(&study, subjects))
        @if !pairs.is_empty() {
            (latency(&pairs))
            @for sentence in pairs.iter().filter_map(difference) { p { (sentence) } }
        }
        @if !rates.is_empty() {
            (Table::of_numbers(
                "Throughput, published beside measured",
                &["result", "payload", "published msg/s", "measured msg/s", "measured / published", "published bit/s",
                  "measured bit/s"],
                rates,
            ).render())
        }
        @for sentence in subjects.all.iter().filter_map(|one| slower_or_faster(&study, one)) { p { (sentence) } }
    })
}

/// Ours and theirs of one result, if both were measured in the same way.
fn pair<'a>(study: &Study, subject: &'a Subject<'a>) -> Option<PublishedPair<'a>> {
    let scenario = &subject.report.scenario;
    let is_alike = scenario.kind == RunKind::Latency
        && scenario.pacing == Pacing::PingPong
        && subject.result.payload_bytes == PAYLOAD;
    let name = name_of(subject.result).filter(|_| is_alike)?;
    let ours = subject.result.latency.rtt_half_ns.filter(|rtt| rtt.trimmed_p50 > 0)?;
    Some(PublishedPair {
        subject,
        name,
        published: study.latency(name)?,
        ours: ours.trimmed_p50 as f64,
    })
}

/// The conditions of both sides, and the method.
fn conditions(study: &Study, subjects: &Subjects<'_>) -> Markup {
    let of = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    html! {
        ul {
            li { strong { "Their machine: " } (of(&study.testbed)) ". " strong { "Versions: " } (of(&study.versions)) "." }
            li { strong { "Their method: " } "latency: " (study.method.latency) "; throughput: " (study.method.throughput)
                "; all on one machine." }
            @for (number, file) in subjects.files.iter().enumerate() {
                @let environment = &file.report.environment;
                li {
                    strong { @if subjects.has_several_files() { "Ours, " (subjects.file_name(number)) ": " } @else { "Our machine: " } }
                    (environment.cpu_model) ", " (environment.cores) " CPUs"
                    @if let Some(governor) = &environment.governor { ", governor " (governor) }
                    ", " (human::bytes(environment.memory_bytes as f64)) ", Linux " (environment.kernel)
                    @if file.report.scenario.pin.is_empty() { ", processes not pinned" } @else { ", processes pinned" }
                    ", traced while measured."
                }
            }
        }
    }
}

fn latency(pairs: &[PublishedPair<'_>]) -> Markup {
    let caption = Caption {
        id: "published-latency".into(),
        title: "Latency of 64 B, published and measured".into(),
        description: "Half a round trip, median after dropping the samples outside the 1st to 99th percentile. The hollow \
                      diamond is published, with a line from the 5th to the 95th percentile; the filled circle is measured \
                      here."
            .into(),
    };
    let values = pairs.iter().flat_map(|pair| {
        let PublishedLatency { p5_us, median_us, p95_us } = pair.published;
        [p5_us * 1e3, median_us * 1e3, p95_us * 1e3, pair.ours]
    });
    let values: Vec<f64> = values.collect();
    let axis = Axis::new(Scale::fitting(&values, ENDS.0, ENDS.1), "half a round trip", tick_time);
    let drawn: Vec<PointRow> = pairs.iter().map(row).collect();
    let legend = [
        (mark_swatch(PointMark::Dot), "measured here".to_owned()),
        (mark_swatch(PointMark::Diamond), "published".to_owned()),
    ];
    figure(&caption, &rows(&caption, &axis, &drawn), &legend, &table(pairs))
}

fn row(pair: &PublishedPair<'_>) -> PointRow {
    PointRow {
        name: format!(
            "{}: {}; published {}",
            pair.subject.name,
            time(pair.ours),
            time(pair.published.median_us * 1e3)
        ),
        look: pair.subject.look(),
        points: vec![
            (pair.published.median_us * 1e3, PointMark::Diamond),
            (pair.ours, PointMark::Dot),
        ],
        range: Some((pair.published.p5_us * 1e3, pair.published.p95_us * 1e3)),
    }
}

fn table(pairs: &[PublishedPair<'_>]) -> Table {
    let row = |pair: &PublishedPair<'_>| {
        let result = pair.subject.result;
        let one_way = result.latency.one_way_ns;
        vec![
            pair.subject.name.clone(),
            pair.name.to_owned(),
            time(pair.published.median_us * 1e3),
            human::time_ns(result.latency.rtt_half_ns.map(|rtt| rtt.trimmed_p50)),
            human::time_ns((one_way.count > 0).then_some(one_way.p50)),
            ratio(pair.ratio()),
        ]
    };
    Table::of_text(
        "Latency of 64 B, published beside measured",
        &[
            "result",
            "published as",
            "published",
            "RTT/2, measured",
            "1-way p50",
            "measured / published",
        ],
        pairs.iter().map(row).collect(),
        2,
    )
}

/// The parts that a large difference of latencies consists of; `None` for a small one.
fn difference(pair: &PublishedPair<'_>) -> Option<String> {
    large(pair.subject, pair.ratio(), ["slower", "faster"])
}

/// A sentence on a ratio of ours to theirs, with the largest parts of our time; `None` for a small one.
fn large(subject: &Subject<'_>, times: f64, [above, below]: [&str; 2]) -> Option<String> {
    let (factor, word) = if times > LARGE {
        (times, above)
    } else if times > 0.0 && 1.0 / times > LARGE {
        (1.0 / times, below)
    } else {
        return None;
    };
    let mut out = format!("{} is {factor:.1} times {word} here than published", subject.name);
    if let Some(other) = other_broker(subject.result) {
        out = format!("{out} ({other})");
    }
    let parts = largest(subject, 3);
    if !parts.is_empty() {
        out = format!("{out}. Of a message's time here, {}", list(&parts));
    }
    Some(format!("{out}."))
}

/// The sentences on large differences of throughput, where the more is the faster.
fn slower_or_faster(study: &Study, subject: &Subject<'_>) -> Option<String> {
    if subject.report.scenario.kind != RunKind::Throughput {
        return None;
    }
    let result = subject.result;
    let mut rates = study.throughput(name_of(result)?).into_iter();
    let (_, theirs) = rates.find(|(size, _)| *size == result.payload_bytes)?;
    let ours = result.throughput.msg_per_s;
    large(subject, ours / theirs.msg_per_s, ["faster", "slower"])
        .filter(|_| result.throughput.is_known())
}

/// The rows of throughput, published beside measured, at payloads of which both are known.
fn throughput(study: &Study, subjects: &Subjects<'_>) -> Vec<Vec<String>> {
    let row = |subject: &Subject<'_>| {
        let result = subject.result;
        if subject.report.scenario.kind != RunKind::Throughput {
            return None;
        }
        let bits = result.throughput.payload_bit_per_s;
        if result.middleware == "iperf3" {
            let theirs = study.iperf().filter(|_| bits > 0.0)?;
            let [none, ours] = ["–", "–"].map(str::to_owned);
            let cells = [
                none.clone(),
                none,
                ours,
                ratio(bits / theirs),
                human::count(theirs),
                human::count(bits),
            ];
            return Some(std::iter::once(subject.name.clone()).chain(cells).collect());
        }
        let of = study.throughput(name_of(result)?).into_iter();
        let (size, theirs) = of.into_iter().find(|(size, _)| *size == result.payload_bytes)?;
        let ours = result.throughput.msg_per_s;
        (result.throughput.is_known() && theirs.msg_per_s > 0.0).then(|| {
            vec![
                subject.name.clone(),
                human::bytes(size as f64),
                human::count(theirs.msg_per_s),
                human::count(ours),
                ratio(ours / theirs.msg_per_s),
                human::count(theirs.bit_per_s),
                human::count(bits),
            ]
        })
    };
    subjects.all.iter().filter_map(row).collect()
}
