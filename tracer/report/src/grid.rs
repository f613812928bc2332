//! A table of text whose columns line up, whatever the width of its characters.

use unicode_width::UnicodeWidthStr;

/// The most columns of a terminal that a table takes.
pub const MAX_WIDTH: usize = 100;

/// The edge of a column at which its text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Lays rows out in columns two spaces apart. The first row is the heading and gets a rule below.
pub fn lay_out(align: &[Align], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..align.len())
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|t| t.width()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let line: Vec<String> = row
            .iter()
            .zip(align.iter().zip(&widths))
            .map(|(text, (&align, &width))| pad(text, width, align))
            .collect();
        push_line(&mut out, &line.join("  "));
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            push_line(&mut out, &rule.join("  "));
        }
    }
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let space = " ".repeat(width.saturating_sub(text.width()));
    match align {
        Align::Left => format!("{text}{space}"),
        Align::Right => format!("{space}{text}"),
    }
}

/// Breaks text into lines of at most `width` columns at its spaces; a longer word stays whole.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width().saturating_add(1).saturating_add(word.width()) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text under a hanging indent: the first line after `head`, the others below its first word.
pub fn hang(head: &str, text: &str) -> String {
    let indent = head.width();
    let mut out = String::new();
    for (number, line) in wrap(text, MAX_WIDTH.saturating_sub(indent)).iter().enumerate() {
        let lead = if number == 0 { head.to_owned() } else { " ".repeat(indent) };
        push_line(&mut out, &format!("{lead}{line}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_line_up() {
        let rows = [["名", "µs"], ["ab", "1"]].map(|row| row.map(String::from).to_vec());
        let text = lay_out(&[Align::Left, Align::Right], &rows);
        assert_eq!(text, "名  µs\n──  ──\nab   1\n");
    }

    #[test]
    fn text_is_broken_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(hang("x: ", "one"), "x: one\n");
    }
}
