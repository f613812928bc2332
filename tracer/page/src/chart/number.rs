//! Numbers in SVG attributes: always finite, never long.

/// The largest coordinate that is written; everything drawn is inside a view box of a few hundred units.
const LARGEST: f64 = 100_000.0;

/// A coordinate or length with at most one decimal. What is not finite becomes 0, so that no attribute is invalid.
pub fn coordinate(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{:.1}", value.clamp(-LARGEST, LARGEST));
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// A text in at most `columns` columns, its end replaced by `…` where it is longer. Wide characters count twice.
pub fn cut(text: &str, columns: usize) -> String {
    let whole = text.chars().map(width).fold(0, usize::saturating_add);
    if whole <= columns {
        return text.to_owned();
    }
    let mut used = 1_usize;
    let mut out: String = text
        .chars()
        .take_while(|&c| {
            used = used.saturating_add(width(c));
            used <= columns
        })
        .collect();
    out.push('…');
    out
}

/// A text in lines of at most `columns` columns, broken behind spaces and punctuation where there are any. The last of `most`
/// lines is cut if the text is longer.
pub fn wrap(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = line_end(rest, columns);
        // Not even one character fits.
        if lines.len().saturating_add(1) >= most || end == 0 {
            lines.push(cut(rest, columns));
            break;
        }
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    lines
}

/// The end of a text's first line, in bytes: behind the last place to break it that fits, or where it is full.
fn line_end(text: &str, columns: usize) -> usize {
    let (mut used, mut full, mut broken) = (0_usize, 0, None);
    for (at, c) in text.char_indices() {
        used = used.saturating_add(width(c));
        // A space at the end of a line takes no room.
        if used > columns.saturating_add(usize::from(c == ' ')) {
            return broken.unwrap_or(full);
        }
        full = at.saturating_add(c.len_utf8());
        if matches!(c, ' ' | '/' | ',' | ':' | '-') {
            broken = Some(full);
        }
    }
    text.len()
}

/// The columns of a character: wide ones have two.
fn width(c: char) -> usize {
    if u32::from(c) >= 0x1100 { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_finite_and_short() {
        let shown =
            [0.0, -0.01, 1.25, 12.0, f64::NAN, f64::INFINITY, 1e300, -1e300].map(coordinate);
        assert_eq!(shown, ["0", "0", "1.2", "12", "0", "0", "100000", "-100000"]);
    }

    #[test]
    fn lines_break_where_names_do() {
        assert_eq!(wrap("mqtt", 13, 3), ["mqtt"]);
        assert_eq!(wrap("zenoh-brokered", 13, 3), ["zenoh-", "brokered"]);
        assert_eq!(wrap("mqtt/mosquitto, 64 B", 13, 3), ["mqtt/", "mosquitto, 64", "B"]);
        assert_eq!(wrap("A: zenoh-p2p, published", 13, 3), ["A: zenoh-p2p,", "published"]);
        assert_eq!(wrap("abcdefgh", 3, 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("abcdefghijk", 3, 2), ["abc", "de…"]);
        assert_eq!(wrap("中間件", 4, 3), ["中間", "件"]);
        assert_eq!(wrap(" ", 4, 3), [""; 0]);
        assert_eq!(wrap("中", 1, 3), ["…"]);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("中間件", 4), "中…");
    }
}
