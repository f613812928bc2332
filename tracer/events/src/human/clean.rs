//! Text that came from outside (names in messages, files and programs), made safe to show.

use std::borrow::Cow;
use std::fmt::Write;

/// The character that stands for one that is not shown.
const HIDDEN: char = '·';

/// True if a character could steer a terminal, or the order of the text around it: the controls C0, DEL and C1 (ECMA-48), the
/// separators of lines and paragraphs, and the marks of direction (Unicode Annex 9, "Directional Formatting Characters").
pub const fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name from outside on one line, with `·` in place of what is not safe to show.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { HIDDEN } else { c }).collect()
}

/// A name from outside as [`clean`], in at most so many characters: its end replaced by `…` where it is longer.
pub fn shortened(name: &str, most: usize) -> String {
    let mut out = clean(name);
    if let Some((end, _)) = out.char_indices().nth(most) {
        out.truncate(end);
        out.push('…');
    }
    out
}

/// True if a text, whose line breaks are none, has such a character. Most lines have nothing but printable ASCII.
fn has(text: &str, is_bad: impl Fn(char) -> bool) -> bool {
    let is_plain =
        |line: &str| line.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    text.split('\n').any(|line| !is_plain(line) && line.contains(&is_bad))
}

/// Whole text for a terminal or a file: as [`clean`], but with its line breaks and tabulators.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if !has(text, is_bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_bad(c) { HIDDEN } else { c }).collect())
}

/// JSON text with escapes for those unsafe characters that may stand in JSON as they are (RFC 8259, section 7, lets only C0 be escaped). All of them are
/// in strings, and in the Basic Multilingual Plane.
pub fn escape_json(json: String) -> String {
    let is_bad = |c: char| is_unsafe(c) && !c.is_ascii_whitespace();
    if !has(&json, is_bad) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_bad(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEERS: &str = "a\x1b]0;x\x07\u{9b}2J\x7f\u{202e}b\u{2066}c\u{200f}\r";

    #[test]
    fn nothing_that_steers_a_terminal_or_the_direction_is_left() {
        assert_eq!(clean(STEERS), "a·]0;x··2J··b·c··");
        assert_eq!(clean("a\nb\tc"), "a·b·c");
        assert_eq!((shortened("abc", 3), shortened("äbcd", 3)), ("abc".into(), "äbc…".into()));
        assert_eq!(clean("Größe 温度 🚀"), "Größe 温度 🚀");
    }

    #[test]
    fn text_keeps_its_lines() {
        assert_eq!(clean_lines("a\n\tb\u{85}\r\n"), "a\n\tb··\n");
        assert!(matches!(clean_lines("a\n├─ b"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_without_them() {
        let json = "{\n  \"a\": \"\u{9b}\x7f\u{202e}ü\\n\"\n}".to_owned();
        assert_eq!(escape_json(json), "{\n  \"a\": \"\\u009b\\u007f\\u202eü\\n\"\n}");
    }
}
