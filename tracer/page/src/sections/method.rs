//! The environment of each run, how each figure is measured, and the command line.

use crate::subject::Subjects;
use crate::tables::Table;
use maud::{Markup, html};
use std::collections::BTreeMap;
use wirelap_report::{Environment, RunReport, human};

/// The name of each figure, and the way in which it is measured.
const DEFINITIONS: [(&str, &str); 13] = [
    (
        "1-way p50, p99",
        "One-way latency on the wire: from the send of a message's first byte to the return of the receive call that took its \
         last byte, over all legs. Half of the messages are below p50, 99 % below p99; nothing is trimmed.",
    ),
    (
        "RTT/2",
        "Half the round trip by the pinging application's clock: the median after dropping the samples outside the 1st to 99th \
         percentile, as published comparisons do. It includes the client libraries.",
    ),
    ("msg/s, bit/s", "Delivered messages, and bits of their payload, per second."),
    (
        "data/msg, wire/msg",
        "Payload, and all bytes that the device carried with all headers, for each delivered message.",
    ),
    (
        "gap p50/p99",
        "The scheduling gap: from data being ready at a socket until its reader runs, if the reader was asleep.",
    ),
    (
        "Leg, segment",
        "A leg is a message's way from one socket to the next; with a broker there are two. A segment is the time between two \
         stages that the kernel can observe. The segments of all legs add up exactly to the one-way latency.",
    ),
    (
        "Typical message",
        "The mean of the messages near the median. A tail is the slowest 1 % or 0.1 %; its extra time is what its messages took \
         longer than a typical one.",
    ),
    (
        "Verdict",
        "A rule that found evidence for an avoidable delay or loss. \"Nothing wrong\" means that no rule found any.",
    ),
    (
        "Bytes",
        "Each byte of a result's connections is in exactly one part: payload (once on each leg), copies and repeats of it, the \
         protocol's headers and frames without data, headers of transport, network and link, packets without data, and \
         retransmissions.",
    ),
    (
        "Followed, matched",
        "Deliveries that the trace followed from first send to last read. Latencies are of these; all others are counted.",
    ),
    (
        "Lost events",
        "Events that did not fit into the kernel's ring buffer, and runs of probes that the kernel skipped because the probe ran \
         already on the same CPU. Zero means that none was lost.",
    ),
    (
        "Tracing cost",
        "What the probes add to a message's latency, measured in the run itself by alternately attaching and detaching them.",
    ),
    (
        "Reference, stolen",
        "How fast the machine itself was: the median round trip of a datagram over a Unix socket between two threads on two CPUs, \
         before each repetition and without probes, and the share of the wanted CPU time that the hypervisor gave to something \
         else during the repetition.",
    ),
];

/// The section.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let files = subjects
        .each_file(|file| Some(of_file(subjects, file, subjects.files.get(file)?.report)))?;
    Some(html! {
        (files)
        h3 { "How each figure is measured" }
        dl class="words" {
            @for (word, meaning) in DEFINITIONS { dt { (word) } dd { (meaning) } }
        }
    })
}

fn of_file(subjects: &Subjects<'_>, file: usize, report: &RunReport) -> Markup {
    let environment = &report.environment;
    let of = if subjects.has_several_files() {
        format!(" of {}", subjects.file_name(file))
    } else {
        String::new()
    };
    let rows = facts(report).into_iter().filter(|(_, value)| !value.is_empty());
    let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).collect();
    html! {
        (Table::of_text(format!("Environment{of}"), &["what", "value"], rows, 2).render())
        @if !environment.command_line.is_empty() {
            p { "Command line:" }
            div class="scroll" role="region" tabindex="0" aria-label={ "Command line" (of) } {
                pre { code { (command(environment)) } }
            }
        }
        @if let Some(table) = by_middleware(&format!("Versions{of}"), &environment.versions) { (table) }
        @if let Some(table) = by_middleware(&format!("Settings{of}"), &environment.settings) {
            details { summary { "Settings that influence the figures" } (table) }
        }
        @if !report.hooks.is_empty() { details { summary { "Hooks" } (hooks(report, &of)) } }
    }
}

fn facts(report: &RunReport) -> Vec<(&'static str, String)> {
    let (environment, scenario) = (&report.environment, &report.scenario);
    let memory =
        (environment.memory_bytes > 0).then(|| human::bytes(environment.memory_bytes as f64));
    let mitigations = environment.mitigations.iter().map(|(name, what)| format!("{name}: {what}"));
    let pins = scenario.pin.iter().map(|(role, cpu)| format!("{role} on CPU {cpu}"));
    let sizes = scenario.payload_bytes.iter().map(|&size| human::bytes(size as f64));
    let join = |parts: &mut dyn Iterator<Item = String>| parts.collect::<Vec<_>>().join(", ");
    vec![
        ("schema", report.schema.clone()),
        ("started", environment.started_at.clone()),
        ("host", environment.hostname.clone().unwrap_or_default()),
        ("kernel", environment.kernel.clone()),
        ("CPU", environment.cpu_model.clone()),
        ("logical CPUs", environment.cores.to_string()),
        ("memory", memory.unwrap_or_default()),
        ("governor", environment.governor.clone().unwrap_or_default()),
        ("clock source", environment.clock_source.clone().unwrap_or_default()),
        ("mitigations", join(&mut mitigations.into_iter())),
        ("wirelap", environment.wirelap_version.clone()),
        ("scenario", scenario.name.clone().unwrap_or_default()),
        ("kind", scenario.kind.name().to_owned()),
        ("payloads", join(&mut sizes.into_iter())),
        ("warm-up", format!("{} messages", scenario.warmup)),
        ("repetitions", scenario.repeat.to_string()),
        ("pinned", join(&mut pins.into_iter())),
        ("links", scenario.links.map(|links| links.to_string()).unwrap_or_default()),
        ("seed of the order", environment.seed.to_string()),
    ]
}

/// The command line as it would be typed: arguments with anything but plain characters in quotes.
fn command(environment: &Environment) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    let quoted = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(is_plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    environment.command_line.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn by_middleware(
    caption: &str,
    all: &BTreeMap<String, BTreeMap<String, String>>,
) -> Option<Markup> {
    let rows = all.iter().flat_map(|(middleware, values)| {
        values
            .iter()
            .map(move |(name, value)| vec![middleware.clone(), name.clone(), value.clone()])
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty())
        .then(|| Table::of_text(caption, &["middleware", "what", "value"], rows, 3).render())
}

fn hooks(report: &RunReport, of: &str) -> Markup {
    let none = || "none on this kernel".to_owned();
    let rows = report
        .hooks
        .iter()
        .map(|hook| vec![hook.observation.clone(), hook.hook.clone().unwrap_or_else(none)]);
    Table::of_text(
        format!("The hook of each observation{of}"),
        &["observation", "hook"],
        rows.collect(),
        2,
    )
    .render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let command_line = ["wirelap", "run", "--note", "it's", ""].map(str::to_owned).to_vec();
        let environment = Environment { command_line, ..Environment::default() };
        assert_eq!(command(&environment), "wirelap run --note 'it'\\''s' ''");
    }
}
