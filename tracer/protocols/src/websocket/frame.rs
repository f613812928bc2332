//! The header of a frame (RFC 6455 §5.2).
//!
//! ```text
//!  0               1               2 …
//! +-+-+-+-+-------+-+-------------+-------------------+-----------------+-----------+
//! |F|R|R|R|opcode |M| length, 7   | u16 if length=126 | masking key, 4  | payload … |
//! | |1|2|3|       | |             | u64 if length=127 | bytes if M=1    |           |
//! +-+-+-+-+-------+-+-------------+-------------------+-----------------+-----------+
//! ```

use crate::{PduLen, Reader};
use wirelap_events::FrameClass;

/// Opcodes from this one on are control frames (§5.5).
const FIRST_CONTROL: u8 = 8;

/// The longest payload of a control frame (§5.5).
const LONGEST_CONTROL: u64 = 125;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WebSocketHeader {
    /// 0: continuation, 1: text, 2: binary, 8: close, 9: ping, 10: pong.
    pub opcode: u8,
    /// True if the message ends with this frame.
    pub is_final: bool,
    /// True if a message is compressed from this frame on (RFC 7692 §6).
    pub is_compressed: bool,
    /// The key of a masked frame; only clients mask.
    pub key: Option<[u8; 4]>,
    /// Bytes of the header.
    pub bytes: usize,
    /// Bytes of the payload.
    pub payload: u64,
}

impl WebSocketHeader {
    /// The header that `head` starts with.
    pub fn read(head: &[u8]) -> Result<WebSocketHeader, PduLen> {
        let mut reader = Reader::new(head);
        let first = reader.u8().ok_or(PduLen::Need(2))?;
        let opcode = first & 0x0F;
        let [is_final, is_compressed] = [0x80, 0x40].map(|bit| first & bit != 0);
        let is_control = opcode >= FIRST_CONTROL;
        let is_known = matches!(opcode, 0..=2 | FIRST_CONTROL..=10) && first & 0x30 == 0;
        if !is_known
            || (is_control && (!is_final || is_compressed))
            || (opcode == 0 && is_compressed)
        {
            return Err(PduLen::Invalid);
        }
        let second = reader.u8().ok_or(PduLen::Need(2))?;
        let payload = match second & 0x7F {
            126 => u64::from(reader.u16_be().ok_or(PduLen::Need(4))?),
            127 => reader.u64_be().ok_or(PduLen::Need(10))?,
            len => len.into(),
        };
        // The shortest form must be used (§5.2).
        let is_short_enough = match second & 0x7F {
            126 => payload > LONGEST_CONTROL,
            127 => payload > u64::from(u16::MAX) && payload < 1 << 40,
            _ => true,
        };
        if !is_short_enough || (is_control && payload > LONGEST_CONTROL) {
            return Err(PduLen::Invalid);
        }
        let key = if second & 0x80 == 0 {
            None
        } else {
            let need = reader.position().saturating_add(4);
            Some(reader.array().ok_or(PduLen::Need(need))?)
        };
        Ok(WebSocketHeader {
            opcode,
            is_final,
            is_compressed,
            key,
            bytes: reader.position(),
            payload,
        })
    }

    /// Bytes of the whole frame.
    pub fn frame_len(&self) -> u64 {
        self.payload.saturating_add(self.bytes as u64)
    }

    /// Returns name and class of a control frame; `None` for a frame with data.
    pub fn control(&self) -> Option<(&'static str, FrameClass)> {
        match self.opcode {
            8 => Some(("Close (WebSocket)", FrameClass::Session)),
            9 => Some(("Ping (WebSocket)", FrameClass::KeepAlive)),
            10 => Some(("Pong (WebSocket)", FrameClass::KeepAlive)),
            _ => None,
        }
    }
}

/// Removes the mask from `bytes`, of which the first is byte number `at` of the frame's payload (§5.3).
pub(super) fn unmask(key: [u8; 4], at: u64, bytes: &mut [u8]) {
    let skip = usize::try_from(at % 4).unwrap_or(0);
    for (byte, key) in bytes.iter_mut().zip(key.iter().cycle().skip(skip)) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_read() {
        // RFC 6455 §5.7: "Hello", unmasked and masked; 256 bytes and 64 KiB of binary data.
        let plain = WebSocketHeader::read(&[0x81, 5, b'H', b'e']).unwrap();
        assert_eq!((plain.bytes, plain.payload, plain.key), (2, 5, None));
        let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        let header = WebSocketHeader::read(&masked).unwrap();
        let mut text = masked[header.bytes..].to_vec();
        unmask(header.key.unwrap(), 0, &mut text);
        assert_eq!(text, b"Hello");
        assert_eq!(WebSocketHeader::read(&[0x82, 0x7E, 1, 0]).unwrap().frame_len(), 260);
        let long = [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(WebSocketHeader::read(&long).unwrap().frame_len(), 65_546);
        for cut in 0..long.len() {
            assert!(matches!(WebSocketHeader::read(&long[..cut]), Err(PduLen::Need(n)) if n > cut));
        }
    }

    #[test]
    fn what_no_end_may_send_is_no_frame() {
        for bytes in [
            &[0x83, 0][..],       // an opcode that does not exist
            &[0x09, 0],           // a ping in parts
            &[0x89, 126, 0, 200], // a ping that is too long
            &[0x82, 126, 0, 5],   // a length that is not the shortest
            &[0xA2, 0],           // a bit that no extension defines
        ] {
            assert_eq!(WebSocketHeader::read(bytes), Err(PduLen::Invalid), "{bytes:02x?}");
        }
    }
}
