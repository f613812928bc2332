//! The name that a client gives itself in `CONNECT`, a JSON object (RFC 8259).

use crate::Reader;
use wirelap_events::Saturate;

/// The string `name` of the object; `None` without one.
pub(super) fn client_name(object: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::new(object);
    let mut depth = 0_u32;
    // Whether the next string of the outermost object is a key, and whether the last one was `name`.
    let (mut is_key, mut is_named) = (false, false);
    while let Some(byte) = reader.u8() {
        match byte {
            b'"' => {
                let text = string(&mut reader)?;
                match depth {
                    1 if is_key => is_named = text == b"name",
                    1 if is_named => return Some(unescaped(text)),
                    _ => {}
                }
            }
            b'{' | b'[' => {
                is_key = byte == b'{' && depth == 0;
                depth.grow(1);
            }
            b'}' | b']' => depth.shrink(1),
            b',' => is_key = depth == 1,
            b':' => is_key = false,
            _ => {}
        }
    }
    None
}

/// A string after its first quotation mark, as it is written.
fn string<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut is_escaped = false;
    let end = reader.peek_rest().iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    let text = reader.take(end)?;
    reader.skip(1)?;
    Some(text)
}

/// A string without its escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut reader = Reader::new(text);
    while let Some(byte) = reader.u8() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match reader.u8() {
            Some(b'u') => plain.extend(unicode(&mut reader).as_bytes()),
            Some(b'n') => plain.push(b'\n'),
            Some(b't') => plain.push(b'\t'),
            Some(b'r') => plain.push(b'\r'),
            Some(b'b') => plain.push(8),
            Some(b'f') => plain.push(12),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

/// The character of an escape, or of two that are a surrogate pair, after the first `\u`.
fn unicode(reader: &mut Reader<'_>) -> String {
    let mut units = vec![unit(reader)];
    if units.iter().all(|unit| (0xD800..0xDC00).contains(unit))
        && reader.peek_rest().starts_with(b"\\u")
    {
        reader.take_up_to(2);
        units.push(unit(reader));
    }
    String::from_utf16_lossy(&units)
}

fn unit(reader: &mut Reader<'_>) -> u16 {
    const NONE: u16 = 0xFFFD;
    let digits = std::str::from_utf8(reader.take_up_to(4)).unwrap_or_default();
    u16::from_str_radix(digits, 16).unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(object: &str) -> Option<String> {
        client_name(object.as_bytes()).map(|name| String::from_utf8(name).unwrap())
    }

    #[test]
    fn the_name_is_found_among_other_keys() {
        let found = |name: &str| Some(name.to_owned());
        assert_eq!(name(r#"{"verbose":false,"name":"worker","lang":"go"}"#), found("worker"));
        assert_eq!(name(r#"{ "lang" : "name" , "name" : "a b" }"#), found("a b"));
        assert_eq!(name(r#"{"x":{"name":"no"},"y":["name","no"],"name":"yes"}"#), found("yes"));
        assert_eq!(name(r#"{"name":""}"#), found(""));
        assert_eq!(name(r#"{"name":null,"lang":"go"}"#), None);
        assert_eq!(name(r#"{"name":{"a":"b"},"c":"d"}"#), None);
        assert_eq!(name(r#"{"user":"name"}"#), None);
        assert_eq!(name(r#"["name","no"]"#), None);
    }

    #[test]
    fn escapes_are_undone() {
        let object = r#"{"a\"name":"no","name":"q\"\\\/\n\u00e9\ud83d\ude00\ud83dx"}"#;
        assert_eq!(name(object).unwrap(), "q\"\\/\n\u{e9}\u{1f600}\u{fffd}x");
    }

    #[test]
    fn what_is_cut_or_no_json_has_no_name() {
        let whole = r#"{"lang":"go\"","name":"w\u00e9"}"#;
        for end in 0..whole.len() - 1 {
            assert_eq!(client_name(&whole.as_bytes()[..end]), None, "{}", &whole[..end]);
        }
        for wrong in ["", "}}}}\"name\"", "{\"name\"\"", "{\"name\":\"\\", "{{\"name\":\"x\"}"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
        assert_eq!(client_name(b"{\"name\":\"\\u12\"}").unwrap(), "\u{12}".as_bytes());
    }
}
