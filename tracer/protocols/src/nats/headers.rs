//! The headers of a message that `JetStream` gives it or reads, found in one walk over its lines (ADR-4). Those of an application are passed over by
//! their first letters.
//!
//! ```text
//! NATS/1.0 [status] CR LF · (name · ":" · value · CR LF)* · CR LF
//! ```

/// The letters that the names of all of them begin with.
const PREFIX: &[u8] = b"Nats-";

/// The headers of one message that are `JetStream`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnHeaders<'a> {
    /// The stream that the message was read from.
    pub stream: Option<&'a [u8]>,
    /// Its number there.
    pub sequence: Option<&'a [u8]>,
    /// True if it is published in a batch.
    pub is_in_batch: bool,
    /// The way in which it ends its batch.
    pub batch_commit: Option<&'a [u8]>,
    /// True if the size of its payload is told in its place.
    pub has_size: bool,
}

impl<'a> OwnHeaders<'a> {
    /// Reads a header, as far as it was captured: a line without an end tells nothing.
    pub fn read(header: &'a [u8]) -> OwnHeaders<'a> {
        let mut found = OwnHeaders::default();
        for line in header.split_inclusive(|&byte| byte == b'\n') {
            let Some(rest) = line.strip_prefix(PREFIX) else { continue };
            let Some(rest) = rest.strip_suffix(b"\r\n") else { continue };
            let mut parts = rest.splitn(2, |&byte| byte == b':');
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
            let value = value.trim_ascii();
            match name {
                b"Stream" => _ = found.stream.get_or_insert(value),
                b"Sequence" => _ = found.sequence.get_or_insert(value),
                b"Batch-Id" => found.is_in_batch = true,
                b"Batch-Commit" => _ = found.batch_commit.get_or_insert(value),
                b"Msg-Size" => found.has_size = true,
                _ => {}
            }
        }
        found
    }

    /// True if the message was read back from a stream.
    pub fn is_stored(&self) -> bool {
        self.stream.is_some() && self.sequence.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_among_those_of_the_application() {
        let header = b"NATS/1.0\r\nX-Nats-Stream: no\r\nNats-Stream: S\r\nNats-Streams: no\r\n\
            trace: Nats-Batch-Id: no\r\nNats-Sequence:7\r\nNats-Stream: T\r\n\r\n";
        let stored = OwnHeaders::read(header);
        assert_eq!((stored.stream, stored.sequence), (Some(&b"S"[..]), Some(&b"7"[..])));
        assert!(stored.is_stored() && !stored.is_in_batch);
        let batch =
            b"NATS/1.0\r\nNats-Batch-Id: b\r\nNats-Batch-Commit: eob\r\nNats-Msg-Size: 5\r\n";
        let batch = OwnHeaders::read(batch);
        assert_eq!((batch.is_in_batch, batch.batch_commit), (true, Some(&b"eob"[..])));
        assert!(batch.has_size && !batch.is_stored());
    }

    #[test]
    fn a_line_that_is_cut_tells_nothing() {
        let header = b"NATS/1.0\r\nNats-Sequence: 12\r\n";
        for cut in 0..header.len() {
            let head = header.get(..cut).unwrap();
            assert_eq!(OwnHeaders::read(head), OwnHeaders::default(), "{cut}");
        }
        assert_eq!(OwnHeaders::read(header).sequence, Some(&b"12"[..]));
    }
}
