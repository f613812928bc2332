//! The application's own trace, as a message names it in the header `traceparent` (W3C Trace Context, level 1, §3.2).
//!
//! ```text
//!  0  2 3                              35 36             52 53
//! |00|-|4bf92f3577b34da6a3ce929d0e0e4736|-|00f067aa0ba902b7|-|01|
//! | version | trace, 32 digits          | parent, 16 digits| flags: bit 0, sampled
//! ```
//!
//! A later version begins in the same way, and may go on after another `-`.

/// The name of the header, which is told from others without regard to case.
const HEADER: &[u8] = b"traceparent";
/// The version that this reads to its end, and the one that does not exist.
const KNOWN_VERSION: u8 = 0;
const INVALID_VERSION: u8 = 0xFF;
/// Flag: the caller may have recorded its own spans.
const SAMPLED: u8 = 1;

/// The trace that a message is part of by its own word, and the span that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace's number, which is not zero.
    pub trace: [u8; 16],
    /// The number of the application's span, which is not zero.
    pub parent: [u8; 8],
    /// Flags, of which bit 0 is known here: [`TraceContext::is_sampled`].
    pub flags: u8,
}

impl TraceContext {
    /// Reads the value of a `traceparent`; `None` if it is malformed, or of no trace or span.
    pub fn read(value: &[u8]) -> Option<TraceContext> {
        let (version, rest) = digits::<1>(value)?;
        let (trace, rest) = digits::<16>(rest.strip_prefix(b"-")?)?;
        let (parent, rest) = digits::<8>(rest.strip_prefix(b"-")?)?;
        let ([flags], rest) = digits::<1>(rest.strip_prefix(b"-")?)?;
        let ends_well = match version {
            [KNOWN_VERSION] => rest.is_empty(),
            [INVALID_VERSION] => false,
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        let is_one = ends_well && trace != [0; 16] && parent != [0; 8];
        // Of a later version nothing is known but the one flag.
        let flags = if version == [KNOWN_VERSION] { flags } else { flags & SAMPLED };
        is_one.then_some(TraceContext { trace, parent, flags })
    }

    /// Reads a header; `None` if it has another name.
    pub fn of_header(name: &[u8], value: &[u8]) -> Option<TraceContext> {
        if name.eq_ignore_ascii_case(HEADER) { TraceContext::read(value) } else { None }
    }

    /// True if the application may have recorded its span; otherwise its Collector has none of them.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// Facts by which the trace of a message is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTrace {
    /// The application's trace, if the message names one and that was asked for.
    pub context: Option<TraceContext>,
    /// The message's number, from 0, among those that begin at the same place of their connection: records of a compressed batch, messages
    /// in one record of TLS.
    pub ordinal: u32,
}

impl MessageTrace {
    /// The same with the context of a later leg, if this one has none.
    #[must_use]
    pub fn or(self, later: MessageTrace) -> MessageTrace {
        MessageTrace { context: self.context.or(later.context), ..self }
    }
}

/// Reads `N` bytes as pairs of lower-case hexadecimal digits. Returns the bytes that follow, too.
fn digits<const N: usize>(text: &[u8]) -> Option<([u8; N], &[u8])> {
    let mut bytes = [0; N];
    let mut rest = text;
    for byte in &mut bytes {
        let (&[high, low], after) = rest.split_first_chunk::<2>()?;
        *byte = digit(high)? << 4 | digit(low)?;
        rest = after;
    }
    Some((bytes, rest))
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter & 0x0F),
        b'a'..=b'f' => Some((letter & 0x0F).saturating_add(9)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read() {
        let context = TraceContext::read(VALUE.as_bytes()).unwrap();
        assert_eq!(u128::from_be_bytes(context.trace), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(u64::from_be_bytes(context.parent), 0x00f0_67aa_0ba9_02b7);
        assert_eq!((context.flags, context.is_sampled()), (1, true));
        assert_eq!(TraceContext::of_header(b"TraceParent", VALUE.as_bytes()), Some(context));
        assert_eq!(TraceContext::of_header(b"tracestate", VALUE.as_bytes()), None);
        let random = TraceContext::read(VALUE.replace("-01", "-02").as_bytes()).unwrap();
        assert_eq!((random.flags, random.is_sampled()), (2, false));
    }

    #[test]
    fn a_later_version_may_go_on_and_tells_one_flag() {
        let later = |end: &str| {
            TraceContext::read(VALUE.replace("00-4", "cc-4").replace("-01", end).as_bytes())
        };
        assert_eq!(later("-03"), TraceContext::read(VALUE.as_bytes()));
        assert_eq!(later("-01-what comes then"), later("-01"));
        assert_eq!(later("-01x"), None);
    }

    #[test]
    fn what_is_malformed_is_none() {
        let wrong = [
            VALUE.replace("00-4", "ff-4"),
            VALUE.replace("-01", "-01-"),
            VALUE.replace("-01", "-1"),
            VALUE.replace("-01", ""),
            VALUE.replace("-01", "-0g"),
            VALUE.replace('b', "B"),
            VALUE.replace('-', "_"),
            VALUE.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            VALUE.replace("00f067aa0ba902b7", &"0".repeat(16)),
            format!(" {VALUE}"),
            format!("{VALUE} "),
            "é".repeat(40),
            String::new(),
        ];
        for value in wrong {
            assert_eq!(TraceContext::read(value.as_bytes()), None, "{value}");
        }
        for cut in 0..VALUE.len() {
            assert_eq!(TraceContext::read(&VALUE.as_bytes()[..cut]), None, "{cut}");
        }
    }
}
