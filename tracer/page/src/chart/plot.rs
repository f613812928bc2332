//! Lines, steps and points over two axes. The name of each line stands at its end.
//!
//! ```text
//!  one-way latency
//!  50 µs ┤            ╭──── mqtt
//!  20 µs ┤     ╭──────╯ ╭── tcp
//!  10 µs ┤─────╯────────╯
//!        └┬─────┬─────┬────
//!        50 %  90 %  99 %
//! ```

use super::axis::Axis;
use super::frame::{Caption, WIDTH, svg};
use super::look::{Look, swatch};
use super::number::{coordinate, wrap};
use maud::{Markup, html};
use std::fmt::Write;

/// The plot's edges in the view box: what axes and names leave.
pub const LEFT: f64 = 62.0;
/// The right edge.
pub const RIGHT: f64 = WIDTH - 160.0;
/// The upper edge.
pub const TOP: f64 = 26.0;
/// The lower edge.
pub const BOTTOM: f64 = 266.0;
const HEIGHT: f64 = 306.0;

/// The columns that a name has room for at the end of its line, and the most lines of text that it is wrapped into.
const NAME_COLUMNS: usize = 20;
const NAME_LINES: usize = 4;
/// The height of a line of text, and the space between two names.
const TEXT_HEIGHT: f64 = 12.0;
const NAME_GAP: f64 = 3.0;

/// The way in which the points of a line are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineJoin {
    /// By straight lines.
    Straight,
    /// By steps: each value holds until the next point.
    Steps,
}

/// One line.
pub struct PlotLine {
    /// Stands at its end and in the legend; empty for none.
    pub name: String,
    /// The line's colour, marker and, unless `dash` is given, dash pattern.
    pub look: Look,
    /// A dash pattern of its own.
    pub dash: Option<&'static str>,
    /// True if each point has a marker.
    pub has_markers: bool,
    /// The way in which the points are joined.
    pub joined: LineJoin,
    /// The line's points in order of x.
    pub points: Vec<(f64, f64)>,
}

impl PlotLine {
    fn dash(&self) -> &'static str {
        self.dash.unwrap_or_else(|| self.look.dash())
    }
}

/// Lines over two axes, whose scales go from [`LEFT`] to [`RIGHT`] and from [`BOTTOM`] to [`TOP`].
pub struct Plot {
    /// The description of the plot.
    pub caption: Caption,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<PlotLine>,
}

impl Plot {
    /// The plot as SVG.
    pub fn render(&self) -> Markup {
        let placed: Vec<(&PlotLine, Vec<(f64, f64)>)> =
            self.lines.iter().map(|line| (line, self.placed(line))).collect();
        let content = html! {
            (self.x.horizontal(TOP, BOTTOM, (LEFT, RIGHT)))
            (self.y.vertical(LEFT, RIGHT, 13.0))
            @for (line, points) in &placed { (draw(line, points)) }
            (names(&placed))
        };
        svg(&self.caption, HEIGHT, &content)
    }

    /// The entries of the legend: each line with a name, as it is drawn.
    pub fn legend(&self) -> Vec<(Markup, String)> {
        let named = self.lines.iter().filter(|line| !line.name.is_empty());
        named.map(|line| (swatch(line.look, line.dash()), line.name.clone())).collect()
    }

    fn placed(&self, line: &PlotLine) -> Vec<(f64, f64)> {
        let place = |&(x, y): &(f64, f64)| Some((self.x.scale.place(x)?, self.y.scale.place(y)?));
        line.points.iter().filter_map(place).collect()
    }
}

fn draw(line: &PlotLine, points: &[(f64, f64)]) -> Markup {
    html! {
        @if points.len() > 1 {
            path class={ "line " (line.look.class()) } d=(path(points, line.joined))
                stroke-dasharray=(line.dash()) {}
        }
        @if line.has_markers || points.len() == 1 {
            @for &(x, y) in points { (line.look.marker(x, y)) }
        }
    }
}

fn path(points: &[(f64, f64)], joined: LineJoin) -> String {
    let mut out = String::new();
    for (number, &(x, y)) in points.iter().enumerate() {
        let (x, y) = (coordinate(x), coordinate(y));
        // Writing to a string cannot fail.
        let _ = match (number, joined) {
            (0, _) => write!(out, "M{x} {y}"),
            (_, LineJoin::Straight) => write!(out, "L{x} {y}"),
            (_, LineJoin::Steps) => write!(out, "H{x}V{y}"),
        };
    }
    out
}

