//! The steps of one message, one below the other, each beginning where the one before ended.
//!
//! ```text
//! 1 socket_tx  ▄▄▄▄                              8.0 µs
//! 1 wire           ▄                             0.7 µs
//! 2 runqueue        ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄  420.0 µs
//! ```

use super::axis::Axis;
use super::frame::{Caption, WIDTH, svg};
use super::look::Look;
use super::number::{coordinate, cut};
use super::scale::Scale;
use maud::{Markup, html};

const LEFT: f64 = 112.0;
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 4.0;
const ROW: f64 = 19.0;

/// A step.
pub struct Step {
    /// The step's leg and segment.
    pub name: String,
    /// The step's colour.
    pub look: Look,
    /// Time that the step took.
    pub time: f64,
    /// The time in words.
    pub label: String,
}

/// The steps as SVG, over an axis of time that begins at 0.
pub fn waterfall(caption: &Caption, steps: &[Step], format: impl Fn(f64) -> String) -> Markup {
    let whole: f64 = steps.iter().map(|step| step.time.max(0.0)).fold(0.0, |sum, time| sum + time);
    let axis =
        Axis::new(Scale::linear([whole].into_iter(), LEFT, RIGHT), "after the first send", format);
    let bottom = TOP + steps.len() as f64 * ROW + 4.0;
    let mut begin = 0.0;
    let placed: Vec<(&Step, f64, f64)> = steps
        .iter()
        .filter_map(|step| {
            let from = axis.scale.place(begin)?;
            begin += step.time.max(0.0);
            Some((step, from, axis.scale.place(begin)?))
        })
        .collect();
    let content = html! {
        (axis.horizontal(TOP, bottom, (LEFT, RIGHT)))
        @for (row, (step, from, to)) in placed.iter().enumerate() {
            (draw(step, *from, *to, TOP + row as f64 * ROW))
        }
    };
    svg(caption, bottom + 40.0, &content)
}

fn draw(step: &Step, from: f64, to: f64, top: f64) -> Markup {
    html! {
        text x=(coordinate(LEFT - 6.0)) y=(coordinate(top + 14.0)) text-anchor="end" { (cut(&step.name, 16)) }
        rect class={ "bar " (step.look.class()) } x=(coordinate(from)) y=(coordinate(top + 4.0))
            width=(coordinate((to - from).max(1.0))) height="12" {}
        text class="value" x=(coordinate(WIDTH - 2.0)) y=(coordinate(top + 14.0)) text-anchor="end" { (step.label) }
    }
}
