//! A key, and the text of the records that are encrypted with it.

use crate::aead::{AeadKey, NONCE_LEN};
use crate::cbc::{CbcKey, MacOrder};
use crate::deframer::RecordHeader;
use crate::suite::Cipher;
use std::fmt;
use wirelap_events::Saturate;

/// Form of nonces and additional data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceForm {
    /// RFC 8446 §5.2: the record's type is at the end of its text.
    Tls13,
    /// RFC 5288, RFC 6655: eight bytes of the nonce are in the record.
    Tls12Explicit,
    /// RFC 7905.
    Tls12,
}

/// Form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    /// A cipher authenticates what it encrypts.
    Aead(NonceForm),
    /// A code of its own authenticates it.
    Cbc(MacOrder),
}

/// Material of a key, from which a [`RecordKey`] is made.
#[derive(Clone, Copy)]
pub struct KeyMaterial {
    cipher: Cipher,
    form: RecordForm,
    key: [u8; 32],
    mac_key: [u8; 48],
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
    pub fn new(cipher: Cipher, form: RecordForm) -> KeyMaterial {
        KeyMaterial { cipher, form, key: [0; 32], mac_key: [0; 48], iv: [0; NONCE_LEN] }
    }

    /// The key's bytes.
    pub fn key_mut(&mut self) -> &mut [u8] {
        &mut self.key[..self.cipher.key_len()]
    }

    /// The bytes of the key with which records are authenticated; none if the cipher does that.
    pub fn mac_key_mut(&mut self) -> &mut [u8] {
        &mut self.mac_key[..self.cipher.mac_key_len()]
    }

    /// The key.
    pub fn key(&self) -> Option<RecordKey> {
        let key = &self.key[..self.cipher.key_len()];
        match (self.form, self.cipher) {
            (RecordForm::Aead(form), cipher) => {
                let key = AeadKey::new(cipher, key)?;
                Some(RecordKey::Aead { key, iv: self.iv, form })
            }
            (RecordForm::Cbc(order), Cipher::Cbc(size, mac)) => {
                let mac_key = &self.mac_key[..mac.len()];
                Some(RecordKey::Cbc(Box::new(CbcKey::new((size, mac), key, mac_key, order)?)))
            }
            (RecordForm::Cbc(_), _) => None,
        }
    }
}

/// A key for the records of one direction.
#[derive(Debug)]
pub enum RecordKey {
    Aead { key: AeadKey, iv: [u8; NONCE_LEN], form: NonceForm },
    Cbc(Box<CbcKey>),
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
    /// Bytes of a record beyond its text; with padding there are more.
    pub fn overhead(&self) -> usize {
        match self {
            RecordKey::Aead { key, form, .. } => {
                let more = match form {
                    NonceForm::Tls13 => 1,
                    NonceForm::Tls12Explicit => 8,
                    NonceForm::Tls12 => 0,
                };
                key.tag_len().saturating_add(more)
            }
            RecordKey::Cbc(key) => key.overhead(),
        }
    }

    /// Opens the record with this number into `scratch`; `None` if the record does not authenticate.
    pub fn open(
        &self,
        number: u64,
        header: RecordHeader,
        body: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<Text> {
        let (key, iv, form) = match self {
            RecordKey::Aead { key, iv, form } => (key, iv, *form),
            RecordKey::Cbc(key) => {
                let len = key.open(number, header, body, scratch)?;
                return Some(Text { kind: header.kind, len });
            }
        };
        let explicit = if form == NonceForm::Tls12Explicit { 8 } else { 0 };
        let (front, sealed) = body.split_at_checked(explicit)?;
        let text_len = sealed.len().checked_sub(key.tag_len())?;
        let nonce = nonce(iv, form, number, front);
        scratch.clear();
        scratch.extend_from_slice(sealed);
        if form != NonceForm::Tls13 {
            let data = header.tls12_data(number, text_len)?;
            return Some(Text { kind: header.kind, len: key.open(nonce, &data, scratch)? });
        }
        let opened = key.open(nonce, &header.bytes(), scratch)?;
        // Zeros behind the type are padding.
        let len = scratch.get(..opened)?.iter().rposition(|byte| *byte != 0)?;
        Some(Text { kind: *scratch.get(len)?, len })
    }
}

fn nonce(iv: &[u8; NONCE_LEN], form: NonceForm, number: u64, explicit: &[u8]) -> [u8; NONCE_LEN] {
    let mut nonce = *iv;
    let (_, tail) = nonce.split_at_mut(4);
    if form == NonceForm::Tls12Explicit {
        tail.copy_from_slice(explicit);
    } else {
        tail.iter_mut().zip(number.to_be_bytes()).for_each(|(to, from)| *to ^= from);
    }
    nonce
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
    use super::{Cipher, KeyMaterial, NonceForm, RecordHeader, RecordKey, nonce};

    fn header(kind: u8, len: usize) -> RecordHeader {
        let [high, low] = u16::try_from(len).unwrap().to_be_bytes();
        RecordHeader::read(&[kind, 3, 3, high, low]).unwrap()
    }

    impl KeyMaterial {
        /// The record with this number that says `text`.
        pub fn seal(&self, number: u64, kind: u8, text: &[u8]) -> Vec<u8> {
            let (key, iv, form) = match self.key().unwrap() {
                RecordKey::Aead { key, iv, form } => (key, iv, form),
                RecordKey::Cbc(key) => {
                    let raw = &self.key[..self.cipher.key_len()];
                    let blocks = usize::try_from(number % 3).unwrap();
                    let body = key.seal(raw, number, header(kind, 0), (text, blocks));
                    return [&header(kind, body.len()).bytes()[..], &body].concat();
                }
            };
            let explicit = number.to_be_bytes().map(|byte| byte ^ 0x5A);
            let front = if form == NonceForm::Tls12Explicit { &explicit[..] } else { &[] };
            let mut sealed = text.to_vec();
            if form == NonceForm::Tls13 {
                // A type, and padding.
                sealed.extend([kind, 0, 0]);
            }
            let outer = if form == NonceForm::Tls13 { 23 } else { kind };
            let header = header(outer, front.len() + sealed.len() + key.tag_len());
            let data = match form {
                NonceForm::Tls13 => header.bytes().to_vec(),
                _ => header.tls12_data(number, text.len()).unwrap().to_vec(),
            };
            key.seal(nonce(&iv, form, number, front), &data, &mut sealed);
            [&header.bytes()[..], front, &sealed].concat()
        }

        /// True if records are encrypted in CBC mode.
        pub fn is_cbc(&self) -> bool {
            matches!(self.cipher, Cipher::Cbc(..))
        }
    }
}
