//! The words of the comparison: names, values, differences, answers.

use crate::app::{App, Compared, ComparedFigure, FigureRow, MARGIN, SidePeriod};
use crate::text;
use wirelap_compare::live::{FigureDifference, Wait};
use wirelap_compare::{Answer, Metric};
use wirelap_events::Nanos;

/// From this ratio on, factors are shown in place of percents.
const FACTOR: f64 = 10.0;
/// From this many seconds on, a wait is told in minutes.
const MINUTES: u32 = 120;

/// Why nothing is compared, and what to do.
pub fn nothing(app: &App) -> String {
    let marked = app.marked().count();
    let one = if marked == 1 { "One row is marked. " } else { "" };
    format!(
        "{one}Nothing is compared yet. m keeps the figures of the selected row as its baseline, and what comes then is compared with it. \
         Or mark two or more rows with the space bar: they are compared with each other."
    )
}

/// The name of a figure.
pub fn name(what: ComparedFigure) -> String {
    match what {
        ComparedFigure::OneWay(share) => format!("one-way p{}", percentile(share)),
        ComparedFigure::SchedGap => "sched gap p50".into(),
        ComparedFigure::Dwell => "dwell p50".into(),
        ComparedFigure::Rate => "msg/s".into(),
        ComparedFigure::Bytes => "bytes/msg".into(),
        ComparedFigure::Mean => "one-way mean".into(),
        ComparedFigure::Stage(leg, segment) => format!("leg {} {}", leg + 1, segment.name()),
    }
}

/// `50`, `99.9`.
fn percentile(share: f64) -> String {
    let percent = (share * 1000.0).round() / 10.0;
    percent.to_string()
}

/// A value in its unit.
pub fn value(what: ComparedFigure, value: Option<f64>) -> String {
    let Some(value) = value else { return text::NONE.into() };
    match what {
        ComparedFigure::Rate | ComparedFigure::Bytes => text::number(value),
        _ => text::time(Nanos::from_f64(value)),
    }
}

/// B − A, with a sign: `▲ +35 %`, `= +20 ns`, `? −3 %`.
pub fn difference(row: &FigureRow) -> String {
    let Some((a, b)) = row.a.zip(row.b) else { return format!("  {}", text::NONE) };
    let sign = match row.finding.map(|finding| finding.answer) {
        Some(Answer::Slower | Answer::Faster) if b > a => '▲',
        Some(Answer::Slower | Answer::Faster) => '▼',
        Some(Answer::Same) => '=',
        Some(Answer::CannotTell) | None => '?',
    };
    let difference = if row.what.is_relative() { (b / a).ln() } else { b - a };
    format!("{sign} {}", amount(row.what, difference))
}

/// A difference as people read it: `+35 %`, `×12.3`, `−1.20 µs`.
fn amount(what: ComparedFigure, difference: f64) -> String {
    if !difference.is_finite() {
        return text::NONE.into();
    }
    if !what.is_relative() {
        let sign = match difference.round() {
            whole if whole < 0.0 => "−",
            whole if whole > 0.0 => "+",
            _ => "",
        };
        return format!("{sign}{}", text::time(Nanos::from_f64(difference.abs())));
    }
    let ratio = difference.exp();
    if !(1.0 / FACTOR..FACTOR).contains(&ratio) {
        return format!("×{}", text::number(ratio));
    }
    let sign = if ratio - 1.0 >= 0.005 { "+" } else { "" };
    format!("{sign}{}", text::percent(ratio - 1.0))
}

/// The answer in the words of `wirelap compare`, and how sure it is, in at most so many columns.
pub fn sure(row: &FigureRow, compared: &Compared, room: usize) -> String {
    let Some(finding) = row.finding else { return "only one side has it".into() };
    let metric = match row.what {
        ComparedFigure::Bytes => Metric::WireBytesPerDelivery,
        ComparedFigure::Rate => Metric::ThroughputMsgPerS,
        _ => Metric::OneWayP50Ns,
    };
    let word = metric.word(finding.answer);
    match (finding.answer, finding.difference) {
        (_, None) if row.what == ComparedFigure::Bytes => format!("{word} (exact)"),
        (Answer::Same, _) if row.what.is_relative() => {
            format!("the same within {}", text::percent(MARGIN))
        }
        (Answer::Same, _) => format!("the same within {}", text::time(Nanos::from_f64(row.margin))),
        (Answer::CannotTell, known) => {
            let wait = finding.wait.map_or(String::new(), |wait| waiting(wait, compared));
            let waits = format!("{word}{wait}");
            let with_interval =
                known.map(|known| format!("{waits}, {}", interval(row.what, known)));
            with_interval.filter(|all| text::width(all) <= room).unwrap_or(waits)
        }
        (_, Some(known)) => format!("{word}, {}", interval(row.what, known)),
        (_, None) => word.into(),
    }
}

