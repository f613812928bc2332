//! Cipher suites that are read: AES in GCM, CCM and CBC mode, and ChaCha20-Poly1305.

use ring::{hkdf, hmac};

/// Length of an AES key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AesSize {
    Aes128,
    Aes256,
}

/// Length of the tag of a record in CCM mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcmTag {
    Eight,
    Sixteen,
}

/// Hash function of the code that authenticates a record in CBC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mac {
    Sha1,
    Sha256,
    Sha384,
}

/// Cipher of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Gcm(AesSize),
    Ccm(AesSize, CcmTag),
    Cbc(AesSize, Mac),
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
        let aes128 = AesSize::Aes128;
        Some(match number {
            0x1301 => Suite { cipher: Cipher::Gcm(aes128), hash: Hash::Sha256 },
            0x1302 => Suite { cipher: Cipher::Gcm(AesSize::Aes256), hash: Hash::Sha384 },
            0x1303 => Suite { cipher: Cipher::ChaCha20Poly1305, hash: Hash::Sha256 },
            0x1304 => Suite { cipher: Cipher::Ccm(aes128, CcmTag::Sixteen), hash: Hash::Sha256 },
            0x1305 => Suite { cipher: Cipher::Ccm(aes128, CcmTag::Eight), hash: Hash::Sha256 },
            _ => return None,
        })
    }

    /// The suite with a number of TLS 1.2; `None` if it is not read.
    pub fn of_tls12(number: u16) -> Option<Suite> {
        let (even, odd) = if number.is_multiple_of(2) {
            (AesSize::Aes128, AesSize::Aes256)
        } else {
            (AesSize::Aes256, AesSize::Aes128)
        };
        let cipher = match number {
            // RFC 5288, RFC 5487, RFC 5289, RFC 8442.
            0x009C..=0x00AD => Cipher::Gcm(even),
            0xC02B..=0xC032 | 0xD001..=0xD002 => Cipher::Gcm(odd),
            // RFC 7905.
            0xCCA8..=0xCCAE => Cipher::ChaCha20Poly1305,
            // RFC 6655, RFC 7251, RFC 8442.
            0xC09C..=0xC09F | 0xC0A4..=0xC0A7 | 0xC0AC..=0xC0AD => {
                Cipher::Ccm(even, CcmTag::Sixteen)
            }
            0xC0A0..=0xC0A3 | 0xC0A8..=0xC0AB | 0xC0AE..=0xC0AF => Cipher::Ccm(even, CcmTag::Eight),
            0xD003 => Cipher::Ccm(AesSize::Aes128, CcmTag::Eight),
            0xD005 => Cipher::Ccm(AesSize::Aes128, CcmTag::Sixteen),
            _ => {
                let (size, mac) = in_cbc_mode(number)?;
                Cipher::Cbc(size, mac)
            }
        };
        let hash = match cipher {
            Cipher::Gcm(AesSize::Aes256) | Cipher::Cbc(_, Mac::Sha384) => Hash::Sha384,
            _ => Hash::Sha256,
        };
        Some(Suite { cipher, hash })
    }
}

/// The key's length and the hash function of a suite in CBC mode (RFC 4279, RFC 5054, RFC 5246, RFC 5289, RFC 5487, RFC 5489,
/// RFC 8422); `None` for any other suite.
fn in_cbc_mode(number: u16) -> Option<(AesSize, Mac)> {
    Some(match number {
        0x002F..=0x0034
        | 0x008C
        | 0x0090
        | 0x0094
        | 0xC004
        | 0xC009
        | 0xC00E
        | 0xC013
        | 0xC018
        | 0xC01D..=0xC01F
        | 0xC035 => (AesSize::Aes128, Mac::Sha1),
        0x0035..=0x003A
        | 0x008D
        | 0x0091
        | 0x0095
        | 0xC005
        | 0xC00A
        | 0xC00F
        | 0xC014
        | 0xC019
        | 0xC020..=0xC022
        | 0xC036 => (AesSize::Aes256, Mac::Sha1),
        0x003C
        | 0x003E..=0x0040
        | 0x0067
        | 0x006C
        | 0x00AE
        | 0x00B2
        | 0x00B6
        | 0xC023
        | 0xC025
        | 0xC027
        | 0xC029
        | 0xC037 => (AesSize::Aes128, Mac::Sha256),
        0x003D | 0x0068..=0x006B | 0x006D => (AesSize::Aes256, Mac::Sha256),
        0x00AF | 0x00B3 | 0x00B7 | 0xC024 | 0xC026 | 0xC028 | 0xC02A | 0xC038 => {
            (AesSize::Aes256, Mac::Sha384)
        }
        _ => return None,
    })
}

impl AesSize {
    /// Bytes of a key.
    pub fn key_len(self) -> usize {
        match self {
            AesSize::Aes128 => 16,
            AesSize::Aes256 => 32,
        }
    }
}

impl Mac {
    pub fn hmac(self) -> hmac::Algorithm {
        match self {
            Mac::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Mac::Sha256 => hmac::HMAC_SHA256,
            Mac::Sha384 => hmac::HMAC_SHA384,
        }
    }

    /// Bytes of a code, and of the key that it is made with.
    pub fn len(self) -> usize {
        match self {
            Mac::Sha1 => 20,
            Mac::Sha256 => 32,
            Mac::Sha384 => 48,
        }
    }
}

impl Cipher {
    /// Bytes of a key.
    pub fn key_len(self) -> usize {
        match self {
            Cipher::Gcm(size) | Cipher::Ccm(size, _) | Cipher::Cbc(size, _) => size.key_len(),
            Cipher::ChaCha20Poly1305 => 32,
        }
    }

    /// Bytes of the key with which records in CBC mode are authenticated.
    pub fn mac_key_len(self) -> usize {
        if let Cipher::Cbc(_, mac) = self { mac.len() } else { 0 }
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

#[cfg(test)]
mod tests {
    use super::AesSize::{Aes128, Aes256};
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standards() {
        for (number, cipher, hash) in [
            (0x002F, Cipher::Cbc(Aes128, Mac::Sha1), Hash::Sha256),
            (0x0095, Cipher::Cbc(Aes256, Mac::Sha1), Hash::Sha256),
            (0x009D, Cipher::Gcm(Aes256), Hash::Sha384),
            (0xC023, Cipher::Cbc(Aes128, Mac::Sha256), Hash::Sha256),
            (0xC028, Cipher::Cbc(Aes256, Mac::Sha384), Hash::Sha384),
            (0xC02B, Cipher::Gcm(Aes128), Hash::Sha256),
            (0xC036, Cipher::Cbc(Aes256, Mac::Sha1), Hash::Sha256),
            (0xC09D, Cipher::Ccm(Aes256, CcmTag::Sixteen), Hash::Sha256),
            (0xC0AE, Cipher::Ccm(Aes128, CcmTag::Eight), Hash::Sha256),
            (0xD005, Cipher::Ccm(Aes128, CcmTag::Sixteen), Hash::Sha256),
        ] {
            assert_eq!(Suite::of_tls12(number), Some(Suite { cipher, hash }), "{number:04x}");
        }
        // RC4, 3DES, and a suite of TLS 1.3.
        assert_eq!([0x0005, 0x000A, 0x1301].map(Suite::of_tls12), [None; 3]);
    }
}
