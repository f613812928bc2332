//! Redis's RESP, versions 2 and 3 (redis.io, "Redis serialization protocol specification").

use super::name::ForeignName;

const NAME: &str = "Redis";

/// Commands are arrays of bulk strings: `*2\r\n$3\r\nGET\r\n…`; so are many answers, and what is published.
pub(super) fn values(bytes: &[u8]) -> Option<ForeignName> {
    let (kind, rest) = bytes.split_first()?;
    let (size, rest) = number(rest)?;
    let found = match kind {
        b'*' | b'>' | b'~' | b'%' => {
            let (inner, rest) = rest.split_first()?;
            let (len, rest) = number(rest)?;
            size > 0
                && (*inner == b'$' && has_end(rest, len) || (*inner == b':' && !rest.is_empty()))
        }
        b'$' => has_end(rest, size) && rest.len() == size.saturating_add(2),
        _ => false,
    };
    found.then(|| ForeignName::of(NAME, None))
}

/// A size in decimal digits, and what follows its line end.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().take(11).position(|b| *b == b'\r')?;
    let (digits, rest) = bytes.split_at(end);
    let rest = rest.strip_prefix(b"\r\n")?;
    let digits = std::str::from_utf8(digits).ok()?;
    (!digits.starts_with('+')).then(|| digits.parse().ok()).flatten().map(|size| (size, rest))
}

/// True if a string of `len` bytes ends with CR LF, or its end was not captured.
fn has_end(bytes: &[u8], len: usize) -> bool {
    match len.checked_add(2).and_then(|end| bytes.get(len..end)) {
        Some(end) => end == b"\r\n",
        None => !bytes.is_empty(),
    }
}