/// `+22…+48 %`.
fn interval(what: ComparedFigure, known: FigureDifference) -> String {
    let (low, high) = (amount(what, known.low), amount(what, known.high));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}…{high}"),
        _ => format!("{low}…{high}"),
    }
}

/// The condition that an answer waits for.
fn waiting(wait: Wait, compared: &Compared) -> String {
    match wait {
        Wait::OfBaseline => ": baseline too short".into(),
        Wait::UnevenBaseline => ": uneven baseline".into(),
        Wait::Seconds(_) | Wait::Long if !compared.grows => " in this window".into(),
        Wait::Long => ": varies too much".into(),
        Wait::Seconds(seconds) if seconds >= MINUTES => {
            format!(" yet: {} more min", seconds.div_ceil(60))
        }
        Wait::Seconds(seconds) => format!(" yet: {seconds} more s"),
    }
}

/// The differences, and the stages that they are in.
pub fn headline(b: &str, rows: &[FigureRow]) -> String {
    let latencies: Vec<&FigureRow> =
        rows.iter().filter(|row| matches!(row.what, ComparedFigure::OneWay(_))).collect();
    let answer =
        |row: &&FigureRow, wanted| row.finding.is_some_and(|finding| finding.answer == wanted);
    let mut parts: Vec<String> = Vec::new();
    for (wanted, word) in [(Answer::Slower, "slower"), (Answer::Faster, "faster")] {
        let such = latencies.iter().copied().filter(|row| answer(row, wanted));
        let such: Vec<String> = such.map(sentence_part).collect();
        if !such.is_empty() {
            parts.push(format!("{b} is {word} at {}.", such.join(", ")));
        }
    }
    if parts.is_empty() {
        let known = latencies.iter().filter(|row| answer(row, Answer::Same)).count();
        parts.push(match known {
            0 => format!("{b}: no difference of the latency is sure so far."),
            _ => format!(
                "{b}: no difference of the latency; where it is known, it is the same within {}.",
                text::percent(MARGIN)
            ),
        });
    }
    parts.extend(stage(rows));
    parts.join(" ")
}

fn sentence_part(row: &FigureRow) -> String {
    let ComparedFigure::OneWay(share) = row.what else { return String::new() };
    let ratio = row.a.zip(row.b).map_or(f64::NAN, |(a, b)| (b / a).ln());
    text::unbroken(&format!("p{} ({})", percentile(share), amount(row.what, ratio)))
}

/// The stage that differs most, of those that surely do.
fn stage(rows: &[FigureRow]) -> Option<String> {
    let difference = |row: &FigureRow| row.a.zip(row.b).map_or(0.0, |(a, b)| b - a);
    let sure = rows.iter().filter(|row| {
        let answer = row.finding.map(|finding| finding.answer);
        matches!(row.what, ComparedFigure::Stage(..))
            && matches!(answer, Some(Answer::Slower | Answer::Faster))
    });
    let most = sure.max_by(|a, b| difference(a).abs().total_cmp(&difference(b).abs()))?;
    let amount = text::unbroken(&amount(most.what, difference(most)));
    let whole = rows.iter().find(|row| row.what == ComparedFigure::Mean).map_or(0.0, difference);
    let of = text::unbroken(&self::amount(ComparedFigure::Mean, whole));
    Some(format!(
        "Most of it is in {}: {amount} of {of} a message.",
        text::unbroken(&name(most.what))
    ))
}

/// The method by which the answers were found.
pub fn method(compared: &Compared, shown: &[(SidePeriod, Vec<FigureRow>)]) -> String {
    let all = shown.iter().flat_map(|(_, rows)| rows);
    let blocks = all.filter_map(|row| row.finding?.difference).map(|known| known.block_seconds);
    let blocks = match (blocks.clone().min(), blocks.max()) {
        (Some(least), Some(most)) if least < most => format!("blocks of {least} to {most} s"),
        (Some(least), _) => format!("blocks of {least} s"),
        _ => "blocks of seconds".into(),
    };
    let seen = if compared.at_once {
        "second by second at the same time"
    } else {
        "one after the other, so that what the machine did meanwhile is part of it"
    };
    format!(
        "Compared {seen}, in {} because successive seconds resemble each other. The intervals hold at all times and for all figures together \
         (95 %). A difference within {} is none. Stages are means over all messages and add up to the mean.",
        text::unbroken(&blocks),
        text::unbroken(&text::percent(MARGIN)),
    )
}
