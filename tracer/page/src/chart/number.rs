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
    let width = |c: char| if u32::from(c) >= 0x1100 { 2_usize } else { 1 };
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
    fn long_texts_are_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("中間件", 4), "中…");
    }
}
