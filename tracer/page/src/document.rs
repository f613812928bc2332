//! The whole document: head, navigation and sections.
//!
//! ```text
//! ┌ banner: what this is ────────────────────────────┐
//! │ navigation: a link to each section               │
//! ├ main ────────────────────────────────────────────┤
//! │ Summary · Results · Latency · Throughput · …     │
//! ├ content info: how it was made ───────────────────┤
//! ```

use crate::sections;
use crate::subject::{File, Subjects};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use wirelap_events::human::is_unsafe;
use wirelap_report::explain::ExplainOptions;

const STYLE: &str = include_str!("style.css");

/// The policy for what a browser may load for the page: nothing. Should a part of a file ever be taken for markup, it still cannot run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// One self-contained HTML document about the reports of one or several runs. It loads nothing and runs nothing.
pub fn page(files: &[File<'_>], options: ExplainOptions) -> String {
    let subjects = Subjects::of(files);
    let sections = sections::all(&subjects, options.worst);
    let title = title(&subjects);
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title))
            body {
                a class="skip" href="#main" { "Skip to the results" }
                header class="banner" { h1 { (title) } }
                nav aria-label="Sections" {
                    ul { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                main id="main" tabindex="-1" {
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                            h2 id={ (section.id) "-heading" } { (section.title) }
                            (section.content)
                        }
                    }
                }
                footer {
                    p { "Made by wirelap from " (sources(&subjects)) ". This page loads nothing and runs nothing." }
                }
            }
        }
    };
    clean(&document.into_string())
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn title(subjects: &Subjects<'_>) -> String {
    match subjects.files {
        [] => "wirelap: no results".into(),
        [file] => format!("wirelap: {} of {}", file.report.scenario.kind.name(), names(subjects)),
        files => format!("wirelap: {} files side by side", files.len()),
    }
}

/// The middlewares of the page, as far as a title has room.
fn names(subjects: &Subjects<'_>) -> String {
    let mut names: Vec<String> = subjects.all.iter().map(|one| one.result.label()).collect();
    names.dedup();
    let more = names.len().saturating_sub(5);
    names.truncate(5);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if names.is_empty() { "nothing".into() } else { crate::write::list(&names) }
}

fn sources(subjects: &Subjects<'_>) -> String {
    let names: Vec<String> =
        (0..subjects.files.len()).map(|file| subjects.file_name(file)).collect();
    if names.is_empty() { "no file".into() } else { crate::write::list(&names) }
}

/// Replaces what HTML does not allow, and what could turn the direction of the text around it, by a dot.
fn clean(document: &str) -> String {
    let is_none = |c: char| u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}');
    let allowed = |c: char| c == '\n' || !(is_unsafe(c) || is_none(c));
    document.chars().map(|c| if allowed(c) { c } else { '·' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_becomes_a_dot() {
        assert_eq!(clean("a\0b\u{202e}c\nd\u{ffff}"), "a·b·c\nd·");
    }
}
