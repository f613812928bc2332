//! The header with which the payload of wirelap's workloads begins.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+---------------+-+-+-----------+
//! |     0x57      |     0x4C      |     0xA9      |R|W|  stream   |
//! +---------------+---------------+---------------+-+-+-----------+
//! |                  sequence (big-endian)                        |
//! +---------------------------------------------------------------+
//! ```
//!
//! R is set in a pong's reply to the ping with the same sequence, W in a warm-up message, which is not counted. The header has eight
//! bytes, so that it fits into the smallest payload.

/// The length of an encoded [`Stamp`] in bytes.
pub const STAMP_BYTES: usize = 8;

const MAGIC: [u8; 3] = [0x57, 0x4C, 0xA9];
const REPLY: u8 = 0x80;
const WARMUP: u8 = 0x40;
const STREAM: u8 = 0x3F;

/// The identity of a message in the payload of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The number of the publisher, 0 to 63.
    pub stream: u8,
    /// The number of the message in its stream, from 0. Warm-up messages are numbered separately.
    pub seq: u32,
    /// True if the message is a pong's reply.
    pub reply: bool,
    /// True if the message belongs to the warm-up, which is not counted.
    pub warmup: bool,
}

impl Stamp {
    /// The stamp with which `payload` begins; `None` if it does not begin with one.
    pub fn decode(payload: &[u8]) -> Option<Stamp> {
        let (magic, rest) = payload.split_first_chunk::<3>()?;
        let (&[flags], rest) = rest.split_first_chunk::<1>()?;
        let seq = u32::from_be_bytes(*rest.first_chunk::<4>()?);
        (*magic == MAGIC).then_some(Stamp {
            stream: flags & STREAM,
            seq,
            reply: flags & REPLY != 0,
            warmup: flags & WARMUP != 0,
        })
    }

    /// The encoded stamp. The stream is taken modulo 64.
    pub fn encode(self) -> [u8; STAMP_BYTES] {
        let mut flags = self.stream & STREAM;
        if self.reply {
            flags |= REPLY;
        }
        if self.warmup {
            flags |= WARMUP;
        }
        let [a, b, c, d] = self.seq.to_be_bytes();
        [MAGIC[0], MAGIC[1], MAGIC[2], flags, a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for (reply, warmup) in [(false, false), (true, false), (false, true), (true, true)] {
            let stamp = Stamp { stream: 63, seq: 0xDEAD_BEEF, reply, warmup };
            assert_eq!(Stamp::decode(&stamp.encode()), Some(stamp));
        }
    }

    #[test]
    fn other_payloads_have_no_stamp() {
        assert_eq!(Stamp::decode(b""), None);
        assert_eq!(Stamp::decode(&[0x57, 0x4C, 0xA9, 0, 0, 0, 0]), None);
        assert_eq!(Stamp::decode(b"WLxhello"), None);
    }
}
