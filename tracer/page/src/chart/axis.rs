//! Axes: lines, ticks, their labels and titles.

use super::frame::WIDTH;
use super::number::{coordinate, cut};
use super::scale::Scale;
use maud::{Markup, html};

/// An axis.
pub struct Axis {
    /// The scale that gives each value its place.
    pub scale: Scale,
    /// The values with a tick, and what stands there.
    pub ticks: Vec<(f64, String)>,
    /// The measured quantity, with its unit where the ticks have none.
    pub title: String,
}

impl Axis {
    /// An axis whose ticks are written by `format`.
    pub fn new(scale: Scale, title: &str, format: impl Fn(f64) -> String) -> Axis {
        let ticks = scale.ticks().into_iter().map(|tick| (tick, format(tick))).collect();
        Axis { scale, ticks, title: title.to_owned() }
    }

    /// A logarithmic axis of sizes, with ticks at powers of two.
    pub fn of_sizes(scale: Scale, title: &str, format: impl Fn(f64) -> String) -> Axis {
        let ticks = scale.binary_ticks().into_iter().map(|tick| (tick, format(tick))).collect();
        Axis { scale, ticks, title: title.to_owned() }
    }

    /// As the horizontal axis at `bottom`, with grid lines up to `top`. Labels stay inside the chart; those that would touch
    /// the one before are left out, and where that happens on a logarithmic axis, all but those of powers of ten.
    pub fn horizontal(&self, top: f64, bottom: f64, (left, right): (f64, f64)) -> Markup {
        let placed: Vec<(f64, f64, &str)> = self
            .ticks
            .iter()
            .filter_map(|(value, label)| Some((*value, self.scale.place(*value)?, label.as_str())))
            .collect();
        let mut labels = without_overlap(placed.iter().map(|&(_, x, label)| (x, label)));
        if self.scale.is_log() && labels.len() < placed.len() {
            let round =
                placed.iter().filter(|(value, ..)| is_power_of_ten(*value)).collect::<Vec<_>>();
            if round.len() > 1 {
                labels = without_overlap(round.into_iter().map(|&(_, x, label)| (x, label)));
            }
        }
        html! {
            g class="axis" {
                @for (_, x, _) in placed {
                    path class="grid" d=(format!("M{} {}V{}", coordinate(x), coordinate(top), coordinate(bottom))) {}
                }
                @for (x, label) in labels {
                    text x=(coordinate(x)) y=(coordinate(bottom + 16.0)) text-anchor="middle" { (label) }
                }
                path class="edge" d=(format!("M{} {}H{}", coordinate(left), coordinate(bottom), coordinate(right))) {}
                text class="title" x=(coordinate(f64::midpoint(left, right))) y=(coordinate(bottom + 34.0))
                    text-anchor="middle" { (self.title) }
            }
        }
    }

    /// As the vertical axis at `left`, with grid lines as far as `right`. Its title stands above it.
    pub fn vertical(&self, left: f64, right: f64, title_y: f64) -> Markup {
        let mut free = f64::INFINITY;
        let ticks: Vec<(f64, Option<&str>)> = self
            .ticks
            .iter()
            .filter_map(|(value, label)| Some((self.scale.place(*value)?, label)))
            .map(|(y, label)| {
                let fits = y + 7.0 < free;
                if fits {
                    free = y - 7.0;
                }
                (y, fits.then_some(label.as_str()))
            })
            .collect();
        html! {
            g class="axis" {
                text class="title" x="2" y=(coordinate(title_y)) { (self.title) }
                @for (y, label) in ticks {
                    path class="grid" d=(format!("M{} {}H{}", coordinate(left), coordinate(y), coordinate(right))) {}
                    @if let Some(label) = label {
                        text x=(coordinate(left - 6.0)) y=(coordinate(y + 4.0)) text-anchor="end" { (cut(label, 8)) }
                    }
                }
            }
        }
    }
}

/// The places of labels inside the chart, without those that would touch the one before.
fn without_overlap<'a>(labels: impl Iterator<Item = (f64, &'a str)>) -> Vec<(f64, &'a str)> {
    let mut free = f64::NEG_INFINITY;
    let placed = labels.filter_map(|(x, label)| {
        let half = label.chars().count() as f64 * 3.2;
        let x = x.clamp(half + 3.0, WIDTH - half - 3.0);
        let fits = x - half > free;
        if fits {
            free = x + half + 4.0;
        }
        fits.then_some((x, label))
    });
    placed.collect()
}

fn is_power_of_ten(value: f64) -> bool {
    let power = value.log10();
    (power - power.round()).abs() < 1e-6
}