/// The lines' names at their ends, whole in as many lines of text as they need, moved apart where they would overlap. If they do
/// not all fit, only the legend tells the lines apart.
fn names(placed: &[(&PlotLine, Vec<(f64, f64)>)]) -> Markup {
    let mut names: Vec<(f64, f64, &PlotLine)> = placed
        .iter()
        .filter(|(line, _)| !line.name.is_empty())
        .filter_map(|(line, points)| points.last().map(|&(x, y)| (x, y, *line)))
        .collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    let texts: Vec<Vec<String>> =
        names.iter().map(|(_, _, line)| wrap(&line.name, NAME_COLUMNS, NAME_LINES)).collect();
    let wanted = names.iter().zip(&texts).map(|((_, y, _), text)| (*y, text.len()));
    let places = spread(&wanted.collect::<Vec<_>>()).unwrap_or_default();
    html! {
        @for (((x, y, line), text), place) in names.iter().zip(&texts).zip(places) {
            path class={ "lead " (line.look.class()) }
                d=(format!("M{} {}L{} {}", coordinate(x + 3.0), coordinate(*y), coordinate(RIGHT + 8.0), coordinate(place))) {}
            text class={ "name " (line.look.class()) } {
                @for (number, words) in text.iter().enumerate() {
                    tspan x=(coordinate(RIGHT + 10.0)) y=(coordinate(place + 4.0 + number as f64 * TEXT_HEIGHT)) {
                        // A space at the end, so that the name is copied and read out as one.
                        (words) " "
                    }
                }
            }
        }
    }
}

/// Moves names apart, each wanted at a place with a number of lines of text, so that they do not overlap, and keeps all of them
/// inside the plot. Gives the place of each name's first line; `None` if there is no room for all.
fn spread(wanted: &[(f64, usize)]) -> Option<Vec<f64>> {
    let height = |lines: usize| lines as f64 * TEXT_HEIGHT + NAME_GAP;
    let mut places = Vec::with_capacity(wanted.len());
    let mut free = TOP - 8.0;
    for &(y, lines) in wanted {
        let place = y.max(free);
        places.push(place);
        free = place + height(lines);
    }
    let mut limit = BOTTOM + 6.0 + TEXT_HEIGHT + NAME_GAP;
    for (place, (_, lines)) in places.iter_mut().zip(wanted).rev() {
        *place = place.min(limit - height(*lines));
        limit = *place;
    }
    let fits = places.first().is_none_or(|&first| first >= TOP - 8.0);
    fits.then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::scale::Scale;

    #[test]
    fn names_do_not_overlap() {
        let wanted = [(50.0, 1), (50.0, 3), (51.0, 2), (265.0, 1), (266.0, 2), (266.0, 1)];
        let places = spread(&wanted).unwrap();
        let ends = places.iter().zip(wanted).map(|(y, (_, lines))| y + lines as f64 * TEXT_HEIGHT);
        let ends: Vec<f64> = ends.collect();
        assert!(ends.iter().zip(&places[1..]).all(|(end, next)| end < next), "{places:?}");
        assert!(places[0] >= TOP - 8.0 && ends[5] <= BOTTOM + 6.0 + TEXT_HEIGHT, "{ends:?}");
    }

    #[test]
    fn too_many_names_are_left_to_the_legend() {
        assert!(spread(&[(100.0, 1); 17]).is_some());
        assert_eq!(spread(&[(100.0, 1); 18]), None);
        assert_eq!(spread(&[(100.0, 4); 6]), None);
        assert_eq!(spread(&[]), Some(Vec::new()));
    }

    #[test]
    fn the_legend_has_the_dashes_of_its_lines() {
        let line = |name: &str, look, dash| PlotLine {
            name: name.into(),
            look: Look::of(look),
            dash,
            has_markers: true,
            joined: LineJoin::Straight,
            points: vec![(0.0, 1.0), (1.0, 2.0)],
        };
        let axis = || Axis::new(Scale::between(0.0, 2.0, 0.0, 100.0), "", |_| String::new());
        let plot = Plot {
            caption: Caption { id: "x".into(), title: "x".into(), description: "x".into() },
            x: axis(),
            y: axis(),
            lines: vec![
                line("own", 1, Some("none")),
                line("", 1, Some("3 4")),
                line("look", 1, None),
            ],
        };
        let legend = plot.legend();
        assert_eq!(
            legend.iter().map(|entry| entry.1.as_str()).collect::<Vec<_>>(),
            ["own", "look"]
        );
        let dashes = ["none", Look::of(1).dash()];
        for ((drawn, _), dash) in legend.into_iter().zip(dashes) {
            assert!(
                drawn.into_string().contains(&format!("stroke-dasharray=\"{dash}\"")),
                "{dash}"
            );
        }
    }

    #[test]
    fn steps_go_sideways_first() {
        let points = [(0.0, 0.0), (2.0, 5.0)];
        assert_eq!(path(&points, LineJoin::Steps), "M0 0H2V5");
        assert_eq!(path(&points, LineJoin::Straight), "M0 0L2 5");
    }
}
