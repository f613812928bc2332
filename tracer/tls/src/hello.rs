//! Reader of hello messages (RFC 8446 §4.1, RFC 5246 §7.4.1).
//!
//! ```text
//!  type | length | version | random | length, session id | …
//!    1      3         2        32       1
//! ```

use crate::cbc::MacOrder;
use crate::cursor::Cursor;
use crate::deframer::{HEADER_LEN, RecordHeader, kind};
use crate::key_log::Random;
use wirelap_events::{Saturate, Size};

/// Bytes in front of a handshake message.
const HEAD: usize = 4;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Bytes of a client's hello that are read: up to its random number.
const CLIENT_BYTES: usize = HEAD + 2 + 32;

/// The longest server's hello that is read.
const MAX_SERVER_BYTES: usize = 1 << 14;

/// The extension that says the version of TLS 1.3 (RFC 8446 §4.2.1).
const SUPPORTED_VERSIONS: u16 = 43;

/// The extension that says that what is encrypted is authenticated, and not the text (RFC 7366).
const ENCRYPT_THEN_MAC: u16 = 22;

/// The random number of a server's hello that only asks for another client's hello (RFC 8446 §4.1.3).
const RETRY: Random = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// The random number in the client's hello that these bytes begin with; `None` if they begin with none.
pub fn client_random(bytes: &[u8]) -> Option<Random> {
    let header = RecordHeader::read(bytes)?;
    let message = bytes.get(HEADER_LEN..)?;
    if header.kind != kind::HANDSHAKE || *message.first()? != CLIENT_HELLO {
        return None;
    }
    random(message)
}

/// The random number of a hello message.
fn random(message: &[u8]) -> Option<Random> {
    message.get(CLIENT_BYTES.checked_sub(32)?..CLIENT_BYTES)?.try_into().ok()
}

/// Fields of a hello message that are needed to choose keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    Client(Random),
    Server(ServerHello),
}

/// Fields of a server's hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHello {
    pub random: Random,
    /// 0x0303 for TLS 1.2, 0x0304 for TLS 1.3.
    pub version: u16,
    pub suite: u16,
    /// Records are compressed, which nobody does any more.
    pub is_compressed: bool,
    /// Order in which records in CBC mode are encrypted and authenticated.
    pub order: MacOrder,
}

impl ServerHello {
    /// `None` if it cannot be read, or only asks for another client's hello.
    fn read(message: &[u8]) -> Option<ServerHello> {
        let random = random(message).filter(|random| *random != RETRY)?;
        let mut rest = Cursor(message.get(HEAD..)?);
        let old_version = rest.u16()?;
        rest.take(32)?;
        let session_len = rest.u8()?;
        rest.take(session_len.into())?;
        let (suite, compression) = (rest.u16()?, rest.u8()?);
        let (mut version, mut order) = (old_version, MacOrder::MacThenEncrypt);
        // Before TLS 1.3, there may be no extensions.
        if let Some(len) = rest.u16() {
            let mut extensions = Cursor(rest.take(len.into())?);
            while let (Some(number), Some(len)) = (extensions.u16(), extensions.u16()) {
                let value = extensions.take(len.into())?;
                match (number, value) {
                    (SUPPORTED_VERSIONS, [high, low]) => {
                        version = u16::from_be_bytes([*high, *low]);
                    }
                    (ENCRYPT_THEN_MAC, []) => order = MacOrder::EncryptThenMac,
                    _ => {}
                }
            }
        }
        Some(ServerHello { random, version, suite, is_compressed: compression != 0, order })
    }
}

/// Finds the hello messages in the handshake of one direction.
#[derive(Debug, Default)]
pub struct HelloReader {
    /// The message that has begun, as far as it is read.
    buffer: Vec<u8>,
    /// Bytes of a message that are not read.
    skip: u64,
}

