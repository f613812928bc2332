//! Messages a second of several tasks with a handle each, or with one behind a mutex.

use crate::published::handle::HandleStudy;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::ratio;
use maud::{Markup, html};
use wirelap_report::{RunKind, human};

/// The table; `None` if nothing that was published was measured here.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let study = HandleStudy::load()?;
    let rows: Vec<_> = subjects.all.iter().filter_map(|subject| row(&study, subject)).collect();
    (!rows.is_empty()).then(|| html! {
        p { "Published: " cite { (study.title) } ". It names no machine. Ours are messages that arrived." }
        (Table::of_text(
            "A handle of its own or a shared one, published beside measured",
            &["result", "published as", "handles", "published msg/s", "measured msg/s", "measured / published"],
            rows,
            3,
        ).render())
    })
}

/// The row of a result whose publishers sent as fast as they could, as those of the study did.
fn row(study: &HandleStudy, subject: &Subject<'_>) -> Option<Vec<String>> {
    if subject.report.scenario.kind != RunKind::Throughput {
        return None;
    }
    let (name, theirs) = study.rate_of(subject.result)?;
    let throughput = &subject.result.throughput;
    let ours = throughput.msg_per_s;
    let handles = subject.result.topology.as_ref()?.handles.clone()?;
    throughput.is_known().then(|| {
        vec![
            subject.name.clone(),
            name,
            handles,
            human::count(theirs),
            human::count(ours),
            ratio(ours / theirs),
        ]
    })
}
