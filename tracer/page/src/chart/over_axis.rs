//! Items one below the other over one horizontal axis.

use super::axis::Axis;
use super::frame::{Caption, svg};
use maud::{Markup, html};

const TOP: f64 = 4.0;
/// The room below the items for the axis and its labels.
const BELOW: f64 = 40.0;

/// The items as SVG, each `height` high. The axis goes from the first to the second of `ends`; `draw` draws an item at its
/// upper edge.
pub fn over_axis<T>(
    caption: &Caption,
    axis: &Axis,
    ends: (f64, f64),
    height: f64,
    items: &[T],
    draw: impl Fn(&T, f64) -> Markup,
) -> Markup {
    let bottom = TOP + items.len() as f64 * height + 2.0;
    let content = html! {
        (axis.horizontal(TOP, bottom, ends))
        @for (number, item) in items.iter().enumerate() { (draw(item, TOP + number as f64 * height)) }
    };
    svg(caption, bottom + BELOW, &content)
}
