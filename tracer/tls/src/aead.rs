//! Keys of ciphers that authenticate what they encrypt: AES-GCM, AES-CCM and ChaCha20-Poly1305.

use crate::suite::{AesSize, CcmTag, Cipher};
use aes::{Aes128, Aes256};
use ccm::aead::AeadInPlace;
use ccm::consts::{U8, U12, U16};
use ccm::{Ccm, KeyInit};
use ring::aead::{self, Aad, LessSafeKey, UnboundKey};
use std::fmt;

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 12;

/// A key of a cipher that authenticates.
pub enum AeadKey {
    /// GCM and ChaCha20-Poly1305.
    Ring(Box<LessSafeKey>),
    Ccm128(Box<Ccm<Aes128, U16, U12>>),
    Ccm128Short(Box<Ccm<Aes128, U8, U12>>),
    Ccm256(Box<Ccm<Aes256, U16, U12>>),
    Ccm256Short(Box<Ccm<Aes256, U8, U12>>),
}

/// Says nothing of the key.
impl fmt::Debug for AeadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AeadKey({} bytes of tag)", self.tag_len())
    }
}

impl AeadKey {
    /// The key of these bytes; `None` if they are too few or too many, or the cipher does not authenticate.
    pub fn new(cipher: Cipher, key: &[u8]) -> Option<AeadKey> {
        let ring = |algorithm| {
            let key = UnboundKey::new(algorithm, key).ok()?;
            Some(AeadKey::Ring(Box::new(LessSafeKey::new(key))))
        };
        match cipher {
            Cipher::Gcm(AesSize::Aes128) => ring(&aead::AES_128_GCM),
            Cipher::Gcm(AesSize::Aes256) => ring(&aead::AES_256_GCM),
            Cipher::ChaCha20Poly1305 => ring(&aead::CHACHA20_POLY1305),
            Cipher::Ccm(AesSize::Aes128, CcmTag::Sixteen) => ccm(key).map(AeadKey::Ccm128),
            Cipher::Ccm(AesSize::Aes128, CcmTag::Eight) => ccm(key).map(AeadKey::Ccm128Short),
            Cipher::Ccm(AesSize::Aes256, CcmTag::Sixteen) => ccm(key).map(AeadKey::Ccm256),
            Cipher::Ccm(AesSize::Aes256, CcmTag::Eight) => ccm(key).map(AeadKey::Ccm256Short),
            Cipher::Cbc(..) => None,
        }
    }

    /// Bytes of a tag.
    pub fn tag_len(&self) -> usize {
        match self {
            AeadKey::Ring(_) | AeadKey::Ccm128(_) | AeadKey::Ccm256(_) => 16,
            AeadKey::Ccm128Short(_) | AeadKey::Ccm256Short(_) => 8,
        }
    }

    /// Opens what is sealed, its tag included, where it stands. Returns the bytes of its text; `None` if it does not
    /// authenticate.
    pub fn open(&self, nonce: [u8; NONCE_LEN], data: &[u8], sealed: &mut [u8]) -> Option<usize> {
        let text_len = sealed.len().checked_sub(self.tag_len())?;
        let (text, tag) = sealed.split_at_mut_checked(text_len)?;
        let (ccm_nonce, tag) = (&ccm::Nonce::from(nonce), &*tag);
        match self {
            AeadKey::Ring(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(nonce);
                key.open_in_place(nonce, Aad::from(data), sealed).map(|_| ()).ok()
            }
            AeadKey::Ccm128(key) => {
                key.decrypt_in_place_detached(ccm_nonce, data, text, tag.into()).ok()
            }
            AeadKey::Ccm256(key) => {
                key.decrypt_in_place_detached(ccm_nonce, data, text, tag.into()).ok()
            }
            AeadKey::Ccm128Short(key) => {
                key.decrypt_in_place_detached(ccm_nonce, data, text, tag.into()).ok()
            }
            AeadKey::Ccm256Short(key) => {
                key.decrypt_in_place_detached(ccm_nonce, data, text, tag.into()).ok()
            }
        }?;
        Some(text_len)
    }
}

fn ccm<C: KeyInit>(key: &[u8]) -> Option<Box<C>> {
    C::new_from_slice(key).ok().map(Box::new)
}

/// Sealing for tests.
#[cfg(test)]
pub mod sealing {
    use super::{Aad, AeadInPlace, AeadKey, NONCE_LEN, aead};

    impl AeadKey {
        /// Seals a text where it stands, and appends the tag.
        pub fn seal(&self, nonce: [u8; NONCE_LEN], data: &[u8], text: &mut Vec<u8>) {
            let tag = match self {
                AeadKey::Ring(key) => {
                    let nonce = aead::Nonce::assume_unique_for_key(nonce);
                    key.seal_in_place_separate_tag(nonce, Aad::from(data), text)
                        .unwrap()
                        .as_ref()
                        .to_vec()
                }
                AeadKey::Ccm128(key) => in_ccm(&**key, nonce, data, text),
                AeadKey::Ccm256(key) => in_ccm(&**key, nonce, data, text),
                AeadKey::Ccm128Short(key) => in_ccm(&**key, nonce, data, text),
                AeadKey::Ccm256Short(key) => in_ccm(&**key, nonce, data, text),
            };
            text.extend(tag);
        }
    }

    fn in_ccm<C: AeadInPlace>(
        key: &C,
        nonce: [u8; NONCE_LEN],
        data: &[u8],
        text: &mut [u8],
    ) -> Vec<u8> {
        key.encrypt_in_place_detached(nonce.as_slice().into(), data, text).unwrap().to_vec()
    }
}
