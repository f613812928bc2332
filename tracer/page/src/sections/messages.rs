//! The slowest messages, each as a waterfall of its steps.

use crate::chart::frame::{Caption, figure};
use crate::chart::waterfall::{Step, waterfall};
use crate::sections::stages::look;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{sentence, tick_time};
use maud::{Markup, html};
use wirelap_report::why::ReportedWorstMessage;
use wirelap_report::{explain, human};

/// The section; `None` if no message was kept.
pub fn content(subjects: &Subjects<'_>, most: usize) -> Option<Markup> {
    subjects.each_result(|subject| {
        let worst = subject.result.why.as_ref()?.worst.as_slice();
        let shown = worst.iter().take(most).enumerate();
        (shown.len() > 0).then(|| {
            html! {
                div class="figures" {
                    @for (number, message) in shown { (draw(subject, number, message)) }
                }
            }
        })
    })
}

fn draw(subject: &Subject<'_>, number: usize, message: &ReportedWorstMessage) -> Markup {
    let participants = subject.participants();
    let caption = Caption {
        id: format!("message-{}-{number}", subject.number),
        title: format!("{}, {}", subject.name, explain::message_name(message)),
        description: sentence(&explain::timeline(message, &participants)),
    };
    let steps: Vec<Step> = steps(message);
    figure(
        &caption,
        &waterfall(&caption, &steps, tick_time),
        &[],
        &table(subject, message, &caption),
    )
}

fn steps(message: &ReportedWorstMessage) -> Vec<Step> {
    let legs = (1_usize..).zip(&message.legs);
    let of_leg = |(number, leg): (usize, &wirelap_report::why::ReportedLeg)| {
        let segments = leg.segments.iter().filter(|one| one.time_ns > 0);
        let step = move |one: &wirelap_report::why::SegmentTime| Step {
            name: format!("{number} {}", one.segment),
            look: look(&one.segment),
            time: one.time_ns as f64,
            label: human::time_ns(Some(one.time_ns)),
        };
        segments.map(step).collect::<Vec<_>>()
    };
    legs.flat_map(of_leg).collect()
}

fn table(subject: &Subject<'_>, message: &ReportedWorstMessage, caption: &Caption) -> Table {
    let participants = subject.participants();
    let legs = (1..=u8::MAX).zip(&message.legs);
    let rows = legs.flat_map(|(number, leg)| {
        leg.segments.iter().map(move |one| (number, leg, one)).collect::<Vec<_>>()
    });
    let rows = rows.map(|(number, leg, one)| {
        vec![
            format!("{number} {}", one.segment),
            participants.step(number, &one.segment),
            format!("{} → {}", leg.from, leg.to),
            human::time_ns(Some(one.time_ns)),
        ]
    });
    Table::of_text(
        format!("{}: its steps", caption.title),
        &["leg, segment", "what happens", "connection", "time"],
        rows.collect(),
        3,
    )
}
