//! Rows of points over one horizontal axis: repetitions, or published beside measured.
//!
//! ```text
//! tcp
//!       ●●  ●        ◇ ◇   ◇
//! mqtt
//!             ● ●●              ◇◇ ◇
//! ```

use super::axis::Axis;
use super::frame::{Caption, WIDTH};
use super::look::{Look, diamond, dot};
use super::number::{coordinate, cut};
use super::over_axis::over_axis;
use maud::{Markup, html};

/// The left and the right end of the axis.
pub const ENDS: (f64, f64) = (16.0, WIDTH - 24.0);

const ROW: f64 = 38.0;

/// The sign that a point is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointMark {
    /// A filled circle.
    Dot,
    /// A hollow diamond.
    Diamond,
}

impl PointMark {
    fn draw(self, look: Look, x: f64, y: f64) -> Markup {
        match self {
            PointMark::Dot => dot(look, x, y),
            PointMark::Diamond => diamond(look, x, y),
        }
    }
}

/// A mark in the first colour, for a legend. It is hidden from screen readers.
pub fn mark_swatch(mark: PointMark) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" focusable="false" {
            (mark.draw(Look::of(0), 7.0, 7.0))
        }
    }
}

/// A row of points.
pub struct PointRow {
    /// The name above it.
    pub name: String,
    /// The row's colour.
    pub look: Look,
    /// The row's points.
    pub points: Vec<(f64, PointMark)>,
    /// A range drawn as a line with ends.
    pub range: Option<(f64, f64)>,
}

/// Rows as SVG. The axis goes from the first to the second of [`ENDS`].
pub fn rows(caption: &Caption, axis: &Axis, rows: &[PointRow]) -> Markup {
    over_axis(caption, axis, ENDS, ROW, rows, |row, top| draw(row, axis, top))
}

fn draw(row: &PointRow, axis: &Axis, top: f64) -> Markup {
    let y = top + 26.0;
    let ends =
        row.range.and_then(|(low, high)| Some((axis.scale.place(low)?, axis.scale.place(high)?)));
    html! {
        text class="over" x="2" y=(coordinate(top + 13.0)) { (cut(&row.name, 60)) }
        path class="track" d=(format!("M{} {}H{}", coordinate(ENDS.0), coordinate(y), coordinate(ENDS.1))) {}
        @if let Some((low, high)) = ends {
            path class={ "range " (row.look.class()) } d=(format!(
                "M{0} {2}V{3}M{0} {4}H{1}M{1} {2}V{3}", coordinate(low), coordinate(high), coordinate(y - 5.0),
                coordinate(y + 5.0), coordinate(y)
            )) {}
        }
        @for &(value, mark) in &row.points {
            @if let Some(x) = axis.scale.place(value) { (mark.draw(row.look, x, y)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_has_the_mark_that_is_drawn() {
        for (mark, shape) in [(PointMark::Dot, "<circle"), (PointMark::Diamond, "<polygon")] {
            let (drawn, sample) = (mark.draw(Look::of(0), 7.0, 7.0), mark_swatch(mark));
            assert!(drawn.into_string().starts_with(shape));
            assert!(sample.into_string().contains(shape));
        }
    }
}
