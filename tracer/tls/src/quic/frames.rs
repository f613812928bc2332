//! Frames of a packet (RFC 9000 §19, RFC 9221).

use crate::cursor::Cursor;

/// A frame that says something of the text, or of how to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicFrame<'a> {
    /// Bytes of the handshake.
    Crypto { at: u64, bytes: &'a [u8] },
    /// Bytes of a stream; the last ones, if it ends with them.
    Stream { id: u64, at: u64, bytes: &'a [u8], is_last: bool },
    /// The end of a stream of which not all bytes come.
    Reset { id: u64 },
    /// Length of another id that packets to the sender of this frame may have.
    NewId { len: u8 },
    /// Numbers of packets that the sender of this frame has got.
    Acknowledged { first: u64, last: u64 },
    /// Numbers of packets that it has not got, between others that it has.
    Refused { first: u64, last: u64 },
}

/// Hands out the frames of a packet, up to the first one that is not known. Returns the number of bytes from there on.
pub fn read_frames<'a>(payload: &'a [u8], out: &mut dyn FnMut(QuicFrame<'a>)) -> usize {
    let mut rest = Cursor(payload);
    loop {
        let unread = rest.0.len();
        if unread == 0 || read_frame(&mut rest, out).is_none() {
            return unread;
        }
    }
}

/// Reads one frame; `None` at the end, or for a frame whose length is not known.
fn read_frame<'a>(rest: &mut Cursor<'a>, out: &mut dyn FnMut(QuicFrame<'a>)) -> Option<()> {
    let integers = |rest: &mut Cursor<'a>, count: usize| {
        (0..count).try_for_each(|_| rest.varint().map(|_| ()))
    };
    match rest.varint()? {
        // Padding, ping, the end of the handshake, and a request for an acknowledgement at once.
        0x00 | 0x01 | 0x1E | 0x1F => Some(()),
        kind @ (0x02 | 0x03) => {
            let last = rest.varint()?;
            integers(rest, 1)?;
            let ranges = rest.varint()?;
            let mut first = last.checked_sub(rest.varint()?)?;
            out(QuicFrame::Acknowledged { first, last });
            for _ in 0..ranges {
                let gap = rest.varint()?;
                let last = first.checked_sub(gap)?.checked_sub(2)?;
                out(QuicFrame::Refused {
                    first: last.checked_add(1)?,
                    last: first.checked_sub(1)?,
                });
                first = last.checked_sub(rest.varint()?)?;
                out(QuicFrame::Acknowledged { first, last });
            }
            integers(rest, if kind == 0x03 { 3 } else { 0 })
        }
        0x06 => {
            let (at, bytes) = (rest.varint()?, rest.counted()?);
            out(QuicFrame::Crypto { at, bytes });
            Some(())
        }
        kind @ 0x08..=0x0F => {
            let id = rest.varint()?;
            let at = if kind & 4 == 0 { 0 } else { rest.varint()? };
            let bytes = if kind & 2 == 0 { rest.take(rest.0.len())? } else { rest.counted()? };
            out(QuicFrame::Stream { id, at, bytes, is_last: kind & 1 != 0 });
            Some(())
        }
        0x18 => {
            integers(rest, 2)?;
            let len = rest.u8()?;
            rest.take(usize::from(len).saturating_add(16))?;
            out(QuicFrame::NewId { len });
            Some(())
        }
        // A token; a datagram.
        0x07 | 0x31 => rest.counted().map(|_| ()),
        // The end of the connection, with a reason.
        kind @ (0x1C | 0x1D) => {
            integers(rest, if kind == 0x1C { 2 } else { 1 })?;
            rest.counted().map(|_| ())
        }
        // Challenge and response.
        0x1A | 0x1B => rest.take(8).map(|_| ()),
        0x04 => {
            let id = rest.varint()?;
            out(QuicFrame::Reset { id });
            integers(rest, 2)
        }
        0x05 | 0x11 | 0x15 => integers(rest, 2),
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => integers(rest, 1),
        0x30 => rest.take(rest.0.len()).map(|_| ()),
        // How often acknowledgements are wanted (draft-ietf-quic-ack-frequency).
        0xAF => integers(rest, 4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(payload: &[u8]) -> (Vec<QuicFrame<'_>>, usize) {
        let mut all = Vec::new();
        let unread = read_frames(payload, &mut |frame| all.push(frame));
        (all, unread)
    }

    #[test]
    fn the_frames_with_text_are_found_between_others() {
        let payload = [
            &[0x02, 9, 0, 1, 2, 3, 1][..],
            &[0x03, 9, 0, 0, 2, 1, 1, 1],
            &[0x06, 0x40, 0x10, 2, 5, 6],
            &[0x0E, 4, 7, 3, 1, 2, 3],
            &[0x18, 1, 0, 2, 8, 8],
            &[0; 16],
            &[0x1C, 0, 0, 2, 1, 1],
            &[0x40, 0xAF, 1, 1, 1, 1],
            &[0x31, 1, 9],
            &[0x08, 8, 4, 4],
        ];
        let expected = [
            QuicFrame::Acknowledged { first: 7, last: 9 },
            QuicFrame::Refused { first: 3, last: 6 },
            QuicFrame::Acknowledged { first: 1, last: 2 },
            QuicFrame::Acknowledged { first: 7, last: 9 },
            QuicFrame::Crypto { at: 16, bytes: &[5, 6] },
            QuicFrame::Stream { id: 4, at: 7, bytes: &[1, 2, 3], is_last: false },
            QuicFrame::NewId { len: 2 },
            QuicFrame::Stream { id: 8, at: 0, bytes: &[4, 4], is_last: false },
        ];
        assert_eq!(all(&payload.concat()), (expected.to_vec(), 0));
        let ends = [
            QuicFrame::Stream { id: 4, at: 0, bytes: &[9], is_last: true },
            QuicFrame::Reset { id: 8 },
        ];
        assert_eq!(all(&[0x0B, 4, 1, 9, 0x04, 8, 1, 5]), (ends.to_vec(), 0));
        assert_eq!(all(&[1, 0x40, 0x77, 0x08, 4, 1]), (vec![], 5), "a frame that is not known");
        assert_eq!(all(&[0x0A, 4, 9, 1]), (vec![], 4), "longer than its packet");
    }
}
