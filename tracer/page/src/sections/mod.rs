//! The sections of the page, a file each; a section without data is left out.

mod bytes;
mod comparison;
mod footprint;
mod latency;
mod messages;
mod method;
mod processes;
mod published;
mod rates;
mod repetitions;
mod results;
mod stages;
mod summary;
mod tail;
mod throughput;
mod trust;
mod verdicts;

use crate::subject::Subjects;
use maud::Markup;

/// A section.
pub struct Section {
    /// The section's id, for links.
    pub id: &'static str,
    /// The section's heading.
    pub title: &'static str,
    /// The content below the heading.
    pub content: Markup,
}

/// All sections that have something to show; `worst` slow messages of each result are drawn.
pub fn all(subjects: &Subjects<'_>, worst: usize) -> Vec<Section> {
    let sections = [
        ("summary", "Summary", summary::content(subjects)),
        ("results", "Results", results::content(subjects)),
        ("comparison", "What is slower or faster", comparison::content(subjects)),
        ("latency", "Latency", latency::content(subjects)),
        ("rates", "Latency against rate", rates::content(subjects)),
        ("throughput", "Throughput", throughput::content(subjects)),
        ("published", "Published beside measured", published::content(subjects)),
        ("stages", "Where the time went", stages::content(subjects)),
        ("verdicts", "What was found", verdicts::content(subjects)),
        ("tail", "The slowest messages", tail::content(subjects)),
        ("messages", "The slowest messages, step by step", messages::content(subjects, worst)),
        ("bytes", "Where the bytes went", bytes::content(subjects)),
        ("processes", "The processes", processes::content(subjects)),
        ("footprint", "Footprint", footprint::content(subjects)),
        ("repetitions", "Repetitions", repetitions::content(subjects)),
        ("trust", "How far to trust it", trust::content(subjects)),
        ("method", "Environment and method", method::content(subjects)),
    ];
    let shown = sections
        .into_iter()
        .filter_map(|(id, title, content)| Some(Section { id, title, content: content? }));
    shown.collect()
}
