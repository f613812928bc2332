//! What the page is about: files, and their results under names that are unique on the page.

use crate::chart::look::Look;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use wirelap_report::explain::Participants;
use wirelap_report::{RunReport, RunResult, human};

/// A report and the name by which the page calls it, such as its file's.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its name.
    pub name: &'a str,
    /// The report.
    pub report: &'a RunReport,
}

/// A result of one of the files.
pub struct Subject<'a> {
    /// Its number on the page, from 0.
    pub number: usize,
    /// The number of its file, from 0.
    pub file: usize,
    /// The report that it is of.
    pub report: &'a RunReport,
    /// The result.
    pub result: &'a RunResult,
    /// Its name on the page: with its payload if there are several, and with its file's letter if there are several.
    pub name: String,
    /// The same without the payload, for charts whose axis is the payload.
    pub middleware: String,
    look: Look,
}

impl Subject<'_> {
    /// How it looks in charts.
    pub fn look(&self) -> Look {
        self.look
    }

    /// The names of who takes part in it.
    pub fn participants(&self) -> Participants<'_> {
        Participants::of(self.result, self.report.scenario.pacing)
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
        let mut sizes: BTreeMap<(usize, String), Vec<u64>> = BTreeMap::new();
        let results = || {
            files.iter().enumerate().flat_map(|(number, file)| {
                file.report.results.iter().map(move |result| (number, file.report, result))
            })
        };
        for (file, _, result) in results() {
            sizes.entry((file, result.label())).or_default().push(result.payload_bytes);
        }
        let mut kinds: Vec<(String, u64)> = Vec::new();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let mut all = Vec::new();
        for (number, (file, report, result)) in results().enumerate() {
            let label = result.label();
            let letter =
                if files.len() > 1 { format!("{}: ", letter(file)) } else { String::new() };
            let middleware = format!("{letter}{label}");
            let several = sizes.get(&(file, label)).is_some_and(|sizes| sizes.len() > 1);
            let mut name = middleware.clone();
            if several {
                name = format!("{name}, {}", human::bytes(result.payload_bytes as f64));
            }
            let count = taken.entry(name.clone()).or_default();
            *count = count.saturating_add(1);
            if *count > 1 {
                name = format!("{name} (no. {count})");
            }
            // One colour is one middleware and payload in all files, and one pattern a file.
            let kind = (result.label(), result.payload_bytes);
            let colour = kinds.iter().position(|known| *known == kind).unwrap_or(kinds.len());
            if colour == kinds.len() {
                kinds.push(kind);
            }
            let look =
                if files.len() > 1 { Look::with_pattern(colour, file) } else { Look::of(number) };
            all.push(Subject { number, file, report, result, name, middleware, look });
        }
        Subjects { files, all }
    }

    /// Whether there are several files, so that results stand below their file's heading.
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

/// `A` for the first file, and numbers where there are no letters left.
fn letter(file: usize) -> String {
    let letter =
        u8::try_from(file).ok().filter(|&file| file < 26).map(|file| b'A'.saturating_add(file));
    letter
        .map_or_else(|| file.saturating_add(1).to_string(), |letter| char::from(letter).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_letters() {
        assert_eq!([0, 25, 26].map(letter), ["A", "Z", "27"]);
    }
}
