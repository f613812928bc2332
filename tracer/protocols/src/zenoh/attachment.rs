//! The trace that an attachment names.
//!
//! Zenoh gives attachments no form, and its users none to traces. Two forms are read that nothing else looks like: the bytes of a
//! `traceparent` and no more, and the map of texts as which zenoh-ext serializes the headers that OpenTelemetry's propagators write.
//!
//! ```text
//! z32 entries, each | z32 length | name | z32 length | value |    and nothing behind them
//! ```

use super::wire::ZenohCursor;
use wirelap_events::TraceContext;

/// The trace that an attachment names; `None` if it has another form.
pub fn trace_context(attachment: &[u8]) -> Option<TraceContext> {
    TraceContext::read(attachment).or_else(|| in_map(attachment))
}

fn in_map(attachment: &[u8]) -> Option<TraceContext> {
    let mut at = ZenohCursor::new(attachment, attachment.len() as u64);
    let mut found = None;
    for _ in 0..at.z32().ok()? {
        let (name, value) = (text(&mut at)?, text(&mut at)?);
        found = found.or_else(|| TraceContext::of_header(name, value));
    }
    found.filter(|_| at.is_empty())
}

fn text<'a>(at: &mut ZenohCursor<'a>) -> Option<&'a [u8]> {
    let len = at.z32().ok()?.into();
    let text = at.head(len);
    at.skip(len).ok().map(|()| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn map(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut bytes = vec![u8::try_from(entries.len()).unwrap()];
        for text in entries.iter().flat_map(|(name, value)| [name, value]) {
            bytes.push(u8::try_from(text.len()).unwrap());
            bytes.extend_from_slice(text);
        }
        bytes
    }

    #[test]
    fn a_trace_is_the_whole_attachment_or_in_a_map_of_texts() {
        let context = TraceContext::read(VALUE);
        assert!(context.is_some());
        assert_eq!(trace_context(VALUE), context);
        let headers = map(&[(b"tracestate", b""), (b"traceparent", VALUE)]);
        assert_eq!(trace_context(&headers), context);
        for cut in 0..headers.len() {
            assert_eq!(trace_context(&headers[..cut]), None, "{cut}");
        }
        for other in [&map(&[(b"parent", VALUE)])[..], &[&headers[..], b"x"].concat(), b"", b"\0"] {
            assert_eq!(trace_context(other), None);
        }
    }
}
