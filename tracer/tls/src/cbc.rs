//! Records in CBC mode (RFC 5246 §6.2.3.2), and those whose code is made of what is encrypted (RFC 7366).
//!
//! ```text
//!  first the code:        |      IV      | text | code | padding | its length |
//!                              16         ╰────────── encrypted ──────────╯
//!  first the encryption:  |      IV      | text | padding | its length | code |
//!                              16         ╰───── encrypted ──────╯
//! ```

use crate::deframer::RecordHeader;
use crate::suite::{AesSize, Mac};
use aes::cipher::block_padding::NoPadding;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipher, BlockDecryptMut, BlockSizeUser, InnerIvInit, KeyInit};
use aes::{Aes128Dec, Aes256Dec};
use cbc::Decryptor;
use ring::hmac;
use std::fmt;

/// Bytes of a block, and of an initialization vector.
pub const BLOCK_LEN: usize = 16;

/// Order in which a record is encrypted and authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacOrder {
    /// The code is made of the text, and encrypted with it.
    MacThenEncrypt,
    /// The code is made of what is encrypted.
    EncryptThenMac,
}

/// A key of records in CBC mode.
pub struct CbcKey {
    cipher: BlockKey,
    mac: Mac,
    mac_key: hmac::Key,
    order: MacOrder,
}

enum BlockKey {
    Aes128(Box<Aes128Dec>),
    Aes256(Box<Aes256Dec>),
}

/// Says nothing of the key.
impl fmt::Debug for CbcKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CbcKey({:?}, {:?})", self.mac, self.order)
    }
}

impl CbcKey {
    /// The key of these bytes; `None` if they are too few or too many.
    pub fn new(
        (size, mac): (AesSize, Mac),
        key: &[u8],
        mac_key: &[u8],
        order: MacOrder,
    ) -> Option<CbcKey> {
        let cipher = match size {
            AesSize::Aes128 => BlockKey::Aes128(Box::new(Aes128Dec::new_from_slice(key).ok()?)),
            AesSize::Aes256 => BlockKey::Aes256(Box::new(Aes256Dec::new_from_slice(key).ok()?)),
        };
        Some(CbcKey { cipher, mac, mac_key: hmac::Key::new(mac.hmac(), mac_key), order })
    }

    /// Bytes of a record beyond its text, at least.
    pub fn overhead(&self) -> usize {
        self.mac.len().saturating_add(BLOCK_LEN).saturating_add(1)
    }

    /// Opens the record with this number into `scratch`. Returns the bytes of its text; `None` if it does not authenticate.
    pub fn open(
        &self,
        number: u64,
        header: RecordHeader,
        body: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<usize> {
        match self.order {
            MacOrder::MacThenEncrypt => {
                let len = self.decrypt(body, scratch)?.checked_sub(self.mac.len())?;
                let (text, behind) = scratch.split_at_checked(len)?;
                let code = behind.get(..self.mac.len())?;
                self.is_authentic(number, header, text, code).then_some(len)
            }
            MacOrder::EncryptThenMac => {
                let sealed_len = body.len().checked_sub(self.mac.len())?;
                let (sealed, code) = body.split_at_checked(sealed_len)?;
                if !self.is_authentic(number, header, sealed, code) {
                    return None;
                }
                self.decrypt(sealed, scratch)
            }
        }
    }

    fn is_authentic(&self, number: u64, header: RecordHeader, of: &[u8], code: &[u8]) -> bool {
        let Some(data) = header.tls12_data(number, of.len()) else { return false };
        let mut context = hmac::Context::with_key(&self.mac_key);
        context.update(&data);
        context.update(of);
        context.sign().as_ref() == code
    }

    /// Decrypts into `scratch`. Returns the bytes in front of the padding; `None` if there is no padding.
    fn decrypt(&self, body: &[u8], scratch: &mut Vec<u8>) -> Option<usize> {
        let (iv, blocks) = body.split_first_chunk::<BLOCK_LEN>()?;
        scratch.clear();
        scratch.extend_from_slice(blocks);
        let text = match &self.cipher {
            BlockKey::Aes128(key) => decrypt_blocks(&**key, iv, scratch)?,
            BlockKey::Aes256(key) => decrypt_blocks(&**key, iv, scratch)?,
        };
        // The last byte says how many others of the same value stand before it.
        let padding = *text.last()?;
        let len = text.len().checked_sub(usize::from(padding).saturating_add(1))?;
        text.get(len..)?.iter().all(|byte| *byte == padding).then_some(len)
    }
}

fn decrypt_blocks<'b, K>(key: K, iv: &[u8; BLOCK_LEN], blocks: &'b mut [u8]) -> Option<&'b [u8]>
where
    K: BlockDecryptMut + BlockCipher + BlockSizeUser<BlockSize = U16>,
{
    Decryptor::inner_iv_init(key, iv.into()).decrypt_padded_mut::<NoPadding>(blocks).ok()
}

/// Records for tests.
#[cfg(test)]
pub mod sealing {
    use super::{BLOCK_LEN, CbcKey, MacOrder, RecordHeader, hmac};
    use aes::cipher::{BlockEncryptMut, InnerIvInit, KeyInit, block_padding::NoPadding};
    use cbc::Encryptor;

    /// A sealed text with its code, before encryption.
    fn code(key: &CbcKey, number: u64, header: RecordHeader, of: &[u8]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&key.mac_key);
        context.update(&header.tls12_data(number, of.len()).unwrap());
        context.update(of);
        context.sign().as_ref().to_vec()
    }

    impl CbcKey {
        /// The body of the record with this number that says `text`, padded with so many blocks more than needed.
        pub fn seal(
            &self,
            key: &[u8],
            number: u64,
            header: RecordHeader,
            (text, blocks): (&[u8], usize),
        ) -> Vec<u8> {
            let iv = [number.to_be_bytes(), [0xA5; 8]].concat();
            let mut inside = text.to_vec();
            if self.order == MacOrder::MacThenEncrypt {
                inside.extend(code(self, number, header, text));
            }
            let padding = BLOCK_LEN - inside.len() % BLOCK_LEN + BLOCK_LEN * blocks;
            inside.extend(vec![u8::try_from(padding - 1).unwrap(); padding]);
            let len = inside.len();
            let iv_block = iv.as_slice().into();
            if key.len() == 16 {
                let key = aes::Aes128::new_from_slice(key).unwrap();
                let cipher = Encryptor::inner_iv_init(key, iv_block);
                cipher.encrypt_padded_mut::<NoPadding>(&mut inside, len).unwrap();
            } else {
                let key = aes::Aes256::new_from_slice(key).unwrap();
                let cipher = Encryptor::inner_iv_init(key, iv_block);
                cipher.encrypt_padded_mut::<NoPadding>(&mut inside, len).unwrap();
            }
            let mut body = [iv, inside].concat();
            if self.order == MacOrder::EncryptThenMac {
                let code = code(self, number, header, &body);
                body.extend(code);
            }
            body
        }
    }
}