impl HelloReader {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.buffer.capacity())
    }

    /// Bytes are missing: what has begun is not read.
    pub fn reset(&mut self) {
        *self = HelloReader::default();
    }

    /// The next bytes of the handshake.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Hello)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let skipped = rest.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip.shrink(skipped as u64);
            let need = self.need().saturating_sub(self.buffer.len());
            let Some((more, behind)) =
                rest.get(skipped..).map(|rest| rest.split_at(need.min(rest.len())))
            else {
                return;
            };
            rest = behind;
            self.buffer.extend_from_slice(more);
            if self.buffer.len() >= HEAD && self.buffer.len() >= self.need() {
                self.complete(out);
            }
        }
    }

    /// Bytes of the message at hand that are read; those of its head, as long as they are not there.
    fn need(&self) -> usize {
        let Some(&[kind, high, middle, low]) = self.buffer.first_chunk::<HEAD>() else {
            return HEAD;
        };
        let len = u32::from_be_bytes([0, high, middle, low]) as usize;
        let whole = len.saturating_add(HEAD);
        match kind {
            CLIENT_HELLO => whole.min(CLIENT_BYTES),
            SERVER_HELLO if whole <= MAX_SERVER_BYTES => whole,
            _ => HEAD,
        }
    }

    /// All that is read of a message is there.
    fn complete(&mut self, out: &mut dyn FnMut(Hello)) {
        let message = std::mem::take(&mut self.buffer);
        let Some(&[kind, high, middle, low]) = message.first_chunk::<HEAD>() else { return };
        let len = u64::from(u32::from_be_bytes([0, high, middle, low]));
        self.skip = len.saturating_add(HEAD as u64).saturating_sub(message.len() as u64);
        let hello = match kind {
            CLIENT_HELLO => random(&message).map(Hello::Client),
            SERVER_HELLO if self.skip == 0 => ServerHello::read(&message).map(Hello::Server),
            _ => None,
        };
        hello.into_iter().for_each(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let [_, high, middle, low] = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&[kind, high, middle, low][..], body].concat()
    }

    fn server(random: Random, extensions: &[u8]) -> Vec<u8> {
        let len = u16::try_from(extensions.len()).unwrap().to_be_bytes();
        let parts = [&[3, 3][..], &random, &[2, 9, 9], &[0xC0, 0x2F, 0], &len, extensions];
        message(SERVER_HELLO, &parts.concat())
    }

    fn read(pieces: &[&[u8]]) -> Vec<Hello> {
        let mut reader = HelloReader::default();
        let mut all = Vec::new();
        for piece in pieces {
            reader.feed(piece, &mut |hello| all.push(hello));
        }
        all
    }

    #[test]
    fn hello_messages_are_found_among_others() {
        let client = message(CLIENT_HELLO, &[&[3, 3][..], &[7; 32], &[0; 200]].concat());
        let tls13 = server([8; 32], &[0, 51, 0, 3, 1, 2, 3, 0, 43, 0, 2, 3, 4]);
        let tls12 = server([9; 32], &[0, 23, 0, 0, 0, 22, 0, 0]);
        let certificate = message(11, &[5; 3000]);
        let flow = [client, tls13, certificate, message(14, &[]), tls12].concat();
        let expected = |random, version, order| {
            Hello::Server(ServerHello {
                random: [random; 32],
                version,
                suite: 0xC02F,
                is_compressed: false,
                order,
            })
        };
        let all = [
            Hello::Client([7; 32]),
            expected(8, 0x0304, MacOrder::MacThenEncrypt),
            expected(9, 0x0303, MacOrder::EncryptThenMac),
        ];
        for cut in 0..flow.len() {
            assert_eq!(read(&[&flow[..cut], &flow[cut..]]), all, "{cut}");
        }
        let bytewise: Vec<_> = flow.chunks(1).collect();
        assert_eq!(read(&bytewise), all);
    }

    #[test]
    fn a_hello_that_asks_for_another_one_says_nothing() {
        assert_eq!(read(&[&server(RETRY, &[])]), []);
        assert_eq!(read(&[&message(SERVER_HELLO, &[3, 3])]), []);
        assert_eq!(read(&[&message(CLIENT_HELLO, &[3, 3])]), []);
    }

    #[test]
    fn the_first_bytes_of_a_connection_tell_the_random_number() {
        let hello = message(CLIENT_HELLO, &[&[3, 3][..], &[7; 32], &[0; 20]].concat());
        let record = [&[22, 3, 1, 0, u8::try_from(hello.len()).unwrap()][..], &hello].concat();
        assert_eq!(client_random(&record), Some([7; 32]));
        assert_eq!(client_random(&record[..42]), None);
        assert_eq!(client_random(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), None);
    }
}
