//! Cipher suites that are read: all with authenticated encryption but CCM.

use ring::{aead, hkdf, hmac};

/// Cipher of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

/// Hash function with which keys are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha256,
    Sha384,
}

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    pub cipher: Cipher,
    pub hash: Hash,
}

impl Suite {
    /// The suite with a number of TLS 1.3 (RFC 8446 §B.4); `None` if it is not read.
    pub fn of_tls13(number: u16) -> Option<Suite> {
        Some(match number {
            0x1301 => Suite { cipher: Cipher::Aes128Gcm, hash: Hash::Sha256 },
            0x1302 => Suite { cipher: Cipher::Aes256Gcm, hash: Hash::Sha384 },
            0x1303 => Suite { cipher: Cipher::ChaCha20Poly1305, hash: Hash::Sha256 },
            _ => return None,
        })
    }

    /// The suite with a number of TLS 1.2 (RFC 5288, RFC 5289, RFC 5487, RFC 7905, RFC 8442); `None` if it is not read.
    pub fn of_tls12(number: u16) -> Option<Suite> {
        let aes128 = Suite { cipher: Cipher::Aes128Gcm, hash: Hash::Sha256 };
        let aes256 = Suite { cipher: Cipher::Aes256Gcm, hash: Hash::Sha384 };
        let is_even = number.is_multiple_of(2);
        Some(match number {
            0x009C..=0x00AD => {
                if is_even {
                    aes128
                } else {
                    aes256
                }
            }
            0xC02B..=0xC032 => {
                if is_even {
                    aes256
                } else {
                    aes128
                }
            }
            0xD001 => aes128,
            0xD002 => aes256,
            0xCCA8..=0xCCAE => Suite { cipher: Cipher::ChaCha20Poly1305, hash: Hash::Sha256 },
            _ => return None,
        })
    }
}

impl Cipher {
    pub fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Cipher::Aes128Gcm => &aead::AES_128_GCM,
            Cipher::Aes256Gcm => &aead::AES_256_GCM,
            Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }

    /// Bytes of a key.
    pub fn key_len(self) -> usize {
        match self {
            Cipher::Aes128Gcm => 16,
            Cipher::Aes256Gcm | Cipher::ChaCha20Poly1305 => 32,
        }
    }
}

impl Hash {
    pub fn hkdf(self) -> hkdf::Algorithm {
        match self {
            Hash::Sha256 => hkdf::HKDF_SHA256,
            Hash::Sha384 => hkdf::HKDF_SHA384,
        }
    }

    pub fn hmac(self) -> hmac::Algorithm {
        match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha384 => hmac::HMAC_SHA384,
        }
    }

    /// Bytes of a digest.
    pub fn len(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
        }
    }
}
