//! The section on stages: a stacked bar of the segments of each result, leg by leg.

use crate::chart::bars::{Bar, BarAxis, BarPart, stacked};
use crate::chart::frame::{Caption, figure};
use crate::chart::look::{Look, field};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{tick_time, time};
use maud::{Markup, html};
use wirelap_events::Segment;
use wirelap_events::human::{percent, percents, signed_percent};
use wirelap_report::explain;

/// A segment's part of the time of a result.
struct Portion {
    leg: u8,
    segment: String,
    share: f64,
    /// `None` if only the share is known.
    time_ns: Option<f64>,
}

struct SubjectTime<'a> {
    subject: &'a Subject<'a>,
    portions: Vec<Portion>,
}

impl SubjectTime<'_> {
    /// The sum of all parts; `None` if only shares are known.
    fn whole(&self) -> Option<f64> {
        let whole = self.portions.iter().try_fold(0.0, |sum, one| Some(sum + one.time_ns?));
        whole.filter(|&whole| whole > 0.0)
    }
}

/// The section; `None` if no time is known.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let spent: Vec<SubjectTime<'_>> = subjects
        .all
        .iter()
        .map(|subject| SubjectTime { subject, portions: portions(subject) })
        .filter(|spent| !spent.portions.is_empty())
        .collect();
    if spent.is_empty() {
        return None;
    }
    Some(html! {
        p {
            "Each bar is the mean message near the median, or all messages where that is not known. The segments add up to "
            "the one-way latency; nothing is interpolated."
        }
        (chart(&spent))
        (subjects.each_result(|subject| {
            let one = spent.iter().find(|one| one.subject.number == subject.number)?;
            Some(table(one).render())
        }).unwrap_or_default())
    })
}

/// As the report's page of text does: the mean message near the median; otherwise all messages.
fn portions(subject: &Subject<'_>) -> Vec<Portion> {
    let typical = subject.result.why.as_ref().map(|why| why.typical.as_slice()).unwrap_or_default();
    let whole: f64 = typical.iter().map(|row| row.mean_ns as f64).fold(0.0, |sum, ns| sum + ns);
    if whole > 0.0 {
        let portion = |row: &wirelap_report::why::ReportedTypicalRow| Portion {
            leg: row.leg,
            segment: row.segment.clone(),
            share: row.mean_ns as f64 / whole,
            time_ns: Some(row.mean_ns as f64),
        };
        return typical.iter().map(portion).collect();
    }
    of_all_messages(subject)
}

fn of_all_messages(subject: &Subject<'_>) -> Vec<Portion> {
    let matched = subject.result.messages.matched.max(1) as f64;
    let segments = subject.result.segments.iter().filter(|row| row.share > 0.0);
    let portion = |row: &wirelap_report::SegmentRow| Portion {
        leg: row.leg,
        segment: row.segment.clone(),
        share: row.share,
        time_ns: row.total_ns.map(|total| total as f64 / matched),
    };
    segments.map(portion).collect()
}

/// The largest parts of all messages' time in words, at most `most` of a twentieth or more. What client libraries take is in
/// them, as it is in round trips.
pub fn largest(subject: &Subject<'_>, most: usize) -> Vec<String> {
    let mut parts = of_all_messages(subject);
    parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    let participants = subject.participants();
    let words = |part: &Portion| {
        let step = participants.step(part.leg, &part.segment);
        format!("{} in {} ({step})", percent(part.share), place(part, participants.legs()))
    };
    parts.iter().filter(|part| part.share >= 0.05).take(most).map(words).collect()
}

fn place(part: &Portion, legs: u8) -> String {
    if legs > 1 { format!("leg {} {}", part.leg, part.segment) } else { part.segment.clone() }
}

