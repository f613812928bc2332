//! A key, and the text of the records that are encrypted with it.

use crate::deframer::{HEADER_LEN, RecordHeader};
use crate::suite::Cipher;
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey};
use std::fmt;
use wirelap_events::Saturate;

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 12;

/// Bytes of a tag.
const TAG_LEN: usize = 16;

/// Form of nonces and additional data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceForm {
    /// RFC 8446 §5.2: the record's type is at the end of its text.
    Tls13,
    /// RFC 5288: eight bytes of the nonce are in the record.
    Tls12Explicit,
    /// RFC 7905.
    Tls12,
}

impl NonceForm {
    /// Bytes of a record beyond its text; with padding there are more.
    pub fn overhead(self) -> usize {
        match self {
            NonceForm::Tls13 => TAG_LEN + 1,
            NonceForm::Tls12Explicit => TAG_LEN + 8,
            NonceForm::Tls12 => TAG_LEN,
        }
    }
}

/// Material of a key, from which a [`RecordKey`] is made.
#[derive(Clone, Copy)]
pub struct KeyMaterial {
    cipher: Cipher,
    form: NonceForm,
    key: [u8; 32],
    pub iv: [u8; NONCE_LEN],
}

/// Says nothing of the key.
impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyMaterial({:?}, {:?})", self.cipher, self.form)
    }
}

impl KeyMaterial {
    /// Zeros.
    pub fn new(cipher: Cipher, form: NonceForm) -> KeyMaterial {
        KeyMaterial { cipher, form, key: [0; 32], iv: [0; NONCE_LEN] }
    }

    /// The key's bytes.
    pub fn key_mut(&mut self) -> &mut [u8] {
        &mut self.key[..self.cipher.key_len()]
    }

    /// The key.
    pub fn key(&self) -> Option<RecordKey> {
        let key = UnboundKey::new(self.cipher.algorithm(), &self.key[..self.cipher.key_len()]);
        Some(RecordKey { key: LessSafeKey::new(key.ok()?), iv: self.iv, form: self.form })
    }
}

/// A key for the records of one direction.
#[derive(Debug)]
pub struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    form: NonceForm,
}

/// The text of a record that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Number of the record's content type.
    pub kind: u8,
    /// Bytes of the text, at the front of what it was opened into.
    pub len: usize,
}

impl RecordKey {
    /// Form of nonces and additional data.
    pub fn form(&self) -> NonceForm {
        self.form
    }

    /// Opens the record with this number into `scratch`; `None` if the record does not authenticate.
    pub fn open(
        &self,
        number: u64,
        header: RecordHeader,
        body: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<Text> {
        let explicit = if self.form == NonceForm::Tls12Explicit { 8 } else { 0 };
        let (front, sealed) = body.split_at_checked(explicit)?;
        let text_len = sealed.len().checked_sub(TAG_LEN)?;
        let nonce = Nonce::assume_unique_for_key(self.nonce(number, front));
        scratch.clear();
        scratch.extend_from_slice(sealed);
        let opened = if self.form == NonceForm::Tls13 {
            let data: [u8; HEADER_LEN] = header.bytes();
            self.key.open_in_place(nonce, Aad::from(data), scratch).ok()?
        } else {
            let data = tls12_data(number, header, text_len)?;
            self.key.open_in_place(nonce, Aad::from(data), scratch).ok()?
        };
        if self.form != NonceForm::Tls13 {
            return Some(Text { kind: header.kind, len: opened.len() });
        }
        // Zeros behind the type are padding.
        let len = opened.iter().rposition(|byte| *byte != 0)?;
        Some(Text { kind: *opened.get(len)?, len })
    }

    fn nonce(&self, number: u64, explicit: &[u8]) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        let (_, tail) = nonce.split_at_mut(4);
        if self.form == NonceForm::Tls12Explicit {
            tail.copy_from_slice(explicit);
        } else {
            tail.iter_mut().zip(number.to_be_bytes()).for_each(|(to, from)| *to ^= from);
        }
        nonce
    }
}

/// The additional data of a record of TLS 1.2 (RFC 5246 §6.2.3.3): its number, type, version, and the length of its text.
fn tls12_data(number: u64, header: RecordHeader, text_len: usize) -> Option<[u8; 13]> {
    let mut data = [0; 13];
    let [kind, major, minor, ..] = header.bytes();
    let [high, low] = u16::try_from(text_len).ok()?.to_be_bytes();
    let all = number.to_be_bytes().into_iter().chain([kind, major, minor, high, low]);
    data.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    Some(data)
}

/// A key and the number of the next record.
#[derive(Debug)]
pub struct Epoch {
    pub key: RecordKey,
    pub next: u64,
}

impl Epoch {
    /// Before the first record.
    pub fn new(key: RecordKey) -> Epoch {
        Epoch { key, next: 0 }
    }

    /// One more record.
    pub fn passed(&mut self, number: u64) {
        self.next = number;
        self.next.grow(1);
    }
}

/// Records for tests.
#[cfg(test)]
pub mod sealing {
    use super::{Aad, Nonce, NonceForm, RecordHeader, RecordKey, TAG_LEN, tls12_data};

    impl RecordKey {
        /// The record with this number that says `text`.
        pub fn seal(&self, number: u64, kind: u8, text: &[u8]) -> Vec<u8> {
            let explicit = number.to_be_bytes().map(|byte| byte ^ 0x5A);
            let front = if self.form == NonceForm::Tls12Explicit { &explicit[..] } else { &[] };
            let mut sealed = text.to_vec();
            if self.form == NonceForm::Tls13 {
                // A type, and padding.
                sealed.extend([kind, 0, 0]);
            }
            let outer = if self.form == NonceForm::Tls13 { 23 } else { kind };
            let len = u16::try_from(front.len() + sealed.len() + TAG_LEN).unwrap().to_be_bytes();
            let header = RecordHeader::read(&[outer, 3, 3, len[0], len[1]]).unwrap();
            let nonce = Nonce::assume_unique_for_key(self.nonce(number, front));
            let data = match self.form {
                NonceForm::Tls13 => header.bytes().to_vec(),
                _ => tls12_data(number, header, text.len()).unwrap().to_vec(),
            };
            self.key.seal_in_place_append_tag(nonce, Aad::from(data), &mut sealed).unwrap();
            [&header.bytes()[..], front, &sealed].concat()
        }
    }
}
