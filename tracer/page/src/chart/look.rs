//! The signs that tell results of a chart apart: colour, dash pattern and marker, so that no reader depends on colour alone.

use super::number::coordinate;
use maud::{Markup, html};

/// Number of colours; the style sheet has one variable for each.
pub const COLOURS: usize = 8;

const DASHES: [&str; 5] = ["none", "8 3", "3 2", "9 3 2 3", "14 3"];

/// The look of one result in all charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    colour: usize,
    /// The number of its dash pattern and marker.
    pattern: usize,
}

impl Look {
    /// The look of the result at this index: colour and pattern are its own.
    pub fn of(index: usize) -> Look {
        Look { colour: index, pattern: index }
    }

    /// A colour and a pattern, which other looks may share.
    pub fn with_pattern(colour: usize, pattern: usize) -> Look {
        Look { colour, pattern }
    }

    /// The class that sets the colour.
    pub fn class(self) -> String {
        format!("c{}", self.colour.checked_rem(COLOURS).unwrap_or_default().saturating_add(1))
    }

    /// The dash pattern of its lines.
    pub fn dash(self) -> &'static str {
        let number = self.pattern.checked_rem(DASHES.len()).unwrap_or_default();
        DASHES.get(number).copied().unwrap_or("none")
    }

    /// The look's marker: circle, square, triangle, diamond, … around a point. Every second turn through them is hollow.
    pub fn marker(self, x: f64, y: f64) -> Markup {
        let hollow = if (self.pattern / 4).is_multiple_of(2) { "" } else { " hollow" };
        shape(self.pattern % 4, x, y, &format!("mark {}{hollow}", self.class()))
    }
}

/// A filled circle in the colour of a look.
pub fn dot(look: Look, x: f64, y: f64) -> Markup {
    shape(0, x, y, &format!("mark {}", look.class()))
}

/// A hollow diamond in the colour of a look.
pub fn diamond(look: Look, x: f64, y: f64) -> Markup {
    shape(3, x, y, &format!("mark {} hollow", look.class()))
}

fn shape(number: usize, x: f64, y: f64, class: &str) -> Markup {
    let at = |dx: f64, dy: f64| format!("{},{}", coordinate(x + dx), coordinate(y + dy));
    let points = match number {
        0 => {
            return html! { circle class=(class) cx=(coordinate(x)) cy=(coordinate(y)) r="4" {} };
        }
        1 => [at(-3.6, -3.6), at(3.6, -3.6), at(3.6, 3.6), at(-3.6, 3.6)].join(" "),
        2 => [at(0.0, -4.8), at(4.6, 3.4), at(-4.6, 3.4)].join(" "),
        _ => [at(0.0, -5.2), at(5.2, 0.0), at(0.0, 5.2), at(-5.2, 0.0)].join(" "),
    };
    html! { polygon class=(class) points=(points) {} }
}

/// A short line with a marker, for a legend, with the dash pattern of the line in the chart. It stands beside its name and is
/// hidden from screen readers.
pub fn swatch(look: Look, dash: &str) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 32 14" width="32" height="14" aria-hidden="true" focusable="false" {
            path class={ "line " (look.class()) } d="M1 7H31" stroke-dasharray=(dash) {}
            (look.marker(16.0, 7.0))
        }
    }
}

/// A filled field, for a legend of bars.
pub fn field(look: Look) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" focusable="false" {
            rect class={ "bar " (look.class()) } x="0" y="0" width="14" height="14" {}
        }
    }
}
