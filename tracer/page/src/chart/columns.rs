//! Groups of vertical bars: one group for each process, one bar for each repetition.

use super::axis::Axis;
use super::frame::{Caption, WIDTH, svg};
use super::look::Look;
use super::number::{coordinate, cut};
use super::scale::Scale;
use maud::{Markup, html};

const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 156.0;

/// A group of bars.
pub struct BarGroup {
    /// The name below it.
    pub name: String,
    /// The colour of the bars.
    pub look: Look,
    /// The height of each bar; `None` where it is not known.
    pub values: Vec<Option<f64>>,
}

/// Groups of bars as SVG, over an axis from 0 whose ticks are written by `format`.
pub fn columns(
    caption: &Caption,
    title: &str,
    groups: &[BarGroup],
    format: impl Fn(f64) -> String,
) -> Markup {
    let values = groups.iter().flat_map(|group| group.values.iter().flatten().copied());
    let axis = Axis::new(Scale::linear(values, BOTTOM, TOP), title, format);
    let width = (RIGHT - LEFT) / groups.len().max(1) as f64;
    let content = html! {
        (axis.vertical(LEFT, RIGHT, 13.0))
        path class="edge" d=(format!("M{} {}H{}", coordinate(LEFT), coordinate(BOTTOM), coordinate(RIGHT))) {}
        @for (number, group) in groups.iter().enumerate() {
            (draw(group, &axis, LEFT + number as f64 * width, width))
        }
    };
    svg(caption, BOTTOM + 26.0, &content)
}

fn draw(group: &BarGroup, axis: &Axis, left: f64, width: f64) -> Markup {
    let each = (width * 0.8 / group.values.len().max(1) as f64).min(40.0);
    let first = left + (width - each * group.values.len() as f64) / 2.0;
    let bars = group.values.iter().enumerate().filter_map(|(number, value)| {
        Some((first + number as f64 * each, axis.scale.place((*value)?)?))
    });
    let bars: Vec<_> = bars.collect();
    html! {
        @for (x, y) in bars {
            rect class={ "bar " (group.look.class()) } x=(coordinate(x)) y=(coordinate(y.min(BOTTOM - 0.6)))
                width=(coordinate((each - 2.0).max(0.6))) height=(coordinate((BOTTOM - y).max(0.6))) {}
        }
        text class="over" x=(coordinate(left + width / 2.0)) y=(coordinate(BOTTOM + 17.0)) text-anchor="middle" {
            (cut(&group.name, letters(width)))
        }
    }
}

/// Number of letters that have room in a width.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few hundred at most"
)]
fn letters(width: f64) -> usize {
    (width / 6.6).clamp(1.0, 60.0) as usize
}
