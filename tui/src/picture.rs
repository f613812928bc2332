//! The screen as text and as an SVG picture.

use crate::app::App;
use crate::render;
use crate::text;
use crate::theme::{Theme, rgb};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier};
use std::convert::Infallible;
use std::fmt::Write;

/// Width and height of a character, in pixels.
const CELL: (u32, u32) = (9, 18);
/// Pixels from a line's top to the base of its letters.
const BASE: u32 = 14;
/// Pixels around the screen.
const MARGIN: u32 = 12;

/// The screen of a size in a theme.
fn draw(app: &App, size: Size, theme: Theme) -> Result<Buffer, Infallible> {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height))?;
    terminal.draw(|frame| render::screen(frame, app, theme))?;
    Ok(terminal.backend().buffer().clone())
}

/// The screen as lines of text, without spaces at their ends.
pub fn text(app: &App, size: Size) -> String {
    let Ok(buffer) = draw(app, size, app.theme());
    let mut out = String::new();
    for line in lines(&buffer) {
        let mut text = String::new();
        let mut hidden = 0;
        for cell in line {
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            text.push_str(cell.symbol());
            hidden = text::width(cell.symbol()).saturating_sub(1);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// The screen as an SVG picture on the theme's ground, which any browser shows.
pub fn svg(app: &App, size: Size) -> String {
    let Ok(buffer) = draw(app, size, app.theme());
    let light = app.theme().is_light();
    let (ground, ink) = if light { ("#ffffff", "#1c1c1c") } else { ("#14171c", "#d7dae0") };
    let (width, height) = (u32::from(size.width) * CELL.0, u32::from(size.height) * CELL.1);
    let mut out = String::new();
    let (all_wide, all_high) = (width + 2 * MARGIN, height + 2 * MARGIN);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_wide} {all_high}\" role=\"img\" aria-label=\"wirelap\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n\
         <g font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"15\" xml:space=\"preserve\">"
    );
    for (y, line) in (0..).zip(lines(&buffer)) {
        line_of_svg(&mut out, y, line, (ground, ink));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn lines(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    buffer.content().chunks(usize::from(buffer.area().width).max(1))
}

/// A line: for each run of cells of one style its ground, if it has one, and its text.
fn line_of_svg(out: &mut String, y: u32, line: &[Cell], (ground, ink): (&str, &str)) {
    let top = MARGIN + y * CELL.1;
    let mut x = 0;
    for run in line.chunk_by(|a, b| (a.fg, a.bg, a.modifier) == (b.fg, b.bg, b.modifier)) {
        let Some(first) = run.first() else { continue };
        let cells = u32::try_from(run.len()).unwrap_or(0);
        let (left, wide) = (MARGIN + x * CELL.0, cells * CELL.0);
        x += cells;
        let reversed = first.modifier.contains(Modifier::REVERSED);
        let (fg, bg) = (color(first.fg).unwrap_or(ink.into()), color(first.bg));
        let (fg, bg) = if reversed { (bg.unwrap_or(ground.into()), Some(fg)) } else { (fg, bg) };
        if let Some(bg) = bg {
            let high = CELL.1;
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" fill=\"{bg}\"/>"
            );
        }
        let text: String = run.iter().map(Cell::symbol).collect();
        if text.trim().is_empty() {
            continue;
        }
        let bold =
            if first.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
        let dim = if first.modifier.contains(Modifier::DIM) { " opacity=\"0.65\"" } else { "" };
        let base = top + BASE;
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{base}\" textLength=\"{wide}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fg}\"{bold}{dim}>{}</text>",
            escaped(&text)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

/// A terminal colour as `#rrggbb`; `None` for the terminal's own.
fn color(color: Color) -> Option<String> {
    rgb(color).map(|rgb| format!("#{rgb:06x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_text_of_the_screen() {
        let size = Size { width: 80, height: 24 };
        let app = App::new();
        assert!(text(&app, size).contains("wirelap"));
        let svg = svg(&app, size);
        assert!(
            svg.starts_with("<svg")
                && svg.trim_end().ends_with("</svg>")
                && svg.contains("wirelap")
        );
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
