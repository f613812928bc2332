//! The subjects of the page: files, and their results under names that are unique on the page.

mod naming;

pub use naming::letter;

use crate::chart::look::Look;
use maud::{Markup, PreEscaped, html};
use naming::{Naming, unique};
use std::collections::BTreeMap;
use wirelap_report::explain::PathNames;
use wirelap_report::{RunReport, RunResult};

/// A report and the name by which the page calls it, such as its file's.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The file's name.
    pub name: &'a str,
    /// The report.
    pub report: &'a RunReport,
}

/// A result of one of the files.
pub struct Subject<'a> {
    /// The result's number on the page, from 0.
    pub number: usize,
    /// The number of its file, from 0.
    pub file: usize,
    /// The report that it is of.
    pub report: &'a RunReport,
    /// The result.
    pub result: &'a RunResult,
    /// The result's name on the page: with its payload, its rate and its file's letter if there are several.
    pub name: String,
    /// The same without payload and rate, for charts that have them on an axis.
    pub middleware: String,
    look: Look,
}

impl Subject<'_> {
    /// The result's look in charts.
    pub fn look(&self) -> Look {
        self.look
    }

    /// The requested rate in messages per second; `None` unless messages were sent at a rate.
    pub fn rate(&self) -> Option<f64> {
        requested_rate(self.report, self.result)
    }

    /// The names of who takes part in it.
    pub fn participants(&self) -> PathNames<'_> {
        PathNames::of(self.result, self.report.scenario.pacing)
    }
}

/// All that the page is about.
pub struct Subjects<'a> {
    /// The files.
    pub files: &'a [File<'a>],
    /// Their results.
    pub all: Vec<Subject<'a>>,
}

impl<'a> Subjects<'a> {
    /// The results of files, in their order.
    pub fn of(files: &'a [File<'a>]) -> Subjects<'a> {
        let is_one = files.len() < 2;
        let has_several_rates = files.iter().any(|file| file.report.has_several_rates());
        let (mut taken, mut kinds, mut all) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (file, of) in files.iter().enumerate() {
            let report = of.report;
            let naming = Naming::of(report, (!is_one).then(|| letter(file)));
            for result in &report.results {
                let number = all.len();
                let rate = requested_rate(report, result).filter(|_| has_several_rates);
                // One colour is one middleware, payload and rate in all files, and one pattern a file.
                let kind = (result.label(), result.payload_bytes, rate.map(f64::to_bits));
                let colour = place(&mut kinds, kind);
                all.push(Subject {
                    number,
                    file,
                    report,
                    result,
                    name: unique(&mut taken, naming.name(result)),
                    middleware: naming.middleware(result),
                    look: if is_one { Look::of(number) } else { Look::with_pattern(colour, file) },
                });
            }
        }
        Subjects { files, all }
    }

    /// True if there are several files, so that results stand below their file's heading.
    pub fn has_several_files(&self) -> bool {
        self.files.len() > 1
    }

    /// The results of a file.
    pub fn of_file(&self, file: usize) -> impl Iterator<Item = &Subject<'a>> {
        self.all.iter().filter(move |subject| subject.file == file)
    }

    /// The name of a file, with its letter if there are several.
    pub fn file_name(&self, file: usize) -> String {
        let name = self.files.get(file).map(|file| file.name).unwrap_or_default();
        if self.has_several_files() { format!("{}: {name}", letter(file)) } else { name.to_owned() }
    }

    /// Something for each file, below its heading if there are several; nothing where it is `None`.
    pub fn each_file(&self, content: impl Fn(usize) -> Option<Markup>) -> Option<Markup> {
        let parts: Vec<(usize, Markup)> =
            (0..self.files.len()).filter_map(|file| Some((file, content(file)?))).collect();
        (!parts.is_empty()).then(|| {
            html! {
                @for (file, part) in parts {
                    @if self.has_several_files() { h3 { (self.file_name(file)) } }
                    (part)
                }
            }
        })
    }

    /// Something for each result below its name, and below its file's name if there are several files.
    pub fn each_result(&self, content: impl Fn(&Subject<'_>) -> Option<Markup>) -> Option<Markup> {
        self.each_file(|file| {
            let of_file = self.of_file(file);
            let parts: Vec<(&Subject<'_>, Markup)> =
                of_file.filter_map(|subject| Some((subject, content(subject)?))).collect();
            (!parts.is_empty()).then(|| {
                html! {
                    div class="results" {
                    @for (subject, part) in parts {
                        article class="result" { (self.heading(0, &html! { (subject.name) })) (part) }
                    }
                    }
                }
            })
        })
    }

    /// A heading: level 0 for a result, 1 for what is below it. One level deeper if files have headings.
    pub fn heading(&self, level: usize, content: &Markup) -> Markup {
        let tag = match (level, self.has_several_files()) {
            (0, false) => "h3",
            (0, true) | (_, false) => "h4",
            (_, true) => "h5",
        };
        html! { (PreEscaped(format!("<{tag}>"))) (content) (PreEscaped(format!("</{tag}>"))) }
    }
}

/// The rate of a result, which in files of earlier versions only the scenario has.
fn requested_rate(report: &RunReport, result: &RunResult) -> Option<f64> {
    result.rate_msg_per_s.or(report.scenario.rate_msg_per_s)
}

/// The place of a kind among those that are known, to which it is added if it is new.
fn place<T: PartialEq>(known: &mut Vec<T>, kind: T) -> usize {
    let place = known.iter().position(|other| *other == kind).unwrap_or(known.len());
    if place == known.len() {
        known.push(kind);
    }
    place
}