fn chart(spent: &[SubjectTime<'_>]) -> Markup {
    let sums = spent.iter().map(SubjectTime::whole).collect();
    let axis = BarAxis::of(sums, "latency", "time of a message", tick_time);
    let caption = Caption {
        id: "stages-bars".into(),
        title: "Segments by leg".into(),
        description: format!(
            "One bar for each result, from the first send at the left to the last read at the right; {}. Numbers stand for \
             names that have no room: they are in the legend.",
            axis.in_words("latency")
        ),
    };
    let bars: Vec<Bar> = spent.iter().map(|one| bar(one, axis.is_shared)).collect();
    let used = |segment: &Segment| {
        spent.iter().flat_map(|one| &one.portions).any(|part| part.segment == segment.name())
    };
    let legend: Vec<_> = Segment::ALL
        .into_iter()
        .filter(used)
        .map(|segment| {
            (field(look(segment.name())), format!("{} {}", number(segment.name()), segment.name()))
        })
        .collect();
    figure(&caption, &stacked(&caption, &axis.axis, &bars), &legend, &overview(spent))
}

fn bar(spent: &SubjectTime<'_>, is_shared: bool) -> Bar {
    let legs = spent.subject.participants().legs();
    let part = |part: &Portion| BarPart {
        name: if legs > 1 {
            format!("{}.{}", part.leg, part.segment)
        } else {
            part.segment.clone()
        },
        number: number(&part.segment),
        look: look(&part.segment),
        amount: if is_shared { part.time_ns.unwrap_or_default() } else { part.share },
    };
    Bar {
        name: spent.subject.name.clone(),
        value: spent.whole().map(time).unwrap_or_default(),
        parts: spent.portions.iter().map(part).collect(),
    }
}

/// The segment's number in the legend: its place among all segments.
pub fn number(segment: &str) -> usize {
    let place = Segment::ALL.into_iter().position(|one| one.name() == segment);
    place.map_or(0, wirelap_events::human::ordinal)
}

/// The segment's colour: by who spends the time, neighbours differing.
pub fn look(segment: &str) -> Look {
    let known = Segment::ALL.into_iter().find(|one| one.name() == segment);
    Look::of(match known {
        Some(Segment::SocketTx | Segment::ClientRx) => 1,
        Some(Segment::Qdisc | Segment::ClientTx | Segment::Busy) => 6,
        Some(Segment::Wire | Segment::Loss) => 5,
        Some(Segment::StackRx | Segment::InKernel) => 2,
        Some(Segment::Wakeup | Segment::Write | Segment::Handoff) => 4,
        Some(Segment::RunQueue) => 3,
        Some(Segment::BrokerDwell) => 7,
        Some(Segment::Read) | None => 0,
    })
}

/// All results in one table, for the chart.
fn overview(spent: &[SubjectTime<'_>]) -> Table {
    let rows = spent.iter().flat_map(|one| {
        one.portions.iter().map(|part| {
            vec![
                one.subject.name.clone(),
                part.leg.to_string(),
                part.segment.clone(),
                percent(part.share),
                part.time_ns.map_or_else(|| "–".into(), time),
            ]
        })
    });
    Table::of_text(
        "Segments by leg: figures",
        &["result", "leg", "segment", "share", "time"],
        rows.collect(),
        3,
    )
}

/// The segments of one result: what happens in each, its time, and the causes that are known.
fn table(spent: &SubjectTime<'_>) -> Table {
    let participants = spent.subject.participants();
    let shares: Vec<f64> = spent.portions.iter().map(|part| part.share).collect();
    let rows = spent.portions.iter().zip(percents(&shares)).map(|(part, whole)| {
        vec![
            format!("{} {}", part.leg, part.segment),
            participants.step(part.leg, &part.segment),
            causes(spent.subject, part),
            if whole == 0 { percent(part.share) } else { signed_percent(whole) },
            part.time_ns.map_or_else(|| "–".into(), time),
        ]
    });
    let caption = format!("Where the time of {} went", spent.subject.name);
    Table::of_text(
        caption,
        &["leg, segment", "what happens", "known cause", "share", "time"],
        rows.collect(),
        3,
    )
}

/// The causes of a segment's time near the median, from all repetitions; `–` if only what the segment takes anyway is there.
fn causes(subject: &Subject<'_>, part: &Portion) -> String {
    let mut known: Vec<(&str, f64)> = Vec::new();
    let mut messages = 0.0;
    for spent in subject.result.repetitions.iter().map(|one| &one.time_spent) {
        messages += spent.messages as f64;
        for row in
            spent.rows.iter().filter(|row| row.leg == part.leg && row.segment == part.segment)
        {
            let Some(cause) = row.cause.as_deref() else { continue };
            let time = row.middle_ns * spent.messages as f64;
            match known.iter_mut().find(|one| one.0 == cause) {
                Some(one) => one.1 += time,
                None => known.push((cause, time)),
            }
        }
    }
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    let least = part.time_ns.unwrap_or_default() / 100.0;
    let words = known
        .iter()
        .map(|(cause, sum)| (cause, sum / messages.max(1.0)))
        .filter(|(_, mean)| *mean > 0.0 && *mean >= least)
        .map(|(cause, mean)| format!("{} {}", explain::cause_title(cause), time(mean)));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "–".into() } else { words.join("; ") }
}
