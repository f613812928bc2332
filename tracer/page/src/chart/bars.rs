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
use super::scale::Scale;
use crate::write::tick_percent;
use maud::{Markup, html};

/// The left and the right end of the bars.
pub const ENDS: (f64, f64) = (6.0, WIDTH - 14.0);

const ROW: f64 = 44.0;
const BAR: f64 = 22.0;
/// Width of a letter of the size in bars.
const LETTER: f64 = 6.4;

/// A part of a bar.
pub struct BarPart {
    /// The part's name in the bar.
    pub name: String,
    /// The part's number in the legend.
    pub number: usize,
    /// The part's colour.
    pub look: Look,
    /// The part's amount, in the axis's unit.
    pub amount: f64,
}

/// A bar.
pub struct Bar {
    /// The name above it.
    pub name: String,
    /// The text above the bar's end, such as the sum.
    pub value: String,
    /// The bar's parts from left to right.
    pub parts: Vec<BarPart>,
}

/// Up to this ratio of the largest sum to the smallest, all bars share one axis of amounts.
const ALIKE: f64 = 12.0;

/// The axis of bars that differ in their sums.
pub struct BarAxis {
    /// The axis.
    pub axis: Axis,
    /// True if the axis is of amounts; otherwise it is of shares, and each bar is as long as it.
    pub is_shared: bool,
}

impl BarAxis {
    /// The axis of bars with these sums: of amounts if the sums are alike, otherwise of shares. `None` for sums that are not known.
    /// It is of an `amount`, such as `latency`, and has a title for amounts, whose ticks are written by `format`.
    pub fn of(
        sums: Option<Vec<f64>>,
        amount: &str,
        title: &str,
        format: impl Fn(f64) -> String,
    ) -> BarAxis {
        let are_alike = |sums: &Vec<f64>| {
            let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
            let most = sums.iter().copied().fold(0.0, f64::max);
            most / least <= ALIKE
        };
        if let Some(sums) = sums.filter(are_alike) {
            let scale = Scale::linear(sums.into_iter(), ENDS.0, ENDS.1);
            return BarAxis { axis: Axis::new(scale, title, format), is_shared: true };
        }
        let scale = Scale::between(0.0, 1.0, ENDS.0, ENDS.1);
        let title = format!("share of the {amount} of a message");
        BarAxis { axis: Axis::new(scale, &title, tick_percent), is_shared: false }
    }

    /// The way to read the lengths of the bars, for the description of the chart.
    pub fn in_words(&self, amount: &str) -> String {
        if self.is_shared {
            return "all bars have the same axis".into();
        }
        format!("each bar is the whole of its own {amount}")
    }
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

fn draw_part(part: &BarPart, from: f64, to: f64, top: f64) -> Markup {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_are_alike_share_an_axis() {
        let of = |sums: Option<&[f64]>| {
            let sums = sums.map(<[f64]>::to_vec);
            let BarAxis { axis, is_shared } =
                BarAxis::of(sums, "latency", "time of a message", |ns| ns.to_string());
            (is_shared, axis.title)
        };
        let (shared, share) =
            ((true, "time of a message"), (false, "share of the latency of a message"));
        let cases: [(Option<&[f64]>, _); 5] = [
            (Some(&[100.0]), shared),
            (Some(&[100.0, 1200.0]), shared),
            (Some(&[100.0, 1201.0]), share),
            (Some(&[0.0, 100.0]), share),
            (None, share),
        ];
        for (sums, (is_shared, title)) in cases {
            assert_eq!(of(sums), (is_shared, title.to_owned()), "{sums:?}");
        }
    }
}
