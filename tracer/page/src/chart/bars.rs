//! Stacked horizontal bars: one bar for each row, its name and sum above it. Each part has its name in it if there is room,
//! otherwise the number that it has in the legend.
//!
//! ```text
//! tcp                                    13.1 µs
//! ┌───────────┬──────┬──────────────────┐
//! │ socket_tx │  wire│ runqueue         │
//! └───────────┴──────┴──────────────────┘
//! ```

use super::axis::Axis;
use super::frame::{Caption, WIDTH};
use super::look::Look;
use super::number::{coordinate, cut};
use super::over_axis::over_axis;
use maud::{Markup, html};

/// The left and the right end of the bars.
pub const ENDS: (f64, f64) = (6.0, WIDTH - 14.0);

const ROW: f64 = 44.0;
const BAR: f64 = 22.0;
/// Width of a letter of the size in bars.
const LETTER: f64 = 6.4;

/// A part of a bar.
pub struct Part {
    /// Its name in the bar.
    pub name: String,
    /// Its number in the legend.
    pub number: usize,
    /// Its colour.
    pub look: Look,
    /// How much it is, in the axis's unit.
    pub amount: f64,
}

/// A bar.
pub struct Bar {
    /// The name above it.
    pub name: String,
    /// What stands above its end, such as the sum.
    pub value: String,
    /// Its parts from left to right.
    pub parts: Vec<Part>,
}

/// The bars of a chart as SVG. The axis begins at 0, and goes from the first to the second of [`ENDS`].
pub fn stacked(caption: &Caption, axis: &Axis, bars: &[Bar]) -> Markup {
    over_axis(caption, axis, ENDS, ROW, bars, |bar, top| draw(bar, axis, top))
}

fn draw(bar: &Bar, axis: &Axis, top: f64) -> Markup {
    let mut sum = 0.0;
    let parts = bar.parts.iter().filter_map(|part| {
        let from = axis.scale.place(sum)?;
        sum += part.amount.max(0.0);
        Some((part, from, axis.scale.place(sum)?))
    });
    let parts: Vec<_> = parts.collect();
    html! {
        text class="over" x=(coordinate(ENDS.0)) y=(coordinate(top + 13.0)) { (cut(&bar.name, 44)) }
        text class="over value" x=(coordinate(ENDS.1)) y=(coordinate(top + 13.0)) text-anchor="end" { (bar.value) }
        @for (part, from, to) in parts { (draw_part(part, from, to, top + 17.0)) }
    }
}

fn draw_part(part: &Part, from: f64, to: f64, top: f64) -> Markup {
    let width = to - from;
    let fits = |text: &str| text.chars().count() as f64 * LETTER + 6.0 <= width;
    let number = part.number.to_string();
    let label = [part.name.as_str(), number.as_str()].into_iter().find(|text| fits(text));
    html! {
        @if width > 0.05 {
            // A gap separates neighbours where there is room for one.
            rect class={ "bar " (part.look.class()) } x=(coordinate(from)) y=(coordinate(top))
                width=(coordinate(if width > 3.0 { width - 1.2 } else { width.max(0.4) })) height=(coordinate(BAR)) {}
            @if let Some(label) = label {
                text class="inside" x=(coordinate(from + width / 2.0)) y=(coordinate(top + 15.5)) text-anchor="middle" {
                    (label)
                }
            }
        }
    }
}
