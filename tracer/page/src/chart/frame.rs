//! The frame of all charts: the SVG with title and description, and a figure with caption, legend and the numbers as a table.

use super::number::coordinate;
use crate::tables::Table;
use maud::{Markup, html};

/// Width of every chart in its own units, which are about pixels.
pub const WIDTH: f64 = 480.0;

/// The description of a chart, in words.
#[derive(Clone, Debug)]
pub struct Caption {
    /// Unique on the page.
    pub id: String,
    /// The quantity that is shown.
    pub title: String,
    /// The way to read the chart, in one or two sentences.
    pub description: String,
}

/// The SVG of a chart.
pub fn svg(caption: &Caption, height: f64, content: &Markup) -> Markup {
    let (title, description) = (format!("{}-title", caption.id), format!("{}-desc", caption.id));
    html! {
        svg class="chart" viewBox=(format!("0 0 {} {}", coordinate(WIDTH), coordinate(height)))
            role="img" focusable="false" aria-labelledby=(title) aria-describedby=(description) {
            title id=(title) { (caption.title) }
            desc id=(description) { (caption.description) }
            (content)
        }
    }
}

/// A chart with its caption, legend and figures.
pub fn figure(
    caption: &Caption,
    drawing: &Markup,
    legend: &[(Markup, String)],
    table: &Table,
) -> Markup {
    html! {
        figure class="figure" id=(caption.id) {
            figcaption { strong { (caption.title) } " " span class="how" { (caption.description) } }
            (drawing)
            @if !legend.is_empty() {
                ul class="legend" {
                    @for (swatch, name) in legend { li { (swatch) " " (name) } }
                }
            }
            details {
                summary { "The figures of this chart" }
                (table.render())
            }
        }
    }
}
